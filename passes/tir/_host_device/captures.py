"""What a device region uses of the function around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.tir.memory_order import memory_of
from xdsl_tvm.analysis.tir.variable_names import buffer_variable_name, variable_name
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.dialects.tir.storage_scope import StorageRank, StorageScope
from xdsl_tvm.dialects.tir.types import is_expression_type, is_handle
from xdsl_tvm.passes.tir.rewriting.copied_expressions import (
    ExpressionCopier,
    operands_of,
)
from xdsl_tvm.passes.tir.rewriting.memory_views import take_after
from xdsl_tvm.passes.tir.rewriting.statements import describe, erase_if_unused

_ALLOCATIONS = (tir.AllocateOp, tir.AllocateConstOp, tir.AllocBufferOp)
_VIEWS = (tir.DeclBufferOp, tir.DataOp, tir.LetOp)
_BINDINGS = (tir.LetOp, tir.AllocateOp, tir.AllocateConstOp, tir.ShapeVarOp)


@dataclass
class _Parameter:
    """A parameter of the kernel."""

    source: SSAValue
    """The value in the function, or a buffer whose data pointer is passed."""
    name: str
    argument: BlockArgument
    """In the block of the kernel."""


class Captures:
    """The parameters of the kernel of a region, and the declarations in the kernel.

    `kernel_body` is called once, and before all else.
    """

    def __init__(self, region: tir.AttrOp, *, noalias: bool) -> None:
        self._region = region
        self._noalias = noalias
        self._parameters: dict[SSAValue, _Parameter] = {}
        self._entry = Block()
        self._expressions: list[Operation] = []
        self._buffers: list[Operation] = []
        self._matches: list[Operation] = []
        self._replaced: list[SSAValue] = []
        self.pointer_ops: list[tir.DataOp] = []
        """The ops that `arguments` needs before the call."""
        self._copier = ExpressionCopier(_is_copied, self._leaf, self._expressions.append)

    # ---- the kernel ----

    def kernel_body(self) -> Block:
        """The block of the kernel: the ops of the region, on parameters."""
        body = self._region.body.block
        inside = _Inside(body)
        for value in inside.outside_values():
            self._copier.copy(value)
        self._replaced = inside.replace(self._copier.values)
        self._sort()
        kernel = Block(arg_types=[p.argument.type for p in self._parameters.values()])
        for parameter, argument in zip(
            self._parameters.values(), kernel.args, strict=True
        ):
            parameter.argument.replace_all_uses_with(argument)
            set_name_hint(argument, parameter.name)
        kernel.add_ops((*self._expressions, *reversed(self._buffers), *self._matches))
        Rewriter.inline_block(body, InsertPoint.at_end(kernel))
        return kernel

    def _sort(self) -> None:
        ordered = sorted(
            self._parameters.items(),
            key=lambda item: (not is_handle(item[1].argument.type), item[1].name),
        )
        self._parameters = dict(ordered)

    @property
    def names(self) -> list[str]:
        """The names of the parameters."""
        return [parameter.name for parameter in self._parameters.values()]

    @property
    def sizes(self) -> ArrayAttr[StringAttr] | None:
        """The names of the parameters that are not negative, None for none."""
        names = [
            StringAttr(parameter.name)
            for parameter in self._parameters.values()
            if isinstance(size := parameter.source.owner, tir.ShapeVarOp)
            and size.size_var is not None
        ]
        return ArrayAttr(names) if names else None

    def are_distinct(self) -> bool:
        """Whether the pointers among the parameters are known not to overlap."""
        found: set[object] = set()
        parameters = pointers = 0
        for each in self._parameters.values():
            if is_handle(each.argument.type):
                memory = memory_of(each.source, distinct_parameters=True)
                owner = memory.owner if isinstance(memory, SSAValue) else None
                found.add(memory)
                pointers += 1
                parameters += not isinstance(owner, _ALLOCATIONS)
        if pointers > 1 and (None in found or len(found) < pointers):
            return False
        return self._noalias or parameters <= 1

    # ---- what is used ----

    def _leaf(self, value: SSAValue) -> SSAValue:
        owner = value.owner
        if isinstance(value.type, tir.BufferType):
            return self._declared(tir.buffer_definition(value))
        if isinstance(owner, tir.DataOp):
            return self._pointer(owner.buffer)
        return self._parameter(value, variable_name(value))

    def _parameter(self, value: SSAValue, name: str) -> SSAValue:
        found = self._parameters.get(value)
        if found is None:
            if not is_expression_type(value.type):
                raise PassFailedException(
                    f"{describe(self._region)}: the device region uses a value of type "
                    f"{value.type}, which no parameter of a kernel can have; compute it "
                    "inside of the region"
                )
            found = self._add(value, name, value.type)
        return found.argument

    def _add(self, source: SSAValue, name: str, dtype: Attribute) -> _Parameter:
        argument = self._entry.insert_arg(dtype, len(self._entry.args))
        found = self._parameters[source] = _Parameter(source, name, argument)
        return found

    def _pointer(self, buffer: SSAValue) -> SSAValue:
        """The data pointer of a buffer as a parameter."""
        definition = tir.buffer_definition(buffer)
        if isinstance(definition, tir.MatchRegionOp):
            return self._pointer(definition.source)
        name = f"{buffer_variable_name(definition.buffer)}_data"
        if isinstance(definition, tir.DeclBufferOp):
            pointer = definition.data
            owner = pointer.owner
            if isinstance(owner, tir.DataOp):
                return self._pointer(owner.buffer)
            is_variable = not isinstance(owner, Operation) or isinstance(owner, _BINDINGS)
            known = variable_name(pointer) if is_variable else name
            return self._parameter(pointer, known)
        found = self._parameters.get(buffer)
        if found is None:
            found = self._add(buffer, name, definition.type.pointer_type)
        return found.argument

    def _declared(self, old: tir.BufferDefinition) -> SSAValue:
        """The declaration in the kernel of a buffer of the function."""
        if isinstance(old, tir.MatchRegionOp):
            for operand in old.operands:
                self._copier.copy(operand)
            match = old.clone(self._copier.values)
            self._matches.append(match)
            return match.buffer
        position = len(self._buffers)
        pointer = self._pointer(old.buffer)
        new = tir.DeclBufferOp(
            pointer,
            old.type,
            [self._copier.copy(extent) for extent in old.extents],
            strides=[
                stride if isinstance(stride, int) else self._copier.copy(stride)
                for stride in old.layout_strides
            ],
            elem_offset=None
            if old.elem_offset is None
            else self._copier.copy(old.elem_offset),
        )
        take_after(new, old, "operandSegmentSizes", "implicit")
        self._buffers.insert(position, new)
        return new.buffer

    # ---- the function ----

    def arguments(self) -> list[SSAValue]:
        """The values of the parameters in the function."""
        found: list[SSAValue] = []
        for source in self._parameters:
            if isinstance(source.type, tir.BufferType):
                data = tir.DataOp(source)
                self.pointer_ops.append(data)
                found.append(data.result)
            else:
                found.append(source)
        return found

    def erase_unused(self) -> None:
        """Erase expressions of the function that only the region used."""
        erase_if_unused(self._replaced)


def _is_copied(op: Operation) -> bool:
    """Whether a kernel computes an expression of the function itself."""
    return (
        bool(op.results)
        and not isinstance(op, tir.BufferDefinition | tir.DataOp | tir.LetOp)
        and not any(isinstance(each.type, tir.BufferType) for each in operands_of(op))
        and is_side_effect_free(op)
    )


class _Inside:
    """The ops of a region, in which all but expressions are statements."""

    def __init__(self, body: Block) -> None:
        self._ops = [op for each in body.ops for op in all_ops(each)]
        self._inside = set(self._ops)
        self._blocks = {block for op in self._ops for block in _blocks_of(op)}

    def outside_values(self) -> Iterator[SSAValue]:
        """The values of the function that the ops use, in the order of TVM's text.

        An expression is where it is used, and a store names its buffer before the value.
        """
        seen: set[Operation] = set()
        for op in self._ops:
            if not _is_expression(op):
                yield from self._used_by(op, seen)
        for op in self._ops:
            yield from self._used_by(op, seen)

    def _used_by(self, root: Operation, seen: set[Operation]) -> Iterator[SSAValue]:
        if root in seen:
            return
        seen.add(root)
        pending = _text_operands(root)
        while pending:
            value = pending.pop()
            owner = value.owner
            if isinstance(owner, Block):
                if owner not in self._blocks:
                    yield value
            elif owner not in self._inside:
                yield value
            elif owner not in seen and _is_expression(owner):
                seen.add(owner)
                pending += _text_operands(owner)

    def replace(self, values: dict[SSAValue, SSAValue]) -> list[SSAValue]:
        """Let the ops use other values; those that they used so far."""
        replaced: dict[SSAValue, None] = {}
        for op in self._ops:
            operands = op.operands
            if any(operand in values for operand in operands):
                replaced |= dict.fromkeys(each for each in operands if each in values)
                op.operands = [values.get(operand, operand) for operand in operands]
        return list(replaced)


def _blocks_of(op: Operation) -> Iterator[Block]:
    for region in op.regions:
        yield from region.blocks


def _is_expression(op: Operation) -> bool:
    """Whether the place of an op in TVM's text is that of its first use."""
    return (
        any(result.first_use is not None for result in op.results)
        and not isinstance(op, _BINDINGS)
        and not isinstance(op, tir.BufferDefinition)
    )


