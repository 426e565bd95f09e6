"""Insertion of operations at one position, with the location of what they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.quick_accessors import first_result
from xdsl_tvm.dialects.quick_operation import create

Inserted = TypeVar("Inserted", bound=Operation)

_is_block = of_classes(Block)


class LocatedBuilder:
    """Inserts operations before an operation, or at the end of a block.

    They have the location of `source`, which is the operation itself unless another one
    is named; at the end of a block without a `source` they keep their own.
    """

    def __init__(
        self, at: Operation | Block | None = None, source: Operation | None = None
    ) -> None:
        self._at = at
        self._source = source
        if source is None and isinstance(at, Operation):
            self._source = at

    def start(self, at: Operation) -> None:
        """Inserts before `at`, with its location, from now on."""
        self._at = self._source = at

    def insert_op(self, op: Inserted) -> Inserted:
        """Inserts `op`, which may have no result, after those inserted before."""
        at = self._at
        assert at is not None, "start was not called"
        if self._source is not None:
            op.location = self._source.location
        if _is_block(at):
            at.add_op(op)
            return op
        block = at.parent_block()
        assert block is not None, "the operation is in no block"
        block.insert_op_before(op, at)
        return op

    def insert(self, op: Operation) -> SSAValue:
        """Inserts `op`; returns its first result."""
        return first_result(self.insert_op(op))

    def emit(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        **properties: Attribute,
    ) -> SSAValue:
        """Inserts an operation with one result and returns that result."""
        return self.insert(
            create(kind, operands=operands, result_types=[result], properties=properties)
        )
