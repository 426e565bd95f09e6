"""The tree form of a program: what structural comparison and hashing look at.

A program is a list of lines, one per statement, block and end of one. The values that a
statement uses appear in it as expression trees; so it does not matter where constants and
pure ops stand, or whether equal ones are one. Trees are digests of 128 bits, computed
once per SSA value without recursion, so a DAG costs no more than its ops.

A read of memory belongs to the point where it is. Where every use of it comes before
any write that may reach the same memory, it is part of the trees of its uses; else it is
a statement of its own that binds it, the same as a `tir.let` of it in its place. Between
them counts in the order of the text; a use in a loop that the read is not in counts as
one at the end of that loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from hashlib import blake2b
from typing import NamedTuple, TypeAlias, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    UnregisteredOp,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.traits import (
    IsolatedFromAbove,
    SymbolOpInterface,
    get_effects,
)

from xdsl_tvm.analysis.tir.memory_order import Facts, Kind
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dominance import previous_ops


class Literal(NamedTuple):
    """A constant that an op holds without an operand."""

    value: float
    dtype: Attribute


Part: TypeAlias = SSAValue | Attribute | Literal | str
"""What a node or a statement is made of."""
Label: TypeAlias = str | int
"""The name of a part, or the number of an operand."""
Parts: TypeAlias = list[tuple[Label, Part]]
Root: TypeAlias = Operation | Block | SSAValue


def digest(*parts: object) -> bytes:
    """The digest of strings, bytes, numbers and tuples of them."""
    return blake2b(repr(parts).encode(), digest_size=16).digest()


def name_of(op: Operation) -> str:
    """The name that an op is written with."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


# ---- attributes ----


class Attributes:
    """Digests of attributes, each computed once."""

    def __init__(self) -> None:
        # The attributes are kept, so that an id is never used again.
        self._known: dict[int, tuple[Attribute, bytes]] = {}

    def of(self, attribute: Attribute) -> bytes:
        found = self._known.get(id(attribute))
        if found is None:
            found = self._known[id(attribute)] = (attribute, self._compute(attribute))
        return found[1]

    def _compute(self, attribute: Attribute) -> bytes:
        match attribute:
            case IntegerAttr() | FloatAttr():
                number = cast("IntegerAttr[IntegerType] | FloatAttr[AnyFloat]", attribute)
                return self.number(number.value.data, number.type)
            case UnitAttr():
                return self.number(1, i1)
            case DictionaryAttr():
                items = sorted(attribute.data.items())
                return digest("dict", [(key, self.of(value)) for key, value in items])
            case ArrayAttr():
                return digest("array", [self.of(item) for item in attribute])
            case DenseIntOrFPElementsAttr():
                return digest("dense", str(attribute.type), bytes(attribute.data.data))
            case DenseArrayBase():
                array = cast("DenseArrayBase[IntegerType]", attribute)
                return digest("dense array", str(array.elt_type), array.data.data)
            case _:
                return digest("attribute", str(attribute))

    def number(self, value: float, dtype: Attribute) -> bytes:
        """The digest of a constant: integers by their bits, floats as the attribute holds
        them, rounded to the dtype.

        All NaNs are one; 0.0 is not -0.0.
        """
        if isinstance(dtype, IntegerType):
            integer = cast("IntegerType[int]", dtype)
            bits = int(value) % (1 << integer.width.data)
            return digest("constant", self.of(integer), bits)
        if isinstance(dtype, AnyFloat):
            text = "nan" if math.isnan(value) else float(value).hex()
            return digest("constant", self.of(dtype), text)
        return digest("constant", self.of(dtype), value)


# ---- what ops are made of ----


def _indexed(label: str, items: Iterable[Part]) -> Parts:
    return [(f"{label}[{index}]", item) for index, item in enumerate(items)]


def _mixed(label: str, items: Sequence[SSAValue | int], dtype: Attribute) -> Parts:
    return _indexed(
        label, [i if isinstance(i, SSAValue) else Literal(i, dtype) for i in items]
    )


def _annotations(annotations: DictionaryAttr | None) -> Parts:
    return [("annotations", annotations or DictionaryAttr({}))]


