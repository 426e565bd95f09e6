"""The statements of functions as nodes: order, bindings, and values used once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import (
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import get_effects
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.analysis.tir.memory_order import Facts, Kind
from xdsl_tvm.analysis.tree_form import name_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dominance import previous_ops
from xdsl_tvm.tvmscript.nodes import statements as st
from xdsl_tvm.tvmscript.nodes.expressions import (
    Call,
    Expr,
    IntImm,
    Reducer,
    Var,
)
from xdsl_tvm.tvmscript.reading.completion import needs_root
from xdsl_tvm.tvmscript.ssa.python_values import python_value
from xdsl_tvm.tvmscript.ssa.trees import (
    Binding,
    Trees,
    constant,
    name_hint,
    refuse_attributes,
    with_lets,
)

_TAG_NAMES = {"threadIdx": "t", "blockIdx": "b", "vthread": "v"}


StatementReader = Callable[..., st.Stmt | None]
"""Makes the node of an op, given the `BodyReader` around it and the op."""


@dataclass
class _Uses:
    """Who computes with the results of ops, through expressions."""

    count: dict[Operation, int] = field(default_factory=dict[Operation, int])
    """How many times a statement's trees hold the op; 2 stands for more."""
    statement: dict[Operation, Operation | None] = field(
        default_factory=dict[Operation, "Operation | None"]
    )
    """The statement that does, None if there are several."""

    def add(self, op: Operation, count: int, statement: Operation | None) -> None:
        before = self.count.get(op, 0)
        self.count[op] = min(2, before + count)
        if before and self.statement[op] is not statement:
            statement = None
        self.statement[op] = statement


class FunctionReader:
    """Reads one function."""

    def __init__(
        self, func: tir.FuncOp, statements: Mapping[type[Operation], StatementReader]
    ) -> None:
        self.func = func
        self.statements = statements
        self.facts = Facts([func])
        self.trees = Trees(self.is_expression)
        self.uses = self._count_uses()
        self.threads: dict[object, Var] = {}
        self.loops: dict[Var, st.For] = {}
        self.implicit_buffers: dict[object, st.Buffer] = {}
        """Buffers without a statement, by what they are declared on and how."""

    def is_expression(self, op: Operation) -> bool:
        """Whether the op is part of the trees of its uses."""
        fact = self.facts.ops.get(op)
        if fact is None:
            return False
        return fact.kind is Kind.EXPRESSION or (fact.kind is Kind.READ and not fact.bound)

    def _count_uses(self) -> _Uses:
        uses = _Uses()
        for op in reversed(self.facts.ops):
            if self.is_expression(op):
                count = uses.count.get(op, 0)
                statement = uses.statement.get(op)
            else:
                count, statement = 1, op
                if isinstance(op, tir.LetOp) and op.kind.data is tir.LetKind.EXPR:
                    # Part of the statement that has its variable, if there is one.
                    statement = uses.statement.get(op) or op
            if count:
                for operand in op.operands:
                    if isinstance(operand.owner, Operation):
                        uses.add(operand.owner, count, statement)
        return uses

    def read(self) -> st.PrimFunc:
        func, trees = self.func, self.trees
        params: list[Var] = []
        for index, arg in enumerate(func.args):
            hint = arg.name_hint or "arg"
            name = hint if func.param_names is None else func.param_names.data[index].data
            params.append(trees.variable(arg, name))
        body = BodyReader(self)
        block = func.body.block
        body.declare(block)
        buffer_map = {
            cast(Var, trees.of(op.param)): body.buffer(op)
            for op in block.ops
            if isinstance(op, tir.MatchBufferOp)
        }
        stmts = body.read(block)
        if body.alloc_buffers or needs_root(stmts):
            stmts = _root(stmts, body.alloc_buffers)
        outputs = func.function_type.outputs.data
        attributes = {k: python_value(v, func) for k, v in func.attributes.items()}
        return st.PrimFunc(
            func.sym_name.data,
            params,
            buffer_map,
            stmts,
            outputs[0] if outputs else None,
            attributes,
            private="global_symbol" not in attributes,
        )

    def thread(self, op: tir.LaunchThreadOp) -> Var:
        """The variable of a thread axis, which openings of one `env` share."""
        rank, _, dim = op.tag.data.partition(".")
        variable = op.thread_var
        name = variable.name_hint or _TAG_NAMES.get(rank, rank) + (dim or "x")
        found = Var(name, variable.type, thread_tag=op.tag.data)
        if op.env is not None:
            key = (op.env.data, op.tag.data, variable.type)
            found = self.threads.setdefault(key, found)
            found.name = op.env.data or name
        self.trees.define(variable, found)
        return found


