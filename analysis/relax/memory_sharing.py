"""Relax values that are memory of others, and operations that write such memory."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.utils.disjoint_set import DisjointSet

from xdsl_tvm.analysis.all_ops import all_ops, all_values
from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.relax.sharing import (
    FUNCTION_CALLS,
    directly_written_operands,
    memory_sources,
)

_is_function_call = of_classes(*FUNCTION_CALLS)


class Writers:
    """The Relax functions of a module that may write memory of their arguments.

    A call of such a function has no effects where it writes as `relax.call_tir_inplace`
    does. Found when it is first asked for, in time linear in the size of the module, but
    for functions that call several such functions.
    """

    def __init__(self, root: Operation) -> None:
        self._root = root
        self._names: set[str] | None = None
        self._any = False

    def may_write(self, op: Operation) -> bool:
        """Whether an operation calls such a function, or one that is not known."""
        if not _is_function_call(op):
            return False
        if self._names is None:
            self._names = set()
            self._solve(self._names)
        if isinstance(op, relax.CallOp):
            return op.callee.root_reference.data in self._names
        return self._any

    def _solve(self, names: set[str]) -> None:
        pending: list[relax.FuncOp] = []
        callers: dict[str, list[relax.FuncOp]] = {}
        of_unknown: list[relax.FuncOp] = []
        for func in relax_functions(self._root):
            for op in func.walk():
                if isinstance(op, relax.CallOp):
                    name = op.callee.root_reference.data
                    callers.setdefault(name, []).append(func)
                elif _is_function_call(op):
                    of_unknown.append(func)
            if any(written_operands(op) for op in all_ops(func)):
                pending.append(func)
        self._any = bool(pending)
        if self._any:
            pending += of_unknown
        while pending:
            func = pending.pop()
            name = func.sym_name.data
            if name not in names and func.body.blocks:
                written = values_with_written_memory(func, self)
                if not written.isdisjoint(func.args):
                    names.add(name)
                    pending += callers.get(name, ())


def written_operands(op: Operation, writers: Writers | None = None) -> Sequence[SSAValue]:
    """The operands whose memory an operation may write.

    Without `writers` those are left out that a function which is called without effects
    may write.
    """
    if writers is not None and writers.may_write(op):
        return op.operands
    return directly_written_operands(op)


def values_with_written_memory(func: relax.FuncOp, writers: Writers) -> set[SSAValue]:
    """The values of a function that may share memory with one that is written.

    Unlike a walk along `memory_sources`, it goes both ways: another view of what a
    written value views is among them. `writers` are those of its module. Linear in the
    size of the function.
    """
    values = list(all_values(func))
    sharing = DisjointSet(values)
    for value in values:
        for source in memory_sources(value):
            sharing.union(value, source)
    written = {
        sharing.find(value)
        for op in all_ops(func)
        for value in written_operands(op, writers)
    }
    return {value for value in values if sharing.find(value) in written}


class WrittenValues:
    """Whether values of a function are among those of `values_with_written_memory`.

    These are found when it is first asked. What the function gets later counts as not
    written.
    """

    def __init__(self, func: relax.FuncOp, writers: Writers) -> None:
        self._func = func
        self._writers = writers
        self._written: set[SSAValue] | None = None

    def __call__(self, value: SSAValue) -> bool:
        if self._written is None:
            self._written = values_with_written_memory(self._func, self._writers)
        return value in self._written
