"""Operations put before one that they will replace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from xdsl.dialects.builtin import AnyFloat, FloatAttr, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.analysis.relax.memory_sharing import Writers, values_with_written_memory
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.located_builder import Inserted, LocatedBuilder
from xdsl_tvm.dialects.relax.algebra import is_base_of
from xdsl_tvm.dialects.relax.functions import is_set
from xdsl_tvm.dialects.relax.types import TensorInfo

Found = TypeVar("Found", bound=Operation)


def by_function(
    module: ModuleOp, kind: type[Found]
) -> Iterator[tuple[list[Found], set[SSAValue]]]:
    """The operations of a class in each Relax function, and what is written there."""
    writers = Writers(module)
    is_wanted = of_classes(kind)
    for func in relax_functions(module):
        found = [each for each in all_ops(func) if is_wanted(each)]
        if found:
            yield found, values_with_written_memory(func, writers)


def function_around(op: Operation) -> relax.FuncOp:
    """The Relax function that holds an operation."""
    parent = op.parent_op()
    while not isinstance(parent, relax.FuncOp):
        assert parent is not None, "in a function"
        parent = parent.parent_op()
    return parent


def is_primitive(op: Operation) -> bool:
    """Whether an operation is in a function that stands for one kernel."""
    return is_set(function_around(op).attributes.get("Primitive"))


class BindingBuilder(LocatedBuilder):
    """Inserts Relax operations before one, with its location.

    A pattern inserts by its rewriter.
    """

    def __init__(self, at: Operation, rewriter: PatternRewriter | None = None) -> None:
        super().__init__(at)
        self._before = at
        self._rewriter = rewriter

    def insert_op(self, op: Inserted) -> Inserted:
        """Inserts an operation after those inserted before."""
        if self._rewriter is None:
            return super().insert_op(op)
        op.location = self._before.location
        self._rewriter.insert(op, InsertPoint.before(self._before))
        return op

    def number(self, value: float, dtype: AnyFloat) -> SSAValue:
        """A scalar of a float type."""
        return self.insert(relax.PrimValueOp(FloatAttr(value, dtype)))

    def typed(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """The value under a type that others expect it to have.

        What is not known to be of that type is checked when the program runs.
        """
        if value.type == type_:
            return value
        if is_base_of(type_, value.type):
            return self.insert(relax.AliasOp(value, type_))
        return self.insert(relax.MatchCastOp(value, type_))

    def along(self, value: SSAValue, rank: int, axis: int) -> SSAValue:
        """A vector as a tensor of `rank` that has it on dimension `axis`."""
        others = [each for each in range(rank) if each != axis]
        return self.insert(relax.ExpandDimsOp(value, others)) if others else value


def float_dtype(values: Sequence[SSAValue]) -> AnyFloat | None:
    """The dtype that tensors have in common, where it is known and of floats."""
    infos = [TensorInfo.of(value.type) for value in values]
    dtypes = {None if info is None else info.dtype for info in infos}
    dtype = dtypes.pop()
    return dtype if not dtypes and isinstance(dtype, AnyFloat) else None
