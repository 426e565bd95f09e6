"""Shared memory whose columns are permuted from row to row, so that banks differ."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, emit
from xdsl_tvm.analysis.tir.flat_index import has_padding
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.storage_scope import StorageRank
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.expressions import ExpressionRewriter
from xdsl_tvm.passes.tir.rewriting.statements import describe

_ANNOTATION = "permuted_layout"
_GROUP = 8
"""The elements that stay together."""
_LOAD, _STORE = "ptx_ldmatrix", "mma_store"
_POINTERS = {_LOAD: 5, _STORE: 2}
"""Which operand of an intrinsic is a pointer into shared memory."""
_OFFSET = 6
"""Which operand of `ptx_ldmatrix` is added to it."""


@dataclass(frozen=True)
class InjectPermutedLayout(CompilerPass):
    """Summary: Permutes the columns of shared buffers that marked blocks access, groups
        of 8 elements by an exclusive or with the row.

    TVM name: tir.InjectPermutedLayout (v0.20)
    Input form: blocks without `tir.match_region`
    Output form: the same, without blocks that are marked
    Options: none
    Rewrites: before

            tir.block "copy" annotations {"permuted_layout" = "g2s_A"} {
              tir.store %x, %S[%r, %c] : f16
            }

        after, for `%S : !tir.buffer<128x32xf16, "shared">`

            tir.block "copy" {
              tir.store %x, %S[%r, bitwise_xor(%c // 8, %r % 8 // 2) * 8 + %c % 8] : f16
            }

        A block is marked if `permuted_layout` is a string that is not empty or a number
        that is not 0, for all that it holds. There, the last index of loads and stores of
        a shared buffer of two dimensions or more is permuted: group `g` of row `r` goes
        to `g xor r % 8` if rows have a multiple of 64 elements, and to
        `g xor r % 8 // 2` if a multiple of 32. The place that `tir.access_ptr` gives to
        `ptx_ldmatrix`, with the offset of the call, is that of a row of a matrix, and
        permuted likewise; the offset becomes 0. All is simplified by the loops and
        conditions around. Time is linear in the size of the module, but for the proofs.
    Leaves alone: blocks whose annotation is empty or 0, and that annotation; buffers that
        no marked block accesses, that are not shared, or have one dimension; the regions
        that blocks declare; `mma_store` to other memory
    Errors: a buffer to permute whose rows are no multiple of 32 elements, or not
        constant; one with a multiple of 32, but not of 64, and an odd or unknown number
        of rows; a view of other memory; an access that no marked block holds, and any use
        but loads, stores, `ptx_ldmatrix` and declared regions; an annotation that is no
        string or integer. In a marked block, an intrinsic whose pointer
        is no `tir.access_ptr` on the `tir.data` of a buffer; `ptx_ldmatrix` on a buffer
        of one dimension, with padding or an offset, or elements other than those of the
        pointer, or of less than 2 bytes; `mma_store` to shared memory
    Attributes: read and removed: `permuted_layout`; created: none
    Differs from TVM: an access that is not marked, where others of its buffer are, is an
        error, since it would find other elements; so is `mma_store` to shared memory,
        whose 16 rows TVM permutes as the first one, and `ptx_ldmatrix` of bytes, whose
        rows of 16 elements groups of 8 take apart. The row in a buffer of more than two
        dimensions is counted from where its matrix starts.
    """

    name = "tir-inject-permuted-layout"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            marked = [each for each in ops_of(func, tir.BlockOp) if _is_marked(each)]
            if marked:
                accesses = _Accesses(func)
                accesses.check()
                _Permutation(func, accesses).run()
                assert not accesses.ops, "an access has not been visited"
                for block in marked:
                    _unmark(block)


def _is_marked(op: Operation) -> bool:
    if not isinstance(op, tir.BlockOp) or op.annotations is None:
        return False
    match op.annotations.data.get(_ANNOTATION):
        case StringAttr(data=text):
            return text != ""
        case IntegerAttr(value=number):
            return number.data != 0
        case _:
            return False


def _unmark(block: Operation) -> None:
    assert isinstance(block, tir.BlockOp)
    assert block.annotations is not None
    kept = {k: v for k, v in block.annotations.data.items() if k != _ANNOTATION}
    block.annotations = DictionaryAttr(kept) if kept else None


def _refused(op: Operation, problem: str) -> PassFailedException:
    return PassFailedException(f"{describe(op)}: {problem}")


# ---- what is permuted ----


class _Accesses:
    """The accesses in marked blocks, and the buffers that are permuted for them."""

    def __init__(self, func: Operation) -> None:
        self._blocks: dict[Block, bool] = {}
        self.ops: set[Operation] = set()
        """Loads, stores and loads of matrices, to be permuted."""
        self.buffers: dict[tir.BufferDefinition, None] = {}
        for op in func.walk():
            if self._is_inside(op):
                self._add(op)

    def _is_inside(self, op: Operation) -> bool:
        """Whether an op is in a marked block."""
        path: list[Block] = []
        block = op.parent
        found = False
        while block is not None:
            known = self._blocks.get(block)
            if known is not None:
                found = known
                break
            path.append(block)
            parent = block.parent_op()
            if parent is None or _is_marked(parent):
                found = parent is not None
                break
            block = parent.parent
        for each in path:
            self._blocks[each] = found
        return found

    def _add(self, op: Operation) -> None:
        match op:
            case tir.LoadOp() | tir.StoreOp():
                buffer = tir.buffer_definition(op.buffer)
                if _is_shared(buffer) and buffer.type.get_num_dims() >= 2:
                    self.ops.add(op)
                    self.buffers[buffer] = None
            case tir.CallOp() if op.callee.data in _POINTERS:
                buffer = tir.buffer_definition(_pointer(op)[1].buffer)
                if op.callee.data == _LOAD:
                    self.ops.add(op)
                    self.buffers[buffer] = None
                elif _is_shared(buffer):
                    raise _refused(
                        op,
                        "mma_store to shared memory writes 16 rows from one place, "
                        "which a permuted layout takes apart; store element by element",
                    )
            case _:
                pass

    def check(self) -> None:
        """Raise PassFailedException if a buffer is not permuted for all who use it."""
        for buffer in self.buffers:
            _check_rows(buffer)
            for use in buffer.buffer.uses:
                self._check_use(use.operation)

    def _check_use(self, op: Operation) -> None:
        match op:
            case tir.ReadsOp() | tir.WritesOp():
                return
            case tir.DataOp():
                for use in op.results[0].uses:
                    self._check_use(use.operation)
                return
            case tir.AccessPtrOp():
                for use in op.result.uses:
                    self._check_use(use.operation)
                return
            case tir.MatchRegionOp():
                raise _refused(
                    op, "views must be gone here; run tir-lower-match-buffer first"
                )
            case _ if op in self.ops:
                return
            case _:
                raise _refused(
                    op,
                    "uses a buffer whose layout is permuted for others; mark its block "
                    f"with {_ANNOTATION}, and use loads, stores or ptx_ldmatrix",
                )


def _is_shared(buffer: tir.BufferDefinition) -> bool:
    return buffer.type.storage_scope.rank is StorageRank.SHARED


def _pointer(call: tir.CallOp) -> tuple[tir.AccessPtrOp, tir.DataOp]:
    """Where an intrinsic points to in shared memory."""
    pointer = call.args[_POINTERS[call.callee.data]].owner
    if isinstance(pointer, tir.AccessPtrOp) and isinstance(
        pointer.data.owner, tir.DataOp
    ):
        return pointer, pointer.data.owner
    raise _refused(
        call,
        f"{call.callee.data} with a permuted layout needs a tir.access_ptr on the "
        "tir.data of a buffer; pass one",
    )


def _check_rows(buffer: tir.BufferDefinition) -> None:
    if isinstance(buffer, tir.DeclBufferOp | tir.MatchRegionOp):
        raise _refused(
            buffer,
            "a view of other memory cannot be permuted without it; run "
            "tir-lower-match-buffer first, or access the buffer itself",
        )
    shape = buffer.type.get_shape()
    if len(shape) < 2:
        raise _refused(
            buffer, "a permuted layout needs two dimensions; give the buffer rows"
        )
    rows, columns = shape[-2:]
    if columns == DYNAMIC_INDEX or columns % 32:
        raise _refused(
            buffer,
            "a permuted layout needs rows with a multiple of 32 elements; pad them",
        )
    if columns % 64 and (rows == DYNAMIC_INDEX or rows % 2):
        raise _refused(
            buffer,
            "a permuted layout of rows that are no multiple of 64 elements needs an even "
            "number of them; add one",
        )


def _check_matrix(call: tir.CallOp, pointer: tir.AccessPtrOp, buffer: SSAValue) -> None:
    definition = tir.buffer_definition(buffer)
    offset = definition.elem_offset
    if has_padding(definition) or not (offset is None or tir.is_constant(offset, 0)):
        raise _refused(
            call,
            "loads a matrix with a permuted layout from a buffer with strides or an "
            "offset; use a compact one",
        )
    element = definition.type.element_type
    if pointer.element_type != element or tir.bytes_of(element) < 2:
        raise _refused(
            call,
            f"loads a matrix with a permuted layout in elements of {element}; count in "
            "those of the buffer, of 2 bytes at least",
        )


# ---- the rewrite ----


class _Permutation(ExpressionRewriter):
    """Permutes what marked blocks access."""

    def __init__(self, func: Operation, accesses: _Accesses) -> None:
        super().__init__(func, Analyzer())
        self._accesses = accesses

    def rewritten(self, tree: Expr) -> Expr:
        return tree

    def statement(self, op: Operation) -> None:
        """Permute the place of an access."""
        if op not in self._accesses.ops:
            return
        self._accesses.ops.remove(op)
        match op:
            case tir.LoadOp():
                self._element(op, len(op.indices))
            case tir.StoreOp():
                self._element(op, 1 + len(op.indices))
            case tir.CallOp():
                self._matrix(op)
            case _:
                pass

    def _element(self, op: tir.LoadOp | tir.StoreOp, last: int) -> None:
        column = op.operands[last]
        size = tir.buffer_definition(op.buffer).type.get_shape()[-1]
        row = self.tree(op.operands[last - 1])
        permuted = self._permuted(row, self.tree(column), size)
        builder = Builder(InsertPoint.before(op))
        op.operands[last] = emit(permuted, builder, self._at_hand)
        self.dropped.append(column)

    def _permuted(self, row: Expr, column: Expr, size: int) -> Expr:
        """The column, in rows of a size, where an element of a row is."""
        turn = smart.floormod(row, 8)
        if size % 64:
            turn = smart.floordiv(turn, 2)
        group, turn = smart.matched(smart.floordiv(column, _GROUP), turn)
        moved = smart.call("bitwise_xor", [group, turn], group.dtype)
        inside = smart.floormod(column, _GROUP)
        return self.analyzer.simplify(smart.add(smart.mul(moved, _GROUP), inside))

    def _matrix(self, call: tir.CallOp) -> None:
        pointer, data = _pointer(call)
        _check_matrix(call, pointer, data.buffer)
        *rest, rows, columns = tir.buffer_definition(data.buffer).type.get_shape()
        old = call.args[_OFFSET]
        place = smart.add(self.tree(pointer.offset), self.tree(old))
        row, column = smart.floordiv(place, columns), smart.floormod(place, columns)
        turning = row
        if rest and (rows == DYNAMIC_INDEX or rows % 8):
            turning = smart.floormod(row, self._rows(data.buffer, row))
        moved = self._permuted(turning, column, columns)
        offset = self.analyzer.simplify(smart.add(smart.mul(row, columns), moved))
        builder = Builder(InsertPoint.before(call))
        new = tir.AccessPtrOp(
            pointer.data,
            emit(offset, builder, self._at_hand),
            pointer.extent,
            pointer.mode.data,
            pointer.result.type,
        )
        new.attributes |= pointer.attributes
        new.location = pointer.location
        new.result.name_hint = pointer.result.name_hint
        builder.insert(new)
        call.operands[_POINTERS[_LOAD]] = new.result
        zero = smart.const(0, old.type)
        call.operands[_OFFSET] = emit(zero, builder, self._at_hand)
        self.dropped += [pointer.result, old]

    def _rows(self, buffer: SSAValue, row: Expr) -> Expr:
        """The number of rows of a matrix, of which a buffer has several."""
        extent = tir.buffer_definition(buffer).shape[-2]
        if isinstance(extent, int):
            return smart.const(extent, row.dtype)
        return smart.matched(self.tree(extent), row)[0]