def _buffer(op: tir.BufferDefinition) -> Parts:
    """The fields of a buffer; name and offset factor are none of them."""
    dtype = op.extent_type
    kind = tir.BufferKind.DEFAULT if op.buffer_kind is None else op.buffer_kind.data
    parts: Parts = [("element_type", op.type.element_type), ("scope", op.type.scope)]
    match op:
        case tir.MatchBufferOp():
            parts.append(("param", op.param))
        case tir.DeclBufferOp():
            parts.append(("data", op.data))
        case tir.MatchRegionOp():
            parts.append(("source", op.source))
            parts += _region("region", op.region)
        case tir.BufferRealizeOp():
            parts += _region("bounds", op.bounds)
            parts.append(("condition", _optional_predicate(op.condition)))
            parts += _annotations(op.annotations)
        case _:
            pass
    parts += _mixed("shape", op.shape, dtype)
    parts += _mixed("strides", op.layout_strides, dtype)
    separators = () if op.axis_separators is None else op.axis_separators.get_values()
    offset = Literal(0, dtype) if op.elem_offset is None else op.elem_offset
    return [
        *parts,
        ("elem_offset", offset),
        ("data_alignment", str(op.alignment)),
        ("axis_separators", str(separators)),
        ("buffer_kind", str(kind)),
    ]


def _region(label: str, dims: Iterable[tuple[SSAValue, SSAValue | int]]) -> Parts:
    parts: Parts = []
    for index, (low, extent) in enumerate(dims):
        parts.append((f"{label}[{index}].min", low))
        size = extent if isinstance(extent, SSAValue) else Literal(extent, low.type)
        parts.append((f"{label}[{index}].extent", size))
    return parts


def _regions(op: tir.ReadsOp | tir.WritesOp) -> Parts:
    parts: Parts = []
    for index, region in enumerate(op.buffer_regions):
        label = f"region[{index}]"
        parts.append((f"{label}.buffer", region.buffer))
        parts += _region(label, zip(region.mins, region.extents, strict=True))
    return parts


def _allocate(op: tir.AllocateOp) -> Parts:
    condition = _optional_predicate(op.condition)
    extents = _mixed("extents", op.shape, i32)
    return [*extents, ("condition", condition), *_annotations(op.annotations)]


def _optional_predicate(value: SSAValue | None) -> Part:
    return Literal(1, i1) if value is None else value


def _prefetch(op: tir.PrefetchOp) -> Parts:
    return [("buffer", op.buffer), *_region("region", op.region)]


def _allocate_const(op: tir.AllocateConstOp) -> Parts:
    data = "index" if isinstance(op.data, IntegerAttr) else op.data
    return [("data", data), *_annotations(op.annotations)]


def _for(op: tir.ForOp) -> Parts:
    parts: Parts = [("min", op.min), ("extent", op.extent), ("kind", op.kind)]
    if op.thread_tag is not None:
        parts.append(("thread_tag", op.thread_tag))
    return [*parts, *_annotations(op.annotations)]


def _block(op: tir.BlockOp) -> Parts:
    parts: Parts = []
    for index, it in enumerate(op.iters):
        label = f"iter[{index}]"
        parts += [
            (f"{label}.kind", str(it.kind)),
            (f"{label}.min", it.min),
            (f"{label}.extent", it.extent),
            (f"{label}.value", it.binding),
        ]
    predicate = _optional_predicate(op.predicate)
    return [*parts, ("predicate", predicate), *_annotations(op.annotations)]


def _launch_thread(op: tir.LaunchThreadOp) -> Parts:
    return [
        ("tag", op.tag),
        ("extent", op.extent),
        ("virtual", str(op.virtual is not None)),
        *_annotations(op.annotations),
    ]


def _attr(op: tir.AttrOp) -> Parts:
    parts: Parts = [("key", op.key)]
    for label, value, attribute in (
        ("node", op.node, op.node_attr),
        ("value", op.value, op.value_attr),
    ):
        if value is not None:
            parts.append((label, value))
        elif attribute is not None:
            parts.append((label, attribute))
    return parts


