"""Relax operators to calls of TIR functions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.operators import OperatorOp
from xdsl_tvm.dialects.relax.symbolic import Dim as SymbolicDim
from xdsl_tvm.dialects.relax.types import PrimType, ShapeType, TensorInfo
from xdsl_tvm.passes._module_symbols import SymbolNames
from xdsl_tvm.passes.infra import CompilerPass, PassContext
from xdsl_tvm.passes.relax.legalize.rules import RULES
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    Dim,
    Expr,
    Operand,
    TensorProgram,
)

CONFIG = "relax.transform.apply_legalize_ops"


@dataclass(frozen=True)
class LegalizeOps(CompilerPass):
    """Summary: Replace operators on tensors by calls of TIR functions that compute them.

    TVM name: relax.LegalizeOps (v0.20)
    Input form: Relax functions with operators, inside dataflow regions or not.
    Output form: The same functions with `relax.call_tir` in the place of operators, and
        private TIR functions in iteration-block form, one for all operators that are the
        same up to the names of symbolic dimensions.
    Options: `enable_warning`: warn of each operator that is left as it is (false)
    Rewrites:
        %r = relax.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        →
        %r = relax.call_tir @add(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        tir.func @add(...) attributes {tir.noalias = true} { ... }
    Leaves alone: Operators without a rule, operators whose operands or result have
        dimensions or dtypes that are not known, foreign ops, and everything if the
        `PassContext` sets `relax.transform.apply_legalize_ops` to false.
    Errors: none.
    Attributes: read: none; created: `tir.noalias` on the functions made; removed: none
    Differs from TVM: Layer norm computes its variance from deviations, which keeps its
        digits where the mean is large; the reference subtracts two means. An operand
        whose dimension is not provably that of the result is left alone, where the
        reference broadcasts by the declared shape and may read out of bounds. Rules of
        the user's own and copies per virtual device are not part of this version.
    """

    name = "relax-legalize-ops"

    enable_warning: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if PassContext.current().get_config(CONFIG, bool) is False:
            return
        functions = _Functions(op)
        for operator in [each for each in op.walk() if isinstance(each, OperatorOp)]:
            if not _legalize(operator, functions) and self.enable_warning:
                warnings.warn(
                    f"{operator.name} is not legalized: it has no rule, or its shapes "
                    "are not known",
                    stacklevel=2,
                )


@dataclass
class _Functions:
    """The TIR functions made so far, and the names that are taken."""

    module: ModuleOp
    made: dict[Hashable, str] = field(default_factory=lambda: {})
    names: SymbolNames = field(init=False)

    def __post_init__(self) -> None:
        self.names = SymbolNames(self.module)


@dataclass(frozen=True)
class _Scalar:
    """An operand that is a known number: a constant or a symbolic dimension."""

    value: SymbolicDim
    dtype: Attribute


@dataclass(frozen=True)
class _Signature:
    """What decides the TIR function of an operator: operands and result, all known."""

    operands: tuple[TensorInfo | _Scalar, ...]
    result: TensorInfo

    @property
    def _tensors(self) -> tuple[TensorInfo, ...]:
        return (
            *(info for info in self.operands if isinstance(info, TensorInfo)),
            self.result,
        )

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbolic dimensions, in order of appearance."""
        dims = [dim for info in self._tensors for dim in info.shape or ()]
        dims += [each.value for each in self.operands if isinstance(each, _Scalar)]
        return tuple(dict.fromkeys(name for dim in dims for name in dim.symbols()))

    @property
    def unbound(self) -> tuple[str, ...]:
        """The symbols that are no bare dimension of an operand or of the result."""
        bare = {dim.symbol_name for info in self._tensors for dim in info.shape or ()}
        return tuple(name for name in self.symbols if name not in bare)

    def renamed(self) -> _Signature:
        """The signature with symbols numbered by their first appearance."""
        names = {
            name: SymbolicDim.symbol(f"s{number}")
            for number, name in enumerate(self.symbols)
        }

        def rename(info: TensorInfo) -> TensorInfo:
            return info.with_dims(dim.substitute(names) for dim in info.shape or ())

        return _Signature(
            tuple(
                rename(each)
                if isinstance(each, TensorInfo)
                else _Scalar(each.value.substitute(names), each.dtype)
                for each in self.operands
            ),
            rename(self.result),
        )


def _known(info: TensorInfo | None) -> TensorInfo | None:
    """`info` where dtype and all dimensions are known, else None."""
    if info is None or info.shape is None or info.dtype is None:
        return None
    return info


def _signature(op: OperatorOp) -> _Signature | None:
    """The operator's signature, None where something of it is not known."""
    result = _known(TensorInfo.of(op.result.type))
    inferred = _known(TensorInfo.of(op.infer_result_type()))
    if result is None or inferred is None or inferred.dims != result.dims:
        # Stages are made for the dimensions that inference has proven: a declared
        # dimension that is only believed could read out of bounds.
        return None
    operands: list[TensorInfo | _Scalar] = []
    for operand in op.operands:
        if isinstance(operand.type, ShapeType):
            continue
        if isinstance(operand.type, PrimType) and operand.type.dim is not None:
            operands.append(_Scalar(operand.type.dim, operand.type.dtype))
        elif (info := _known(TensorInfo.of(operand.type))) is not None:
            operands.append(info)
        else:
            return None
    return _Signature(tuple(operands), result)


def _legalize(op: OperatorOp, functions: _Functions) -> bool:
    """Replace `op` by a call; False where it must stay."""
    if type(op) not in RULES or (signature := _signature(op)) is None:
        return False
    key = (type(op), tuple(sorted(op.properties.items())), signature.renamed())
    name = functions.made.get(key)
    if name is None:
        name = functions.names.unique(op.name.rpartition(".")[2])
        functions.module.body.block.add_op(_function(name, op, signature))
        functions.made[key] = name
    tensors = [
        operand for operand in op.operands if TensorInfo.of(operand.type) is not None
    ]
    call = relax.CallTIROp(name, tensors, op.result.type, signature.unbound or None)
    call.location = op.location
    Rewriter.replace_op(op, call)
    return True


def _function(name: str, op: OperatorOp, signature: _Signature) -> tir.FuncOp:
    """The TIR function of an operator: operands, then the result, then symbols."""
    program = TensorProgram(name)
    for symbol in signature.unbound:
        program.parameter(symbol)
    operands: list[Operand] = []
    for number, each in enumerate(signature.operands):
        if isinstance(each, _Scalar):
            operands.append(program.scalar(_dim(program, each.value), each.dtype))
            continue
        assert each.dtype is not None
        operands.append(program.input(_letter(number), _shape(program, each), each.dtype))
    result = RULES[type(op)](op, program, operands, _shape(program, signature.result))
    return program.build([result])


def _letter(number: int) -> str:
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number] if number < 26 else f"A{number}"


def _shape(program: TensorProgram, info: TensorInfo) -> tuple[Dim, ...]:
    return tuple(_dim(program, dim) for dim in info.shape or ())


def _dim(program: TensorProgram, dim: SymbolicDim) -> Dim:
    """A symbolic dimension as a number or as a value of the function."""
    if dim.value is not None:
        return dim.value
    return program.at_entry(
        lambda: dim.fold(lambda value: program.extent(value), program.symbol, _combine)
    )


def _combine(operator: str, lhs: Expr, rhs: Expr) -> Expr:
    combine: Mapping[str, Callable[[Expr, Expr], Expr]] = {
        "+": lambda a, b: a + b,
        "*": lambda a, b: a * b,
        "floordiv": lambda a, b: a // b,
        "floormod": lambda a, b: a % b,
        "min": lambda a, b: a.minimum(b),
        "max": lambda a, b: a.maximum(b),
    }
    return combine[operator](lhs, rhs)
