"""Expressions as immutable trees, apart from the ops that hold them.

Rewriting expressions is term rewriting, and ops are a poor form of terms: shared or
not, hoisted or not, two equal ones are two. `view` reads the tree of an SSA value,
algebra works on trees, and `emit` turns a tree back into ops. Nothing is simplified on
the way: the trees are what the ops say.

Trees are hash-consed: building an equal tree gives the same object, so `is` and `==` are
structural equality, hashing is by identity, and tables keyed by trees are cheap. Equal
subtrees are one object, which makes a tree a DAG that may be exponentially smaller than
its text. All functions here visit every node once and without recursion, so trees of any
depth are fine.

The kinds of nodes are those of the pure expression ops of `tir`, dtype included, calls of
builtins that compute a value from their operands, and lazy choices between such trees.
Anything else is a leaf that stands for an SSA value: block arguments, loads, lets, other
calls, lazy choices that guard a load, results of other dialects' ops.
"""

from __future__ import annotations

import os
import struct
import threading
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from itertools import count
from typing import Any, ClassVar, NoReturn, Self, TypeGuard, TypeVar, cast
from weakref import WeakValueDictionary

from xdsl.builder import Builder
from xdsl.dialects.builtin import (
    FloatAttr,
    FloatData,
    IntAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from xdsl_tvm.analysis.derivation import derived_from_itself
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import DerivedClasses, of_classes
from xdsl_tvm.dialects.by_identity import by_identity
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.dialects.quick_accessors import first_result, stored_operands

_T = TypeVar("_T")

_serials = count()
_lock = threading.Lock()


def _renew_lock() -> None:
    """In the child of a fork: the thread that holds the lock may be the parent's."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)

_table: WeakValueDictionary[tuple[object, ...], Any] = WeakValueDictionary()
_references: Mapping[tuple[object, ...], Callable[[], Any]] = vars(_table)["data"]
"""The weak references in the table: `_table.get` takes several times as long."""
_dtype_numbers: dict[Attribute, int] = {}


@by_identity
def _number_of(dtype: Attribute) -> int:
    """A number that stands for a dtype, and for those equal to it, in keys of nodes."""
    with _lock:
        return _dtype_numbers.setdefault(dtype, len(_dtype_numbers))


class Expr:
    """A node; `dtype` is the type of its value, a TIR scalar or vector type.

    Two nodes of one class with the same parts are the same object. `serial` orders nodes
    by age: where an order is wanted that does not depend on memory addresses.
    """

    __slots__ = ("__weakref__", "dtype", "operands", "payload", "serial")

    operands: tuple[Expr, ...]
    """The trees that this one is made of, in the order of the op's operands."""
    dtype: Attribute
    payload: Any
    """What tells nodes of a class apart besides dtype and operands; see the class."""
    serial: int

    @classmethod
    def _of(
        cls,
        dtype: Attribute,
        operands: tuple[Expr, ...],
        payload: object = None,
        key: object = None,
    ) -> Self:
        """The one node with these parts; `key` stands for the payload, if given."""
        number = _number_of(dtype)
        full_key = (cls, number, operands, payload if key is None else key)
        reference = _references.get(full_key)
        node: Any = None if reference is None else reference()
        return cls._added(full_key, dtype, operands, payload) if node is None else node

    @classmethod
    def _added(
        cls,
        full_key: tuple[object, ...],
        dtype: Attribute,
        operands: tuple[Expr, ...],
        payload: object = None,
    ) -> Self:
        """The node of a key, made if no other thread has made it."""
        with _lock:
            node: Any = _table.get(full_key)
            if node is None:
                node = _new(cls, dtype, operands, payload)
                _table[full_key] = node
        return node

    def rebuilt(self, operands: tuple[Expr, ...]) -> Expr:
        """The same kind of node on other operands, which have the types of the old."""
        return self if operands == self.operands else self._rebuilt(operands)

    def _rebuilt(self, operands: tuple[Expr, ...]) -> Expr:
        return type(self)._of(self.dtype, operands, self.payload)

    def emitted(self, operands: list[SSAValue]) -> Operation:
        """A new op that computes this node from the values of its operands."""
        raise NotImplementedError

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"expressions are immutable, {name} cannot be set")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("expressions refer to values of a module and cannot be pickled")

    def __str__(self) -> str:
        return fold(self, lambda node, texts: node.text(texts))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    def text(self, operands: list[str]) -> str:
        """How the node prints when its operands print so."""
        return f"{type(self).__name__.lower()}({', '.join(operands)})"


