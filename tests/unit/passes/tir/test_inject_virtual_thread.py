"""What InjectVirtualThread does for calls, many statements and operations it does not
know."""

from __future__ import annotations

import pytest
from support.effort import calls
from support.ir import parse

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.data.memory import Pointer
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.passes.tir.inject_virtual_thread import InjectVirtualThread
from xdsl_tvm.registry import new_context

CALLS = """
tir.func @calls(%o: !tir.handle) {{
  %O = tir.match_buffer %o : !tir.buffer<6xi32>
  %fill = tir.string "fill"
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  tir.launch_thread %v = "{tag}" to %c3 virtual {{
    %p = tir.allocate [2] : !tir.ptr<i32>
    %P = tir.decl_buffer %p : !tir.buffer<2xi32>
    tir.store %c0, %P[%c0] : i32
    %q = tir.access_ptr w %p[%c0 to %c0 + %c2] : !tir.ptr<i32>
    %id = tir.call "tvm_context_id"() : () -> i32
    %n = tir.mul {number}, %c3 : i32
    tir.call "call_extern"(%fill, %q, %n)
      : (!tir.handle, !tir.ptr<i32>, i32) -> ()
    tir.for %i = %c0 to %c2 {{
      %x = tir.load %P[%i] : i32
      %0 = tir.mul %v, %c2 : i32
      %1 = tir.add %0, %i : i32
      tir.store %x, %O[%1] : i32
    }}
  }}
}}"""


@pytest.mark.parametrize(("tag", "number"), [("vthread", "%v"), ("cthread", "%id")])
def test_calls_write_memory_of_their_thread(tag: str, number: str) -> None:
    seen: list[int] = []

    def fill(pointer: Pointer, start: int) -> None:
        seen.append(start)
        pointer.array()[:2] = (start, start + 1)

    module = parse(CALLS.format(tag=tag, number=number))
    externs = {"fill": fill}
    check_semantics(module, (InjectVirtualThread(),), externs=externs, runs=1)
    assert seen == [0, 3, 6, 0, 3, 6]


def test_what_is_named_by_let_is_read_before_what_follows() -> None:
    module = parse("""
      tir.func @named(%o: !tir.handle) {
        %O = tir.match_buffer %o : !tir.buffer<4xi32>
        %c2 = tir.const 2 : i32
        tir.launch_thread %v = "vthread" to %c2 virtual {
          %x = tir.load %O[%v] : i32
          %y = tir.let expr %x : i32
          tir.store %c2, %O[%v] : i32
          %at = tir.add %v, %c2 : i32
          tir.store %y, %O[%at] : i32
        }
      }
    """)
    check_semantics(module, (InjectVirtualThread(),), runs=1)


def test_unknown_operations_run_as_a_whole() -> None:
    module = parse("""
      tir.func @f() {
        %c2 = tir.const 2 : i32
        tir.launch_thread %v = "vthread" to %c2 virtual {
          %0 = "test.pureop"(%v) : (i32) -> i32
          "test.op"() ({
            "test.termop"(%0) : (i32) -> ()
          }) : () -> ()
          %2 = "test.op"(%v) : (i32) -> i32
          "test.op"(%c2) : (i32) -> ()
          "test.op"(%2) : (i32) -> ()
        }
      }""")
    InjectVirtualThread().apply(new_context(), module)
    module.verify()
    names = [op.name for op in module.walk()]
    # The last three run together, since the third uses the first.
    assert names.count("test.pureop") == 2
    assert names.count("test.termop") == 2
    assert names.count("test.op") == 2 + 3 * 2


def test_time_is_linear() -> None:
    def effort(count: int) -> int:
        body = "\n".join(
            f"%x{i} = tir.load %A[%v] : i32\n%y{i} = tir.add %x{i}, %v : i32\n"
            f"tir.store %y{i}, %P[%c0] : i32\n"
            for i in range(count)
        )
        module = parse(f"""
          tir.func @f(%a: !tir.handle) {{
            %A = tir.match_buffer %a : !tir.buffer<4xi32>
            %c0 = tir.const 0 : i32
            %c2 = tir.const 2 : i32
            tir.launch_thread %v = "vthread" to %c2 virtual {{
              %p = tir.allocate [2] : !tir.ptr<i32>
              %P = tir.decl_buffer %p : !tir.buffer<2xi32>
              {body}
            }}
          }}""")
        context = new_context()
        entered = calls(lambda: InjectVirtualThread().apply(context, module))
        assert sum(isinstance(op, tir.StoreOp) for op in module.walk()) == 2 * count
        return entered

    assert effort(200) < 4.5 * effort(50)