def _let(op: tir.LetOp) -> Parts:
    return [("kind", str(op.kind.data)), ("value", op.value)]


def _evaluate(op: tir.EvaluateOp) -> Parts:
    return [("value", Literal(0, i32) if op.value is None else op.value)]


def _func(op: tir.FuncOp) -> Parts:
    visibility = "" if op.sym_visibility is None else op.sym_visibility.data
    return [("type", op.function_type), ("visibility", visibility)]


def _choice(op: tir.IfThenElseOp) -> Parts:
    """The parts of a choice whose branches hold no statements but lets."""
    parts: Parts = [("condition", op.condition)]
    for label, region in (("true", op.true_region), ("false", op.false_region)):
        parts += _lets(f"{label}.let", region.block)
        parts.append((label, cast(tir.YieldOp, region.block.last_op).value))
    return parts


def _lets(label: str, block: Block) -> Parts:
    found = [op.result for op in block.ops if isinstance(op, tir.LetOp)]
    return _indexed(label, found)


def _reducer(op: tir.ReducerOp) -> Parts:
    parts = _indexed("identity", op.identities)
    parts += _lets("let", op.combiner.block)
    return parts + _indexed("result", op.combined)


def _thread_allreduce(op: tir.ThreadAllreduceOp) -> Parts:
    condition = Literal(1, i1) if op.condition is None else op.condition
    parts = [*_indexed("source", op.sources), ("condition", condition)]
    for index, place in enumerate(op.places):
        label = f"destination[{index}]"
        parts.append((f"{label}.buffer", place.buffer))
        parts += _indexed(f"{label}.index", place.indices)
    return parts + _indexed("thread", op.threads)


_PARTS: dict[type[Operation], Callable[..., Parts]] = {
    tir.MatchBufferOp: _buffer,
    tir.MatchRegionOp: _buffer,
    tir.AllocBufferOp: _buffer,
    tir.DeclBufferOp: _buffer,
    tir.BufferRealizeOp: _buffer,
    tir.PrefetchOp: _prefetch,
    tir.ReadsOp: _regions,
    tir.WritesOp: _regions,
    tir.AllocateOp: _allocate,
    tir.AllocateConstOp: _allocate_const,
    tir.ForOp: _for,
    tir.BlockOp: _block,
    tir.LaunchThreadOp: _launch_thread,
    tir.AttrOp: _attr,
    tir.LetOp: _let,
    tir.EvaluateOp: _evaluate,
    tir.ReducerOp: _reducer,
    tir.ThreadAllreduceOp: _thread_allreduce,
    tir.FuncOp: _func,
}


def parts_of(op: Operation, *, is_choice: bool = False) -> Parts:
    """The parts of an op besides its results and regions.

    With `is_choice`, those of an expression `tir.if_then_else`, its branches included.
    """
    if is_choice:
        parts = _choice(cast(tir.IfThenElseOp, op))
    elif (own := _PARTS.get(type(op))) is not None:
        parts = own(op)
    else:
        parts: Parts = list(enumerate(op.operands))
        parts += sorted(op.properties.items())
        if isinstance(op, ModuleOp):
            parts = []
    if op.attributes:
        ignored = "sym_name" if isinstance(op, ModuleOp) else None
        parts += [item for item in sorted(op.attributes.items()) if item[0] != ignored]
    return parts


# ---- the form ----


class FreeMode(Enum):
    """What tells one free variable from another."""

    IDENTITY = auto()
    ORDER = auto()
    """The order in which they are met."""
    NONE = auto()


@dataclass(slots=True)
class Line:
    """One statement, one block, or the end of either."""

    label: str
    """Its name below that of its parent."""
    parent: Line | None
    digest: bytes
    op: Operation | None
    """The op, for an end and a block the one that it belongs to."""
    kind: str
    """`op`, `let` for a read that is bound, `block`, `end` or `value`."""


_Task: TypeAlias = tuple[str, Operation | Block, str, Line | None]


