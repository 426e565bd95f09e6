"""Repeated computations of scalars are bound once."""

from __future__ import annotations

from collections.abc import Generator, Iterable, MutableMapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from operator import is_

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from xdsl_tvm.analysis.all_ops import all_ops, ops_in, ops_of
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.definedness import is_total
from xdsl_tvm.analysis.arith.expr import (
    EXPRESSION_OPS,
    Broadcast,
    Const,
    Expr,
    Ramp,
    Value,
    emit,
    fold,
    is_expression_class,
    view,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.quick_accessors import first_result, stored_operands
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._shared_terms import (
    Shared,
    Term,
    in_order_of_bindings,
    shared_terms,
)
from xdsl_tvm.passes.tir.rewriting.statements import erase_if_unused

_Counts = dict[Expr, int]
_VARIABLES = (tir.AllocateConstOp, tir.AllocateOp, tir.LetOp, tir.ShapeVarOp)
_PROLOGUE = (
    tir.AllocBufferOp,
    tir.ConstOp,
    tir.MatchBufferOp,
    tir.MatchRegionOp,
    tir.ReadsOp,
    tir.ShapeVarOp,
    tir.StringOp,
    tir.WritesOp,
)
"""Ops that are before the statements of a block."""
_CONTINUE = (
    *_PROLOGUE,
    *EXPRESSION_OPS,
    *_VARIABLES,
    tir.BufferDefinition,
    tir.DataOp,
    tir.StoreOp,
)
"""Ops after which what follows in the block is reached."""
_continues = of_classes(*_CONTINUE)
_is_block = of_classes(Block)
_is_call = of_classes(tir.CallOp)
_is_choice = of_classes(tir.IfThenElseOp)
_is_let = of_classes(tir.LetOp)
_is_prologue = of_classes(*_PROLOGUE)
_is_inline_class = of_classes(
    tir.LoadOp, tir.IfThenElseOp, tir.AddressOfOp, tir.ShuffleOp
)
_is_loop_or_branch = of_classes(tir.IfOp, tir.ForOp)


@dataclass(frozen=True)
class CommonSubexprElimTIR(CompilerPass):
    """Summary: Binds computations that are written more than once, and uses the binding
        in their place.

    TVM name: tir.CommonSubexprElimTIR (v0.20)
    Input form: any; usually late, after unrolling and before the split into host and
        device
    Output form: the same
    Options: `enable_cse_tir`: bool, default True; nothing is done where it is false;
        `identify_equiv_terms`: bool, default False; whether expressions are the same when
        the analyzer simplifies them to one
    Rewrites: before

            %0 = tir.add %x, %y : i32
            %1 = tir.mul %0, %c2 : i32
            tir.store %1, %A[%c0] : i32
            %2 = tir.mul %0, %c3 : i32
            tir.store %2, %A[%c1] : i32

        after

            %0 = tir.add %x, %y : i32
            %cse = tir.let "cse_var_1" %0 : i32
            %1 = tir.mul %cse, %c2 : i32
            tir.store %1, %A[%c0] : i32
            %2 = tir.mul %cse, %c3 : i32
            tir.store %2, %A[%c1] : i32

        An expression is bound if it is used twice in the text of the program: an op with
        two uses counts as two, and equal ops as one. It must be made of constants,
        parameters, loop variables and bindings, without loads and calls; ramps and
        broadcasts are not bound by themselves. The binding is after the last binding
        that the expression uses, or at the beginning of the block, of the outermost
        block, that has both uses; what is used in a branch, or in a loop, counts outside
        of it only if another of condition and branches, or of the bounds of the loop,
        uses it too. Larger expressions come first, and take part as one use of what they
        are made of. What an existing binding is equal to is replaced by it. Within a
        condition, the bounds of a loop, and a lazy choice, bindings are those of
        expressions. Time grows with the number of ops times the depth of their nesting.
    Leaves alone: expressions that are used once; loads, calls and lazy choices, whose
        operands are looked at; what depends on thread variables, iteration variables of
        blocks, symbolic extents and values of other dialects, except for the parts that
        do not
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: a division by what may be zero, or a shift by what is no constant,
        is bound only where it is evaluated anyway: TVM takes it out of the branch, or the
        lazy choice, that guards it. Among expressions of one size the one that is written
        first is the first, and not that whose text is; no state is kept between runs. A
        load that is before a loop or a branch counts where it is.
    """

    name = "tir-common-subexpr-elim-tir"
    enable_cse_tir: bool = True
    identify_equiv_terms: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.enable_cse_tir:
            return
        for func in ops_of(op, tir.FuncOp):
            if not func.is_declaration:
                _Eliminator(func, identify=self.identify_equiv_terms).run()


class _Text:
    """The expressions of a function as trees that end at loads, calls and variables."""

    def __init__(self, func: tir.FuncOp, *, identify: bool) -> None:
        self._trees: MutableMapping[SSAValue, Expr] = {}
        self._sizes: dict[Expr, int] = {}
        self._clean: dict[Expr, bool] = {}
        self._bindable: dict[Expr, bool] = {}
        self._total: dict[Expr, bool] = {}
        self._parts: dict[Expr, tuple[Expr, ...]] = {}
        self._ranks: dict[Expr, int] = {}
        self._keys: dict[Expr, Expr] = {}
        self._analyzer = Analyzer() if identify else None
        for op in all_ops(func):
            if not is_expression_class(type(op)):
                self._trees.update((value, Value(value)) for value in op.results)
                continue
            self._ranks.setdefault(self.tree(first_result(op)), len(self._ranks))

    def tree(self, value: SSAValue) -> Expr:
        """The tree of a value."""
        return view(value, self._trees)

    def key(self, tree: Expr) -> Expr:
        """What trees that count as the same have in common."""
        if self._analyzer is None:
            return tree
        if tree not in self._keys:
            self._keys[tree] = self._analyzer.simplify(tree)
        return self._keys[tree]

    def is_eligible(self, tree: Expr) -> bool:
        """Whether a tree can be bound, its variables aside."""
        if tree.__class__ in _NEVER_BOUND:
            return False
        known = self._clean.get(tree)
        return fold(tree, _is_clean, self._clean) if known is None else known

    def is_bindable(self, tree: Expr) -> bool:
        """Whether a tree has no variables but parameters, loop variables and bindings."""
        return fold(tree, _is_bindable, self._bindable)

    def is_total(self, tree: Expr) -> bool:
        """Whether a tree may be computed anywhere."""
        return is_total(tree, self._total)

    def order(self, tree: Expr) -> tuple[int, int]:
        """Larger trees first, and among those of one size what is written first."""
        size = fold(tree, lambda _, sizes: 1 + sum(sizes), self._sizes)
        return -size, self._ranks[tree]

    def parts(self, tree: Expr) -> tuple[Expr, ...]:
        """The largest trees below a tree that can be bound, once per place."""
        if tree not in self._parts:
            found: list[Expr] = []
            stack = list(reversed(tree.operands))
            while stack:
                part = stack.pop()
                if self.is_eligible(part):
                    found.append(part)
                else:
                    stack += reversed(part.operands)
            self._parts[tree] = tuple(found)
        return self._parts[tree]


_NEVER_BOUND = frozenset({Const, Value, Ramp, Broadcast})


def _is_clean(node: Expr, operands: list[bool]) -> bool:
    return all(operands) and (not isinstance(node, Value) or _is_variable(node.value))


def _is_variable(value: SSAValue) -> bool:
    return isinstance(value, BlockArgument) or isinstance(value.owner, _VARIABLES)


def _is_bindable(node: Expr, operands: list[bool]) -> bool:
    if not isinstance(node, Value):
        return all(operands)
    value = node.value
    if isinstance(value, BlockArgument):
        return isinstance(value.block.parent_op(), tir.FuncOp | tir.ForOp)
    return isinstance(value.owner, tir.LetOp)


def _is_inline(op: Operation) -> bool:
    """Whether an op is part of the expressions that use it."""
    if _is_call(op):
        known = tir.INTRINSICS.get(op.callee.data)
        return known is not None and known.effect <= tir.CallEffect.READ_STATE
    return _is_inline_class(op)


def _home(op: Operation) -> Block | None:
    """The block of the statement that an op is part of."""
    block = op.parent
    while block is not None and _is_choice(parent := block.parent_op()):
        block = parent.parent
    return block


def _slots(op: Operation) -> list[SSAValue]:
    """The expressions of an op; those of an inline op with all that is in it."""
    slots = list(op.operands)
    if _is_choice(op):
        for region in op.regions:
            for inner in region.block.ops:
                if not is_expression_class(type(inner)) and not _is_inline(inner):
                    slots += inner.operands
    return slots


class _Counter:
    """How often expressions stand by themselves in each block: 0, 1 or 2 for more."""

    def __init__(self, func: tir.FuncOp, text: _Text) -> None:
        self.tables: dict[Block, _Counts] = {}
        self._text = text
        self._claimed: set[Operation] = set()
        self._block(func.body.block)

    def _block(self, block: Block) -> _Counts:
        total: _Counts = {}
        # What uses a load comes first, and claims it.
        for op in reversed(ops_in(block)):
            if is_expression_class(type(op)) or isinstance(op, tir.MatchBufferOp):
                continue
            regions = [
                self._block(inner) for region in op.regions for inner in region.blocks
            ]
            if op not in self._claimed:
                _add(total, self._statement(op, regions))
        self.tables[block] = total
        return total

    def _statement(self, op: Operation, regions: list[_Counts]) -> _Counts:
        match op:
            case tir.IfOp() | tir.ForOp() | tir.WhileOp():
                return _in_two([*(self.slot(op, v) for v in op.operands), *regions])
            case tir.IfThenElseOp():
                regions = []
            case _:
                pass
        total: _Counts = {}
        for value in _slots(op):
            _add(total, self.slot(op, value))
        for region in regions:
            _add(total, region)
        return total

    def slot(self, op: Operation, value: SSAValue, *, claim: bool = True) -> _Counts:
        """The counts of one operand of a statement, with the loads that it claims."""
        counts: _Counts = {}
        visits: dict[Expr, int] = {}
        home = _home(op)
        stack = [self._text.tree(value)]
        while stack:
            tree = stack.pop()
            if self._text.is_eligible(tree):
                counts[tree] = min(counts.get(tree, 0) + 1, 2)
                continue
            visits[tree] = visits.get(tree, 0) + 1
            if visits[tree] > 2:
                continue
            stack += reversed(tree.operands)
            owner = tree.value.owner if isinstance(tree, Value) and claim else None
            if (
                isinstance(owner, Operation)
                and _is_inline(owner)
                and (_home(owner) is home)
            ):
                self._claimed.add(owner)
                stack += [self._text.tree(v) for v in reversed(_slots(owner))]
        return counts


def _add(total: _Counts, more: _Counts) -> None:
    for tree, count in more.items():
        total[tree] = min(total.get(tree, 0) + count, 2)


def _in_two(parts: list[_Counts]) -> _Counts:
    """What is in two of the parts at least."""
    seen: dict[Expr, int] = {}
    for part in parts:
        for tree in part:
            seen[tree] = seen.get(tree, 0) + 1
    return {tree: 2 for tree, count in seen.items() if count > 1}


class _Names:
    """`cse_var_<i>`, except those that the function has already."""

    def __init__(self, func: tir.FuncOp) -> None:
        self._func = func
        self._count = 0

    @cached_property
    def _used(self) -> set[str]:
        """Asked for the first name: in most functions nothing gets one."""
        found = {name.data for name in self._func.param_names or ()}
        for op in all_ops(self._func):
            for key in ("name", "loop_name"):
                name = op.properties.get(key)
                if isinstance(name, StringAttr):
                    found.add(name.data)
        return found

    def fresh(self) -> str:
        while True:
            self._count += 1
            name = f"cse_var_{self._count}"
            if name not in self._used:
                return name


class _Block:
    """The ops of a block by position, and what is evaluated where."""

    def __init__(self, block: Block, text: _Text, around: AbstractSet[Block]) -> None:
        self.places: dict[Operation, int] = {}
        self._around = around
        self._visible: dict[Expr, bool] = {}
        self._evaluated: dict[Expr, int] = {}
        self._stops: list[int] = []
        stops = 0
        for position, op in enumerate(block.ops):
            self.places[op] = position
            self._stops.append(stops)
            if is_expression_class(type(op)):
                self._evaluated.setdefault(text.tree(first_result(op)), position)
            elif not _continues(op) and not (_is_inline(op) and not op.regions):
                stops += 1
        self._memo: dict[Expr, int] = {}

    def place(self, tree: Expr) -> int:
        """The position of the last binding of the block in a tree; -1 for none."""
        return fold(tree, self._place, self._memo)

    def _place(self, node: Expr, operands: list[int]) -> int:
        if isinstance(node, Value) and isinstance(node.value.owner, Operation):
            return self.places.get(node.value.owner, -1)
        return max(operands, default=-1)

    def is_visible(self, tree: Expr) -> bool:
        """Whether the block, or one around it, has all bindings in a tree."""
        return fold(tree, self._is_visible, self._visible)

    def _is_visible(self, node: Expr, operands: list[bool]) -> bool:
        if isinstance(node, Value) and isinstance(node.value.owner, Operation):
            return node.value.owner.parent in self._around
        return all(operands)

    def is_evaluated(self, tree: Expr) -> bool:
        """Whether the block computes a tree whenever it gets to the place of the tree."""
        position = self._evaluated.get(tree)
        if position is None:
            return False
        return self._stops[position] == self._stops[max(self.place(tree), 0)]


class _Eliminator:
    """Rewrites a function, block by block from the outside."""

    def __init__(self, func: tir.FuncOp, *, identify: bool) -> None:
        self._func = func
        self._text = _Text(func, identify=identify)
        self._counter = _Counter(func, self._text)
        self._names = _Names(func)
        self._bound: dict[Expr, SSAValue] = {}
        self._added: list[Expr] = []
        self._constants = self._at_entry()
        self._unused: list[SSAValue] = []
        self._around: set[Block] = set()

    def run(self) -> None:
        """Bind what is shared, and erase what is no longer used."""
        self._block(self._func.body.block, tir.LetKind.STMT)
        erase_if_unused(reversed(self._unused))

    def _at_entry(self) -> dict[Expr, SSAValue]:
        """The constants that the function begins with."""
        found: dict[Expr, SSAValue] = {}
        for op in self._func.body.block.ops:
            if not isinstance(op, _PROLOGUE):
                break
            if isinstance(op, tir.ConstOp):
                found.setdefault(self._text.tree(op.result), op.result)
        return found

    @contextmanager
    def _scope(self) -> Generator[None]:
        mark = len(self._added)
        yield
        while len(self._added) > mark:
            del self._bound[self._added.pop()]

    def _bind(self, tree: Expr, value: SSAValue) -> None:
        key = self._text.key(tree)
        if key not in self._bound:
            self._bound[key] = value
            self._added.append(key)

    # ---- what is shared ----

    def _unbound(self, trees: Iterable[Expr]) -> list[Expr]:
        return [tree for tree in trees if self._text.key(tree) not in self._bound]

    def _shared(self, counts: _Counts, info: _Block | None) -> list[Shared]:
        """The terms to share of a block, or of one slot of a statement."""
        first: dict[Expr, Expr] = {}

        def same(tree: Expr) -> Expr:
            return first.setdefault(self._text.key(tree), tree)

        def term(tree: Expr) -> Term:
            if info is None:
                return Term(tree, -1, lambda: self._text.is_bindable(tree))
            return Term(tree, info.place(tree), partial(self._may_share, tree, info))

        merged: _Counts = {}
        for tree in sorted(self._unbound(counts), key=self._text.order):
            _add(merged, {same(tree): counts[tree]})
        return shared_terms(
            merged,
            lambda tree: [same(part) for part in self._unbound(self._text.parts(tree))],
            term,
            self._text.order,
        )

    def _may_share(self, tree: Expr, block: _Block) -> bool:
        """Whether a term may be bound before what uses it in a block."""
        return (
            self._text.is_bindable(tree)
            and block.is_visible(tree)
            and (self._text.is_total(tree) or block.is_evaluated(tree))
        )

    def _introduce(
        self, shared: list[Shared], point: InsertPoint, kind: tir.LetKind
    ) -> None:
        """Bind terms of one place, which are numbered in their order."""
        names = {each.tree: self._names.fresh() for each in shared}
        builder = Builder(point)
        ordered = in_order_of_bindings(shared, self._text.parts, self._text.order)
        for each in ordered:
            value = emit(each.tree, builder, self._known(each.tree))
            let = tir.LetOp(value, name=names[each.tree], kind=kind)
            let.result.name_hint = names[each.tree]
            builder.insert(let)
            self._bind(each.tree, let.result)

    def _known(self, root: Expr) -> dict[Expr, SSAValue]:
        """The values of the largest parts of a tree that are bound."""
        known: dict[Expr, SSAValue] = {}
        seen: set[Expr] = set()
        stack = [root]
        while stack:
            tree = stack.pop()
            if tree in seen:
                continue
            seen.add(tree)
            value = self._value_of(tree, constants=True)
            if value is None:
                stack += tree.operands
            else:
                known[tree] = value
        return known

    def _value_of(self, tree: Expr, *, constants: bool = False) -> SSAValue | None:
        if isinstance(tree, Const):
            return self._constants.get(tree) if constants else None
        if not self._text.is_eligible(tree):
            return None
        return self._bound.get(self._text.key(tree))

    # ---- statements ----

    def _block(self, block: Block, kind: tir.LetKind) -> None:
        self._around.add(block)
        info = _Block(block, self._text, self._around)
        by_place: dict[int, list[Shared]] = {}
        for each in self._shared(self._counter.tables[block], info):
            by_place.setdefault(each.place, []).append(each)
        ops = ops_in(block)
        first = next((op for op in ops if not _is_prologue(op)), None)
        made: dict[SSAValue, SSAValue] = {}
        with self._scope():
            for op in ops:
                if op is first and -1 in by_place:
                    self._introduce(by_place[-1], InsertPoint.before(op), kind)
                if _is_let(op):
                    self._let(op, made, by_place.get(info.places[op], []))
                else:
                    self._op(op, made)
        self._around.remove(block)

    def _let(
        self, op: tir.LetOp, made: dict[SSAValue, SSAValue], shared: list[Shared]
    ) -> None:
        tree = self._text.tree(op.value)
        self._op(op, made)
        if self._text.is_eligible(tree) and op.value.type == op.result.type:
            self._bind(tree, op.result)
        if shared:
            self._introduce(shared, InsertPoint.after(op), op.kind.data)

    def _op(self, op: Operation, made: dict[SSAValue, SSAValue]) -> None:
        is_part = is_expression_class(type(op))
        has_slots = _is_loop_or_branch(op)
        for position, value in enumerate(stored_operands(op)):
            if is_part:
                new = self._value_of(self._text.tree(value)) or value
            elif has_slots:
                new = self._of_slot(op, value)
            else:
                new = self._rebuilt(value, op, made)
            if new is not value:
                op.operands[position] = new
                self._unused.append(value)
        for index, region in enumerate(op.regions):
            is_expression = op.results or (isinstance(op, tir.WhileOp) and index == 0)
            kind = tir.LetKind.EXPR if is_expression else tir.LetKind.STMT
            for inner in region.blocks:
                self._block(inner, kind)

    def _of_slot(self, op: Operation, value: SSAValue) -> SSAValue:
        """A condition or a bound of a loop, with bindings of its own."""
        with self._scope():
            counts = self._counter.slot(op, value, claim=False)
            shared = self._shared(counts, None)
            if shared:
                self._introduce(shared, InsertPoint.before(op), tir.LetKind.EXPR)
            return self._rebuilt(value, op, {})

    def _rebuilt(
        self, root: SSAValue, at: Operation, made: dict[SSAValue, SSAValue]
    ) -> SSAValue:
        """The value with what is bound in place of it, made before `at`.

        Ops that have been passed in the block use what is bound; others are copied.
        """
        stack = [root]
        while stack:
            value = stack[-1]
            if value in made:
                stack.pop()
                continue
            bound = self._value_of(self._text.tree(value))
            owner = value.owner
            if (
                bound is not None
                or _is_block(owner)
                or not is_expression_class(type(owner))
            ):
                made[value] = value if bound is None else bound
                continue
            operands = stored_operands(owner)
            missing = [operand for operand in operands if operand not in made]
            if missing:
                stack += reversed(missing)
                continue
            made[value] = self._copied(owner, [made[v] for v in operands], at)
            stack.pop()
        return made[root]

    def _copied(self, op: Operation, operands: list[SSAValue], at: Operation) -> SSAValue:
        if all(map(is_, operands, stored_operands(op))):
            return first_result(op)
        block = at.parent
        assert block is not None
        copy = op.clone(dict(zip(op.operands, operands, strict=True)))
        block.insert_op_before(copy, at)
        return copy.results[0]