def _text_operands(op: Operation) -> list[SSAValue]:
    """The operands of an op, the last first."""
    operands = list(op.operands)
    if isinstance(op, tir.StoreOp):
        operands.remove(op.buffer)
        operands.insert(0, op.buffer)
    operands.reverse()
    return operands


# ---- memory of the device ----


def sink_device_memory(region: tir.AttrOp) -> None:
    """Move allocations in scopes of the device, which only the region uses, into it.

    Raises PassFailedException for one that is used elsewhere, too.
    """
    body = region.body.block
    inside = _Inside(body)
    constants: list[SSAValue] = []
    moved: list[Operation] = []
    sunk: set[Operation] = set()
    for value in inside.outside_values():
        if not isinstance(value.type, tir.BufferType | tir.PtrType):
            continue
        memory = memory_of(value)
        if not isinstance(memory, SSAValue):
            continue
        allocation = memory.owner
        if isinstance(allocation, tir.AllocateConstOp):
            constants.append(value)
        elif (
            isinstance(allocation, _ALLOCATIONS)
            and allocation not in sunk
            and _scope_of(memory.type).rank is not StorageRank.GLOBAL
        ):
            sunk.add(allocation)
            moved += _with_views(allocation, region)
    if constants:
        copier = ExpressionCopier(_is_view_of_memory, lambda leaf: leaf, moved.append)
        inside.replace({value: copier.copy(value) for value in constants})
    first = body.first_op
    for op in moved:
        if op.parent is not None:
            op.detach()
        if first is None:
            body.add_op(op)
        else:
            body.insert_op_before(op, first)


