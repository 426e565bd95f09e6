"""Options of the passes that hoist conditions and split loops, from Python."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from xdsl_tvm.dialects import tir
from xdsl_tvm.passes import tir as tir_passes
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.passes.tir import HoistedConditionals, HoistedLetBindings
from xdsl_tvm.registry import new_context

GUARDED = """
tir.func @f(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.launch_thread %t = "threadIdx.x" to %c4 {
    tir.for %i = %c0 to %c4 {
      %p = tir.cmp lt %t, %n : i32
      %q = tir.let "q" %p : i1
      tir.if %q {
        tir.store %i, %A[%t] : i32
      }
    }
  }
}
"""


def parsed(text: str) -> ModuleOp:
    return Parser(new_context(), text).parse_module()


def is_hoisted(module: ModuleOp) -> bool:
    """Whether a condition is outside of a loop."""
    guards = [op for op in module.walk() if isinstance(op, tir.IfOp)]
    return any(isinstance(op, tir.ForOp) for guard in guards for op in guard.walk())


def test_flags_of_hoist_expression() -> None:
    block = HoistedConditionals.UsingBlockVar | HoistedConditionals.IfElseStmt
    assert block == 9
    assert is_hoisted(tir_passes.HoistExpression(block)(parsed(GUARDED)))
    for conditionals, lets in (
        (HoistedConditionals.IfElseStmt, HoistedLetBindings.All),
        (HoistedConditionals.All, HoistedLetBindings.Never),
        (HoistedConditionals.Never, HoistedLetBindings.All),
    ):
        hoist = tir_passes.HoistExpression(conditionals, lets)
        assert not is_hoisted(hoist(parsed(GUARDED)))
    assert str(tir_passes.HoistExpression(block)) == (
        "tir-hoist-expression{hoisted_conditionals=9}"
    )


def test_options_of_hoisting_come_from_the_context() -> None:
    with PassContext(config={"tir.HoistExpression": {"hoisted_conditionals": 9}}):
        assert is_hoisted(tir_passes.HoistExpression()(parsed(GUARDED)))
    assert not is_hoisted(tir_passes.HoistExpression()(parsed(GUARDED)))
    text = GUARDED.replace("%q = tir", "%r = tir").replace("if %q", "if %p")
    config = {"tir.HoistIfThenElse": {"support_block_scope_hosting": True}}
    with PassContext(config=config):
        assert is_hoisted(tir_passes.HoistIfThenElse()(parsed(text)))
        assert not is_hoisted(tir_passes.HoistIfThenElse("basic")(parsed(text)))
    assert not is_hoisted(tir_passes.HoistIfThenElse()(parsed(text)))


def test_guards_without_another_branch_do_not_multiply_loops() -> None:
    guards = "".join(
        f"%p{n} = tir.cmp lt %n, %k{n} : i32\ntir.if %p{n} {{\n" for n in range(40)
    )
    constants = "".join(f"%k{n} = tir.const {100 - n} : i32\n" for n in range(40))
    text = f"""
tir.func @f(%a: !tir.handle, %n: i32) {{
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  {constants}
  tir.for %i = %c0 to %c4 {{
    {guards}
    tir.store %i, %A[%i] : i32
    {"}" * 40}
  }}
}}
"""
    module = tir_passes.HoistIfThenElse()(parsed(text))
    assert sum(isinstance(op, tir.ForOp) for op in module.walk()) == 1
    assert is_hoisted(module)


def test_choices_do_not_double_loops_without_end() -> None:
    count = 8
    constants = "\n".join(f"%k{n} = tir.const {n} : i32" for n in range(count))
    sums = "%s0 = tir.add %i, %n : i32\n" + "\n".join(
        f"%p{n} = tir.cmp eq %m{n}, %c0 : i32\n"
        f"%q{n} = tir.if_then_else %p{n} -> i32 {{\n"
        f"tir.yield %k{n} : i32\n}} else {{\ntir.yield %n : i32\n}}\n"
        f"%s{n + 1} = tir.add %s{n}, %q{n} : i32"
        for n in range(count)
    )
    parameters = ", ".join(f"%m{n}: i32" for n in range(count))
    text = f"""