def _root(body: list[st.Stmt], alloc_buffers: list[st.Buffer]) -> list[st.Stmt]:
    """The block that allocates what the function does."""
    root = st.Block("root", body=body, reads=[], writes=[], alloc_buffers=alloc_buffers)
    return [root]


def _strings(attribute: StringAttr | None, default: str) -> str:
    return default if attribute is None else attribute.data


def argument_name(name: StringAttr | str | None, value: SSAValue, default: str) -> str:
    text = name.data if isinstance(name, StringAttr) else name
    return text or value.name_hint or default


def _require_hoistable(op: tir.AllocBufferOp) -> None:
    """Refuse an allocation whose sizes are computed after the start of the block that
    will have to allocate."""
    around: Operation | None = op
    while around is not None and not isinstance(around, tir.BlockOp | tir.FuncOp):
        around = around.parent_op()
    seen: set[SSAValue] = set()
    stack = list(op.operands)
    while stack:
        value = stack.pop()
        if value in seen:
            continue
        seen.add(value)
        owner = value.owner
        if isinstance(owner, Block):
            if owner.parent_op() is around or not _is_inside(owner, around):
                continue
        elif isinstance(owner, tir.ShapeVarOp) or not _is_inside(owner.parent, around):
            continue
        elif not owner.regions and get_effects(owner) == set():
            stack += owner.operands
            continue
        raise DiagnosticException(
            f"{op.name}: its size is computed inside of the block that has to allocate "
            "it in TVMScript; wrap it into a tir.block of its own"
        )


def _is_inside(block: Block | None, around: Operation | None) -> bool:
    while block is not None:
        parent = block.parent_op()
        if parent is around:
            return True
        block = None if parent is None else parent.parent
    return False


_PROLOGUE = (
    tir.AllocBufferOp,
    tir.ShapeVarOp,
    tir.MatchBufferOp,
    tir.MatchRegionOp,
    tir.ReadsOp,
    tir.WritesOp,
    tir.InitOp,
)
"""What is read before the statements of a block."""


