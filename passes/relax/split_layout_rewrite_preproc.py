"""The part of a kernel that rearranges weights becomes a kernel of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FunctionType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops, ops_of
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.tir.annotations import is_true
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.module_symbols import SymbolNames, module_symbols
from xdsl_tvm.passes.relax.rewriting.insertion import BindingBuilder
from xdsl_tvm.passes.relax.rewriting.signatures import references

PREPROC = "meta_schedule_layout_rewrite_preproc"
"""Annotation of a block that only rearranges a weight."""
_LAYOUT_FREE = "layout_free_buffers"


@dataclass(frozen=True)
class SplitLayoutRewritePreproc(CompilerPass):
    """Summary: Splits TIR functions that rearrange weights first into one that does so,
        and one that takes the rearranged weights.

    TVM name: relax.SplitLayoutRewritePreproc (v0.20)
    Input form: calls of TIR functions in iteration-block form
    Output form: the same
    Options: none
    Rewrites: before, where the first block of `@f` is annotated with
        `meta_schedule_layout_rewrite_preproc` and copies `%w` to a buffer in another
        layout,

            %y = relax.call_tir @f(%x, %w) : (!x, tensor<8x8xf32>) -> !y

        after

            %p = relax.call_tir @f_weight_prepack(%w) : ... -> tensor<2x8x4xf32>
            %y = relax.call_tir @f_prepacked(%x, %p) : (!x, tensor<2x8x4xf32>) -> !y

        so that `relax-lift-transform-params` can move the first call out of the model.
        Several weights are rearranged by one function, which returns a tuple. Both have
        the attributes of the function but `layout_free_buffers`, and its `global_symbol`
        with their suffix. A function that nothing uses any more is erased. Time is linear
        in the size of the module.
    Leaves alone: functions without such blocks, or whose annotated blocks are beside
        others in a loop, read several buffers or one that is no parameter, or rearrange a
        weight that something else reads; calls in place
    Errors: a rearranged weight of symbolic shape
    Attributes: read: `meta_schedule_layout_rewrite_preproc` of blocks; created: none;
        removed: `layout_free_buffers` on the new functions
    Differs from TVM: only the function that was split is erased, where TVM removes all
        dead code
    """

    name = "relax-split-layout-rewrite-preproc"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        symbols = module_symbols(op)
        calls = [call for call in all_ops(op) if isinstance(call, relax.CallTIROp)]
        names = SymbolNames(op)
        splits: dict[str, _Split | None] = {}
        for call in calls:
            name = call.callee.root_reference.data
            func = symbols.get(name)
            if name not in splits:
                splits[name] = None
                if isinstance(func, tir.FuncOp) and (found := _found(func)):
                    splits[name] = _split(func, found, names)
            if (split := splits[name]) is not None:
                _replace(call, split)
        used = references(op)
        for name, split in splits.items():
            if split is None:
                continue
            func = symbols[name]
            for each in (split.prepack, split.prepacked):
                op.body.block.insert_op_before(each, func)
            if name not in used and "global_symbol" not in func.attributes:
                Rewriter.erase_op(func)


@dataclass(frozen=True)
class _Copy:
    """A loop nest that rearranges a parameter."""

    nest: Operation
    raw: int
    """Which parameter it reads."""
    match: tir.MatchBufferOp
    alloc: tir.AllocBufferOp


@dataclass(frozen=True)
class _Split:
    copies: list[_Copy]
    prepack: tir.FuncOp
    prepacked: tir.FuncOp

    @property
    def types(self) -> list[TensorType]:
        """The types of the rearranged weights."""
        return [
            TensorType(copy.alloc.buffer.type.element_type, _extents(copy.alloc))
            for copy in self.copies
        ]


def _extents(alloc: tir.AllocBufferOp) -> list[int]:
    return [extent.data for extent in alloc.buffer.type.shape]


def _container(func: tir.FuncOp) -> Block:
    """The block that holds the loop nests: that of the root, where there is one."""
    block = func.body.block
    roots = [op for op in block.ops if isinstance(op, tir.BlockOp)]
    others = [op for op in block.ops if isinstance(op, tir.ForOp)]
    return roots[0].body.block if len(roots) == 1 and not others else block


def _found(func: tir.FuncOp) -> list[_Copy]:
    """The loop nests that rearrange parameters, by the position of these."""
    if not func.body.blocks:
        return []
    container = _container(func)
    found: list[_Copy] = []
    for nest in container.ops:
        blocks = ops_of(nest, tir.BlockOp)
        if len(blocks) == 1 and _is_annotated(blocks[0]):
            copy = _copy_of(func, container, nest)
            if copy is not None:
                found.append(copy)
    return sorted(found, key=lambda copy: copy.raw)


def _is_annotated(block: tir.BlockOp) -> bool:
    return block.annotations is not None and is_true(block.annotations.data.get(PREPROC))


def _copy_of(func: tir.FuncOp, container: Block, nest: Operation) -> _Copy | None:
    """What a nest does, if it reads one parameter and fills one buffer."""
    read = {op.buffer for op in all_ops(nest) if isinstance(op, tir.LoadOp)}
    filled = {op.buffer for op in all_ops(nest) if isinstance(op, tir.StoreOp)}
    if len(read) != 1 or len(filled) != 1:
        return None
    match_op, alloc = read.pop().owner, filled.pop().owner
    if not isinstance(match_op, tir.MatchBufferOp):
        return None
    if not isinstance(alloc, tir.AllocBufferOp) or alloc.parent is not container:
        return None
    inside = set(nest.walk())
    for use in match_op.buffer.uses:
        is_root = isinstance(use.operation, tir.ReadsOp) and use.operation.parent is (
            container
        )
        if use.operation not in inside and not is_root:
            return None
    if DYNAMIC_INDEX in _extents(alloc):
        raise PassFailedException(
            f"{SplitLayoutRewritePreproc.name}: @{func.sym_name.data} rearranges a "
            f"weight to {alloc.buffer.type}, whose shape must be numbers; bind symbols"
        )
    return _Copy(nest, func.args.index(match_op.param), match_op, alloc)


def _split(func: tir.FuncOp, copies: list[_Copy], names: SymbolNames) -> _Split:
    name = func.sym_name.data
    prepack = _prepack(func, copies, names.unique(f"{name}_weight_prepack"))
    prepacked = _prepacked(func, copies, names.unique(f"{name}_prepacked"))
    return _Split(copies, prepack, prepacked)


def _cloned(func: tir.FuncOp, name: str) -> tuple[tir.FuncOp, dict[Operation, Operation]]:
    """A copy of a function under another name; what each operation is in it."""
    copy = func.clone()
    at = dict(zip(func.walk(), copy.walk(), strict=True))
    copy.sym_name = StringAttr(name)
    copy.attributes.pop(_LAYOUT_FREE, None)
    symbol = copy.attributes.get("global_symbol")
    if isinstance(symbol, StringAttr):
        suffix = name.removeprefix(func.sym_name.data)
        copy.attributes["global_symbol"] = StringAttr(f"{symbol.data}{suffix}")
    container = _container(copy)
    for op in list(container.ops):
        # The regions of the root are those of the whole function.
        if isinstance(op, tir.ReadsOp | tir.WritesOp):
            Rewriter.erase_op(op)
    return copy, at


def _as_parameter(func: tir.FuncOp, alloc: Operation, handle: SSAValue) -> None:
    """Let a buffer that is allocated be one that is passed by `handle`."""
    assert isinstance(alloc, tir.AllocBufferOp), "of the copy"
    buffer = alloc.buffer
    name = None if alloc.buffer_name is None else alloc.buffer_name.data
    match_op = tir.MatchBufferOp(
        handle, buffer.type, name=name, index_type=alloc.index_type
    )
    match_op.location = alloc.location
    match_op.buffer.name_hint = buffer.name_hint
    Rewriter.insert_op(match_op, InsertPoint.at_start(func.body.block))
    buffer.replace_all_uses_with(match_op.buffer)
    Rewriter.erase_op(alloc)


def _prepack(func: tir.FuncOp, copies: Sequence[_Copy], name: str) -> tir.FuncOp:
    """The function from the weights to the rearranged ones."""
    copy, at = _cloned(func, name)
    block, nests = copy.body.block, {at[each.nest] for each in copies}
    raws = [block.args[each.raw] for each in copies]
    handles: list[SSAValue] = []
    for each in copies:
        handle = block.insert_arg(tir.HandleType(), len(block.args))
        handles.append(handle)
        _as_parameter(copy, at[each.alloc], handle)
    container = _container(copy)
    for op in reversed(list(container.ops)):
        if op not in nests and not is_side_effect_free(op):
            _erase_if_unused(op)
    for part in dict.fromkeys((container, block)):
        for op in reversed(list(part.ops)):
            if op not in nests and not op.regions:
                _erase_if_unused(op)
    for arg in list(block.args):
        if arg not in raws and arg not in handles:
            block.erase_arg(arg)
    _update_type(copy)
    return copy


def _erase_if_unused(op: Operation) -> None:
    if all(result.first_use is None for result in op.results):
        Rewriter.erase_op(op)


def _prepacked(func: tir.FuncOp, copies: Sequence[_Copy], name: str) -> tir.FuncOp:
    """The function that takes the rearranged weights."""
    copy, at = _cloned(func, name)
    for each in copies:
        Rewriter.erase_op(at[each.nest])
        handle = copy.body.block.args[each.raw]
        Rewriter.erase_op(at[each.match])
        _as_parameter(copy, at[each.alloc], handle)
    return copy


def _update_type(func: tir.FuncOp) -> None:
    inputs = [arg.type for arg in func.args]
    func.function_type = FunctionType.from_lists(inputs, func.function_type.outputs.data)
    func.param_names = None


def _replace(call: relax.CallTIROp, split: _Split) -> None:
    arguments = list(call.arguments)
    if any(copy.raw >= len(arguments) for copy in split.copies):
        return
    builder = BindingBuilder(call)
    raws = [arguments[copy.raw] for copy in split.copies]
    types, name = split.types, split.prepack.sym_name.data
    is_one = len(types) == 1
    type_ = types[0] if is_one else relax.TupleType.of(types)
    packed = builder.insert(relax.CallTIROp(name, raws, type_))
    for index, copy in enumerate(split.copies):
        arguments[copy.raw] = (
            packed if is_one else builder.insert(relax.GetItemOp(packed, index))
        )
    name, result = split.prepacked.sym_name.data, call.result
    new = relax.CallTIROp(name, arguments, result.type, call.tir_vars)
    new.attributes.update(call.attributes)
    builder.insert_op(new)
    new.result.name_hint = result.name_hint
    Rewriter.replace_op(call, (), [new.result])
