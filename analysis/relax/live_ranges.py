"""From where to where the memory of the values of a Relax function is needed.

Operations are numbered in the order of execution, those of branches one branch after the
other. Memory is needed until the last use of any value that may be the same memory, as
`memory_sharing.py` and `dataflow_alias.py` say; what is returned, what other dialects see
and what is used in regions other than branches and dataflow blocks is needed to the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xdsl.ir import Block, Operation, OpResult, SSAValue

from xdsl_tvm.analysis.derivation import chain
from xdsl_tvm.analysis.relax.dataflow_alias import MAY_BE_VIEWS
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.sharing import memory_sources

_KILLS = (relax.KillTensorOp, relax.KillStorageOp, relax.VMKillObjectOp)
_IN_PLACE = (relax.IfOp, relax.DataflowOp)
"""Operations whose regions run where they stand."""
VIEWS = (
    relax.ReshapeOp,
    relax.ViewOp,
    relax.EnsureZeroOffsetOp,
    relax.AliasOp,
    relax.MatchCastOp,
)
"""Operations whose result is the memory of their first operand.

They access no element, so one whose result is never used needs no memory. Those that
plan memory and those that check a plan have this in common.
"""
_NAMES = (
    *VIEWS,
    relax.TupleOp,
    relax.GetItemOp,
    relax.OutputOp,
    relax.YieldOp,
)
"""Operations that give memory another name and touch no element of it."""


def tensor_live_ranges(func: relax.FuncOp) -> dict[SSAValue, tuple[int, int]]:
    """First and last operation for which the memory of each value is needed.

    Linear in the size of the function.
    """
    walk = _LivenessWalk()
    walk.number(func.body.block)
    walk.visit(func.body.block, None)
    lives = dict[SSAValue, tuple[int, int]]()
    for op, start in walk.numbers.items():
        for value in op.results:
            lives[value] = start, max(start, walk.ends.get(value, start))
    return lives


def most_at_once(lives: Iterable[tuple[int, int, int]]) -> int:
    """The most that there is at one time, of lives given as first, last and size."""
    changes = list[tuple[int, int, int]]()
    for first, last, size in lives:
        # What begins at a time is there together with what ends at it.
        changes += [(first, 0, size), (last, 1, -size)]
    most = now = 0
    for _, _, change in sorted(changes):
        now += change
        most = max(most, now)
    return most


class _LivenessWalk:
    def __init__(self) -> None:
        self.numbers: dict[Operation, int] = {}
        self.ends: dict[SSAValue, int] = {}
        self._end = 0

    def number(self, block: Block) -> None:
        """Number the operations of a block and of all regions in it."""
        for op in block.ops:
            self.numbers[op] = self._end
            self._end += 1
            for region in op.regions:
                for inner in region.blocks:
                    self.number(inner)

    def visit(self, block: Block, around: Operation | None) -> None:
        """Find the ends of lives in a block, backwards.

        `around` is the outermost operation that may run the block at other times.
        """
        for op in reversed(list(block.ops)):
            runs_here = isinstance(op, _IN_PLACE)
            for region in op.regions:
                for inner in region.blocks:
                    self.visit(inner, around or (None if runs_here else op))
            if not isinstance(op, _KILLS):
                for value in _memory_operands(op):
                    self._need(op, value, around)

    def _need(self, op: Operation, value: SSAValue, around: Operation | None) -> None:
        """Keep an operand for as long as an operation needs it."""
        ends = list(self._needs(op, value, around))
        if ends:
            self.ends[value] = max(*ends, self.ends.get(value, -1))

    def _needs(
        self, op: Operation, value: SSAValue, around: Operation | None
    ) -> Iterator[int]:
        if (
            isinstance(op, relax.ReturnOp)
            or not op.name.startswith("relax.")
            or (around is not None and not around.is_ancestor(value.owner))
        ):
            yield self._end
            return
        if not isinstance(op, _NAMES):
            yield self.numbers[op]
        results: Sequence[OpResult] = op.results
        if isinstance(op, relax.YieldOp | relax.OutputOp):
            results = parent.results if (parent := op.parent_op()) is not None else ()
        for result in results:
            if result in self.ends and (
                isinstance(op, (relax.GetItemOp, *MAY_BE_VIEWS))
                or any(source is value for source in memory_sources(result))
            ):
                yield self.ends[result]


def _memory_operands(op: Operation) -> Sequence[SSAValue]:
    """The operands; where a field of a known tuple is taken, that field itself."""
    if not isinstance(op, relax.GetItemOp):
        return op.operands
    *_, value = chain(op.tuple_value, _named)
    if isinstance(whole := value.owner, relax.TupleOp):
        return (whole.elements[op.index.value.data],)
    return op.operands


def _named(value: SSAValue) -> SSAValue | None:
    """The value of which another is a name, also after a dataflow block."""
    match value.owner:
        case relax.AliasOp(value=source) | relax.MatchCastOp(value=source):
            return source
        case relax.DataflowOp() as block if isinstance(value, OpResult):
            return block.output_op.values[value.index]
        case _:
            return None
