"""Functions for known shapes and values: TVM's `PrimFunc.specialize`.

docs/spec/tir-ir.md §9.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    FunctionType,
    IntegerType,
    i32,
    i64,
)
from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Const, view
from xdsl_tvm.dialects import tir


@dataclass(frozen=True)
class BufferSpec:
    """What is known of a buffer: extents, strides and offset, None for what is not."""

    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...] = ()
    """One for each dimension, or none at all if nothing is known of them."""
    elem_offset: int | None = None


Parameter: TypeAlias = BlockArgument | int | str
"""A parameter: itself, by its position, or by its name in `param_names`."""
Known: TypeAlias = bool | int | float | Sequence[int | None] | BufferSpec
"""The value of a scalar, or the shape of the buffer that a handle is matched to."""


def specialize(function: tir.FuncOp, values: Mapping[Parameter, Known]) -> tir.FuncOp:
    """A copy of the function for parameters of which something is known.

    A scalar becomes a constant, and is no parameter any more. The shape of a buffer gives
    values to the symbols and scalar parameters that are its extents, which become
    constants everywhere; so do its strides and its offset where they are given. Extents
    and strides that come out constant are put into the types of buffers. An extent that
    is computed must come out as given.

    Raises ValueError for a parameter that does not exist, for values that contradict the
    function or each other, and for an extent whose value cannot be computed.
    """
    copy = function.clone()
    if copy.is_declaration:
        raise ValueError(f"@{copy.sym_name.data} has no body that could be specialized")
    work = _Specialization(copy)
    for parameter, value in values.items():
        work.add(work.parameter(parameter), value)
    work.finish()
    return copy


@dataclass
class _Constraint:
    """A value that must come out as a number."""

    value: SSAValue
    number: int
    what: str


@dataclass
class _Specialization:
    function: tir.FuncOp
    bound: dict[SSAValue, int | float] = field(
        default_factory=dict[SSAValue, int | float]
    )
    constraints: list[_Constraint] = field(default_factory=list[_Constraint])

    def fail(self, reason: str) -> ValueError:
        return ValueError(f"cannot specialize @{self.function.sym_name.data}: {reason}")

    def parameter(self, which: Parameter) -> BlockArgument:
        """The parameter of the copy."""
        args = self.function.args
        names = self.function.param_names
        if isinstance(which, BlockArgument):
            which = which.index
        if isinstance(which, str):
            known = [] if names is None else [name.data for name in names]
            if which not in known:
                raise self.fail(
                    f"there is no parameter '{which}'; param_names has "
                    f"{', '.join(known) or 'none'}"
                )
            which = known.index(which)
        if not 0 <= which < len(args):
            raise self.fail(f"there is no parameter {which}, it has {len(args)}")
        return args[which]

    def add(self, parameter: BlockArgument, value: Known) -> None:
        match = self.function.buffer_map.get(parameter)
        what = f"parameter {parameter.index}"
        if isinstance(value, int | float):
            if not tir.is_scalar(parameter.type):
                raise self.fail(
                    f"{what} is a {parameter.type}; give the shape of its buffer"
                )
            self.bind(parameter, value, what)
            return
        if match is None:
            raise self.fail(f"{what} is matched to no buffer; give it a number")
        spec = value if isinstance(value, BufferSpec) else BufferSpec(tuple(value))
        self.unify(match.shape, spec.shape, f"extent of {what}")
        if spec.strides:
            if not match.layout_strides:
                raise self.fail(f"the buffer of {what} has no strides of its own")
            self.unify(match.layout_strides, spec.strides, f"stride of {what}")
        if spec.elem_offset is not None:
            self.unify([match.elem_offset or 0], [spec.elem_offset], f"offset of {what}")

    def unify(
        self,
        dims: Sequence[SSAValue | int],
        numbers: Sequence[int | None],
        what: str,
    ) -> None:
        """Make the dims of a buffer equal to the numbers that are known."""
        if len(dims) != len(numbers):
            raise self.fail(
                f"{what}: there are {len(dims)}, but {len(numbers)} are given"
            )
        for position, (dim, number) in enumerate(zip(dims, numbers, strict=True)):
            label = f"{what}, dimension {position},"
            if number is None:
                continue
            if number < 0:
                raise self.fail(f"{label} must not be negative, got {number}")
            if isinstance(dim, int):
                if dim != number:
                    raise self.fail(f"{label} is {dim}, not {number}")
            elif isinstance(dim.owner, tir.ShapeVarOp | Block):
                self.bind(dim, number, label)
            else:
                self.constraints.append(_Constraint(dim, number, label))

    def bind(self, value: SSAValue, number: float, what: str) -> None:
        known = self.bound.setdefault(value, number)
        if known != number:
            raise self.fail(f"{what} is {known} by another value, but given as {number}")

    def finish(self) -> None:
        """Put what is known into the function."""
        dropped: list[BlockArgument] = []
        for value, number in self.bound.items():
            try:
                constant = tir.ConstOp.of(number, value.type)
            except ValueError as error:
                raise self.fail(str(error)) from None
            owner = value.owner
            if isinstance(owner, Block):
                Rewriter.insert_op(constant, InsertPoint.at_start(owner))
                dropped.append(cast(BlockArgument, value))
            else:
                Rewriter.insert_op(constant, InsertPoint.before(owner))
            value.replace_all_uses_with(constant.result)
            if not isinstance(owner, Block):
                Rewriter.erase_op(owner)
        constants = _Constants()
        for constraint in self.constraints:
            number = constants.of(constraint.value)
            if number is None:
                raise self.fail(
                    f"{constraint.what} is computed from values that are not known; give "
                    "them"
                )
            if number != constraint.number:
                raise self.fail(f"{constraint.what} is {number}, not {constraint.number}")
        _drop_parameters(self.function, dropped)
        for op in self.function.walk():
            if isinstance(op, tir.BufferDefinition):
                _settle_buffer(op, constants)
            elif isinstance(op, tir.AllocateOp):
                _settle(op, constants, "extents", "static_extents")


class _Constants:
    """Values as numbers, each computed once."""

    def __init__(self) -> None:
        self._analyzer = Analyzer()
        self._known: dict[SSAValue, int | None] = {}

    def of(self, value: SSAValue) -> int | None:
        if value not in self._known:
            tree = self._analyzer.simplify(view(value))
            number = tree.payload if isinstance(tree, Const) else None
            self._known[value] = number if isinstance(number, int) else None
        return self._known[value]


def _drop_parameters(function: tir.FuncOp, dropped: Iterable[BlockArgument]) -> None:
    positions = {argument.index for argument in dropped}
    if not positions:
        return
    kept = [i for i in range(len(function.args)) if i not in positions]
    inputs = function.function_type.inputs.data
    function.function_type = FunctionType.from_lists(
        [inputs[i] for i in kept], list(function.function_type.outputs.data)
    )
    if function.param_names is not None:
        names = function.param_names.data
        function.param_names = ArrayAttr(names[i] for i in kept)
    block = function.body.block
    for position in sorted(positions, reverse=True):
        block.erase_arg(block.args[position])


def _settle_buffer(op: tir.BufferDefinition, constants: _Constants) -> None:
    """Make extents and strides static that have become constants."""
    index_type = op.extent_type
    numbers = [constants.of(extent) for extent in op.extents]
    if any(number is not None for number in numbers):
        known = iter(numbers)
        shape = [
            next(known) if extent == DYNAMIC_INDEX else extent
            for extent in op.type.get_shape()
        ]
        _keep_operands(op, "extents", numbers)
        type_ = tir.BufferType(
            [DYNAMIC_INDEX if extent is None else extent for extent in shape],
            op.type.element_type,
            op.type.scope,
        )
        Rewriter.replace_value_with_new_type(op.buffer, type_)
        if index_type != i32:
            op.index_type = index_type
    if op.static_strides is not None:
        _settle(op, constants, "strides", "static_strides")


def _settle(
    op: tir.BufferDefinition | tir.AllocateOp,
    constants: _Constants,
    group: str,
    static: str,
) -> None:
    """Move constants from a group of operands to the property beside it."""
    operands = cast("Sequence[SSAValue]", getattr(op, group))
    numbers = [constants.of(operand) for operand in operands]
    known = iter(numbers)
    held = cast("DenseArrayBase[IntegerType]", op.properties[static]).get_values()
    settled = [next(known) if each == DYNAMIC_INDEX else each for each in held]
    op.properties[static] = DenseArrayBase.from_list(
        i64, [DYNAMIC_INDEX if each is None else each for each in settled]
    )
    _keep_operands(op, group, numbers)


def _keep_operands(
    op: tir.BufferDefinition | tir.AllocateOp, group: str, numbers: Sequence[int | None]
) -> None:
    """Drop the operands of a group that have a number."""
    names = [name for name, _ in op.get_irdl_definition().operands]
    sizes = cast("DenseArrayBase[IntegerType]", op.properties["operandSegmentSizes"])
    position = names.index(group)
    lengths = list(sizes.get_values())
    start = sum(lengths[:position])
    operands = list(op.operands)
    kept = [
        operand
        for operand, number in zip(operands[start:], numbers, strict=False)
        if number is None
    ]
    operands[start : start + lengths[position]] = kept
    lengths[position] = len(kept)
    op.operands = operands
    op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, lengths)
