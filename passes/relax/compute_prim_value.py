"""Scalars that are computed of symbols become results of functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import FloatAttr, ModuleOp, UnitAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.dialects.relax.attributes import DimAttr
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import SymbolNames
from xdsl_tvm.passes.relax.rewriting.call_sites import module_of


@dataclass(frozen=True)
class ComputePrimValue(CompilerPass):
    """Summary: Computes scalars that are expressions of symbols in functions.

    TVM name: relax.ComputePrimValue (v0.20)
    Input form: any
    Output form: every `relax.prim_value` is a symbol or an integer
    Options: none
    Rewrites: before

            %m = relax.prim_value n * 2 : i64

        after

            %n = relax.prim_value n : i64
            %m = relax.call @compute_symbolic_expr(%n)
              : (!relax.prim<i64, n>) -> !relax.prim<i64, n * 2>

            tir.func @compute_symbolic_expr(%n: i64) -> i64
                attributes {tir.is_host_func} { ... }

        Expressions that are the same up to the names of symbols share a private function.
        Floats are results of functions without parameters. Time is linear in the size of
        the module.
    Leaves alone: symbols and integers; expressions in types and in other attributes;
        nested modules
    Errors: none
    Attributes: read: none; created: `tir.is_host_func` on the new functions; removed:
        none
    Differs from TVM: none
    """

    name = "relax-compute-prim-value"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = _Functions(op)
        for value in [each for each in op.walk() if isinstance(each, relax.PrimValueOp)]:
            if _is_computed(value) and module_of(value) is op:
                _replace(value, functions)


def _is_computed(op: relax.PrimValueOp) -> bool:
    if not isinstance(op.value, DimAttr):
        return True
    return op.value.data.value is None and op.value.data.symbol_name is None


def _replace(op: relax.PrimValueOp, functions: _Functions) -> None:
    dim = op.value.data if isinstance(op.value, DimAttr) else None
    names = [] if dim is None else list(dict.fromkeys(dim.symbols()))
    symbols = [relax.PrimValueOp(name) for name in names]
    arguments = [symbol.result for symbol in symbols]
    callee = functions.of(op, names)
    call = relax.CallOp(callee, arguments, op.result.type)
    call.attributes.update(op.attributes)
    new: list[Operation] = [*symbols, call]
    for each in new:
        each.location = op.location
    assert call.result is not None
    Rewriter.replace_op(op, new, [call.result])


@dataclass
class _Functions:
    """The functions made so far, by what they compute."""

    module: ModuleOp
    made: dict[tuple[Attribute, Attribute], str] = field(
        default_factory=dict[tuple[Attribute, Attribute], str]
    )
    names: SymbolNames = field(init=False)

    def __post_init__(self) -> None:
        self.names = SymbolNames(self.module)

    def of(self, op: relax.PrimValueOp, symbols: list[str]) -> str:
        """The function of a scalar, whose parameters are its symbols in order."""
        value: DimAttr | FloatAttr = op.value
        renamed = {name: Dim.symbol(f"s{i}") for i, name in enumerate(symbols)}
        if isinstance(value, DimAttr):
            value = DimAttr(value.data.substitute(renamed))
        type_ = op.result.type
        assert isinstance(type_, relax.PrimType)
        key = (value, type_.dtype)
        if (name := self.made.get(key)) is None:
            name = self.made[key] = self.names.unique("compute_symbolic_expr")
            parameters = [dim.symbol_name or "" for dim in renamed.values()]
            func = _function(name, value, type_.dtype, parameters)
            self.module.body.block.add_op(func)
        return name


def _function(
    name: str, value: DimAttr | FloatAttr, dtype: Attribute, parameters: list[str]
) -> tir.FuncOp:
    types = [i64] * len(parameters)
    block = Block(arg_types=types)
    for argument, parameter in zip(block.args, parameters, strict=True):
        set_name_hint(argument, parameter)
    if isinstance(value, DimAttr):
        given = dict(zip(parameters, block.args, strict=True))
        result = emitted(value.data, given, block)
        if dtype != i64:
            block.add_op(cast := tir.CastOp(result, dtype))
            result = cast.result
    else:
        block.add_op(constant := tir.ConstOp(value))
        result = constant.result
    block.add_op(tir.RetOp(result))
    func = tir.FuncOp(name, (types, [dtype]), Region(block))
    func.attributes["tir.is_host_func"] = UnitAttr()
    return func


def emitted(dim: Dim, symbols: Mapping[str, SSAValue], block: Block) -> SSAValue:
    """The value of a dimension, of i64."""

    def constant(value: int) -> SSAValue:
        block.add_op(op := tir.ConstOp.of(value, i64))
        return op.result

    def apply(operator: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        block.add_op(op := _OPERATORS[operator](lhs, rhs))
        return op.results[0]

    return dim.fold(constant, symbols.__getitem__, apply)


_OPERATORS = {
    "+": tir.AddOp,
    "*": tir.MulOp,
    "floordiv": tir.FloorDivOp,
    "floormod": tir.FloorModOp,
    "min": tir.MinOp,
    "max": tir.MaxOp,
}
