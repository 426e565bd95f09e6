"""Calls of TIR functions that can run as one are put into functions of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import Attribute, Block, Operation, OpResult

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.relax.memory_sharing import Writers, written_operands
from xdsl_tvm.analysis.relax.op_pattern import OpPattern
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.functions import is_set
from xdsl_tvm.dialects.tir.annotations import integer_of
from xdsl_tvm.passes.infra import CompilerPass, PassContext
from xdsl_tvm.passes.infra.module_symbols import SymbolNames, module_symbols
from xdsl_tvm.passes.relax._grouped_functions.functions import CODEGEN, PRIMITIVE
from xdsl_tvm.passes.relax._grouped_functions.group_body import GroupBody
from xdsl_tvm.passes.relax._tir_functions.merged_calls import (
    AnyFusedCall,
    NotMergeableError,
    bind_call,
)
from xdsl_tvm.passes.relax.annotate_tir_op_pattern import OP_PATTERN

MAX_DEPTH = "relax.FuseOps.max_depth"


@dataclass(frozen=True)
class FuseOps(CompilerPass):
    """Summary: Puts calls of TIR functions that can run as one kernel into private Relax
        functions, each of which `relax-fuse-tir` makes one TIR function.

    TVM name: relax.FuseOps (v0.20)
    Input form: TIR functions with `op_pattern` (`relax-annotate-tir-op-pattern`); those
        without count as opaque
    Output form: the same, where calls that are fused are `relax.call`s of functions with
        the attribute `Primitive`
    Options: `fuse_opt_level`: -1 takes the `opt_level` of the `PassContext`; at 0 nothing
        is fused (-1)
    Rewrites: in a dataflow block, before

            %a = relax.call_tir @add(%x, %y) : (!t, !t) -> !t
            %b = relax.call_tir @exp(%a) : (!t) -> !t

        after

            %b = relax.call @fused_add_exp(%x, %y) : (!t, !t) -> !t

            relax.func @fused_add_exp(%x: !t, %y: !t) -> !t
                attributes {Primitive = 1 : i32} {
              %r = relax.dataflow -> (!t) {
                %a = relax.call_tir @add(%x, %y) : (!t, !t) -> !t
                %b = relax.call_tir @exp(%a) : (!t) -> !t
                relax.output %b : !t
              }
              relax.return %r : !t
            }

        A call is fused with its post-dominator, the first call that everything that comes
        of its result goes through, and with all calls on the way. Which calls fuse goes
        by the kinds of their functions, in three rounds: what ends in a matrix product
        and the like with element-wise calls after it; element-wise and broadcasting ones
        with maps, reductions and what is fused already; then other maps with each other.
        Reductions start nothing. Calls with equal bodies share one function. Constants
        become parameters, shapes and numbers are copied into the function; symbols that
        no parameter has as a dimension come with a last parameter `!relax.shape`. Time is
        linear in the size of the module times the greatest number of calls per group,
        `relax.FuseOps.max_depth` of the `PassContext` (256).
    Leaves alone: functions with `Primitive` or `Codegen`; what is outside of dataflow
        blocks; values that `relax.output` names, which end groups; calls without use;
        calls of functions whose bodies cannot be merged: those that take more than
        compact buffers of the call's own shapes, and integers; all other operations
    Errors: none
    Attributes: read: `op_pattern` and `target` of TIR functions, `Primitive` and
        `Codegen` of Relax functions; created: `Primitive`; removed: none
    Differs from TVM: fields of tuples from outside of a group are always passed one by
        one; dead calls are kept as they are, without a warning. No call is moved across
        an operation that writes memory in place, since it may read what that overwrites,
        and calls on different devices or for different targets are not fused. A call
        whose shapes are not provably those of the function is not fused, since the check
        of its arguments would be lost.
    """

    name = "relax-fuse-ops"

    fuse_opt_level: int = -1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context = PassContext.current()
        level = context.opt_level if self.fuse_opt_level < 0 else self.fuse_opt_level
        if level == 0:
            return
        depth = context.get_config(MAX_DEPTH, int) or 0
        functions = _Functions(op)
        for func in list(op.ops):
            if isinstance(func, relax.FuncOp) and not is_fused(func):
                for dataflow in [
                    d for d in all_ops(func) if isinstance(d, relax.DataflowOp)
                ]:
                    _fuse(dataflow, functions, depth)


def is_fused(func: relax.FuncOp) -> bool:
    """Whether a function is a kernel already, or another compiler's."""
    return CODEGEN in func.attributes or is_set(func.attributes.get(PRIMITIVE))


def _fuse(dataflow: relax.DataflowOp, functions: _Functions, depth: int) -> None:
    graph = _Graph(dataflow.body.block, functions)
    partition = _Partition(graph, depth)
    for members in partition.groups():
        functions.replace(members)


# ---- the graph of a dataflow block ----


_Place: TypeAlias = tuple[Attribute | None, Attribute | None]
"""The virtual device and the target of a call."""


