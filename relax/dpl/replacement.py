"""Bindings of a function replaced by expressions of the builder, in place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar, cast

from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.analysis.relax.binding_order import BindingOrder, stable_order
from xdsl_tvm.analysis.relax.memory_sharing import Writers, WrittenValues
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.dialects.relax.algebra import Check, base_check
from xdsl_tvm.relax.expr import Emittable, Expr, Var, as_expr, operands_first

_Key = TypeVar("_Key")
_MOST_GENERATIONS = 64
"""How often what a rewrite has made is rewritten again."""


class FunctionRewrite:
    """One function that is rewritten: its values as variables, and what is new in it."""

    def __init__(self, what: str, func: relax.FuncOp, writers: Writers) -> None:
        """`writers` are those of the module that the function is from."""
        self.what = what
        """The function of Python that rewrites, for errors."""
        self.func = func
        self._writers = writers
        self._is_written = WrittenValues(func, writers)
        self.changed = False
        self.done = set[Operation]()
        """Bindings that were tried, and are not to be tried again."""
        self._rounds = 0
        self._most_rounds = sum(1 for _ in func.walk()) + _MOST_GENERATIONS
        self._variables: dict[SSAValue, Var] = {}
        self._generations: dict[Operation, int] = {}

    def variable(self, value: SSAValue) -> Var:
        """The variable of a value, the same one each time."""
        if value not in self._variables:
            self._variables[value] = Var.bound(value.name_hint or "", value)
        return self._variables[value]

    def variables(self, matched: Mapping[_Key, SSAValue]) -> dict[_Key, Expr]:
        """The variables of what patterns have matched."""
        return {pattern: self.variable(value) for pattern, value in matched.items()}

    def may_use(self, values: Iterable[SSAValue], at: Operation) -> bool:
        """Whether values may be used at a place.

        They are visible there, in the same function, and their memory is not written in
        place: it may hold something else by then. What the operation there uses itself
        may be used.
        """
        own = {*at.results, *at.operands}
        others = [value for value in values if value not in own]
        return self._are_visible(others, at) and not any(map(self._is_written, others))

    def _are_visible(self, values: Iterable[SSAValue], at: Operation) -> bool:
        blocks = set[Block]()
        block = at.parent
        while block is not None:
            blocks.add(block)
            around = block.parent_op()
            is_function = isinstance(around, relax.FuncOp | relax.LambdaOp)
            block = None if around is None or is_function else around.parent
        owners = (value.owner for value in values)
        return all((o if isinstance(o, Block) else o.parent) in blocks for o in owners)

    def replacement(self, given: object, value: SSAValue) -> Expr | None:
        """What a callback has returned for a value, None if it is the value itself.

        Raises TypeError for what is no expression.
        """
        if not isinstance(given, Expr | list | tuple):
            raise TypeError(
                f"{self.what}: the callback must return an expression for "
                f"'{value.name_hint or '_'}', not {type(given).__name__}; return the "
                "matched one to leave it"
            )
        expr = as_expr(cast("Emittable", given))
        return None if isinstance(expr, Var) and expr.value is value else expr

    # ---- one binding ----

    def replace(self, root: OpResult, expr: Expr) -> Operation | None:
        """Compute an expression after a binding and use it in its place.

        Bindings that are not needed any more are erased. Returns the first new operation.
        """
        new = list[Operation]()
        value = self._typed(self._place(expr, new, {}), root, new)
        self._note(new, [root.op])
        Rewriter.insert_op(new, InsertPoint.after(root.op))
        self._redirect(root, value, new)
        self._erase_unused([root.op])
        return new[0] if new else None

    # ---- several bindings of a block ----

    def replace_all(self, block: Block, exprs: Mapping[OpResult, Expr]) -> None:
        """Use expressions in the place of bindings of a block, which is sorted again.

        Raises ValueError where expressions need each other, or the bindings that they
        replace, in a circle, and for rewrites without end.
        """
        self._rounds += 1
        if self._rounds > self._most_rounds:
            raise self._endless(self._rounds)
        self.done.clear()
        new, values = list[Operation](), dict[OpResult, SSAValue]()
        placed = dict[Expr, SSAValue]()
        order = {op: place for place, op in enumerate(block.ops)}
        for root in sorted(exprs, key=lambda root: order[root.op]):
            own = list[Operation]()
            value = self._place(exprs[root], own, placed)
            values[root] = self._typed(value, root, own)
            Rewriter.insert_op(own, InsertPoint.before(root.op))
            new += own
        roots = [root.op for root in exprs]
        self._note(new, roots)
        for root, value in values.items():
            self._redirect(root, value, new)
        self._sort(block)
        self._erase_unused(roots)

    def _sort(self, block: Block) -> None:
        last = block.last_op
        assert last is not None, "a block ends with a terminator"
        order = BindingOrder(block, self._writers)
        ops = stable_order(order.ops, order.needs.__getitem__, order.places)
        if ops is None:
            raise ValueError(
                f"{self.what}: in @{self.func.sym_name.data} the new values need what "
                "they replace, or each other, in a circle; let them use operands of the "
                "matched bindings"
            )
        for op in ops:
            op.detach()
        block.insert_ops_before(ops, last)

    # ---- pieces ----

    def _place(
        self, expr: Expr, new: list[Operation], placed: dict[Expr, SSAValue]
    ) -> SSAValue:
        """The value of an expression; the operations that it needs are added to `new`.

        `placed` are the values of expressions that have one.
        """

        def value_of(each: Expr) -> SSAValue:
            return each.ssa if isinstance(each, Var) else placed[each]

        for each in operands_first(expr, placed.__contains__):
            op = each.with_operands([value_of(operand) for operand in each.operands])
            if not op.results:
                raise VerifyException(f"{op.name} gives nothing that could be used")
            op.verify_()
            new.append(op)
            placed[each] = op.results[0]
        return value_of(expr)

    def _typed(self, value: SSAValue, root: OpResult, new: list[Operation]) -> SSAValue:
        """The value under the type that users of a binding expect.

        What is not known to be of that type is checked when the program runs. Raises
        TypeError for what can never be.
        """
        type_: Attribute = root.type
        if value.type == type_:
            return value
        check = base_check(type_, value.type)
        if check == Check.IMPOSSIBLE:
            raise TypeError(
                f"{self.what}: the callback returned a {value.type} for "
                f"'{root.name_hint or '_'}' of {root.op.name}, which is a {type_}; "
                "convert it"
            )
        kind = relax.AliasOp if check == Check.PASS else relax.MatchCastOp
        op = kind(value, type_)
        new.append(op)
        return op.result

    def _note(self, new: Iterable[Operation], roots: Sequence[Operation]) -> None:
        """Remember what the new operations are made for.

        Raises ValueError for a rewrite that makes what is rewritten again, without end.
        """
        generation = 1 + max(self._generations.get(root, 0) for root in roots)
        if generation > _MOST_GENERATIONS:
            raise self._endless(generation)
        for op in new:
            self._generations[op] = generation
            op.location = roots[0].location

    def _endless(self, times: int) -> ValueError:
        return ValueError(
            f"{self.what}: in @{self.func.sym_name.data} the result of the callback "
            f"matches the pattern again, {times - 1} times in a row; let the callback "
            "leave what it has made"
        )

    def _redirect(
        self, root: OpResult, value: SSAValue, new: Sequence[Operation]
    ) -> None:
        """Let users of a binding use another value, but for what that is computed of."""
        self.changed = True
        if value.name_hint is None or value.owner in new:
            set_name_hint(value, root.name_hint)
        own = set(new)
        root.replace_uses_with_if(value, lambda use: use.operation not in own)

    def _erase_unused(self, roots: Sequence[Operation]) -> None:
        """Erase bindings that were replaced, and what only they needed."""
        pending = [*roots]
        while pending:
            op = pending.pop()
            if op.parent is None or any(result.uses for result in op.results):
                continue
            if op in roots or (op.results and is_side_effect_free(op)):
                pending += [o for v in op.operands if isinstance(o := v.owner, Operation)]
                Rewriter.erase_op(op)
