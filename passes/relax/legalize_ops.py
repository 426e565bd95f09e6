"""Relax operators to calls of TIR functions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.operators import OperatorOp
from xdsl_tvm.dialects.relax.symbolic import Dim as SymbolicDim
from xdsl_tvm.dialects.relax.types import TensorInfo, TupleType
from xdsl_tvm.passes._module_symbols import SymbolNames
from xdsl_tvm.passes.infra import CompilerPass, PassContext
from xdsl_tvm.passes.relax.legalize.registry import (
    Argument,
    NoStagesError,
    Result,
    Shape,
    Site,
)
from xdsl_tvm.passes.relax.legalize.rules import RULES
from xdsl_tvm.passes.relax.legalize.signature import (
    Known,
    KnownScalar,
    KnownShape,
    Signature,
    signature_of,
)
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    Dim,
    Expr,
    Tensor,
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
        functions = OperatorFunctions(op)
        for operator in [each for each in op.walk() if isinstance(each, OperatorOp)]:
            if not _legalize(operator, functions) and self.enable_warning:
                warnings.warn(
                    f"{operator.name} is not legalized: it has no rule, or its shapes "
                    "are not known",
                    stacklevel=2,
                )


@dataclass
class OperatorFunctions:
    """The TIR functions made so far, and the names that are taken."""

    module: ModuleOp
    made: dict[Hashable, str] = field(default_factory=lambda: {})
    by_name: dict[str, tir.FuncOp] = field(default_factory=lambda: {})
    names: SymbolNames = field(init=False)

    def __post_init__(self) -> None:
        self.names = SymbolNames(self.module)

    def add(self, function: tir.FuncOp) -> None:
        """Add a function, whose name is taken, to the module."""
        self.module.body.block.add_op(function)
        self.by_name[function.sym_name.data] = function


def _legalize(op: OperatorOp, functions: OperatorFunctions) -> bool:
    """Replace `op` by a call; False where it must stay."""
    call = legalized_call(op, functions)
    if call is not None:
        Rewriter.replace_op(op, call)
    return call is not None


def legalized_call(
    op: OperatorOp, functions: OperatorFunctions
) -> relax.CallTIROp | None:
    """The call that computes what `op` does, not inserted; None where it must stay.

    Its function is one of `functions`, which get it if it is new. This is also how other
    passes legalize single operators.
    """
    if type(op) not in RULES or (signature := signature_of(op)) is None:
        return None
    key = (type(op), tuple(sorted(op.properties.items())), signature.renamed())
    name = functions.made.get(key)
    if name is None:
        name = functions.names.unique(op.name.rpartition(".")[2])
        try:
            function = _function(name, op, signature)
        except NoStagesError:
            return None
        functions.add(function)
        functions.made[key] = name
    call = relax.CallTIROp(
        name,
        [tensor for operand in op.operands for tensor in _tensors(op, operand)],
        op.result.type,
        signature.unbound or None,
    )
    call.location = op.location
    return call


def _tensors(op: OperatorOp, operand: SSAValue) -> list[SSAValue]:
    """The tensors in an operand; those of a tuple are taken from where it is made."""
    if TensorInfo.of(operand.type) is not None:
        return [operand]
    if not isinstance(operand.type, TupleType):
        return []
    tensors: list[SSAValue] = []
    for index, type_ in enumerate(operand.type.fields.data):
        if TensorInfo.of(type_) is None and not isinstance(type_, TupleType):
            continue
        tensors += _tensors(op, _field(op, operand, index))
    return tensors


def _field(op: OperatorOp, operand: SSAValue, index: int) -> SSAValue:
    if isinstance(operand.owner, relax.TupleOp):
        return operand.owner.elements[index]
    item = relax.GetItemOp(operand, index)
    Rewriter.insert_op(item, InsertPoint.before(op))
    return item.result


def _function(name: str, op: OperatorOp, signature: Signature) -> tir.FuncOp:
    """The TIR function of an operator: operands, then the results, then symbols."""
    program = TensorProgram(name)
    for symbol in signature.unbound:
        program.parameter(symbol)
    arguments = _Arguments(program)
    site = Site(
        program,
        tuple(map(arguments.of, signature.operands)),
        tuple(
            Result(_dims(program, info.shape), _dtype(info)) for info in signature.results
        ),
    )
    result = RULES[type(op)](op, site)
    return program.build([result] if isinstance(result, Tensor) else result)


@dataclass
class _Arguments:
    """Makes what stands for operands in a program; tensors are named by letters."""

    program: TensorProgram
    tensors: int = 0

    def of(self, known: Known) -> Argument:
        match known:
            case KnownScalar():
                return self.program.scalar(_dim(self.program, known.value), known.dtype)
            case KnownShape():
                return Shape(_dims(self.program, known.dims))
            case tuple():
                return tuple(self.of(each) for each in known)
            case _:
                name = _letter(self.tensors)
                self.tensors += 1
                shape = _dims(self.program, known.shape)
                return self.program.input(name, shape, _dtype(known))


def _letter(number: int) -> str:
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number] if number < 26 else f"A{number}"


def _dtype(info: TensorInfo) -> Attribute:
    assert info.dtype is not None, "known"
    return info.dtype


def _dims(program: TensorProgram, dims: Iterable[SymbolicDim] | None) -> tuple[Dim, ...]:
    assert dims is not None, "known"
    return tuple(_dim(program, dim) for dim in dims)


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