_set = object.__setattr__


def _new(
    cls: type[Expr], dtype: Attribute, operands: tuple[Expr, ...], payload: object
) -> Expr:
    node = object.__new__(cls)
    _set(node, "dtype", dtype)
    _set(node, "operands", operands)
    _set(node, "payload", payload)
    _set(node, "serial", next(_serials))
    return node


class Value(Expr):
    """A leaf: whatever an SSA value holds. Its payload is the value."""

    __slots__ = ()

    def __new__(cls, value: SSAValue) -> Self:
        # While there is the node, there is the value, and no other has its identity.
        return cls._of(value.type, (), value, id(value))

    @property
    def value(self) -> SSAValue:
        """The SSA value."""
        return self.payload

    def text(self, operands: list[str]) -> str:
        return f"%{self.value.name_hint or self.serial}"


class LiteralRangeError(ValueError):
    """A literal was computed that its type does not have.

    Analyses compute with integers of any size, and give up where a result cannot be
    written as an expression.
    """


class Const(Expr):
    """A scalar constant; a bool is 0 or 1. Its payload is the number.

    Floats are told apart by their bits, so 0.0 is not -0.0 and a NaN is itself. Raises
    ValueError when the dtype is no scalar, and its subclass LiteralRangeError when the
    dtype does not have the number.
    """

    __slots__ = ()

    def __new__(cls, value: float, dtype: Attribute) -> Self:
        if value.__class__ is int:
            # A node that exists was found valid; only integers have integers as keys.
            reference = _references.get((cls, _number_of(dtype), (), value))
            node = None if reference is None else reference()
            if node is not None:
                return node
        if not tir.is_scalar(dtype):
            raise ValueError(f"a constant must be a scalar, not {dtype}")
        if tir.is_float(dtype):
            value = float(value)
            return cls._of(dtype, (), value, struct.pack("<d", value))
        low, high = integer_range(dtype)
        if int(value) != value or not low <= value <= high:
            raise LiteralRangeError(f"{value} is no constant of type {dtype}")
        return cls._of(dtype, (), int(value))

    @property
    def value(self) -> int | float:
        """The number: an int for integer types and bool, otherwise a float."""
        return self.payload

    def emitted(self, operands: list[SSAValue]) -> Operation:
        return tir.ConstOp.of(self.value, self.dtype)

    def text(self, operands: list[str]) -> str:
        return str(self.value)


class _Pair(Expr):
    """Two operands."""

    __slots__ = ()

    @property
    def lhs(self) -> Expr:
        return self.operands[0]

    @property
    def rhs(self) -> Expr:
        return self.operands[1]


class Binary(_Pair):
    """Two operands and a result of one dtype.

    Raises ValueError when the operands have two.
    """

    __slots__ = ()

    op_type: ClassVar[type[tir.BinaryOp]]
    symbol: ClassVar[str | None] = None
    __match_args__ = ("lhs", "rhs")

    def __new__(cls, lhs: Expr, rhs: Expr) -> Self:
        # The operands tell the dtype, which is no part of the key.
        key = (cls, lhs, rhs)
        reference = _references.get(key)
        node = None if reference is None else reference()
        if node is not None:
            return node
        if lhs.dtype is not rhs.dtype:
            _require_same(cls, lhs, rhs)
        return cls._added(key, lhs.dtype, (lhs, rhs))

    def _rebuilt(self, operands: tuple[Expr, ...]) -> Expr:
        return type(self)(*operands)

    def emitted(self, operands: list[SSAValue]) -> Operation:
        return self.op_type.create(operands=operands, result_types=[self.dtype])

    def text(self, operands: list[str]) -> str:
        if self.symbol is None:
            return super().text(operands)
        return f"({operands[0]} {self.symbol} {operands[1]})"


