"""Modules of TIR functions, cut into batches that are compiled apart.

A batch is a row of functions that need nothing of their module and that nothing in it
names. Each is a module that is lowered by the pipeline of `lowering/pipelines.py` and
becomes an object file; what is left of the module is one more. The cut is that of the
module alone, so the objects are, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.copies import copy_of
from xdsl_tvm.lowering.compile_units import Unit, is_alone
from xdsl_tvm.lowering.llvm_text.datum import Datum
from xdsl_tvm.passes.infra.module_symbols import named_symbols

OPERATIONS = 500
"""The operations of a batch, which the last function completes or exceeds."""


@dataclass(frozen=True)
class Batch:
    """A row of operations of a module that are compiled together."""

    name: str
    """What messages call it: the names of its first and last function."""
    operations: Sequence[Operation]
    size: int
    """The number of operations, those inside of them included."""

    @property
    def effort(self) -> int:
        """As of `Unit.effort`."""
        return self.size

    def lower(
        self,
        ctx: Context,
        vector_bytes: int,
        data: list[Datum] | None = None,
        *,
        features: str = "",
    ) -> str:
        """The LLVM IR of copies of the operations; arguments as of `Unit.lower`."""
        module = self.operations[0].parent_op()
        assert isinstance(module, ModuleOp)
        copies = [*map(copy_of, self.operations)]
        unit = Unit(self.name, ModuleOp(copies, dict(module.attributes)))
        return unit.lower(ctx, vector_bytes, data, features=features)


@dataclass(frozen=True)
class Batches:
    """The parts of a module, each of which is an object file."""

    alone: Sequence[Batch]
    """In the order of the module."""
    rest: Batch | None
    """What the module holds besides; None if that is nothing."""


def cut_into_batches(module: ModuleOp) -> Batches | None:
    """The batches of a module, which is left as it is.

    Functions with assertions, whose messages are numbered in all of a module, and with
    constants, whose memory is that of the module, are left for the rest. None if there
    are fewer than two batches.
    """
    sizes: dict[Operation, int] = {}
    alone: dict[str, Operation] = {}
    named: set[str] = set()
    for top in module.body.ops:
        ops = all_ops(top)
        sizes[top] = len(ops)
        if isinstance(top, tir.FuncOp) and _is_alone(top, ops):
            alone[top.sym_name.data] = top
        else:
            for op in ops:
                named.update(named_symbols(op))
    apart = {op for name, op in alone.items() if name not in named}
    batches = [_batch(row, sizes) for row in _rows(apart, sizes)]
    if len(batches) < 2:
        return None
    left = [op for op in sizes if op not in apart]
    return Batches(batches, _batch(left, sizes) if left else None)


def _is_alone(function: tir.FuncOp, ops: list[Operation]) -> bool:
    """Whether a function is compiled to the same code without its module."""
    return (
        not function.is_declaration
        and is_alone(ops)
        and not any(isinstance(op, tir.AllocateConstOp) for op in ops)
    )


def _rows(
    apart: Collection[Operation], sizes: dict[Operation, int]
) -> Iterator[list[Operation]]:
    """The operations of each batch, in the order of `sizes`."""
    row: list[Operation] = []
    size = 0
    for op in sizes:
        if op not in apart:
            continue
        row.append(op)
        size += sizes[op]
        if size >= OPERATIONS:
            yield row
            row, size = [], 0
    if row:
        yield row


def _batch(operations: list[Operation], sizes: dict[Operation, int]) -> Batch:
    names = [op.sym_name.data for op in operations if isinstance(op, tir.FuncOp)]
    name = " to ".join(dict.fromkeys((names[0], names[-1]))) if names else "the rest"
    return Batch(name, operations, sum(map(sizes.__getitem__, operations)))