@dataclass(eq=False)
class _Node:
    """An operation of the block."""

    index: int
    op: Operation
    pattern: OpPattern = OpPattern.OPAQUE
    place: _Place = (None, None)
    is_output: bool = False
    """Whether something outside of the block may use the result."""
    users: list[_Node] = field(default_factory=list["_Node"])
    # The post-dominator, the greatest kind on the way to it, and its depth in the tree.
    dominator: _Node | None = None
    path_pattern: OpPattern = OpPattern.ELEMWISE
    depth: int = 1


class _Graph:
    """The operations of a block, who uses whose results, and the post-dominators."""

    def __init__(self, block: Block, functions: _Functions) -> None:
        self._functions = functions
        self.nodes = [
            _Node(index, op)
            for index, op in enumerate(block.ops)
            if not isinstance(op, relax.OutputOp)
        ]
        self.of = {node.op: node for node in self.nodes}
        for node in self.nodes:
            self._classify(node)
            self._find_users(node, block)
        for node in reversed(self.nodes):
            _find_dominator(node)
        fences = [
            bool(written_operands(node.op, functions.writers)) for node in self.nodes
        ]
        self.fences = [0, *accumulate(fences)]
        """How many operations before an index write in place."""

    def _classify(self, node: _Node) -> None:
        match node.op:
            case relax.CallTIROp() | relax.CallTIRInplaceOp() as call:
                self._classify_call(node, call)
            case relax.GetItemOp(tuple_value=OpResult(op=source)) if source in self.of:
                # A field of what a call of the block returns; others are passed as such.
                if self.of[source].pattern is not OpPattern.OPAQUE:
                    node.pattern = OpPattern.INJECTIVE
                    node.place = self.of[source].place
            case _:
                pass

    def _classify_call(self, node: _Node, call: AnyFusedCall) -> None:
        callee = self._functions.symbols.get(call.callee.root_reference.data)
        if callee is None or not self._functions.is_mergeable(call, callee):
            return
        kind = callee.attributes.get(OP_PATTERN)
        number = None if kind is None else integer_of(kind)
        if number is not None and number <= OpPattern.OUT_ELEMWISE_FUSABLE:
            node.pattern = OpPattern(number)
        devices = {info.vdevice for info in call.outputs}
        if len(devices) == 1:
            node.place = (devices.pop(), callee.attributes.get("target"))
        else:
            node.pattern = OpPattern.OPAQUE

    def _find_users(self, node: _Node, block: Block) -> None:
        users = dict[_Node, None]()
        for result in node.op.results:
            for use in result.uses:
                user = block.find_ancestor_op_in_block(use.operation)
                if user is None or isinstance(user, relax.OutputOp):
                    node.is_output = True
                else:
                    users[self.of[user]] = None
        node.users = sorted(users, key=lambda user: user.index)


def _find_dominator(node: _Node) -> None:
    if node.is_output or not node.users:
        return
    first, *others = node.users
    common: _Node | None = first
    pattern = first.pattern
    for user in others:
        common, pattern = _common_dominator(common, user, max(pattern, user.pattern))
    node.dominator, node.path_pattern = common, pattern
    node.depth = 1 if common is None else common.depth + 1


def _common_dominator(
    lhs: _Node | None, rhs: _Node | None, pattern: OpPattern
) -> tuple[_Node | None, OpPattern]:
    """The first operation after both, and the greatest kind on the ways to it."""
    while lhs is not rhs:
        if lhs is None or rhs is None:
            return None, OpPattern.OPAQUE
        left, right = lhs.depth >= rhs.depth, rhs.depth >= lhs.depth
        if left:
            pattern = max(pattern, lhs.path_pattern)
            lhs = lhs.dominator
        if right:
            pattern = max(pattern, rhs.path_pattern)
            rhs = rhs.dominator
    return lhs, pattern


# ---- groups ----


@dataclass(eq=False)
class _FusionGroup:
    """Operations that become one function; the last of them has the only result."""

    pattern: OpPattern
    nodes: list[_Node]
    parent: _FusionGroup | None = None
    first: int = 0

    def root(self) -> _FusionGroup:
        """The group that this one has become part of."""
        group = self
        while group.parent is not None:
            if group.parent.parent is not None:
                group.parent = group.parent.parent
            group = group.parent
        return group


_Rule: TypeAlias = Callable[[OpPattern, bool], bool]
"""Whether a group of that kind may be on the way; the flag says that it is the end."""


def _is_broadcast(kind: OpPattern, is_end: bool) -> bool:
    return kind <= OpPattern.BROADCAST


def _is_injective(kind: OpPattern, is_end: bool) -> bool:
    return kind <= OpPattern.INJECTIVE


def _ends_fusable(kind: OpPattern, is_end: bool) -> bool:
    most = OpPattern.OUT_ELEMWISE_FUSABLE if is_end else OpPattern.INJECTIVE
    return kind <= most