def _require_same(kind: type[Expr], *nodes: Expr) -> None:
    first = nodes[0].dtype
    for node in nodes:
        if node.dtype is not first and node.dtype != first:
            raise ValueError(
                f"operands of {kind.__name__} must have one type, got {first} and "
                f"{node.dtype}"
            )


class Add(Binary):
    __slots__ = ()
    op_type = tir.AddOp
    symbol = "+"


class Sub(Binary):
    __slots__ = ()
    op_type = tir.SubOp
    symbol = "-"


class Mul(Binary):
    __slots__ = ()
    op_type = tir.MulOp
    symbol = "*"


class Div(Binary):
    """Quotient, rounded toward zero for integers."""

    __slots__ = ()
    op_type = tir.DivOp
    symbol = "/"


class Mod(Binary):
    """Remainder of `Div`."""

    __slots__ = ()
    op_type = tir.ModOp


class FloorDiv(Binary):
    __slots__ = ()
    op_type = tir.FloorDivOp
    symbol = "//"


class FloorMod(Binary):
    __slots__ = ()
    op_type = tir.FloorModOp
    symbol = "%"


class Min(Binary):
    __slots__ = ()
    op_type = tir.MinOp


class Max(Binary):
    __slots__ = ()
    op_type = tir.MaxOp


class And(Binary):
    __slots__ = ()
    op_type = tir.AndOp
    symbol = "and"


class Or(Binary):
    __slots__ = ()
    op_type = tir.OrOp
    symbol = "or"


class Not(Expr):
    """Negation of a bool or a vector of them."""

    __slots__ = ()

    __match_args__ = ("value",)

    def __new__(cls, value: Expr) -> Self:
        return cls._of(value.dtype, (value,))

    @property
    def value(self) -> Expr:
        return self.operands[0]

    def emitted(self, operands: list[SSAValue]) -> Operation:
        return tir.NotOp.create(operands=operands, result_types=[self.dtype])


class Cmp(_Pair):
    """A comparison. Its payload is the predicate.

    Raises ValueError when the operands have two types.
    """

    __slots__ = ()

    __match_args__ = ("predicate", "lhs", "rhs")

    def __new__(cls, predicate: tir.CmpPredicate, lhs: Expr, rhs: Expr) -> Self:
        _require_same(cls, lhs, rhs)
        return cls._of(tir.like_lanes(i1, lhs.dtype), (lhs, rhs), predicate)

    @property
    def predicate(self) -> tir.CmpPredicate:
        return self.payload

    def emitted(self, operands: list[SSAValue]) -> Operation:
        return tir.CmpOp(self.predicate, *operands)

    def text(self, operands: list[str]) -> str:
        return f"({operands[0]} {self.predicate.value} {operands[1]})"


class _Choice(Expr):
    """A condition and two values, one of which is the result."""

    __slots__ = ()

    __match_args__ = ("condition", "true_value", "false_value")

    def __new__(cls, condition: Expr, true_value: Expr, false_value: Expr) -> Self:
        _require_same(cls, true_value, false_value)
        return cls._of(true_value.dtype, (condition, true_value, false_value))

    @property
    def condition(self) -> Expr:
        return self.operands[0]

    @property
    def true_value(self) -> Expr:
        return self.operands[1]

    @property
    def false_value(self) -> Expr:
        return self.operands[2]


class Select(_Choice):
    """The eager choice between two values.

    Raises ValueError when the values have two types.
    """

    __slots__ = ()

    def emitted(self, operands: list[SSAValue]) -> Operation:
        return tir.SelectOp.create(operands=operands, result_types=[self.dtype])


class IfThenElse(_Choice):
    """The lazy choice: the branch that is not taken is not evaluated.

    It is a node only where both branches are trees over values from outside of it. What a
    branch divides by may be zero where the branch is not taken, so nothing in it may be
    computed elsewhere. Raises ValueError when the branches have two types.
    """

    __slots__ = ()