tir.func @f(%a: !tir.handle, %n: i32, {parameters}) {{
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  {constants}
  tir.for %i = %c0 to %c4 {{
    {sums}
    tir.store %s{count}, %A[%i] : i32
  }}
}}
"""
    module = tir_passes.HoistExpression()(parsed(text))
    assert sum(isinstance(op, tir.ForOp) for op in module.walk()) == 64


HINTED = """
tir.func @f(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<9xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c9 = tir.const 9 : i32
  tir.for %i = %c0 to %c9 annotations {pragma_loop_partition_hint = true} {
    %p = tir.cmp eq %i, %c4 : i32
    tir.if %p {
      tir.store %n, %A[%i] : i32
    }
  }
}
"""


def extents(module: ModuleOp) -> list[object]:
    return [
        tir.constant_value(op.extent) for op in module.walk() if isinstance(op, tir.ForOp)
    ]


def test_options_of_loop_partition_come_from_the_context() -> None:
    partition = tir_passes.LoopPartition()
    assert extents(partition(parsed(HINTED))) == [4, 4]
    config = {"tir.LoopPartition": {"no_unroll_loop_with_extent_one": True}}
    with PassContext(config=config):
        assert extents(partition(parsed(HINTED))) == [4, 1, 4]
    likely = HINTED.replace(" annotations {pragma_loop_partition_hint = true}", "")
    likely = likely.replace(
        "tir.if %p", '%q = tir.call "likely"(%p) : (i1) -> i1\ntir.if %q'
    )
    assert extents(partition(parsed(likely))) == [9]
    with PassContext(config={"tir.LoopPartition": {"partition_const_loop": True}}):
        assert extents(partition(parsed(likely))) == [4, 4]


def test_marks_go_everywhere() -> None:
    unused = HINTED.replace("= true}", "= false, key = 1 : i32}")
    unused = unused.replace(
        "tir.if %p",
        '%q = tir.call "ignore_loop_partition"(%p) : (i1) -> i1\n'
        '%r = tir.call "likely"(%q) : (i1) -> i1\n'
        "tir.if %r",
    )
    text = str(tir_passes.LoopPartition()(parsed(unused)))
    assert "annotations {key = 1 : i32}" in text
    assert "tir.call" not in text


def test_a_condition_of_two_guards_is_known_in_the_main_part() -> None:
    guard = "    tir.if %p {\n      tir.store %n, %A[%i] : i32\n    }\n"
    text = HINTED.replace(guard, guard + guard)
    module = tir_passes.LoopPartition()(parsed(text))
    conditions = [op.condition for op in module.walk() if isinstance(op, tir.IfOp)]
    assert len(conditions) == 6
    known = [tir.constant_value(value) for value in conditions]
    assert known == [None, None, 1, 1, None, None]


def test_parts_grow_with_the_number_of_points() -> None:
    count = 12
    points = "\n".join(
        f"%p{n} = tir.cmp eq %i, %k{n} : i32\n"
        f"tir.if %p{n} {{\ntir.store %n, %A[%i] : i32\n}}"
        for n in range(count)
    )
    constants = "\n".join(f"%k{n} = tir.const {2 * n + 1} : i32" for n in range(count))
    text = f"""
tir.func @f(%a: !tir.handle, %n: i32) {{
  %A = tir.match_buffer %a : !tir.buffer<99xi32>
  %c0 = tir.const 0 : i32
  %c99 = tir.const 99 : i32
  {constants}
  tir.for %i = %c0 to %c99 annotations {{pragma_loop_partition_hint = true}} {{
    {points}
  }}
}}
"""
    module = tir_passes.LoopPartition(no_unroll_loop_with_extent_one=True)(parsed(text))
    assert sum(each == 1 for each in extents(module)) == 2 * count
    assert len(extents(module)) == 2 * count + 1