class _Partition:
    """The groups of a graph."""

    def __init__(self, graph: _Graph, depth: int) -> None:
        self._graph = graph
        self._depth = depth
        self._group = {
            node: _FusionGroup(node.pattern, [node], first=node.index)
            for node in graph.nodes
        }
        for phase in range(2):
            for node in graph.nodes:
                self._visit(node, phase)

    def groups(self) -> Iterator[list[_Node]]:
        """The groups of more than one operation, members in the order of the block."""
        for node in self._graph.nodes:
            group = self._group[node]
            if group.parent is not None:
                continue
            members = [member for member in group.nodes if not self._is_given(member)]
            if len(members) > 1:
                yield sorted(members, key=lambda member: member.index)

    def _is_given(self, node: _Node) -> bool:
        """Whether a node is the field of a tuple that its group does not make."""
        if not isinstance(node.op, relax.GetItemOp):
            return False
        owner = node.op.tuple_value.owner
        source = self._graph.of.get(owner) if isinstance(owner, Operation) else None
        group = self._group[node].root()
        return source is None or self._group[source].root() is not group

    def _visit(self, node: _Node, phase: int) -> None:
        rule = self._rule(node, phase)
        if rule is None or node.dominator is None:
            return
        own, target = self._group[node].root(), self._group[node.dominator].root()
        if own is target:
            return
        path = self._path(node, node.dominator, rule)
        if path is not None and self._is_allowed(path):
            self._merge(path, target)

    def _rule(self, node: _Node, phase: int) -> _Rule | None:
        """What the way from a node to its post-dominator must be, None for no fusion."""
        pattern, way = self._group[node].pattern, node.path_pattern
        if pattern is OpPattern.OUT_ELEMWISE_FUSABLE:
            fits = phase == 0 and way is OpPattern.ELEMWISE
            return _is_broadcast if fits else None
        if pattern <= OpPattern.BROADCAST:
            fits = way <= OpPattern.COMM_REDUCE
            return _ends_fusable if fits else None
        if pattern is OpPattern.INJECTIVE and phase == 1:
            return _is_injective
        return None

    def _path(self, start: _Node, end: _Node, rule: _Rule) -> list[_FusionGroup] | None:
        """The groups on all ways from `start` to `end`; None if one is not allowed."""
        found = {self._group[start].root(): None}
        seen = {start}
        pending = [start]
        while pending:
            for user in pending.pop().users:
                if user in seen:
                    continue
                seen.add(user)
                group = self._group[user].root()
                if not rule(group.pattern, user is end) or user.place != start.place:
                    return None
                found[group] = None
                if user is not end:
                    pending.append(user)
                if len(seen) > self._depth:
                    return None
        return list(found)

    def _is_allowed(self, path: Sequence[_FusionGroup]) -> bool:
        """Whether the groups are small enough together, and nothing is in their way."""
        nodes = [node for group in path for node in group.nodes]
        if len(nodes) > self._depth:
            return False
        # All members run where the last one is.
        first = min(group.first for group in path)
        last = max(node.index for node in nodes)
        fences = self._graph.fences
        own = sum(fences[node.index + 1] - fences[node.index] for node in nodes)
        return fences[last + 1] - fences[first] == own

    def _merge(self, path: Sequence[_FusionGroup], target: _FusionGroup) -> None:
        for group in path:
            if group is target:
                continue
            group.parent = target
            target.nodes += group.nodes
            target.first = min(target.first, group.first)
            if group.pattern is OpPattern.OUT_ELEMWISE_FUSABLE:
                target.pattern = group.pattern


# ---- functions ----


@dataclass
class _Functions:
    """The functions made so far, by what they compute."""

    module: ModuleOp
    symbols: dict[str, Operation] = field(init=False)
    names: SymbolNames = field(init=False)
    made: dict[object, str] = field(default_factory=dict[object, str])
    writers: Writers = field(init=False)
    _mergeable: dict[object, bool] = field(default_factory=dict[object, bool])

    def __post_init__(self) -> None:
        self.writers = Writers(self.module)
        self.symbols = module_symbols(self.module)
        self.names = SymbolNames(self.module)

    def is_mergeable(self, call: AnyFusedCall, callee: Operation) -> bool:
        """Whether the body of the callee can stand for the call; asked once per types."""
        key = (
            callee,
            tuple(call.arguments.types),
            call.result.type,
            call.tir_vars,
            call.output_arguments if isinstance(call, relax.CallTIRInplaceOp) else None,
        )
        if key not in self._mergeable:
            try:
                bind_call(call, callee)
                self._mergeable[key] = True
            except NotMergeableError:
                self._mergeable[key] = False
        return self._mergeable[key]

    def replace(self, members: Sequence[_Node]) -> None:
        """Put a call in the place of a group's last operation, and drop the others."""
        body = GroupBody([member.op for member in members])
        last = members[-1].op
        if not body.can_replace(last):
            return
        key = body.key()
        name = self.made.get(key)
        if name is None:
            name = self.made[key] = self.names.unique(body.name())
            function = body.function(name, {PRIMITIVE: IntegerAttr(1, i32)})
            function.location = last.location
            self.module.body.block.add_op(function)
        body.replace_by_call(name)
