"""Calls of TIR functions in the place of operators, and the functions themselves."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.algebra import is_base_of
from xdsl_tvm.dialects.relax.operators import OperatorOp
from xdsl_tvm.dialects.relax.symbolic import Dim as SymbolicDim
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.passes.infra.module_symbols import SymbolNames
from xdsl_tvm.passes.relax.legalize.registry import (
    Argument,
    NoStagesError,
    RegisteredRule,
    Result,
    RuleContext,
    Shape,
)
from xdsl_tvm.passes.relax.legalize.rules import RULES
from xdsl_tvm.passes.relax.legalize.signature import (
    Known,
    KnownScalar,
    KnownShape,
    Literal,
    Signature,
    proven_result_type,
    signature_of,
)
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    Dim,
    Expr,
    Tensor,
    TensorProgram,
)
from xdsl_tvm.passes.relax.rewriting.symbols import hide_symbols

Stages: TypeAlias = Callable[[RuleContext], "Tensor | Sequence[Tensor]"]
"""Computes results from what stands for the operands."""


@dataclass(frozen=True)
class _Made:
    """A function, and which symbols of a call's signature are its last parameters."""

    name: str
    parameters: tuple[int, ...]


@dataclass
class OperatorFunctions:
    """The TIR functions made so far, and the names that are taken."""

    module: ModuleOp
    program: type[TensorProgram] = TensorProgram
    """What functions are written with."""
    by_name: dict[str, tir.FuncOp] = field(default_factory=dict[str, tir.FuncOp])
    names: SymbolNames = field(init=False)
    _made: dict[Hashable, _Made] = field(default_factory=dict[Hashable, _Made])
    _alike: dict[Hashable, list[tir.FuncOp]] = field(
        default_factory=dict[Hashable, list[tir.FuncOp]]
    )

    def __post_init__(self) -> None:
        self.names = SymbolNames(self.module)

    def add(self, function: tir.FuncOp) -> None:
        """Add a function, whose name is taken, to the module."""
        self.module.body.block.add_op(function)
        self.by_name[function.sym_name.data] = function

    def made(
        self, name: str, key: Hashable, signature: Signature, stages: Stages
    ) -> tuple[str, list[SymbolicDim]]:
        """Name and last arguments of the function that computes `stages`.

        Functions with equal `key`, if it is not None, differ by their signatures only.
        Raises NoStagesError if there are no such stages.
        """
        where = None if key is None else (name, key, signature.renamed())
        made = None if where is None else self._made.get(where)
        if made is None:
            made = self._make(name, signature, stages)
            if where is not None:
                self._made[where] = made
        symbols = signature.symbols
        return made.name, [SymbolicDim.symbol(symbols[i]) for i in made.parameters]

    def _make(self, base: str, signature: Signature, stages: Stages) -> _Made:
        target = _target(signature)
        name = base if target is None else f"{base}_{target.kind.name}"
        program = self.program(name, signature.unbound)
        function = _function(program, signature, stages)
        if target is not None:
            function.attributes["target"] = target
        symbols = signature.symbols
        parameters = tuple(symbols.index(each) for each in program.parameters)
        return _Made(self._share(function).sym_name.data, parameters)

    def _share(self, function: tir.FuncOp) -> tir.FuncOp:
        """A function that is equal up to its name and in the module."""
        alike = self._alike.setdefault(_fingerprint(function), [])
        name = function.sym_name
        for other in alike:
            function.sym_name = other.sym_name
            if function.is_structurally_equivalent(other):
                return other
        function.sym_name = StringAttr(self.names.unique(name.data))
        alike.append(function)
        self.add(function)
        return function


def _fingerprint(function: tir.FuncOp) -> Hashable:
    """Equal for functions that are equal up to their name."""
    return tuple(
        (op.name, *(result.type for result in op.results), *op.properties.values())
        for op in all_ops(function.body)
    )


def _target(signature: Signature) -> Target | None:
    """The target of the device that the results are on, where they are on one."""
    vdevice = signature.results[0].vdevice
    if vdevice is None or not isinstance(vdevice.target, Target):
        return None
    return vdevice.target


def legalized_call(
    op: OperatorOp, functions: OperatorFunctions
) -> relax.CallTIROp | None:
    """The call that computes what `op` does, not inserted; None where it must stay.

    Its function is one of `functions`, which get it if it is new. Fields of tuples that
    the call needs are taken before `op`. This is also how other passes legalize
    single operators.
    """
    if (rule := RULES.get(type(op))) is None:
        return None
    if (result_type := proven_result_type(op)) is None:
        return None
    key = (type(op), tuple(sorted(op.properties.items())))
    return call_of(
        op, functions, rule, op.operands, result_type, key, lambda s: rule.stages(op, s)
    )