def _scope_of(dtype: Attribute) -> StorageScope:
    assert isinstance(dtype, tir.BufferType | tir.PtrType)
    return StorageScope.parse(dtype.scope.data)


def _is_view_of_memory(op: Operation) -> bool:
    """Whether an op is a constant in memory, or derives a buffer or a pointer."""
    return isinstance(op, tir.AllocateConstOp) or (
        isinstance(op, _VIEWS)
        and isinstance(op.results[0].type, tir.BufferType | tir.PtrType)
    )


def _with_views(allocation: Operation, region: tir.AttrOp) -> list[Operation]:
    """An allocation and its views outside of a region, each after what it views."""
    found: dict[Operation, None] = {allocation: None}
    pending = [allocation]
    block = region.parent
    while pending:
        op = pending.pop()
        if op.parent is not block:
            raise _used_elsewhere(allocation, op)
        for use in reversed(list(op.results[0].uses)):
            user = use.operation
            if user in found or region.is_ancestor(user):
                continue
            if not isinstance(user, _VIEWS):
                raise _used_elsewhere(allocation, user)
            found[user] = None
            pending.append(user)
    return list(found)


def _used_elsewhere(allocation: Operation, user: Operation) -> PassFailedException:
    result = allocation.results[0]
    where = "is in another block than" if user is allocation else "is used outside of"
    return PassFailedException(
        f"{describe(allocation)}: memory of type {result.type} is in a scope of the "
        f"device, and {where} the device region that uses it; allocate it inside of the "
        'region, or in the scope "global"'
    )
