"""IRModule: functions by name, through passes."""

from __future__ import annotations

from typing import cast

import pytest
from support.ir import parse
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Operation

from xdsl_tvm import IRModule
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.passes.infra import PassContext, module_pass
from xdsl_tvm.passes.relax import DeadCodeElimination

MODULE = """
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "f"} {
  relax.return %x : tensor<4xf32>
}
"""


def test_functions_by_name() -> None:
    source = parse(MODULE)
    (func,) = source.ops
    mod = IRModule({"main": func, "other": func, "tir": tir.FuncOp("g", ([i32], []))})
    mod.verify()
    assert [str(op.properties["sym_name"]) for op in mod.ops] == [
        '"main"',
        '"other"',
        '"tir"',
    ]
    assert isinstance(mod["main"], relax.FuncOp)
    assert mod["main"].parent_op() is mod
    assert str(source) == str(parse(MODULE))
    with pytest.raises(KeyError, match="missing"):
        mod["missing"]


def test_it_stays_one_through_passes() -> None:
    (func,) = parse(MODULE).ops
    mod = IRModule({"main": func})
    result = DeadCodeElimination()(mod)
    assert isinstance(result, IRModule)
    assert str(result["main"]) == str(mod["main"])


def test_it_stays_one_where_a_pass_gives_another_module() -> None:
    other = parse(MODULE.replace("@f", "@new"))

    @module_pass(opt_level=0, name="replace")
    def replace(_module: ModuleOp, _context: PassContext) -> ModuleOp:
        return other

    result = replace(IRModule({}))
    assert isinstance(result["new"], relax.FuncOp)
    assert len(other.ops) == 1
    assert replace(parse(MODULE)) is other


def test_what_is_no_function() -> None:
    with pytest.raises(TypeError, match="IRModule: 'main' must be a function, not str"):
        IRModule({"main": cast(Operation, "text")})
    with pytest.raises(TypeError, match="not ConstantOp"):
        IRModule({"main": arith.ConstantOp.from_int_and_width(1, i32)})