def call_of(
    at: Operation,
    functions: OperatorFunctions,
    rule: RegisteredRule,
    operands: Sequence[SSAValue],
    result_type: Attribute,
    key: Hashable,
    stages: Stages,
) -> relax.CallTIROp | None:
    """The call of a function of given stages, for the place before `at`.

    None where a shape is not known, or not to be named there, or where the stages do not
    cover the operands.
    """
    if hide_symbols(operands, at):
        return None
    signature = signature_of(operands, result_type, rule.shape_only, rule.immediates)
    if signature is None:
        return None
    try:
        name, symbols = functions.made(rule.function, key, signature, stages)
    except NoStagesError:
        return None
    arguments = [
        argument
        for operand, known in zip(operands, signature.operands, strict=True)
        for argument in _arguments(at, operand, known)
    ]
    call = relax.CallTIROp(name, arguments, result_type, symbols or None)
    call.location = at.location
    return call


def _arguments(at: Operation, operand: SSAValue, known: Known) -> list[SSAValue]:
    """What the function gets of an operand: tensors, and numbers of run time."""
    match known:
        case TensorInfo() | KnownScalar(value=None):
            return [operand]
        case tuple():
            return [
                argument
                for index, field_ in enumerate(known)
                if _is_passed(field_)
                for argument in _arguments(at, _field(at, operand, index), field_)
            ]
        case _:
            return []


def _is_passed(known: Known) -> bool:
    if isinstance(known, tuple):
        return any(map(_is_passed, known))
    return isinstance(known, TensorInfo) or (
        isinstance(known, KnownScalar) and known.value is None
    )


def _field(at: Operation, operand: SSAValue, index: int) -> SSAValue:
    """A field of a tuple, from where the tuple is made."""
    if isinstance(operand.owner, relax.TupleOp):
        return operand.owner.elements[index]
    item = relax.GetItemOp(operand, index)
    Rewriter.insert_op(item, InsertPoint.before(at))
    return item.result


def _function(program: TensorProgram, signature: Signature, stages: Stages) -> tir.FuncOp:
    """The function: operands, then the results, then symbols."""
    values = _Values(program)
    arguments = tuple(map(values.of, signature.operands))
    results = tuple(
        Result(values.dims(info.shape), _dtype(info)) for info in signature.results
    )
    result = stages(RuleContext(program, arguments, results, values.dim))
    return program.build([result] if isinstance(result, Tensor) else result)


@dataclass
class _Values:
    """Makes what stands for operands and dimensions; parameters are named by letters."""

    program: TensorProgram
    _parameters: int = 0
    _dims: dict[SymbolicDim, Dim] = field(default_factory=dict[SymbolicDim, Dim])

    def of(self, known: Known) -> Argument:
        """What stands for an operand."""
        match known:
            case KnownScalar(value=None):
                return self.program.scalar_input(self._name(), known.dtype)
            case KnownScalar():
                assert known.value is not None
                return self.program.scalar(self.dim(known.value), known.dtype)
            case Literal():
                return self.program.scalar(known.value, known.dtype)
            case KnownShape():
                return Shape(self.dims(known.dims))
            case tuple():
                return tuple(self.of(each) for each in known)
            case TensorInfo():
                shape = self.dims(known.shape)
                return self.program.input(self._name(), shape, _dtype(known))

    def _name(self) -> str:
        number = self._parameters
        self._parameters += 1
        return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number] if number < 26 else f"A{number}"

    def dims(self, dims: Iterable[SymbolicDim] | None) -> tuple[Dim, ...]:
        """Symbolic dimensions as extents."""
        assert dims is not None, "known"
        return tuple(map(self.dim, dims))

    def dim(self, dim: SymbolicDim) -> Dim:
        """A symbolic dimension as a number or a value; equal ones as the same value."""
        if dim.value is not None:
            return dim.value
        if dim not in self._dims:
            program = self.program
            self._dims[dim] = program.at_entry(
                lambda: dim.fold(program.extent, program.symbol, _combine)
            )
        return self._dims[dim]


def _dtype(info: TensorInfo) -> Attribute:
    assert info.dtype is not None, "known"
    return info.dtype


_COMBINE: Mapping[str, Callable[[Expr, Expr], Expr]] = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "min": lambda a, b: a.minimum(b),
    "max": lambda a, b: a.maximum(b),
}


def _combine(operator: str, lhs: Expr, rhs: Expr) -> Expr:
    return _COMBINE[operator](lhs, rhs)


def replace_operator(op: OperatorOp, value: SSAValue) -> None:
    """Put `value`, whose type may be more precise, in the place of the result.

    Other operators get the more precise value, since they infer their own types. Raises
    PassFailedException for a value of another type.
    """
    if value.type != op.result.type:
        _expect_base(op, value)
        for use in list(op.result.uses):
            if isinstance(use.operation, OperatorOp):
                use.operation.operands[use.index] = value
        if next(iter(op.result.uses), None) is not None:
            alias = relax.AliasOp(value, op.result.type)
            alias.location = op.location
            Rewriter.insert_op(alias, InsertPoint.before(op))
            value = alias.result
    op.result.replace_all_uses_with(value)
    if value.name_hint is None:
        value.name_hint = op.result.name_hint
    Rewriter.erase_op(op)


def _expect_base(op: OperatorOp, value: SSAValue) -> None:
    if not is_base_of(op.result.type, value.type):
        raise PassFailedException(
            f"{op.name}: a rule gives {value.type} for {op.result.type}; give a value of "
            "that type, or of a more precise one"
        )
