"""Which parameters and constants of Relax functions are written by calls in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation, OpResult, SSAValue

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.cuda_graph import cuda_graph_call
from xdsl_tvm.dialects.relax.runtime import AnyInvokeClosureOp
from xdsl_tvm.lowering.tir.conversion.calling_convention import may_be_written

Lookup = Callable[[SymbolRefAttr], Operation | None]
"""The function of a name."""


class WrittenValues:
    """The parameters and constants that each function may write.

    Functions that call each other are looked at until nothing more is found.
    """

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._found: dict[relax.FuncOp, set[SSAValue]] = {}

    def of(self, func: relax.FuncOp) -> set[SSAValue]:
        """The values, or fields of them, that `func` may write."""
        if func not in self._found:
            self._solve(func)
        return self._found[func]

    def _solve(self, func: relax.FuncOp) -> None:
        pending = [func]
        callers: dict[relax.FuncOp, dict[relax.FuncOp, None]] = {}
        while pending:
            current = pending.pop()
            known = self._found.setdefault(current, set())
            before = len(known)
            for op in current.walk():
                callee = self._relax_callee(op)
                if callee is not None:
                    callers.setdefault(callee, {})[current] = None
                    if callee not in self._found:
                        self._found[callee] = set()
                        pending.append(callee)
                for value in self._written(op):
                    known.update(_origins(value))
            if len(known) > before:
                pending.extend(callers.get(current, {}))

    def _relax_callee(self, op: Operation) -> relax.FuncOp | None:
        if isinstance(op, relax.CallOp | relax.MakeClosureOp):
            callee = self._lookup(op.callee)
        elif (graph := cuda_graph_call(op)) is not None:
            callee = self._lookup(graph.callee)
        else:
            return None
        return callee if isinstance(callee, relax.FuncOp) else None

    def _written(self, op: Operation) -> Iterator[SSAValue]:
        """The operands of an operation that it may write."""
        match op:
            case relax.CallTIRInplaceOp() | relax.CallInplacePackedOp():
                for index in op.inplace_indices.iter_values():
                    if index >= 0:
                        yield op.arguments[index]
            case relax.CallPackedOp():
                yield from op.arguments
            case relax.CallOp() | relax.VMCallTIRDynOp():
                yield from self._written_by(self._lookup(op.callee), op.arguments)
            case relax.MakeClosureOp():
                callee = self._lookup(op.callee)
                # They are its last arguments.
                count = len(callee.args) if isinstance(callee, relax.FuncOp) else 0
                first = max(count - len(op.captured), 0)
                yield from self._written_by(callee, op.captured, first)
            case AnyInvokeClosureOp():
                closure = op.closure.owner
                is_known = isinstance(closure, relax.MakeClosureOp)
                callee = self._lookup(closure.callee) if is_known else None
                yield from self._written_by(callee, op.arguments)
            case relax.CallBuiltinWithCtxOp():
                graph = cuda_graph_call(op)
                if graph is None:
                    yield from op.arguments
                else:
                    yield from self._written_by(self._lookup(graph.callee), graph.fields)
            case _:
                pass

    def _written_by(
        self, callee: Operation | None, arguments: Sequence[SSAValue], first: int = 0
    ) -> Iterator[SSAValue]:
        """Those of the arguments, of which `first` come before, that a callee writes."""
        if isinstance(callee, relax.FuncOp):
            found = self._found.get(callee, set())
            for parameter, argument in zip(callee.args[first:], arguments, strict=False):
                if parameter in found:
                    yield argument
        elif isinstance(callee, tir.FuncOp) and not callee.is_declaration:
            buffers = callee.buffer_map
            for parameter, argument in zip(callee.args[first:], arguments, strict=False):
                buffer = buffers.get(parameter)
                if buffer is None or may_be_written(buffer.buffer):
                    yield argument
        else:
            yield from arguments


_NAMES = (
    relax.AliasOp,
    relax.MatchCastOp,
    relax.ReshapeOp,
    relax.ViewOp,
    relax.EnsureZeroOffsetOp,
    relax.TupleOp,
    relax.GetItemOp,
    relax.CallTIRInplaceOp,
    relax.CallInplacePackedOp,
)
"""Operations whose results may be memory of their operands."""


def _origins(value: SSAValue) -> Iterator[SSAValue]:
    """The parameters and constants whose memory a value may be."""
    seen: set[SSAValue] = set()
    work = [value]
    while work:
        current = work.pop()
        if current in seen:
            continue
        seen.add(current)
        owner = current.owner
        if not isinstance(owner, Operation) or isinstance(owner, relax.ConstantOp):
            yield current
        elif isinstance(owner, _NAMES):
            work += owner.operands
        elif isinstance(owner, relax.DataflowOp) and isinstance(current, OpResult):
            work.append(owner.output_op.values[current.index])
        elif isinstance(owner, relax.IfOp):
            for region in owner.regions:
                last = region.block.last_op
                work += () if last is None else last.operands