class TreeForm:
    """The tree form of an op, a block or a value."""

    def __init__(
        self,
        root: Root,
        free: FreeMode,
        shared: dict[object, int],
        attributes: Attributes,
    ) -> None:
        self.root = root
        self.lines: list[Line] = []
        self._free = free
        self._shared = shared
        self._attributes = attributes
        self._nodes: dict[SSAValue, bytes] = {}
        self._open: dict[SSAValue, Parts] = {}
        self._bound: dict[object, int] = {}
        self._met: dict[object, int] = {}
        self._flattened: dict[Block, list[Operation]] = {}
        self._moved_out: dict[Block, int] = {}
        """How many statements of a scope are compared before it."""
        self._by_value = isinstance(root, SSAValue)
        if isinstance(root, SSAValue):
            self._scope = _scope_of(root)
            self.facts = Facts([] if self._scope is None else [self._scope])
            self.lines.append(Line("value", None, self.node(root), _op_of(root), "value"))
        else:
            self._scope = None
            self.facts = Facts([root] if isinstance(root, Operation) else root.ops)
            if isinstance(root, Block):
                self.facts.blocks[root] = 0
            self._emit(root)

    # ---- trees ----

    def node(self, value: SSAValue) -> bytes:
        """The digest of the tree of a value."""
        nodes, opened = self._nodes, self._open
        stack = [value]
        while stack:
            current = stack[-1]
            if current in nodes:
                stack.pop()
                continue
            parts = opened.get(current)
            if parts is None:
                parts = self.expression_parts(current)
                if parts is None:
                    nodes[current] = self._leaf(current)
                    continue
                opened[current] = parts
            missing = [
                part
                for _, part in parts
                if isinstance(part, SSAValue) and part not in nodes
            ]
            if not missing:
                nodes[current] = self._combine(current, parts)
                del opened[current]
            elif cyclic := [part for part in missing if part in opened]:
                # Only a graph region can hold a value that depends on itself.
                nodes[cyclic[0]] = self._variable(cyclic[0])
            else:
                stack += reversed(missing)
        return nodes[value]

    def expression_parts(self, value: SSAValue) -> Parts | None:
        """What the tree of a value is made of, None if it is a leaf."""
        op = value.owner
        if not isinstance(op, Operation):
            return None
        if (pointer := _declared_pointer(op)) is not None:
            return [("data", pointer)]
        fact = self.facts.ops.get(op)
        if fact is None:
            return parts_of(op) if _is_pure(op) else None
        if _is_implicit(op):
            return parts_of(op)
        if fact.kind is Kind.EXPRESSION or (
            fact.kind is Kind.READ and (self._by_value or not fact.bound)
        ):
            return self._tree_parts(op)
        if isinstance(op, tir.LetOp) and self._is_in_expression(op):
            return parts_of(op)
        return None

    def _tree_parts(self, op: Operation) -> Parts:
        is_choice = self.facts.is_choice(op)
        parts = parts_of(op, is_choice=is_choice)
        if self._by_value and not is_choice and self.facts.ops[op].kind is Kind.READ:
            # Which state of the memory it is that the read sees.
            key = ("memory", self._scope, self.facts.state(op))
            parts.append(("memory", str(self._free_number(key))))
        return parts

    def tree_parts(self, value: SSAValue) -> Parts | None:
        """`expression_parts`, and those of a read that is bound."""
        op = value.owner
        fact = self.facts.ops.get(op) if isinstance(op, Operation) else None
        if fact is not None and isinstance(op, Operation) and fact.kind is Kind.READ:
            return self._tree_parts(op)
        return self.expression_parts(value)

    def printed_root(self) -> Operation | None:
        """The op to print in order to show the program."""
        if isinstance(self.root, Operation):
            return self.root
        return self.root.parent_op() if isinstance(self.root, Block) else self._scope

    def _is_in_expression(self, op: Operation) -> bool:
        parent = op.parent_op()
        if isinstance(parent, tir.ReducerOp):
            return True
        return parent is not None and self.facts.is_choice(parent)

    def _combine(self, value: SSAValue, parts: Parts) -> bytes:
        op = cast(Operation, value.owner)
        if (pointer := _declared_pointer(op)) is not None:
            return self._nodes[pointer]
        if isinstance(op, tir.ConstOp):
            return self._attributes.of(op.value)
        if isinstance(op, tir.StringOp) and not op.attributes:
            return self._attributes.of(op.value)
        index = 0 if op.results[0] is value else op.results.index(value)
        place = 0
        if isinstance(op, tir.LetOp):
            # Two lets of equal values in one branch are two variables.
            place = sum(1 for o in previous_ops(op) if isinstance(o, tir.LetOp))
        types = [self._type(result) for result in op.results]
        return digest(name_of(op), index, place, types, self._parts(parts))

    def _parts(self, parts: Parts) -> list[tuple[Label, bytes]]:
        return [(label, self.part(part)) for label, part in parts]

    def part(self, part: Part) -> bytes:
        """The digest of a part of a node or a statement."""
        if isinstance(part, SSAValue):
            return self.node(part)
        if isinstance(part, Literal):
            return self._attributes.number(part.value, part.dtype)
        if isinstance(part, str):
            return digest("text", part)
        return self._attributes.of(part)

    def _leaf(self, value: SSAValue) -> bytes:
        op = value.owner
        if isinstance(value, BlockArgument):
            op = value.owner
            if self._is_of_reducer(op):
                # Two equal reducers are one tree, so their arguments count by place.
                kind = self._attributes.of(value.type)
                return digest("reducer argument", kind, value.index)
            inside = op in self.facts.blocks
        else:
            inside = op in self.facts.ops
        if isinstance(op, tir.ShapeVarOp) and inside and not self._by_value:
            kind = self._attributes.of(value.type), op.size_var is not None
            return digest("size", *kind, self._number(value))
        if inside and not self._by_value:
            return self._variable(value)
        return digest("free", self._attributes.of(value.type), self._free_number(value))

    def _is_of_reducer(self, block: Block) -> bool:
        """Whether arguments of the block are bound by a reducer in the compared tree."""
        reducer = block.parent_op()
        if not isinstance(reducer, tir.ReducerOp) or reducer not in self.facts.ops:
            return False
        # A value inside the reducer is compared without it: the arguments are free.
        return not (isinstance(self.root, SSAValue) and _stands_in(self.root, block))

    def _variable(self, value: SSAValue) -> bytes:
        return digest("variable", self._number(value))

    def _number(self, key: object) -> int:
        """The number of something that the program defines, by the order of meeting."""
        return self._bound.setdefault(key, len(self._bound))

    def _free_number(self, key: object) -> int:
        match self._free:
            case FreeMode.IDENTITY:
                return self._shared.setdefault(key, len(self._shared))
            case FreeMode.ORDER:
                return self._met.setdefault(key, len(self._met))
            case FreeMode.NONE:
                return 0

    # ---- statements ----

    def _emit(self, root: Operation | Block) -> None:
        label = f"@{symbol}" if (symbol := _symbol_of_root(root)) else ""
        tasks: list[_Task] = [("open", root, label, None)]
        while tasks:
            task, item, label, parent = tasks.pop()
            if task == "end":
                op = item if isinstance(item, Operation) else item.parent_op()
                self.lines.append(Line(label, parent, b"", op, "end"))
            elif isinstance(item, Block):
                tasks += reversed(self._open_block(item, label, parent))
            else:
                tasks += reversed(self._open_op(item, label, parent))

    def _open_block(self, block: Block, label: str, parent: Line | None) -> list[_Task]:
        arguments = [(self._attributes.of(a.type), self._number(a)) for a in block.args]
        line = Line(label, parent, digest(self._number(block), arguments), None, "block")
        line.op = block.parent_op()
        self.lines.append(line)
        tasks: list[_Task] = [
            ("open", op, _label(op, index), line)
            for index, op in enumerate(self._statements(block))
        ]
        return [*tasks, ("end", block, f"[{len(tasks)}]", line)]

    def _statements(self, block: Block) -> list[Operation]:
        """The statements of a block, in the order in which they are compared."""
        found = self._flat(block)[self._moved_out.get(block, 0) :]
        parent = block.parent_op()
        if isinstance(parent, tir.BlockOp | tir.FuncOp):
            found.sort(key=_order_in_prologue)
        elif isinstance(parent, ModuleOp):
            found.sort(key=symbol_of)
        return found

    def _flat(self, block: Block) -> list[Operation]:
        """The statements of a block, with those of its scopes that nothing binds before
        , and of the one that it ends with."""
        known = self._flattened.get(block)
        if known is not None:
            return known
        found: list[Operation] = []
        for op in block.ops:
            fact = self.facts.ops[op]
            is_bound = fact.kind is Kind.READ and fact.bound
            if not is_bound and (
                fact.kind is not Kind.STATEMENT
                or _lists_nothing(op)
                or _is_implicit(op)
                or self._evaluates_nothing(op)
            ):
                continue
            if not isinstance(op, tir.ScopeOp) or op.attributes:
                found.append(op)
                continue
            inner = self._flat(op.body.block)
            start = next(
                (i for i, each in enumerate(inner) if self._binds(each)), len(inner)
            )
            found += inner[:start]
            if start < len(inner):
                self._moved_out[op.body.block] = start
                found.append(op)
        if found and isinstance(last := found[-1], tir.ScopeOp) and not last.attributes:
            body = last.body.block
            found[-1:] = self._flattened.pop(body)[self._moved_out.pop(body) :]
        self._flattened[block] = found
        return found

    def _evaluates_nothing(self, op: Operation) -> bool:
        """Whether it is a no-op, or evaluates a call that is a statement itself."""
        if _is_noop(op):
            return True
        if not isinstance(op, tir.EvaluateOp) or op.attributes or op.value is None:
            return False
        call = op.value.owner
        fact = self.facts.ops.get(call) if isinstance(call, tir.CallOp) else None
        return fact is not None and fact.kind is Kind.STATEMENT

    def _binds(self, op: Operation) -> bool:
        """Whether a statement is in force for those after it in its block."""
        return isinstance(op, _BINDINGS) or self.is_let(op)

    def _open_op(self, op: Operation, label: str, parent: Line | None) -> list[_Task]:
        is_let = self.is_let(op)
        text = digest(
            "tir.let" if is_let else name_of(op),
            "" if parent is None else symbol_of(op),
            self.statement_parts(op),
            self._results(op),
            [self._number(block) for block in op.successors],
            [len(region.blocks) for region in op.regions],
            self._environment(op),
        )
        line = Line(label, parent, text, op, "let" if is_let else "op")
        self.lines.append(line)
        if is_let:
            return []
        tasks: list[_Task] = []
        for name, region in zip(region_names(op), op.regions, strict=True):
            place = "" if isinstance(op, ModuleOp) else f".{name}"
            for index, block in enumerate(region.blocks):
                suffix = f".block[{index}]" if index else ""
                tasks.append(("open", block, place + suffix, line))
            tasks.append(("end", op, place, line))
        return tasks

    def statement_parts(self, op: Operation) -> list[tuple[Label, bytes]]:
        """The digests of what a statement is made of, besides results and regions."""
        if not self.is_let(op):
            return self._parts(parts_of(op))
        # The value of a read that is bound is a variable in all other trees.
        parts = self._tree_parts(op)
        self._parts(parts)
        kind = self.part(str(tir.LetKind.STMT))
        return [("kind", kind), ("value", self._combine(op.results[0], parts))]

    def is_let(self, op: Operation) -> bool:
        """Whether the statement is a read that is bound."""
        return self.facts.ops[op].kind is Kind.READ and len(op.results) == 1

    def _results(self, op: Operation) -> list[tuple[bytes, int]]:
        result = op.result if isinstance(op, tir.CallOp) else None
        if result is not None and all(
            isinstance(use.operation, tir.EvaluateOp) for use in result.uses
        ):
            # The dtype of a call that is made for its effect says nothing.
            return []
        return [self._result(result) for result in op.results]

    def _result(self, result: SSAValue) -> tuple[bytes, int]:
        return self._type(result), self._number(result)

    def _type(self, value: SSAValue) -> bytes:
        """The digest of a type; that of a buffer says nothing that its op does not."""
        is_buffer = isinstance(value.type, tir.BufferType)
        return b"" if is_buffer else self._attributes.of(value.type)

    def _environment(self, op: Operation) -> int:
        """The number of the variable of a thread axis, which openings may share."""
        if not isinstance(op, tir.LaunchThreadOp):
            return -1
        return self._number(op if op.env is None else ("env", op.env.data))


