"""Kernels whose arguments are the same in every call become functions to capture."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.relax.functions import relax_functions
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.cuda_graph import (
    GET_CACHED_ALLOC,
    RUN_OR_CAPTURE,
    new_cuda_graph_call,
)
from xdsl_tvm.dialects.relax.packed import PackedCallOp
from xdsl_tvm.dialects.relax.types import (
    TensorInfo,
    definable_symbols,
    symbols_in,
    used_symbols,
)
from xdsl_tvm.passes.infra import CompilerPass, PassContext
from xdsl_tvm.passes.infra.module_symbols import SymbolNames, module_symbols
from xdsl_tvm.passes.relax._memory_plan.storages import common_anchor
from xdsl_tvm.passes.relax.rewriting.bindings import LEAVES, allow_effects
from xdsl_tvm.passes.relax.rewriting.signatures import input_count

CONFIG: Final = "relax.backend.use_cuda_graph"
CAPTURED_SYMBOLS: Final = "relax.rewrite_cuda_graph.capture_symbolic_vars"
_ALLOCATE: Final = "cuda_graph_alloc"
_VIEWS = (
    relax.AliasOp,
    relax.AllocTensorFromStorageOp,
    relax.EnsureZeroOffsetOp,
    relax.GetItemOp,
    relax.MatchCastOp,
    relax.ReshapeOp,
    relax.TupleOp,
    relax.ViewOp,
)
"""Bindings that launch nothing, and may be in a region."""
_NEW_RESULTS = (relax.CallTIROp, relax.CallDPSPackedOp)
"""Calls whose results are not memory of their operands."""


@dataclass(frozen=True)
class RewriteCUDAGraph(CompilerPass):
    """Summary: Moves calls of kernels on memory that is the same in every call to
        functions that a runtime captures as CUDA graphs.

    TVM name: relax.RewriteCUDAGraph (v0.20)
    Input form: no dataflow blocks, tensors on storages
        (`relax-static-plan-block-memory`); meant for before `relax-lower-alloc-tensor`
        and `relax-kill-after-last-use`
    Output form: the same, with calls of `vm.builtin.cuda_graph.get_cached_alloc` and
        `vm.builtin.cuda_graph.run_or_capture`
    Options: `use_cuda_graph`: whether anything is done; where it is not set, the
        `PassContext` says so by `relax.backend.use_cuda_graph`, which is false by default
    Rewrites: before

            %s = relax.memory.alloc_storage 32 on 0 scope "global" dtype f32 : ...
            %a = relax.memory.alloc_tensor %s at 0 : ...
            relax.call impure @exp(%x, %a) : ...
            %t = relax.memory.alloc_storage 32 on 0 scope "global" dtype f32 : ...
            %b = relax.memory.alloc_tensor %t at 0 : ...
            relax.call impure @exp(%a, %b) : ...
            %c = relax.builtin.alloc_tensor on 0 scope "global" : ...
            relax.call impure @exp(%b, %c) : ...

        after

            %f = relax.global_ref @cuda_graph_alloc : ...
            %0 = relax.prim_value 0 : i64
            %gv = relax.call_builtin_with_ctx
              "vm.builtin.cuda_graph.get_cached_alloc"(%f, %0) : ...
            %s = relax.get_item %gv[0] : ...
            %a = relax.memory.alloc_tensor %s at 0 : ...
            relax.call impure @exp(%x, %a) : ...
            %t = relax.get_item %gv[1] : ...
            %b = relax.memory.alloc_tensor %t at 0 : ...
            %g = relax.global_ref @main_cuda_graph_capture : ...
            %1 = relax.prim_value 0 : i64
            %arguments = relax.tuple(%a, %b) : ...
            %none = relax.call_builtin_with_ctx
              "vm.builtin.cuda_graph.run_or_capture"(%g, %arguments, %1) : ...
            %c = relax.builtin.alloc_tensor on 0 scope "global" : ...
            relax.call impure @exp(%b, %c) : ...

        All storages of constant size in a function that back no result are made by one
        private function, which returns them. Static are these storages; parameters from
        `num_input` on, the weights; constants; and what bindings make of static values
        only, with dimensions that are constant, or symbols that a weight or
        `relax.rewrite_cuda_graph.capture_symbolic_vars` names. A region begins at a
        launch, which is a static call of a TIR function, of an external function whose
        name does not begin with `vm.builtin`, or of an operator on tensors. It holds the
        static bindings up to the next binding that is not static, an end of a life, a
        `relax.if` or the end of the block. Allocations do not end it. Regions become
        private functions, of their inputs and, where they use symbols, a shape of these;
        what is used after a region is a field of the result. Functions and regions have
        numbers, which count from 0 in a module. Time is linear in the size of the
        module.
    Leaves alone: function literals; modules in modules; operations that read elements of
        tensors as shapes, print, or check; allocations of `relax.vm`; regions without a
        launch
    Errors: a storage or region in a dataflow block; `num_input` that is no number of
        parameters; `capture_symbolic_vars` that are no symbols of the parameters
    Attributes: read: `num_input`, `relax.rewrite_cuda_graph.capture_symbolic_vars`;
        created: `relax.force_pure` on the new functions, and on pure functions that call
        them; removed: none
    Differs from TVM: a storage that may back what a call of an external or Relax function
        returns stays, if that is returned. Operators that are for the host, as
        `relax.print`, end regions, where TVM leaves them out of later calls. Storages of
        several branches are made before the `relax.if`.
    """

    name = "relax-rewrite-cuda-graph"
    tvm_name = "RewriteCUDAGraph"

    use_cuda_graph: bool | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        is_on = self.use_cuda_graph
        if is_on is None:
            is_on = PassContext.current().get_config(CONFIG, bool)
        if not is_on:
            return
        symbols = module_symbols(op)
        functions = [f for f in relax_functions(op) if f.parent_op() is op]
        # All attributes are checked before anything changes.
        searches = [_Search(func, symbols) for func in functions]
        graphs = _Graphs(op)
        for search in searches:
            search.run()
            graphs.rewrite(search)


class _Search:
    """The storages and regions of a function, found in one walk."""

    def __init__(self, func: relax.FuncOp, symbols: dict[str, Operation]) -> None:
        self.func = func
        self.storages: list[relax.AllocStorageOp] = []
        self.regions: list[list[Operation]] = []
        self._symbols = symbols
        inputs = input_count(func, RewriteCUDAGraph.name)
        weights = () if inputs is None else func.args[inputs:]
        self._static: set[SSAValue] = set(weights)
        self._capturable = set(_captured_symbols(func))
        for weight in weights:
            self._capturable.update(definable_symbols(weight.type))
        self._returned: set[Operation] = set()
        self._region: list[Operation] = []

    def run(self) -> None:
        """Find them."""
        self._returned = _returned_storages(self.func)
        self._visit_block(self.func.body.block)

    def _visit_block(self, block: Block) -> None:
        self._region = []
        for op in block.ops:
            self._visit(op)
        self._end()

    def _visit(self, op: Operation) -> None:
        if isinstance(op, (*LEAVES, relax.AllocTensorOp)):
            return
        if isinstance(op, relax.AllocStorageOp):
            if op.size.data.value is not None and op not in self._returned:
                self.storages.append(op)
                self._static.add(op.result)
            return
        if not self._is_static(op):
            self._end()
            if isinstance(op, relax.IfOp | relax.DataflowOp):
                for region in op.regions:
                    self._visit_block(region.block)
            return
        is_launch = not isinstance(op, _VIEWS)
        self._static.update(op.results)
        if is_launch or self._region:
            self._region.append(op)

    def _end(self) -> None:
        if self._region:
            self.regions.append(self._region)
        self._region = []

    def _is_static(self, op: Operation) -> bool:
        """Whether an operation does the same in every call, and can be in a region."""
        if isinstance(op, relax.MatchCastOp) and op.defined_symbols:
            return False
        if not isinstance(op, _VIEWS) and not self._is_launch(op):
            return False
        return self._has_static_symbols(op) and all(
            map(self._is_static_value, op.operands)
        )

    def _is_static_value(self, value: SSAValue) -> bool:
        owner = value.owner
        if isinstance(owner, LEAVES):
            return self._has_static_symbols(owner)
        return value in self._static

    def _has_static_symbols(self, op: Operation) -> bool:
        return self._capturable.issuperset(symbols_in(op))

    def _is_launch(self, op: Operation) -> bool:
        match op:
            case relax.CallOp():
                callee = self._symbols.get(op.callee.root_reference.data)
                return isinstance(callee, tir.FuncOp)
            case relax.VMCallTIRDynOp() | relax.CallTIROp() | relax.CallTIRInplaceOp():
                return True
            case relax.CallBuiltinWithCtxOp():
                return False
            case PackedCallOp():
                return not op.callee.data.startswith("vm.builtin")
            case relax.OperatorOp():
                return all(_is_tensors(result.type) for result in op.results)
            case _:
                return False


def _is_tensors(type_: Attribute) -> bool:
    if isinstance(type_, relax.TupleType):
        return all(map(_is_tensors, type_.fields.data))
    return TensorInfo.of(type_) is not None


def _captured_symbols(func: relax.FuncOp) -> list[str]:
    """The symbols whose values regions may depend on."""
    found = func.attributes.get(CAPTURED_SYMBOLS)
    if found is None:
        return []
    listed = tuple(cast("ArrayAttr[Attribute]", found)) if _is_array(found) else (found,)
    names = [each.data for each in listed if isinstance(each, StringAttr)]
    known = func.symbol_names
    if not _is_array(found) or len(names) < len(listed) or not {*names} <= {*known}:
        raise PassFailedException(
            f"{RewriteCUDAGraph.name}: {CAPTURED_SYMBOLS} of @{func.sym_name.data} is "
            f"{found}; list names of the symbols that its parameters define: "
            f"{', '.join(known) or 'none'}"
        )
    return names


def _is_array(attribute: Attribute) -> bool:
    return isinstance(attribute, ArrayAttr)


def _returned_storages(func: relax.FuncOp) -> set[Operation]:
    """The storages on which the result of a function may be."""
    seen: set[Operation] = set()
    work: list[SSAValue] = [func.return_op.value]
    while work:
        op = work.pop().owner
        if not isinstance(op, Operation) or op in seen:
            continue
        seen.add(op)
        if isinstance(op, relax.IfOp | relax.DataflowOp):
            last = [region.block.last_op for region in op.regions]
            work += [
                value for each in last if each is not None for value in each.operands
            ]
        elif isinstance(op, _VIEWS) or not isinstance(
            op, (relax.OperatorOp, *_NEW_RESULTS)
        ):
            work += op.operands
    return seen


class _Graphs:
    """Writes the functions of storages and regions, and their calls."""

    def __init__(self, module: ModuleOp) -> None:
        self._module = module
        self._names = SymbolNames(module)
        self._allocations = 0
        self._captures = 0
        self._order: dict[Operation, int] = {}
        """Where the operations of the function are, with ties."""

    def rewrite(self, search: _Search) -> None:
        """Move the regions and the storages of a function."""
        if not search.storages and not search.regions:
            return
        self._order = {op: at for at, op in enumerate(search.func.walk())}
        added: list[relax.FuncOp] = []
        name = f"{search.func.sym_name.data}_cuda_graph_capture"
        names = [self._names.unique(name) for _ in search.regions]
        # Fields of results are made before their first use: the last region comes first.
        for at in reversed(range(len(names))):
            region = search.regions[at]
            added.append(self._capture(region, names[at], self._captures + at))
        self._captures += len(names)
        if search.storages:
            added.append(self._allocate(search.storages))
        self._module.body.block.add_ops(reversed(added))

    # ---- storages ----

    def _allocate(self, storages: Sequence[relax.AllocStorageOp]) -> relax.FuncOp:
        block = Block([storage.clone() for storage in storages])
        made = [op.results[0] for op in block.ops]
        func = _function(self._names.unique(_ALLOCATE), block, made)
        ops = new_cuda_graph_call(
            GET_CACHED_ALLOC, func.sym_name.data, func.type, self._allocations
        )
        self._allocations += 1
        results = [storage.result for storage in storages]
        anchor = common_anchor(storages)
        # A region that begins before the first storage may be on it.
        users = [self._first_user(value, anchor) for value in results]
        first = min((anchor, *filter(None, users)), key=self._order.__getitem__)
        self._insert_call(ops, first)
        self._replace_by_fields(ops[-1], results)
        for storage in storages:
            Rewriter.erase_op(storage)
        return func

    # ---- regions ----

    def _capture(
        self, region: Sequence[Operation], name: str, number: int
    ) -> relax.FuncOp:
        inside = set(region)
        inputs: dict[SSAValue, None] = {}
        body: dict[Operation, None] = {}
        for op in region:
            for operand in op.operands:
                owner = operand.owner
                if isinstance(owner, LEAVES):
                    body[owner] = None
                elif owner not in inside:
                    inputs[operand] = None
            body[op] = None
        outputs = [
            result
            for op in region
            for result in op.results
            if any(use.operation not in inside for use in result.uses)
        ]
        symbols = [each for op in body for each in symbols_in(op)]
        symbols += [each for value in inputs for each in used_symbols(value.type)]
        arguments: list[Operation] = [relax.TupleOp(list(inputs))]
        if symbols:
            dims = map(relax.Dim.symbol, dict.fromkeys(symbols))
            arguments.append(relax.ShapeOp(list(dims)))
        shapes = [op.results[0].type for op in arguments[1:]]
        block = Block(arg_types=[*(value.type for value in inputs), *shapes])
        copies = dict[SSAValue, SSAValue](zip(inputs, block.args, strict=False))
        for value, parameter in zip(inputs, block.args, strict=False):
            parameter.name_hint = value.name_hint
        block.add_ops([op.clone(copies) for op in body])
        func = _function(name, block, [copies[value] for value in outputs])
        values = [each.results[0] for each in arguments]
        call = new_cuda_graph_call(RUN_OR_CAPTURE, name, func.type, number, values)
        self._insert_call((*arguments, *call), region[0])
        self._replace_by_fields(call[-1], outputs, inside)
        for op in reversed(body):
            if all(result.first_use is None for result in op.results):
                Rewriter.erase_op(op)
        return func

    # ---- calls ----

    def _insert_call(self, ops: Sequence[Operation], before: Operation) -> None:
        for op in ops:
            self._insert(op, before)
        ops[-1].results[0].name_hint = "gv"
        allow_effects(ops[-1], RewriteCUDAGraph.name)

    def _insert(self, op: Operation, before: Operation) -> None:
        op.location = before.location
        self._order[op] = self._order[before]
        Rewriter.insert_op(op, InsertPoint.before(before))

    def _replace_by_fields(
        self,
        call: Operation,
        values: Sequence[SSAValue],
        moved: AbstractSet[Operation] = frozenset(),
    ) -> None:
        """Let the fields of a tuple take the place of values, just before their uses."""
        for index, value in enumerate(values):
            user = self._first_user(value, call, moved)
            if user is None:
                continue
            item = relax.GetItemOp(call.results[0], index)
            self._insert(item, user)
            item.result.name_hint = value.name_hint
            value.replace_all_uses_with(item.result)

    def _first_user(
        self,
        value: SSAValue,
        beside: Operation,
        moved: AbstractSet[Operation] = frozenset(),
    ) -> Operation | None:
        """The first operation of a block that uses a value, or holds one that does."""
        block = beside.parent
        assert block is not None
        users = (
            block.find_ancestor_op_in_block(use.operation)
            for use in value.uses
            if use.operation not in moved
        )
        return min(filter(None, users), key=self._order.__getitem__, default=None)


def _function(name: str, block: Block, results: Sequence[SSAValue]) -> relax.FuncOp:
    """A private function that returns a tuple."""
    fields = relax.TupleOp(results)
    fields.result.name_hint = "gv"
    block.add_ops([fields, relax.ReturnOp(fields.result)])
    func = relax.FuncOp(
        name,
        [arg.type for arg in block.args],
        fields.result.type,
        Region(block),
        attributes={relax.FORCE_PURE: BoolAttr.from_bool(True)},
    )
    first = block.first_op
    assert first is not None, "a terminator"
    func.location = first.location
    return func
