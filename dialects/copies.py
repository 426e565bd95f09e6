"""Copies of operations with what is in them, made in less time than `clone` takes."""

from __future__ import annotations

from typing import TypeVar

from xdsl.ir import Block, Operation, Region, SSAValue

from xdsl_tvm.dialects.all_ops import ops_in
from xdsl_tvm.dialects.quick_accessors import stored_operands, type_of

_Op = TypeVar("_Op", bound=Operation)


def copy_of(op: _Op) -> _Op:
    """What `op.clone()` makes, uses in the same order included.

    `clone` gives operations their operands once all of them are made. Here they have
    them at once, but for what is used before it is defined.
    """
    return _Copying().operation(op)


class _Copying:
    """One copy: what values and blocks have become."""

    def __init__(self) -> None:
        self._values: dict[SSAValue, SSAValue] = {}
        self._blocks: dict[Block, Block] = {}
        self._outside: list[tuple[Operation, int, SSAValue]] = []
        """Operands that were not copied when their users were."""

    def operation(self, op: _Op) -> _Op:
        """The copy of the outermost operation."""
        found = self._copy(op)
        for user, index, operand in self._outside:
            copied = self._values.get(operand)
            if copied is not None:
                user.operands[index] = copied
        return found

    def _copy(self, op: _Op) -> _Op:
        values = self._values
        operands = stored_operands(op)
        copied = [values.get(operand) for operand in operands]
        copy = op.create(
            operands=[b or a for a, b in zip(operands, copied, strict=True)],
            result_types=[*map(type_of, op.results)],
            properties=op.properties,
            attributes=op.attributes,
            location=op.location,
            successors=[self._blocks.get(each, each) for each in op.successors],
        )
        if None in copied:
            self._outside += [
                (copy, index, operand)
                for index, operand in enumerate(operands)
                if copied[index] is None
            ]
        for old, new in zip(op.results, copy.results, strict=True):
            values[old] = new
            if old.name_hint is not None:
                new.name_hint = old.name_hint
        for region in op.regions:
            copy.add_region(self._region(region))
        return copy

    def _region(self, region: Region) -> Region:
        olds = list(region.blocks)
        news = [self._block(block) for block in olds]
        for old, new in zip(olds, news, strict=True):
            for op in ops_in(old):
                new.add_op(self._copy(op))
        return Region(news)

    def _block(self, block: Block) -> Block:
        """A block with the arguments of another."""
        new = self._blocks[block] = Block(arg_types=[*map(type_of, block.args)])
        for old, argument in zip(block.args, new.args, strict=True):
            self._values[old] = argument
            argument.location = old.location
            if old.name_hint is not None:
                argument.name_hint = old.name_hint
        return new