class BodyReader:
    """Reads the statements of a block, and those of regions in it.

    Buffers that are allocated in it go to `alloc_buffers`, which regions other than
    those of blocks share.
    """

    def __init__(self, function: FunctionReader, outer: BodyReader | None = None) -> None:
        self.function = function
        self.trees = function.trees
        self.loops = function.loops
        self.alloc_buffers: list[st.Buffer] = [] if outer is None else outer.alloc_buffers
        self.stmts: list[st.Stmt] = []
        self._first = self.stmts
        self._pending: list[Operation] = []
        self._wraps: dict[SSAValue, list[Binding]] = {}

    # ---- declarations ----

    def declare(self, block: Block) -> None:
        """Enter what the declarations of a block bind: symbolic sizes, and the buffers
        that it allocates."""
        for op in block.ops:
            if isinstance(op, tir.ShapeVarOp):
                self.symbol(op)
        for op in block.ops:
            if isinstance(op, tir.AllocBufferOp):
                self.alloc_buffers.append(self.buffer(op))

    def symbol(self, op: tir.ShapeVarOp) -> None:
        """Enter the variable of a symbolic size."""
        self._refuse_attributes(op)
        name = op.var_name.data or name_hint(op, "n")
        variable = Var(name, op.result.type, op.size_var is not None)
        self.trees.define(op.result, variable)

    def buffer(self, op: tir.BufferDefinition) -> st.Buffer:
        """The buffer that an op defines."""
        self._refuse_attributes(op)
        name = _strings(op.buffer_name, name_hint(op, "buffer"))
        if isinstance(op, tir.DeclBufferOp):
            pointer = self.trees.of(op.data)
            data = pointer if isinstance(pointer, Var) else Var(name, pointer.type)
        else:
            data = Var(name, op.type.pointer_type)
        index = op.extent_type
        kind = op.buffer_kind
        separators = op.axis_separators
        found = st.Buffer(
            name,
            [self._mixed(extent, index) for extent in op.shape],
            op.type.element_type,
            data,
            strides=[self._mixed(stride, index) for stride in op.layout_strides],
            elem_offset=self.optional_root(op.elem_offset),
            data_alignment=op.alignment,
            offset_factor=1 if op.offset_factor is None else op.offset_factor.value.data,
            kind=tir.BufferKind.DEFAULT if kind is None else kind.data,
            axis_separators=() if separators is None else separators.get_values(),
        )
        self.trees.buffers[op.buffer] = found
        return found

    def _mixed(self, item: SSAValue | int, dtype: Attribute) -> Expr:
        return IntImm(dtype, item) if isinstance(item, int) else self.root(item)

    def range(self, low: SSAValue, extent: SSAValue | int) -> st.Range:
        """A half-open range."""
        return st.Range(self.root(low), self._mixed(extent, low.type))

    def regions(self, op: tir.ReadsOp | tir.WritesOp) -> list[st.BufferRegion]:
        """What a block reads or writes."""
        self._refuse_attributes(op)
        return [
            st.BufferRegion(
                self.trees.buffer(region.buffer),
                tuple(map(self.range, region.mins, region.extents)),
            )
            for region in op.buffer_regions
        ]

    def match_region(self, op: tir.MatchRegionOp) -> st.MatchBufferRegion:
        """A buffer that a block matches."""
        region = tuple(self.range(low, extent) for low, extent in op.region)
        source = st.BufferRegion(self.trees.buffer(op.source), region)
        return st.MatchBufferRegion(self.buffer(op), source)

    # ---- statements ----

    def read(self, block: Block) -> list[st.Stmt]:
        """The statements of a block whose declarations have been entered."""
        for op in block.ops:
            if not isinstance(op, _PROLOGUE):
                self._read_op(op)
        self._flush()
        while self.stmts and isinstance(last := self.stmts[-1], st.Scope):
            # Nothing follows that the bindings could reach.
            self.stmts[-1:] = last.body
        return self._first

    def region(self, region: Region) -> list[st.Stmt]:
        """The statements of a region that allocates nothing itself."""
        inner = BodyReader(self.function, self)
        for op in region.block.ops:
            match op:
                case tir.ShapeVarOp():
                    inner.symbol(op)
                case tir.AllocBufferOp():
                    _require_hoistable(op)
                    self.alloc_buffers.append(inner.buffer(op))
                case tir.MatchRegionOp():
                    raise DiagnosticException(
                        f"{name_of(op)}: TVMScript matches buffers at the start of a "
                        "block only; move it into the tir.block around"
                    )
                case _:
                    pass
        return inner.read(region.block)

    def _read_op(self, op: Operation) -> None:
        fact = self.function.facts.ops[op]
        if fact.kind is Kind.SYMBOL or self.function.is_expression(op):
            return
        if fact.kind is Kind.READ:
            self._settle(op, is_bound=True)
            self._bind(op)
            return
        if isinstance(op, tir.LetOp):
            self._refuse_attributes(op)
            if op.kind.data is tir.LetKind.EXPR and self._can_wait(op):
                self._pending.append(op)
            else:
                self._settle(op)
                self._bind(op)
            return
        if isinstance(op, _CALLS):
            self._read_call(op)
            return
        reader = self.function.statements.get(type(op))
        if reader is None:
            raise DiagnosticException(
                f"{name_of(op)}: has no form in TVMScript; lower or remove it first"
            )
        self._refuse_attributes(op)
        self._settle(op)
        # The reader may put what follows into a body of the statement.
        around = self.stmts
        stmt = reader(self, op)
        if stmt is not None:
            around.append(stmt)
        self._wraps.clear()

    def _refuse_attributes(self, op: Operation) -> None:
        if op.attributes:
            refuse_attributes(op)

    def root(self, value: SSAValue) -> Expr:
        """The expression of an operand of the statement that is being read."""
        return with_lets(self._wraps.get(value, ()), self.trees.of(value))

    def roots(self, values: Iterable[SSAValue]) -> tuple[Expr, ...]:
        """The expressions of several operands."""
        return tuple(self.root(value) for value in values)

    def optional_root(self, value: SSAValue | None) -> Expr | None:
        """The expression of an operand that may be missing."""
        return None if value is None else self.root(value)

    def nest(self, body: list[st.Stmt]) -> None:
        """Put all that follows into a body of its own."""
        self.stmts = body

    def require_first(self, init: tir.InitOp) -> None:
        """Refuse what is before an init and cannot as well are after it,
        where scripts have it."""
        facts = self.function.facts
        following = init.next_op
        for op in previous_ops(init):
            is_read = facts.ops[op].kind is Kind.READ and facts.ops[op].bound
            is_let = isinstance(op, tir.LetOp)
            if self.function.is_expression(op):
                continue
            if not (is_read or is_let or isinstance(op, _CALLS)):
                continue
            reads = [op] if is_read else self._reached(op.operands[0], {})
            is_early = following is not None and any(
                facts.is_written_between(read, following) for read in reads
            )
            if is_early or not (is_read or is_let):
                raise DiagnosticException(
                    f"{name_of(op)}: is before a tir.init, which TVMScript runs "
                    "first; move it after, or into a tir.block around"
                )

    # ---- calls with effects, and lets in expressions ----

    def _read_call(self, op: tir.CallOp | tir.CallFuncOp | tir.IfThenElseOp) -> None:
        count = self.function.uses.count.get(op, 0)
        if count == 1 and self._can_wait(op):
            self._pending.append(op)
            return
        self._settle(op, is_bound=bool(count))
        if count:
            self._bind(op)
        else:
            self.stmts.append(st.Evaluate(self.compute(op)))
        self._wraps.clear()

    def _can_wait(self, op: Operation) -> bool:
        """Whether one statement in the same block is all that computes with the op."""
        statement = self.function.uses.statement.get(op)
        return statement is not None and statement.parent is op.parent

    def compute(self, op: Operation) -> Expr:
        """The expression of an op that stands for itself as a statement."""
        if isinstance(op, tir.IfThenElseOp):
            branches = [self.value(region)[0] for region in op.regions]
            arguments = (self.root(op.condition), *branches)
            return Call("if_then_else", arguments, op.result.type)
        for operand in op.operands:
            if wraps := self._wraps.get(operand):
                # No other statement has the variables, so none sees the new tree.
                self.trees.define(operand, with_lets(wraps, self.trees.of(operand)))
        return self.trees.compute(op)

    def _bind(self, op: Operation) -> None:
        """Bind the result of an op for the rest of the list."""
        result = op.results[0]
        if isinstance(op, tir.LetOp):
            value = self.root(op.value)
            name = argument_name(op.var_name, result, "x")
        else:
            value = with_lets(self._wraps.get(result, ()), self.compute(op))
            name = result.name_hint or "x"
        self._wraps.clear()
        self.bound(self.trees.variable(result, name), value)

    def bound(self, variable: Var, value: Expr) -> None:
        """Take a binding for the rest of the list."""
        self.stmts.append(st.LetStmt(variable, value))

    def _flush(self) -> None:
        pending, self._pending = self._pending, []
        for op in pending:
            self._bind(op)

    def _settle(self, op: Operation, *, is_bound: bool = False) -> None:
        """Decide which of the calls and lets that wait become part of the statement `op`,
        and bind the others.

        With `is_bound` the statement binds the value of `op`, so that lets may be
        around all of it.
        """
        if not self._pending:
            return
        statement_of = self.function.uses.statement
        joined: dict[Operation, None] = {}
        for item in reversed(self._pending):
            if statement_of[item] is not op and statement_of[item] not in joined:
                break
            joined[item] = None
        inside = [item for item in self._pending if item in joined]
        roots = [op.operands] if is_bound else [[operand] for operand in op.operands]
        places = self._places(op, inside, roots)
        if places is None or _is_written_twice(op, places):
            self._flush()
            return
        self._pending = self._pending[: len(self._pending) - len(inside)]
        self._flush()
        for item in inside:
            if isinstance(item, tir.LetOp):
                variable = self.trees.variable(
                    item.result, argument_name(item.var_name, item.result, "x")
                )
                binding = (variable, self.trees.of(item.value))
                place = op.results[0] if is_bound else op.operands[places[item]]
                self._wraps.setdefault(place, []).append(binding)
            else:
                self.trees.define(item.results[0], self.compute(item))

    def _places(
        self,
        op: Operation,
        inside: Sequence[Operation],
        roots: Sequence[Sequence[SSAValue]],
    ) -> dict[Operation, int] | None:
        """The number of the roots whose trees hold each of the calls and lets; None where
        being part of the trees would change the order of effects and reads."""
        order = {item: number for number, item in enumerate(inside)}
        found: dict[Operation, int] = {}
        sequence: list[Operation] = []
        for index, values in enumerate(roots):
            reached = [each for root in values for each in self._reached(root, order)]
            for item in reached:
                if item in order and found.setdefault(item, index) != index:
                    return None
            lets = [i for i in reached if i in order and isinstance(i, tir.LetOp)]
            for let in sorted(dict.fromkeys(lets), key=order.__getitem__):
                sequence += self._reached(let.value, order, within=True)
            for root in values:
                sequence += self._reached(root, order, within=True)
        if len(found) < len(inside):
            return None
        has_calls = any(not isinstance(item, tir.LetOp) for item in inside)
        if has_calls and not self._in_order(sequence, op.parent):
            return None
        return found

    def _reached(
        self, root: SSAValue, order: dict[Operation, int], *, within: bool = False
    ) -> list[Operation]:
        """The reads, and the calls and lets of `order`, that the tree of a value holds,
        in the order in which they are evaluated.

        With `within`, the values of lets are left out, which are before the tree.
        """
        found: list[Operation] = []
        seen: set[Operation] = set()
        stack: list[tuple[SSAValue | None, Operation | None]] = [(root, None)]
        while stack:
            value, done = stack.pop()
            if done is not None:
                found.append(done)
                continue
            op = None if value is None else value.owner
            if not isinstance(op, Operation) or op in seen:
                continue
            is_let = op in order and isinstance(op, tir.LetOp)
            if not (op in order or self.function.is_expression(op)):
                continue
            seen.add(op)
            if is_let and within:
                continue
            if op in order or self.function.facts.ops[op].kind is Kind.READ:
                stack.append((None, op))
            inputs = [*op.operands, *_values_inside(op)]
            stack += [(operand, None) for operand in reversed(inputs)]
        return found

    def _in_order(self, sequence: Sequence[Operation], block: Block | None) -> bool:
        """Whether calls keep their turn: all before one are before it, and
        all after it after. What is in the branch of a choice has its turn."""
        facts = self.function.facts.ops
        starts = [facts[_around(op, block)].start for op in sequence]
        latest = -1
        earliest: list[int] = [len(facts)] * (len(starts) + 1)
        for index in range(len(starts) - 1, -1, -1):
            earliest[index] = min(earliest[index + 1], starts[index])
        for index, op in enumerate(sequence):
            is_call = facts[op].kind is Kind.STATEMENT
            if is_call and not latest <= starts[index] <= earliest[index + 1]:
                return False
            latest = max(latest, starts[index])
        return True

    # ---- regions with a value ----

    def value(self, region: Region) -> tuple[Expr, ...]:
        """What a region yields."""
        return ExpressionReader(self.function, self).yielded(region)

    def reducer(self, op: tir.ReducerOp) -> Reducer:
        """A reducer, whose variables have names of their own."""
        self._refuse_attributes(op)
        names = [*("x" for _ in op.lhs), *("y" for _ in op.rhs)]
        variables = [
            self.trees.variable(arg, arg.name_hint or name)
            for arg, name in zip((*op.lhs, *op.rhs), names, strict=True)
        ]
        count = len(op.lhs)
        return Reducer(
            tuple(variables[:count]),
            tuple(variables[count:]),
            self.value(op.combiner),
            tuple(constant(identity, op) for identity in op.identities),
        )


