"""Order of the bindings that repeated expressions get, and expressions of great depth."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp, i32, i64
from xdsl.ir import SSAValue
from xdsl.parser import Parser

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes import tir as tir_passes
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.registry import new_context

DEPTH = 1500
FUNCTION = """
tir.func @f(%x: {dtype}, %y: {dtype}) {{
{body}
}}
"""


def parsed(text: str) -> ModuleOp:
    return Parser(new_context(), text).parse_module()


def sums(names: list[str], terms: int) -> ModuleOp:
    """A function that evaluates `x + 1 + ... + x + terms` once per name."""
    lines = ["%s0 = tir.const 0 : i32"]
    for term in range(1, terms + 1):
        lines.append(f"%c{term} = tir.const {term} : i32")
    for name in names:
        total = "%s0"
        for term in range(1, terms + 1):
            lines.append(f"%{name}_{term} = tir.add %x, %c{term} : i32")
            lines.append(f"%{name}_sum{term} = tir.add {total}, %{name}_{term} : i32")
            total = f"%{name}_sum{term}"
        lines.append(f"%{name} = tir.mul {total}, %y : i32")
        lines.append(f"tir.evaluate %{name}_1 : i32")
        lines.append(f"tir.evaluate %{name}_{terms} : i32")
        lines.append(f"tir.evaluate %{name} : i32")
    return parsed(FUNCTION.format(dtype="i32", body="\n".join(lines)))


def bindings(module: ModuleOp) -> list[tuple[str, str]]:
    """Name and value of each binding, an op and its constants, in their order."""
    found: list[tuple[str, str]] = []
    for op in module.walk():
        if isinstance(op, tir.LetOp) and op.var_name is not None:
            owner = op.value.owner
            assert isinstance(owner, tir.BinaryOp | tir.CmpOp)
            numbers = (tir.constant_value(v) for v in (owner.lhs, owner.rhs))
            text = ", ".join(str(number) for number in numbers)
            found.append((op.var_name.data, f"{owner.name} {text}"))
    return found


# CASE: CommonSubexprElimTIR.6
def test_numbers_do_not_depend_on_what_ran_before() -> None:
    first = bindings(tir_passes.CommonSubexprElimTIR()(sums(["a", "b"], 4)))
    # Trees that are alive, and names of values, change nothing.
    tir_passes.CommonSubexprElimTIR()(sums(["u", "v", "w"], 9))
    assert bindings(tir_passes.CommonSubexprElimTIR()(sums(["n", "m"], 4))) == first
    assert first == [
        ("cse_var_3", "tir.add None, 4"),
        ("cse_var_2", "tir.add None, 1"),
        ("cse_var_1", "tir.mul None, None"),
    ]


def test_larger_expressions_have_their_number_first() -> None:
    """The parts of one that is shared are found by the next round."""
    body = """
      %c1 = tir.const 1 : i32
      %c2 = tir.const 2 : i32
      %c3 = tir.const 3 : i32
      %part = tir.add %x, %c1 : i32
      %left = tir.mul %part, %c2 : i32
      %right = tir.mul %part, %c3 : i32
      %large = tir.sub %left, %right : i32
      %small = tir.mul %y, %c2 : i32
      tir.evaluate %large : i32
      tir.evaluate %large : i32
      tir.evaluate %small : i32
      tir.evaluate %small : i32
    """
    module = parsed(FUNCTION.format(dtype="i32", body=body))
    assert bindings(tir_passes.CommonSubexprElimTIR()(module)) == [
        ("cse_var_3", "tir.add None, 1"),
        ("cse_var_2", "tir.mul None, 2"),
        ("cse_var_1", "tir.sub None, None"),
    ]


@pytest.mark.parametrize("identify", [False, True])
def test_guarded_divisions_stay_guarded(identify: bool) -> None:
    """Both choices divide by the same number, which may be 0 where they do not."""
    choice = """
      %u{n} = tir.if_then_else %p -> i32 {{
        %q{n} = tir.floordiv %y, %x : i32
        %r{n} = tir.mul %q{n}, %y : i32
        tir.yield %r{n} : i32
      }} else {{
        tir.yield %c{n} : i32
      }}
      tir.if %p {{
        %m{n} = tir.floormod %y, %x : i32
        tir.evaluate %m{n} : i32
      }}
    """
    module = parsed(
        f"""
        tir.func @f(%x: i32, %y: i32) -> i32 {{
          %c0 = tir.const 0 : i32
          %c1 = tir.const 1 : i32
          %p = tir.cmp ne %x, %c0 : i32
          {choice.format(n=0)}
          {choice.format(n=1)}
          %s = tir.add %u0, %u1 : i32
          tir.ret %s : i32
        }}"""
    )
    one = tir_passes.CommonSubexprElimTIR(identify_equiv_terms=identify)
    after = one(module)
    assert [name for name, _ in bindings(after)] == ["cse_var_1"]
    for x in (0, 3):
        assert interpret(after)["f"](x, 7) == interpret(module)["f"](x, 7)


def deep(dtype: str) -> ModuleOp:
    """An index with more text than memory could hold."""
    module = parsed(FUNCTION.format(dtype=dtype, body=""))
    (func,) = module.ops
    assert isinstance(func, tir.FuncOp)
    value: SSAValue = func.args[0]
    for _ in range(DEPTH):
        op = tir.MaxOp(value, value)
        func.body.block.add_op(op)
        value = op.result
    func.body.block.add_op(tir.EvaluateOp(value))
    return module


@pytest.mark.parametrize(
    ("one", "dtype"),
    [
        (tir_passes.CommonSubexprElimTIR(), "i32"),
        (tir_passes.NarrowDataType(target_bits=32), "i64"),
        (tir_passes.ForceNarrowIndexToInt32(), "i64"),
    ],
)
def test_deep_expressions(one: CompilerPass, dtype: str) -> None:
    module = one(deep(dtype))
    module.verify()
    count = sum(isinstance(op, tir.LetOp) for op in module.walk())
    assert count == (DEPTH - 1 if dtype == "i32" else 0)


def test_variables_of_one_axis_have_one_type() -> None:
    """Where one opening of the axis must stay wide, all do."""
    body = """
      %c8 = tir.const 8 : i64
      %big = tir.const 4611686018427387904 : i64
      tir.launch_thread %t = "threadIdx.x" to %c8 env "t" {
        tir.evaluate %t : i64
      }
      tir.launch_thread %u = "threadIdx.x" to %c8 env "t" {
        %v = tir.mul %u, %big : i64
        tir.evaluate %v : i64
      }
      tir.launch_thread %w = "threadIdx.x" to %c8 env "w" {
        tir.evaluate %w : i64
      }
    """
    module = parsed(FUNCTION.format(dtype="i64", body=body))
    narrow = tir_passes.NarrowDataType(target_bits=32)(module)
    types = [
        op.thread_var.type for op in narrow.walk() if isinstance(op, tir.LaunchThreadOp)
    ]
    assert types == [i64, i64, i32]
