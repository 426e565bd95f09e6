"""What the passes over loops take from a `PassContext`, and how they grow."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from xdsl_tvm.dialects import tir
from xdsl_tvm.passes import tir as tir_passes
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.registry import new_context

LOOP = """
tir.func @f(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    tir.store %i, %A[%i] : i32
  }
}
"""


def parsed(text: str) -> ModuleOp:
    return Parser(new_context(), text).parse_module()


def loops(module: ModuleOp) -> list[tir.ForOp]:
    return [op for op in module.walk() if isinstance(op, tir.ForOp)]


def test_options_of_unroll_loop_come_from_the_context() -> None:
    with PassContext(config={"tir.UnrollLoop": {"auto_max_step": 4}}):
        assert not loops(tir_passes.UnrollLoop()(parsed(LOOP)))
        assert loops(tir_passes.UnrollLoop(auto_max_step=3)(parsed(LOOP)))
    assert loops(tir_passes.UnrollLoop()(parsed(LOOP)))


def test_loops_that_run_once_unroll_in_linear_time() -> None:
    depth = 100
    text = LOOP.replace(
        "%c0 to %c4 {",
        "%c0 to %c4 unrolled {"
        + "\n".join(f"tir.for %k{n} = %c0 to %c1 unrolled {{" for n in range(depth)),
    ).replace("%i] : i32\n", "%i] : i32\n" + "}" * depth)
    text = text.replace("%c0 = tir", "%c1 = tir.const 1 : i32\n%c0 = tir")
    module = tir_passes.UnrollLoop()(parsed(text))
    assert not loops(module)
    assert sum(isinstance(op, tir.StoreOp) for op in module.walk()) == 4


BOUND = """
tir.func @f(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 vectorized {
    %p = tir.cmp lt %i, %n : i32
    tir.if %p {
      tir.store %i, %A[%i] : i32
    }
  }
}
"""


def test_the_predication_of_vectorize_loop_comes_from_the_context() -> None:
    key = "tir.enable_buffer_level_predication"
    with PassContext(config={key: True}):
        assert not loops(tir_passes.VectorizeLoop()(parsed(BOUND)))
        off = tir_passes.VectorizeLoop(enable_buffer_level_predication=False)
        assert loops(off(parsed(BOUND)))
    assert loops(tir_passes.VectorizeLoop()(parsed(BOUND)))


def test_expressions_that_scalar_loops_share_are_not_copied_without_end() -> None:
    count = 200
    chain = "\n".join(
        f'%x{n + 1} = tir.call "clz"(%x{n}) : (i32) -> i32' for n in range(count)
    )
    stores = "tir.store %x200, %A[%i] : i32\n" * count
    body = f"%x0 = tir.add %i, %i : i32\n{chain}\n{stores}"
    text = LOOP.replace("%c4 {", "%c4 vectorized {")
    module = parsed(text.replace("tir.store %i, %A[%i] : i32", body))
    before = sum(1 for _ in module.walk())
    after = tir_passes.VectorizeLoop()(module)
    assert sum(1 for _ in after.walk()) < 6 * before