_CALLS = (tir.CallOp, tir.CallFuncOp, tir.IfThenElseOp)
"""What is a statement of its own, or part of the next one."""


def _around(op: Operation, block: Block | None) -> Operation:
    """The op in a block that an op is, or that holds it."""
    while op.parent is not block and (parent := op.parent_op()) is not None:
        op = parent
    return op


def _is_written_twice(op: Operation, places: Mapping[Operation, int]) -> bool:
    """Whether a script writes the expression of a call twice: that of the start of a
    range, which is in its end again."""
    starts: set[SSAValue] = set()
    if isinstance(op, tir.ForOp):
        starts.add(op.min)
    elif isinstance(op, tir.BlockOp):
        starts.update(op.dom_mins)
    return any(
        op.operands[index] in starts
        for item, index in places.items()
        if starts and not isinstance(item, tir.LetOp)
    )


def _values_inside(op: Operation) -> list[SSAValue]:
    """The values that the branches of a choice compute with."""
    if not isinstance(op, tir.IfThenElseOp):
        return []
    return [
        operand
        for region in op.regions
        for item in region.block.ops
        if isinstance(item, tir.LetOp | tir.YieldOp)
        for operand in item.operands
    ]


class ExpressionReader(BodyReader):
    """Reads a region that has values: what it binds becomes `Let`s around the first."""

    def __init__(self, function: FunctionReader, outer: BodyReader) -> None:
        super().__init__(function, outer)
        self._lets: list[Binding] = []

    def bound(self, variable: Var, value: Expr) -> None:
        self._lets.append((variable, value))

    def yielded(self, region: Region) -> tuple[Expr, ...]:
        """The values, each inside of the bindings."""
        parent = region.parent_op()
        assert parent is not None
        values: tuple[Expr, ...] = ()
        for op in region.block.ops:
            if isinstance(op, tir.YieldOp):
                self._settle(op)
                values = self.roots(op.values)
                continue
            self._read_op(op)
            if self.stmts:
                raise DiagnosticException(
                    f"{name_of(op)}: a statement in {name_of(parent)}, which is an "
                    "expression in TVMScript; move it out"
                )
        return tuple(with_lets(self._lets, value) for value in values)
