"""Expressions become simpler; decided conditions and stores of what is there go."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Const, Expr, Value, substitute
from xdsl_tvm.analysis.arith.extension import Extension
from xdsl_tvm.analysis.tir.control_flow import ControlFlow
from xdsl_tvm.analysis.tir.equal_loads import EqualLoads
from xdsl_tvm.analysis.tir.memory_flow import is_volatile
from xdsl_tvm.analysis.tir.memory_order import Facts
from xdsl_tvm.analysis.tir.side_effect import is_assume, side_effect
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.pass_config import SimplifyConfig
from xdsl_tvm.passes.tir.rewriting.expressions import ExpressionRewriter, is_number
from xdsl_tvm.passes.tir.rewriting.statements import erase_if_unused


@dataclass(frozen=True)
class Simplify(SimplifyConfig, CompilerPass):
    """Summary: Simplifies every expression by what holds where it is used, and removes
        branches and stores that turn out to do nothing.

    TVM name: tir.Simplify (v0.20)
    Input form: any
    Output form: the same
    Options: those of the `PassContext` key `tir.Simplify`, which gives the values of
        those that are unset; all are false by default
        `transitively_prove_inequalities`: comparisons follow from chains of known ones
        `propagate_knowns_to_prove_conditional`: conditions of `tir.if` are decided by
        what stores and `assume` say of memory, and by what `assume` says of values
        `propagate_knowns_to_simplify_expressions`: loads of known elements are replaced
        by their values everywhere
        `convert_boolean_to_and_of_ors`: conditions become conjunctions of disjunctions
        `apply_constraints_to_boolean_branches`: each operand of `and` and `or` is
        simplified knowing the other
    Rewrites: before

            tir.for %i = %c0 to %c10 {
              %p = tir.cmp lt %i, %c12 : i32
              tir.if %p {
                %j = tir.add %i, %n : i32
                %k = tir.sub %j, %n : i32
                %x = tir.load %A[%k] : f32
                tir.store %x, %B[%i] : f32
              }
            }

        after

            tir.for %i = %c0 to %c10 {
              %x = tir.load %A[%i] : f32
              tir.store %x, %B[%i] : f32
            }

        What an op uses is simplified where the op is: loops, launches, blocks,
        branches, lets and asserts around it give facts. Equal expressions of one place
        become one value, and values that are available are used. A branch whose condition
        is known is replaced by what is taken, at once. Loads of one element in an
        expression count as one where no write is between them. A store of the value that
        was loaded from the same element goes, if nothing has written in between. A
        `tir.let` of a constant, a variable, or a pure signed integer is put in for its
        uses, and goes unless a buffer is defined by it. Extents of the buffers of
        parameters are never negative. Time is linear in the size of the module, where an
        expression counts once for each scope it is used in.
    Leaves alone: loops, also those without iterations; asserts, also of what is true; the
        definitions of buffers; the operands of ops of other dialects, and reducers. Loads
        stay where they are, and what is evaluated in one branch of a lazy choice only
        stays there.
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: the predicate of a block is a fact in it. What a condition says of a
        load holds for that load, not for a load after a write: the tests of `if A[0] < 5
        { A[0] = 100; if A[0] < 10` are both kept. With
        `propagate_knowns_to_prove_conditional` it holds for later loads of the element
        too, up to a write that may reach it, where TVM uses equalities only. A store that
        goes, or an else branch that is not there, leaves nothing, where TVM leaves
        `evaluate(0)`. A store with a predicate, or of volatile memory, is kept. Lazy
        choices around loads are decided as `tir.if` is. What is known of memory takes
        into account that buffers may share it and calls may write it; see
        `analysis.tir.control_flow`. A float less itself stays, since it may be
        infinite. Loads in expressions of more than 128 nodes are told apart.
    """

    name = "tir-simplify"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = self.resolved_options(SimplifyConfig)
        for func in op.body.block.ops:
            simplify(func, options)


def simplify(root: Operation, options: SimplifyConfig | None = None) -> None:
    """Simplify what is in the regions of an op, such as a `tir.func`, in place.

    What `Simplify` does, for other passes; without options, with TVM's defaults.
    """
    _Simplifier(root, options or SimplifyConfig()).run()


_EXTENSIONS = {
    "transitively_prove_inequalities": Extension.TRANSITIVELY_PROVE_INEQUALITIES,
    "convert_boolean_to_and_of_ors": Extension.CONVERT_BOOLEAN_TO_AND_OF_ORS,
    "apply_constraints_to_boolean_branches": (
        Extension.APPLY_CONSTRAINTS_TO_BOOLEAN_BRANCHES
    ),
}
_RUN_ONCE = (tir.IfOp, tir.ScopeOp, tir.AttrOp)
_is_let = of_classes(tir.LetOp)
_is_rewritten_here = of_classes(tir.IfOp, tir.IfThenElseOp, tir.LetOp, tir.StoreOp)


def _extensions(options: SimplifyConfig) -> Extension:
    found = Extension.NONE
    for name, extension in _EXTENSIONS.items():
        if getattr(options, name):
            found |= extension
    return found


class _Simplifier(ExpressionRewriter):
    """Visits ops in order, with the facts and the values that there are."""

    def __init__(self, root: Operation, options: SimplifyConfig) -> None:
        super().__init__(root, Analyzer(_extensions(options)))
        self._inlined: dict[tir.LetOp, None] = {}
        self._proof_only: dict[Expr, Expr] = {}
        """Lets that stay variables, and their values for the sake of proofs."""
        self._chosen: dict[Expr, Expr] = {}
        """Results of choices that are decided, and what took their place."""
        proves = options.propagate_knowns_to_prove_conditional
        replaces = options.propagate_knowns_to_simplify_expressions
        flow = ControlFlow(root) if proves or replaces else None
        self._known_in_conditions = flow if proves else None
        self._known = flow if replaces else None
        self._equal_loads = EqualLoads(root, self.tree)

    @cached_property
    def _writes(self) -> Facts:
        """Where writes was before the walk."""
        return Facts([self._root])

    def run(self) -> None:
        """Simplify, and erase what is not needed any more."""
        for op in ops_of(self._root, tir.MatchBufferOp):
            for extent in op.extents:
                self.analyzer.mark_global_nonneg(self.tree(extent))
        super().run()
        for let in reversed(self._inlined):
            if let.result.first_use is None:
                value = let.value
                Rewriter.erase_op(let)
                erase_if_unused((value,))

    def _after(self, op: Operation, scopes: ExitStack) -> None:
        if _is_let(op) and op not in self._inlined:
            return
        super()._after(op, scopes)
        if self._known_in_conditions is not None and is_assume(op):
            self._assume(self.tree(op.operands[0]), scopes)

    def _assume(self, condition: Expr, scopes: ExitStack) -> None:
        super()._assume(condition, scopes)
        if self._known_in_conditions is not None:
            same = self._with_equal_loads(condition)
            if same is not condition:
                super()._assume(same, scopes)

    def _with_equal_loads(self, condition: Expr) -> Expr:
        """The condition with one of several equal loads in the place of all of them."""
        same = self._equal_loads.representatives(condition)
        return substitute(condition, same) if same else condition

    # ---- ops ----

    def statement(self, op: Operation) -> None:
        if not _is_rewritten_here(op):
            super().statement(op)
            return
        match op:
            case tir.IfOp():
                self._if(op)
            case tir.IfThenElseOp():
                self._choice(op)
            case tir.LetOp():
                self._let(op)
            case tir.StoreOp():
                self.rewrite(op)
                if self._is_of_itself(op):
                    self.drop(op)

    def rewritten(self, tree: Expr) -> Expr:
        if self._known is not None:
            tree = self._with_known(self._known, tree)
        found = self.analyzer.simplify(tree)
        same = self._equal_loads.repeated(tree)
        if same:
            # Loads are merged where that makes the expression simpler, else they stay.
            merged = self.analyzer.simplify(substitute(tree, same))
            if merged is not substitute(found, same):
                return merged
        return found

    def _if(self, op: tir.IfOp) -> None:
        truth = self._truth(op)
        if truth is None:
            return
        self.take_branch(op, truth)

    def _choice(self, op: tir.IfThenElseOp) -> None:
        truth = self._truth(op)
        if truth is None:
            return
        chosen = Value(op.result)
        self._chosen[chosen] = Value(self.take_value(op, truth))

    def _truth(self, op: tir.IfOp | tir.IfThenElseOp) -> bool | None:
        """Whether the condition holds; if that is not known, it is rewritten."""
        condition = substitute(self.tree(op.condition), self._proof_only)
        if self._known_in_conditions is not None:
            condition = self._with_known(self._known_in_conditions, condition)
            condition = self._with_equal_loads(condition)
        decided = self.analyzer.simplify(condition)
        if not isinstance(decided, Const):
            self.rewrite(op)
            decided = self.tree(op.condition)
        return bool(decided.value) if isinstance(decided, Const) else None

    def _let(self, op: tir.LetOp) -> None:
        tree = self.tree(op.value)
        inlinable = _is_inlinable(op, tree)
        self.rewrite(op)
        if inlinable:
            self._inlined[op] = None
        elif is_number(op.result.type) and _is_pure(op.value):
            value = substitute(self.tree(op.value), self._proof_only)
            self._proof_only[Value(op.result)] = value

    # ---- edits ----

    def _with_known(self, flow: ControlFlow, tree: Expr) -> Expr:
        """The tree with what is known to be loaded, in terms of values there are now."""
        known = flow.with_known_values(tree, self.analyzer)
        while known is not tree:
            tree, known = known, substitute(known, self._chosen)
        return known

    # ---- stores of what is there ----

    def _is_of_itself(self, op: tir.StoreOp) -> bool:
        """Whether a store writes what has been loaded from there."""
        load = op.value.owner
        return (
            isinstance(load, tir.LoadOp)
            and load.buffer is op.buffer
            and load.predicate is op.predicate is None
            and [self.tree(i) for i in load.indices] == [self.tree(i) for i in op.indices]
            and _runs_with(op, load)
            and not self._writes.is_written_between(load, op)
        )


def _runs_with(op: Operation, first: Operation) -> bool:
    """Whether no loop around `op` leaves `first` out, and memory is not volatile."""
    parent: Operation | None = op
    reached = False
    while parent is not None:
        if is_volatile(parent):
            return False
        reached = reached or parent.parent is first.parent
        if not reached and not isinstance(parent.parent_op(), _RUN_ONCE):
            return False
        parent = parent.parent_op()
    return reached


def _is_pure(value: SSAValue) -> bool:
    return side_effect(value) <= tir.CallEffect.PURE


def _is_inlinable(op: tir.LetOp, tree: Expr) -> bool:
    """Whether uses of a let become its value: cheap, and the same everywhere."""
    if op.result.type != op.value.type or not is_number(op.result.type):
        return False
    if isinstance(tree, Const):
        return True
    if isinstance(tree, Value) and isinstance(tree.value.owner, Block | _VARIABLES):
        return True
    dtype = op.result.type
    return tir.is_integer(dtype) and not tir.is_uint(dtype) and _is_pure(op.value)


_VARIABLES = tir.LetOp | tir.ShapeVarOp
