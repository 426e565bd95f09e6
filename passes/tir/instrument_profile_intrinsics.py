"""Functions and loops are bracketed by marks whose times are taken."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i32
from xdsl.ir import Block, Operation

from xdsl_tvm.analysis.tir.function_target import functions_of
from xdsl_tvm.analysis.tir.variable_names import variable_name
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass, PassContext
from xdsl_tvm.passes.tir.rewriting.statements import may_write, signature_of

_START: Final = "start_profile_intrinsic"
_END: Final = "end_profile_intrinsic"


class _Counter:
    """The numbers of functions and loops, which go on from one module to the next."""

    def __init__(self) -> None:
        self._numbers = itertools.count()

    def reset(self) -> None:
        """Begin at 0 again."""
        self._numbers = itertools.count()

    def next(self) -> int:
        """The next number."""
        return next(self._numbers)


_COUNTER: Final = _Counter()


@dataclass(frozen=True)
class InstrumentProfileIntrinsics(CompilerPass):
    """Summary: Marks the beginning and the end of functions and loops, for their times.

    TVM name: tir.InstrumentProfileIntrinsics (v0.20)
    Input form: any
    Output form: the same, with calls of `start_profile_intrinsic` and
        `end_profile_intrinsic`
    Options: none. The configuration `tir.lwp_disable_func_prof` leaves out functions;
        `tir.instr_siblings`, which is set by default, takes loops with another loop
        beside them, else those down to the depth `tir.lwp_max_depth` (0 for the outermost
        ones) are taken; `tir.lwp_min_height` is the least number of loops in a nest, that
        of the loop included; `tir.reset_start_id` lets the numbers begin at 0
    Rewrites: before

            tir.for %k = %c0 to %n {
              …
            }

        after

            %s = tir.call "start_profile_intrinsic"(%c3) : (i32) -> !tir.handle
            tir.for %k = %c0 to %n {
              …
            }
            %e = tir.call "end_profile_intrinsic"(%c3) : (i32) -> !tir.handle

        Functions and loops are numbered in the order of the text, those that are not
        marked, too; numbers go on from one module to the next. Loops inside of a parallel
        loop are not marked. The end of a function is marked before each `tir.ret`, too.
        Time is linear in the size of the module.
    Leaves alone: loops in other statements than conditions, bindings, attributes and
        allocations, below the outermost loop; declarations
    Errors: none
    Attributes: read: none; created: `tir.profile_name` on the calls, the function and the
        variable of the loop; removed: none
    Differs from TVM: the end of functions and loops is marked before a `tir.ret` in them,
        which TVM skips. A declaration of a buffer or an assertion before a loop does not
        hide it, since statements follow each other here. What is inside of a parallel
        loop at the top is not marked, as it is not inside of others.
    """

    name = "tir-instrument-profile-intrinsics"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if _flag("tir.reset_start_id"):
            _COUNTER.reset()
        for func in functions_of(op):
            if not func.is_declaration:
                _instrument(func)


def _flag(key: str) -> bool:
    return bool(PassContext.current().get_config(key, bool))


def _number(key: str) -> int:
    return PassContext.current().get_config(key, int) or 0


# ---- which loops ----


@dataclass
class _Loop:
    """What is known of a loop."""

    number: int
    depth: int
    is_in_parallel: bool
    is_sibling: bool = False
    height: int = 0
    """How many loops are within each other inside of it."""


class _Nests:
    """The loops of a function."""

    def __init__(self) -> None:
        self.loops: dict[tir.ForOp, _Loop] = {}

    def find(self, block: Block) -> None:
        """Number the outermost loops in a block, and those in them."""
        pending: list[Operation] = list(reversed(block.ops))
        while pending:
            op = pending.pop()
            if isinstance(op, tir.ForOp):
                loop = self._add(op, 0, is_in_parallel=False)
                loop.height = self._height(op.body.block, 0, _is_parallel(op))
                continue
            for region in reversed(op.regions):
                for inner in reversed(region.blocks):
                    pending += reversed(inner.ops)

    def _add(self, op: tir.ForOp, depth: int, *, is_in_parallel: bool) -> _Loop:
        found = self.loops[op] = _Loop(_COUNTER.next(), depth, is_in_parallel)
        return found

    def _height(self, block: Block, depth: int, is_in_parallel: bool) -> int:
        """Number the loops in a block; the height of what is there."""
        statements = list(_statements(block))
        if len(statements) != 1:
            return self._height_of_row(statements, depth, is_in_parallel)
        match statements[0]:
            case tir.ForOp() as op:
                return self._height_of_row([op], depth, is_in_parallel)
            case tir.IfOp() | tir.AttrOp() | tir.LaunchThreadOp() | tir.ScopeOp() as op:
                blocks = [inner for region in op.regions for inner in region.blocks]
                heights = [self._height(inner, depth, is_in_parallel) for inner in blocks]
                return max(heights, default=0)
            case _:
                return 0

    def _height_of_row(
        self, statements: Sequence[Operation], depth: int, is_in_parallel: bool
    ) -> int:
        """The height of statements in a row, of which only loops count."""
        highest = 0
        found: list[_Loop] = []
        for op in statements:
            if isinstance(op, tir.ForOp):
                loop = self._add(op, depth + 1, is_in_parallel=is_in_parallel)
                inside = is_in_parallel or _is_parallel(op)
                height = self._height(op.body.block, depth + 1, inside)
                highest = max(highest, height)
                loop.height = highest
                found.append(loop)
        for loop in found:
            loop.is_sibling = len(found) > 1
        return highest + 1 if found else 0


def _is_parallel(op: tir.ForOp) -> bool:
    return op.kind.data is tir.ForKind.PARALLEL


_SCOPES_OF_REST = (tir.AllocateOp, tir.AssertOp, tir.DeclBufferOp, tir.LetOp)


def _statements(block: Block) -> Iterator[Operation]:
    """The ops of a block that do something, without what holds for its rest."""
    for op in block.ops:
        is_expression = bool(op.results) and not may_write(op)
        if not (is_expression or isinstance(op, _SCOPES_OF_REST)):
            yield op


# ---- marks ----


def _instrument(func: tir.FuncOp) -> None:
    """Mark a function, and the loops that the configuration takes."""
    number = _COUNTER.next()
    name = func.sym_name.data
    body = func.body.block
    nests = _Nests()
    nests.find(body)
    taken = {op: loop.number for op, loop in nests.loops.items() if _is_taken(loop)}
    for op, mark in taken.items():
        block = op.parent
        assert block is not None, "found in a function"
        called = f"{name}.{variable_name(op.loop_var)}"
        block.insert_ops_before(_mark(_START, mark, called), op)
        block.insert_ops_after(_mark(_END, mark, called), op)
    marks_function = not _flag("tir.lwp_disable_func_prof")
    for ret in [op for op in func.walk() if isinstance(op, tir.RetOp)]:
        marks = [taken[loop] for loop in _loops_around(ret) if loop in taken]
        if marks_function:
            marks.append(number)
        block = ret.parent
        assert block is not None, "found in a function"
        for mark in marks:
            block.insert_ops_before(_mark(_END, mark, name), ret)
    if marks_function:
        signature = signature_of(body)
        first = next((op for op in body.ops if op not in signature), None)
        start = _mark(_START, number, name)
        if first is None:
            body.add_ops(start)
        else:
            body.insert_ops_before(start, first)
        if not isinstance(body.last_op, tir.RetOp):
            body.add_ops(_mark(_END, number, name))


def _is_taken(loop: _Loop) -> bool:
    if loop.is_in_parallel or loop.height < _number("tir.lwp_min_height"):
        return False
    if _flag("tir.instr_siblings"):
        return loop.is_sibling
    return loop.depth <= _number("tir.lwp_max_depth")


def _loops_around(op: Operation) -> Iterator[tir.ForOp]:
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, tir.ForOp):
            yield parent
        parent = parent.parent_op()


def _mark(name: str, number: int, called: str) -> list[Operation]:
    constant = tir.ConstOp(IntegerAttr(number, i32))
    call = tir.CallOp(name, [constant.result], tir.HandleType())
    call.attributes[tir.PROFILE_NAME] = StringAttr(called)
    return [constant, call]