_BINDINGS = (
    tir.LetOp,
    tir.AssertOp,
    tir.AllocateOp,
    tir.AllocateConstOp,
    tir.DeclBufferOp,
    tir.MatchRegionOp,
    tir.AllocBufferOp,
    tir.BufferRealizeOp,
)
"""Statements that are in force to the end of their block."""


def _is_implicit(op: Operation) -> bool:
    """Whether it declares a buffer that a script may declare in another place."""
    return isinstance(op, tir.DeclBufferOp) and op.implicit is not None


def _declared_pointer(op: Operation) -> SSAValue | None:
    """The pointer that the buffer was declared on, if `op` is the data of one."""
    if not isinstance(op, tir.DataOp):
        return None
    declaration = op.buffer.owner
    if isinstance(declaration, tir.DeclBufferOp):
        pointer = declaration.data
        return pointer if pointer.type == op.result.type else None
    return None


def _is_pure(op: Operation) -> bool:
    """Whether an op outside of the compared program is part of trees."""
    return not op.regions and bool(op.results) and get_effects(op) == set()


def _op_of(value: SSAValue) -> Operation | None:
    owner = value.owner
    return owner if isinstance(owner, Operation) else owner.parent_op()


def _stands_in(value: SSAValue, block: Block) -> bool:
    """Whether a value is defined in a block or deeper."""
    if value.owner is block:
        return True
    op = _op_of(value)
    while op is not None and op.parent is not block:
        op = op.parent_op()
    return op is not None


