"""Functions that nothing reaches and bindings that nothing needs are removed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ModuleOp,
)
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import IsTerminator, MemoryEffect, RecursiveMemoryEffect
from xdsl.transforms.dead_code_elimination import would_be_trivially_dead
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import module_symbols, referenced_symbols
from xdsl_tvm.passes.relax.rewriting.dataflow import keep_outputs


@dataclass(frozen=True)
class DeadCodeElimination(CompilerPass):
    """Summary: Removes functions that are not reached from outside of the module, and
        bindings of Relax functions whose value nothing needs.

    TVM name: relax.DeadCodeElimination (v0.20)
    Input form: any
    Output form: the same, where every `relax.func` and `tir.func` with a body is an
        entry or is named by something reachable
    Options: `entry_functions`: names of functions to keep, with all that they reach,
        besides the public ones (none)
    Rewrites: before

            relax.func @main(%x: !t) -> !t attributes {global_symbol = "main"} {
              %r, %u = relax.dataflow -> (!t, !t) {
                %a = relax.nn.relu %x : (!t) -> !t
                %b = relax.call_tir @unused(%x) : (!t) -> !t
                relax.output %a, %b : !t, !t
              }
              relax.return %r : !t
            }
            tir.func @unused(...) { ... }

        after

            relax.func @main(%x: !t) -> !t attributes {global_symbol = "main"} {
              %r = relax.dataflow -> (!t) {
                %a = relax.nn.relu %x : (!t) -> !t
                relax.output %a : !t
              }
              relax.return %r : !t
            }

        First go functions that are reached neither from an entry nor from another
        operation of the module; then unneeded bindings; then what only those reached.
        Needed are the results of functions and of branches that are kept, operations
        with effects, and whatever a needed operation uses. Outputs of a dataflow block
        that nothing uses go with what computed them. Time is linear in the size of the
        module.
    Leaves alone: bodies of functions other than `relax.func`; `relax.match_cast`, which
        may stop the program and may define symbols; impure calls, the ends of lives,
        operations with effects that are not known; declarations; fields of tuples; nested
        modules and other operations of the module that are no functions. Where a
        reachable function names one that the module lacks, no function is removed.
    Errors: an entry function that the module does not hold
    Attributes: read: `global_symbol`; created: none; removed: none
    Differs from TVM: operations of other dialects at the module's top level count as
        entries. An unneeded `relax.if` with a `relax.match_cast` in a branch is kept,
        since the check may fail, and so is a call that writes arguments in place, since
        its effect may be seen. Operations of other dialects without effects are removed
        from Relax functions as well.
    """

    name = "relax-dead-code-elimination"
    opt_level: ClassVar[int] = 1

    entry_functions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # TVM takes a list, or None.
        object.__setattr__(self, "entry_functions", tuple(self.entry_functions or ()))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self._check_entries(op)
        _remove_functions(op, self.entry_functions)
        for func in op.ops:
            if isinstance(func, relax.FuncOp) and func.body.blocks:
                remove_unused_bindings(func)
        _remove_functions(op, self.entry_functions)

    def _check_entries(self, module: ModuleOp) -> None:
        symbols = module_symbols(module)
        for name in self.entry_functions:
            if name not in symbols:
                raise PassFailedException(
                    f"{self.name}: the module has no function @{name} to keep; "
                    "name one of its functions in entry_functions"
                )


def _remove_functions(module: ModuleOp, entries: tuple[str, ...]) -> None:
    """Remove private functions that are not reached from an entry."""
    symbols = module_symbols(module)
    kept = [op for op in module.ops if not _is_removable(op)]
    kept += [symbols[name] for name in entries]
    reached = set[Operation]()
    while kept:
        if (op := kept.pop()) in reached:
            continue
        reached.add(op)
        for name in referenced_symbols(op):
            if name in symbols:
                kept.append(symbols[name])
            elif isinstance(op, relax.FuncOp | tir.FuncOp):
                return
    for op in list(module.ops):
        if op not in reached:
            Rewriter.erase_op(op)


def _is_removable(op: Operation) -> bool:
    return (
        isinstance(op, relax.FuncOp | tir.FuncOp)
        and "global_symbol" not in op.attributes
        and bool(op.body.blocks)
    )


def remove_unused_bindings(func: relax.FuncOp) -> None:
    """Remove bindings whose value nothing needs, `RemoveAllUnused` of TVM."""
    needed = _Needed(func)
    dead = [op for op in all_ops(func) if op not in needed.ops]
    for op in dead:
        # What is inside of a dead operation goes with it.
        if op.parent_op() in needed.ops:
            op.detach()
    dead = [op for op in dead if op.parent is None]
    for op in dead:
        op.drop_all_references()
    # Users of outputs come first: blocks after and around.
    for dataflow in [op for op in func.walk(reverse=True) if op in needed.dataflows]:
        assert isinstance(dataflow, relax.DataflowOp)
        used = [i for i, o in enumerate(dataflow.outputs) if o in needed.outputs]
        keep_outputs(dataflow, used)
    for op in dead:
        op.erase(drop_references=False)


@dataclass
class _Needed:
    """What of a function must stay."""

    func: relax.FuncOp
    ops: set[Operation] = field(default_factory=set[Operation])
    outputs: set[SSAValue] = field(default_factory=set[SSAValue])
    """Results of dataflow blocks that are used."""
    dataflows: set[Operation] = field(default_factory=set[Operation])
    _work: list[Operation] = field(default_factory=list[Operation])

    def __post_init__(self) -> None:
        self._need(self.func)
        for op in self.func.walk():
            if _has_own_effect(op):
                self._need(op)
        while self._work:
            self._visit(self._work.pop())

    def _need(self, op: Operation) -> None:
        if op in self.ops:
            return
        self.ops.add(op)
        self._work.append(op)
        if isinstance(op, relax.DataflowOp):
            self.dataflows.add(op)

    def _visit(self, op: Operation) -> None:
        # The outputs of a dataflow block are needed one by one.
        if not isinstance(op, relax.OutputOp):
            for operand in op.operands:
                self._need_value(operand)
        for region in op.regions:
            for block in region.blocks:
                if block.last_op is not None and _is_terminator(block.last_op):
                    self._need(block.last_op)
        if op is not self.func and (parent := op.parent_op()) is not None:
            self._need(parent)

    def _need_value(self, value: SSAValue) -> None:
        # An argument of a block is there as long as the operation around its user.
        while isinstance(value, OpResult):
            self._need(op := value.op)
            if not isinstance(op, relax.DataflowOp) or value in self.outputs:
                return
            self.outputs.add(value)
            value = op.output_op.values[value.index]


def _is_terminator(op: Operation) -> bool:
    return op.has_trait(IsTerminator, value_if_unregistered=True)


def _has_own_effect(op: Operation) -> bool:
    """Whether an operation does something besides what it holds does."""
    if op.has_trait(IsTerminator, value_if_unregistered=False):
        return False
    if op.get_traits_of_type(MemoryEffect) == [RecursiveMemoryEffect()]:
        return False
    return not would_be_trivially_dead(op)