class _Converted(Expr):
    """An operand taken to another dtype."""

    __slots__ = ()

    op_type: ClassVar[type[tir.CastOp | tir.BroadcastOp]]
    __match_args__ = ("dtype", "value")

    def __new__(cls, dtype: Attribute, value: Expr) -> Self:
        return cls._of(dtype, (value,))

    @property
    def value(self) -> Expr:
        return self.operands[0]

    def emitted(self, operands: list[SSAValue]) -> Operation:
        return self.op_type.create(operands=operands, result_types=[self.dtype])

    def text(self, operands: list[str]) -> str:
        return f"{type(self).__name__.lower()}<{self.dtype}>({operands[0]})"


class Cast(_Converted):
    """A conversion to `dtype`."""

    __slots__ = ()
    op_type = tir.CastOp


class Broadcast(_Converted):
    """A vector of type `dtype` whose lanes are all the operand."""

    __slots__ = ()
    op_type = tir.BroadcastOp


class Ramp(Expr):
    """The vector of type `dtype` with lanes `base + lane * stride`.

    Raises ValueError when base and stride have two types.
    """

    __slots__ = ()

    __match_args__ = ("dtype", "base", "stride")

    def __new__(cls, dtype: Attribute, base: Expr, stride: Expr) -> Self:
        _require_same(cls, base, stride)
        return cls._of(dtype, (base, stride))

    @property
    def base(self) -> Expr:
        return self.operands[0]

    @property
    def stride(self) -> Expr:
        return self.operands[1]

    def emitted(self, operands: list[SSAValue]) -> Operation:
        return tir.RampOp.create(operands=operands, result_types=[self.dtype])


class Call(Expr):
    """A builtin that computes its result from its operands; its payload is its name.

    The names are those of `PURE_CALLS`, as `tir.call` spells them. Two calls of `vscale`
    are one tree, since the factor does not change while a program runs. Raises ValueError
    for another name.
    """

    __slots__ = ()

    __match_args__ = ("name", "operands", "dtype")

    def __new__(cls, name: str, args: Iterable[Expr], dtype: Attribute) -> Self:
        if name not in PURE_CALLS:
            raise ValueError(f"{name} is no builtin that trees look into")
        return cls._of(dtype, tuple(args), name)

    @property
    def name(self) -> str:
        return self.payload

    def emitted(self, operands: list[SSAValue]) -> Operation:
        return tir.CallOp.create(
            operands=operands,
            result_types=[self.dtype],
            properties={"callee": StringAttr(self.name)},
        )

    def text(self, operands: list[str]) -> str:
        return f"{self.name}({', '.join(operands)})"


_PURE_NAMES = (
    "bitwise_and bitwise_or bitwise_xor bitwise_not shift_left shift_right popcount clz "
    "fma q_multiply_shift q_multiply_shift_per_axis exp exp2 exp10 log log2 log10 log1p "
    "sqrt rsqrt sigmoid tanh sin cos tan sinh cosh asin acos atan asinh acosh atanh erf "
    "floor ceil round trunc nearbyint fabs pow fmod atan2 hypot copysign nextafter ldexp "
    "isnan isnullptr reinterpret large_uint_imm likely vscale"
)
PURE_CALLS = frozenset(_PURE_NAMES.split())
"""The builtins that are nodes of trees: values of numbers, whatever the memory holds."""


# ---- walking trees ----