def _scope_of(value: SSAValue) -> Operation | None:
    """The function that a value is in, or the outermost op if there is none."""
    op = _op_of(value)
    while op is not None and not op.has_trait(IsolatedFromAbove):
        parent = op.parent_op()
        if parent is None:
            break
        op = parent
    return op


_PROLOGUE: tuple[type[Operation], ...] = (
    tir.MatchBufferOp,
    tir.AllocBufferOp,
    tir.MatchRegionOp,
    tir.ReadsOp,
    tir.WritesOp,
    tir.InitOp,
)


def _order_in_prologue(op: Operation) -> tuple[int, int]:
    if isinstance(op, tir.MatchBufferOp) and isinstance(op.param, BlockArgument):
        return 0, op.param.index
    kind = type(op)
    return (_PROLOGUE.index(kind) if kind in _PROLOGUE else len(_PROLOGUE)), 0


def _lists_nothing(op: Operation) -> bool:
    """Whether it declares regions, and there are none."""
    return isinstance(op, tir.ReadsOp | tir.WritesOp) and not (
        op.buffers or op.attributes
    )


def _is_noop(op: Operation) -> bool:
    if not isinstance(op, tir.EvaluateOp) or op.attributes:
        return False
    value = op.value
    return value is None or (tir.is_integer(value.type) and tir.is_constant(value, 0))


def symbol_of(op: Operation) -> str:
    """The symbol an op defines, empty for none."""
    if not op.has_trait(SymbolOpInterface):
        return ""
    name = op.get_attr_or_prop("sym_name")
    return name.data if isinstance(name, StringAttr) else ""


def _symbol_of_root(root: Operation | Block) -> str:
    return symbol_of(root) if isinstance(root, Operation) else ""


def _label(op: Operation, index: int) -> str:
    symbol = symbol_of(op)
    return f"@{symbol}" if symbol else f"[{index}]"


def region_names(op: Operation) -> list[str]:
    """A name for each region: that of the op's definition where it has one each."""
    definition = getattr(op, "get_irdl_definition", None)
    if definition is not None:
        names = [name for name, _ in definition().regions]
        if len(names) >= len(op.regions):
            return names[: len(op.regions)]
    return [f"region[{index}]" for index in range(len(op.regions))]
