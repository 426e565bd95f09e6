"""KillAfterLastUse: which values of random functions end, and where."""

from __future__ import annotations

import os

from support.effort import calls
from support.ir import parse
from support.relax_bindings import RandomBindings
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.relax.kill_after_last_use import KillAfterLastUse
from xdsl_tvm.passes.relax.to_non_dataflow import ToNonDataflow
from xdsl_tvm.registry import new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "15"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
KILL = KillAfterLastUse()
KILLS = (relax.KillTensorOp, relax.KillStorageOp, relax.VMKillObjectOp)


def random_module(seed: int) -> ModuleOp:
    return ToNonDataflow()(parse(RandomBindings(seed).text()))


def ended(module: ModuleOp) -> set[SSAValue]:
    """The values that end, none of them used after the end of its life."""
    found = set[SSAValue]()
    for op in module.walk():
        for operand in op.operands:
            assert operand not in found, op
        if isinstance(op, KILLS):
            found.update(op.operands)
    return found


def has_to_end(value: SSAValue, block: Block) -> bool:
    users = [u.operation for u in value.uses if not isinstance(u.operation, KILLS)]
    is_result = any(
        isinstance(user, relax.ReturnOp | relax.YieldOp) and user.parent_block() is block
        for user in users
    )
    return bool(users) and not is_result


def test_random_functions() -> None:
    """Exactly the values end that are read and stay in their block, right after it."""
    ends = 0
    for seed in range(FIRST, FIRST + COUNT):
        result = KILL(random_module(seed))
        result.verify()
        found = ended(result)
        ends += len(found)
        for op in result.walk():
            block = op.parent_block()
            for value in op.results:
                assert block is not None
                assert (value in found) == has_to_end(value, block), (seed, value)
            if isinstance(op, KILLS):
                assert op.operands[0].owner.parent_block() is block
                previous = op.prev_op
                while isinstance(previous, KILLS):
                    previous = previous.prev_op
                assert previous is not None
                assert any(op.operands[0] in each.operands for each in previous.walk())
        assert str(KILL(result)) == str(result)
    assert ends > COUNT


PLANNED = """
!t = tensor<4xf32>
tir.func @f(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  %B = tir.match_buffer %b : !tir.buffer<4xf32>
  %zero = tir.const 0 : i32
  %four = tir.const 4 : i32
  tir.for %i = %zero to %four {
    %x = tir.load %A[%i] : f32
    %y = tir.add %x, %x : f32
    tir.store %y, %B[%i] : f32
  }
}
relax.func impure @main(%c: tensor<i1>, %x: !t) -> !t {
  %s = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 : !relax.object
  %y = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  relax.call impure @f(%x, %y) : (!t, !t) -> ()
  %v = relax.alias %y : !t -> tensor<?xf32>
  %r = relax.if %c : tensor<i1> -> tensor<?xf32> {
    %z = relax.builtin.alloc_tensor on 0 scope "global" : !t
    relax.call impure @f(%y, %z) : (!t, !t) -> ()
    relax.yield %z : !t
  } else {
    relax.yield %v : tensor<?xf32>
  }
  %w = relax.match_cast %r : tensor<?xf32> -> !t
  %p = relax.tuple(%w, %y) : !t, !t
  %q = relax.get_item %p[0] : !relax.tuple<!t, !t> -> !t
  relax.return %q : !t
}
"""


def test_the_interpreter_reads_nothing_that_has_ended() -> None:
    report = check_semantics(parse(PLANNED), [KILL], runs=8)
    assert "main" in report.checked
    assert len(ended(KILL(parse(PLANNED)))) == 6


def test_time_is_linear() -> None:
    def effort(count: int) -> int:
        """Of names of names, and of a value with many uses."""
        body = ""
        for i in range(count):
            body += f"%{i + 1} = relax.alias %{i} : !t -> !t\n"
        for i in range(count):
            body += f"%a{i} = relax.add %x, %{count} : (!t, !t) -> !t\n"
            body += f"%b{i} = relax.add %a{i}, %a{max(0, i - 1)} : (!t, !t) -> !t\n"
        module = parse(
            "!t = tensor<4xf32>\nrelax.func @main(%x: !t) -> !t {\n"
            f"%0 = relax.add %x, %x : (!t, !t) -> !t\n{body}"
            "relax.return %x : !t }"
        )
        context = new_context()
        return calls(lambda: KILL.apply(context, module))

    assert effort(240) < 4.5 * effort(60)
