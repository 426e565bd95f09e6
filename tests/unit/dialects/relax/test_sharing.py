"""Which memory may be written, as the folders of operators ask for it."""

from __future__ import annotations

from support.ir import parse

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.sharing import may_be_written

SCALE = """
tir.func private @scale(%p: !tir.handle) {
  %A = tir.match_buffer %p : !tir.buffer<4xf32>
}
"""


def written(body: str) -> set[str]:
    """The names of the values of a function of `%a: !t` that may be written."""
    text = f"relax.func @main(%a: !t) -> !t {{{body}}}"
    module = parse(SCALE + text.replace("!t", "tensor<4xf32>"))
    (func,) = (op for op in module.ops if isinstance(op, relax.FuncOp))
    values = [*func.args, *(result for op in func.walk() for result in op.results)]
    return {value.name_hint or "" for value in values if may_be_written(value)}


def test_a_write_reaches_what_shares_memory() -> None:
    found = written("""
      %b = relax.nn.relu %a : (!t) -> !t
      %t = relax.tuple(%a, %b) : !t, !t
      %c = relax.get_item %t[1] : !relax.tuple<!t, !t> -> !t
      %d = relax.call_tir_inplace @scale(%c) inplace [0] : (!t) -> !t
      %e = relax.nn.relu %d : (!t) -> !t
      relax.return %e : !t""")
    # A tuple holds the memory of all fields, whichever is taken.
    assert found == {"a", "b", "t", "c", "d"}


def test_branches_share_what_they_yield_and_no_condition() -> None:
    found = written("""
      %p = relax.constant dense<true> : tensor<i1>
      %b = relax.nn.relu %a : (!t) -> !t
      %c = relax.nn.gelu %a : (!t) -> !t
      %d = relax.if %p : tensor<i1> -> !t {
        relax.yield %b : !t
      } else {
        relax.yield %c : !t
      }
      %e = relax.call_tir_inplace @scale(%d) inplace [0] : (!t) -> !t
      relax.return %e : !t""")
    assert found == {"b", "c", "d", "e"}


def test_many_uses_count_as_a_write() -> None:
    """So that a fold takes constant time, whatever the number of copies of a tensor."""

    def used(count: int) -> set[str]:
        uses = "\n".join(f"%c{n} = relax.nn.relu %a : (!t) -> !t" for n in range(count))
        return written(f"{uses}\nrelax.return %c0 : !t")

    assert used(255) == set()
    assert used(257) == {"a"}