def postorder(*roots: Expr) -> Iterator[Expr]:
    """Every node of the trees once, operands before what is made of them.

    The order is that of evaluation, left to right.
    """
    seen: set[Expr] = set()
    stack: list[tuple[Expr, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, operands_done = stack.pop()
        if operands_done:
            yield node
        elif node not in seen:
            seen.add(node)
            if not node.operands:
                yield node
                continue
            stack.append((node, True))
            stack += [(operand, False) for operand in reversed(node.operands)]


def fold(
    root: Expr,
    function: Callable[[Expr, list[_T]], _T],
    known: MutableMapping[Expr, _T] | None = None,
) -> _T:
    """The result of `function(node, results of its operands)` at the root.

    Every node is asked once. `known` holds results that are given, whose operands are
    then not visited, and receives the others.
    """
    results: MutableMapping[Expr, _T] = {} if known is None else known
    stack = [] if root in results else [root]
    while stack:
        node = stack[-1]
        operands = node.operands
        if not operands:
            stack.pop()
            if node not in results:
                results[node] = function(node, [])
            continue
        if node in results:
            stack.pop()
            continue
        missing = [operand for operand in operands if operand not in results]
        if missing:
            stack += reversed(missing)
            continue
        results[node] = function(node, [results[operand] for operand in operands])
        stack.pop()
    return results[root]


def substitute(root: Expr, replacements: Mapping[Expr, Expr]) -> Expr:
    """The tree with every node that is a key replaced; replacements are not revisited.

    A replacement must have the dtype of what it replaces.
    """
    return fold(
        root, lambda node, operands: node.rebuilt(tuple(operands)), dict(replacements)
    )


def leaf_values(*roots: Expr) -> tuple[SSAValue, ...]:
    """The SSA values that the trees depend on, each once, in order of evaluation."""
    return tuple(node.value for node in postorder(*roots) if isinstance(node, Value))


# ---- from and to ops ----

_BINARY: dict[type[Operation], type[Binary]] = {
    kind.op_type: kind
    for kind in (Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max, And, Or)
}
_UNARY = (tir.NotOp, tir.CastOp, tir.BroadcastOp)
EXPRESSION_OPS = (*_BINARY, *_UNARY, tir.ConstOp, tir.CmpOp, tir.SelectOp, tir.RampOp)
"""The ops that are nodes of trees, calls and lazy choices aside."""


is_expression_class: Callable[[type], bool] = DerivedClasses(EXPRESSION_OPS).__getitem__
"""Whether a class is one of `EXPRESSION_OPS`, or derives from one."""
_is_call = of_classes(tir.CallOp)


def _is_viewed(op: Operation | Block) -> TypeGuard[Operation]:
    """Whether the owner of a value is an op that is a node over the trees of others."""
    if _is_call(op):
        return op.callee.data in PURE_CALLS and op.result is not None
    return is_expression_class(type(op))


def view(value: SSAValue, known: MutableMapping[SSAValue, Expr] | None = None) -> Expr:
    """The tree of the pure expression ops of `value`.

    `known` holds values whose tree is given, and receives the others, except those inside
    of a lazy choice: views that share it visit shared ops once.
    """
    trees: MutableMapping[SSAValue, Expr] = {} if known is None else known
    found = trees.get(value)
    if found is not None:
        return found
    op = value.owner
    if _is_viewed(op):
        # Most operands are known: expressions are viewed in the order of the text.
        parts = [trees.get(operand) for operand in stored_operands(op)]
        if all(parts):
            found = trees[value] = _node(op, cast("list[Expr]", parts))
            return found
    elif not _is_choice(op):
        found = trees[value] = Value(value)
        return found
    waiting = set[SSAValue]()
    stack = [value]
    while stack:
        current = stack[-1]
        if current in trees:
            stack.pop()
            continue
        op = current.owner
        if not _is_viewed(op):
            choice = _viewed_choice(op, trees) if _is_choice(op) else None
            trees[current] = Value(current) if choice is None else choice
            continue
        operands = stored_operands(op)
        missing = [operand for operand in operands if operand not in trees]
        if missing:
            if current in waiting:
                raise derived_from_itself(current)
            waiting.add(current)
            stack += reversed(missing)
            continue
        trees[current] = _node(op, [trees[operand] for operand in operands])
    return trees[value]


def _viewed_choice(
    op: tir.IfThenElseOp, trees: MutableMapping[SSAValue, Expr]
) -> Expr | None:
    """The lazy choice as a node, or None where a branch is more than a tree."""
    inside: set[SSAValue] = set()
    values: list[SSAValue] = []
    for region in op.regions:
        last = region.block.last_op
        if not isinstance(last, tir.YieldOp):
            return None
        values.append(last.value)
        for inner in region.walk():
            inside.update(inner.results)
            if not (_is_viewed(inner) or isinstance(inner, _CHOICE_PARTS)):
                return None
    found: dict[SSAValue, Expr] = {}
    both = ChainMap(found, cast("dict[SSAValue, Expr]", trees))
    operands = [view(operand, both) for operand in (op.condition, *values)]
    trees.update((key, tree) for key, tree in found.items() if key not in inside)
    return IfThenElse(*operands)


_CHOICE_PARTS = (tir.IfThenElseOp, tir.YieldOp)
_is_choice = of_classes(tir.IfThenElseOp)


_is_constant = of_classes(tir.ConstOp)


@by_identity
def _constant(value: Attribute) -> Const | None:
    """The node of a constant that has this attribute; None for a custom dtype."""
    match value:
        case IntegerAttr(value=IntAttr(data=number), type=IntegerType() as dtype):
            if dtype == i1:
                return Const(int(number != 0), dtype)
            # A signless attribute may hold a negative number as its bits.
            low, high = integer_range(dtype)
            return Const(number if number <= high else number + 2 * low, dtype)
        case FloatAttr(value=FloatData(data=number), type=dtype):
            return Const(number, dtype)
        case _:
            return None


def _node(op: Operation, operands: list[Expr]) -> Expr:
    """The node for an op of `EXPRESSION_OPS`."""
    binary = _BINARY.get(type(op))
    if binary is not None:
        return binary(*operands)
    if _is_constant(op):
        constant = _constant(op.properties["value"])
        # What a number of a custom dtype is, is not known: it is like a variable.
        return Value(op.result) if constant is None else constant
    match op:
        case tir.CmpOp():
            return Cmp(op.predicate.data, *operands)
        case tir.SelectOp():
            return Select(*operands)
        case tir.NotOp():
            return Not(*operands)
        case tir.CastOp():
            return Cast(op.result.type, *operands)
        case tir.BroadcastOp():
            return Broadcast(op.result.type, *operands)
        case tir.RampOp():
            return Ramp(op.result.type, *operands)
        case tir.CallOp(result=SSAValue() as result):
            return Call(op.callee.data, operands, result.type)
        case _:
            raise AssertionError(f"{op.name} has no tree node")


def emit(
    root: Expr, builder: Builder, known: MutableMapping[Expr, SSAValue] | None = None
) -> SSAValue:
    """A value that holds the tree, made of ops that `builder` inserts, shared ones once.

    The leaves of the tree must dominate the insertion point. `known` holds trees whose
    value is available there, and receives those that are emitted.
    """

    values: MutableMapping[Expr, SSAValue] = {} if known is None else known
    stack = [root]
    while stack:
        node = stack[-1]
        if node in values:
            stack.pop()
            continue
        lazy = isinstance(node, IfThenElse)
        operands = node.operands[:1] if lazy else node.operands
        missing = [operand for operand in operands if operand not in values]
        if missing:
            stack += reversed(missing)
            continue
        values[node] = _emitted(node, builder, values)
        stack.pop()
    return values[root]


def _emitted(
    node: Expr, builder: Builder, values: MutableMapping[Expr, SSAValue]
) -> SSAValue:
    """The value of a node whose operands, those of a lazy choice aside, have values."""
    if isinstance(node, Value):
        return node.value
    if not isinstance(node, IfThenElse):
        operands = [values[operand] for operand in node.operands]
        return first_result(builder.insert(node.emitted(operands)))
    regions: list[Region] = []
    for branch in node.operands[1:]:
        block = Block()
        inside = Builder(InsertPoint.at_end(block))
        inner = ChainMap[Expr, SSAValue]({}, cast("dict[Expr, SSAValue]", values))
        inside.insert(tir.YieldOp(emit(branch, inside, inner)))
        regions.append(Region(block))
    choice = tir.IfThenElseOp(values[node.condition], node.dtype, *regions)
    return builder.insert(choice).result


def values_at_hand(trees: Mapping[SSAValue, Expr]) -> dict[Expr, SSAValue]:
    """`known` of `view` as `known` of `emit`: for emission where the views were taken."""
    found: dict[Expr, SSAValue] = {}
    for value, tree in trees.items():
        found.setdefault(tree, value)
    return found


def sum_of(terms: Iterable[Expr], dtype: Attribute) -> Expr:
    """The terms added from the left; the constant 0 where there are none."""
    total: Expr | None = None
    for term in terms:
        total = term if total is None else Add(total, term)
    return Const(0, dtype) if total is None else total
