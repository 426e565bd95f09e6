"""Integer divisions that LLVM's loop vectorizer must not put under a mask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BoolAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from xdsl_tvm.analysis.all_ops import ops_in, ops_of
from xdsl_tvm.dialects import tvm_llvm
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.dtypes import element_of
from xdsl_tvm.dialects.tvm_llvm import LoopAttr
from xdsl_tvm.lowering.to_llvm._symbols import symbol_table
from xdsl_tvm.passes.infra import CompilerPass

_DIVISIONS = (llvm.SDivOp, llvm.UDivOp, llvm.SRemOp, llvm.URemOp)
_VECTORIZE = "vectorize.enable"
_is_division = of_classes(*_DIVISIONS)
_is_call = of_classes(llvm.CallOp)
_is_looked_at = of_classes(llvm.CallOp, *_DIVISIONS)
_BRANCHES = (llvm.BrOp, llvm.CondBrOp, tvm_llvm.SwitchOp)


@dataclass(frozen=True)
class KeepDivisionsScalar(CompilerPass):
    """Summary: Turns LLVM's loop vectorizer off for loops that divide by a variable.

    TVM name: none (ours)
    Input form: any verified IR; functions of the llvm dialect are looked at
    Output form: the same, with hints on the branches that close loops
    Options: none
    Rewrites: a loop with an `llvm.sdiv`, `udiv`, `srem` or `urem` whose divisor is not
        a constant other than 0 and -1, in its own body, in a nested loop, or in a
        function of the module that it calls
            llvm.br ^header(%i : i32)
          →
            llvm.br ^header(%i : i32) {tvm_llvm.loop = #tvm_llvm.loop<{
                vectorize.enable = false}>}
        LLVM 22 computes a division that is conditional in a loop and has loop-invariant
        operands in the first lane of its vectors only, under the condition of that lane;
        the other lanes get poison where it is false. Whether a division is conditional
        and invariant is known after LLVM's own passes, so every division counts. Loops
        without one, those nested in such a loop among them, are vectorized as before.
    Leaves alone: foreign operations; vector code, which the loop vectorizer does not
        touch
    Errors: none
    Attributes: read: none; created: `vectorize.enable` of `tvm_llvm.loop`, in place of a
        hint that says otherwise; removed: none
    Differs from TVM: TVM leaves such loops to LLVM
    """

    name = "tvm-keep-divisions-scalar"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = ops_of(op, llvm.FuncOp)
        hazards = _Hazards(functions)
        for function in functions:
            for branch in _closing_branches(function.body, hazards.blocks):
                _forbid_vectorization(branch)


class _Hazards:
    """The blocks that divide by a variable, directly or in a function they call."""

    def __init__(self, functions: Iterable[llvm.FuncOp]) -> None:
        self.blocks: set[Block] = set()
        callers: dict[Operation, list[Block]] = {}
        self._tables: dict[Operation, dict[str, Operation]] = {}
        for function in functions:
            for block in function.body.blocks:
                for op in filter(_is_looked_at, ops_in(block)):
                    if _is_call(op):
                        callee = self._callee(op)
                        if callee is None:
                            self.blocks.add(block)
                        else:
                            callers.setdefault(callee, []).append(block)
                    elif _is_division(op) and _may_trap(op.rhs):
                        self.blocks.add(block)
        pending = list(self.blocks)
        while pending:
            function = pending.pop().parent_op()
            # Popped, so that every function is passed on to its callers once.
            for block in callers.pop(function, ()) if function is not None else ():
                if block not in self.blocks:
                    self.blocks.add(block)
                    pending.append(block)

    def _callee(self, call: llvm.CallOp) -> Operation | None:
        """The function of a direct call; None where it is not known."""
        if call.callee is None:
            return None
        module = symbol_table(call)
        table = self._tables.get(module)
        if table is None:
            table = self._tables[module] = {
                op.sym_name.data: op
                for block in module.regions[0].blocks
                for op in block.ops
                if isinstance(op, llvm.FuncOp)
            }
        return table.get(call.callee.root_reference.data)


def _may_trap(divisor: SSAValue) -> bool:
    """Whether a division by this value cannot be done speculatively."""
    owner = divisor.owner
    width = cast("IntegerType", element_of(divisor.type)).bitwidth
    if not isinstance(owner, llvm.ConstantOp):
        return True
    value: Attribute = owner.value
    if isinstance(value, DenseIntOrFPElementsAttr):
        numbers = cast("DenseIntOrFPElementsAttr[IntegerType]", value).get_values()
    elif isinstance(value, IntegerAttr):
        numbers = (cast("IntegerAttr[IntegerType]", value).value.data,)
    else:
        return True
    # 0, and -1 in either spelling.
    return any(number % (1 << width) in (0, (1 << width) - 1) for number in numbers)


def _forbid_vectorization(branch: Operation) -> None:
    old = branch.attributes.get(LoopAttr.name)
    hints = dict(old.hints.data) if isinstance(old, LoopAttr) else {}
    hints[_VECTORIZE] = BoolAttr.from_bool(False)
    branch.attributes[LoopAttr.name] = LoopAttr(DictionaryAttr(hints))


# --------------------------------------------------------------------------- loops


def _closing_branches(region: Region, marked: set[Block]) -> Iterator[Operation]:
    """The branches that close a loop with a marked block in it.

    Headers are visited from the innermost to the outermost, and a loop whose header was
    visited counts as one block, so each block is visited a constant number of times.
    """
    if not any(block in marked for block in region.blocks):
        return
    tree = _DepthFirst(region)
    representative: dict[Block, Block] = {block: block for block in tree.order}
    hazard = {block: block in marked for block in tree.order}

    def find(block: Block) -> Block:
        path: list[Block] = []
        while (parent := representative[block]) is not block:
            path.append(block)
            block = parent
        for visited in path:
            representative[visited] = block
        return block

    for header in reversed(tree.order):
        latches = [p for p in tree.predecessors[header] if tree.is_above(header, p)]
        if not latches:
            continue
        body: dict[Block, None] = {header: None}
        pending = [find(latch) for latch in latches]
        while pending:
            block = pending.pop()
            if block in body:
                continue
            body[block] = None
            # A predecessor that the header does not lead to enters the loop sideways.
            pending += [
                find(p) for p in tree.predecessors[block] if tree.is_above(header, p)
            ]
        hazard[header] = any(hazard[block] for block in body)
        for block in body:
            representative[block] = header
        if hazard[header]:
            for latch in latches:
                last = latch.last_op
                if isinstance(last, _BRANCHES):
                    yield last


class _DepthFirst:
    """The depth-first tree of the blocks that the entry of a region leads to."""

    def __init__(self, region: Region) -> None:
        self.order: list[Block] = []
        self.predecessors: dict[Block, list[Block]] = {}
        self._first: dict[Block, int] = {}
        self._last: dict[Block, int] = {}
        entry = region.blocks.first
        if entry is None:
            return
        self.predecessors[entry] = []
        stack = [(entry, iter(self._enter(entry)))]
        while stack:
            block, successors = stack[-1]
            following = next(successors, None)
            if following is None:
                self._last[block] = len(self.order) - 1
                stack.pop()
                continue
            self.predecessors.setdefault(following, []).append(block)
            if following not in self._first:
                stack.append((following, iter(self._enter(following))))

    def _enter(self, block: Block) -> Iterable[Block]:
        self._first[block] = len(self.order)
        self.order.append(block)
        last = block.last_op
        return () if last is None else last.successors

    def is_above(self, block: Block, other: Block) -> bool:
        """Whether `block` is `other` or an ancestor of it."""
        return self._first[block] <= self._first[other] <= self._last[block]
