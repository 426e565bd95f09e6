"""Values of the `tir` dialect as expression trees, for `from_ssa`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    NoneType,
    Signedness,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.analysis.derivation import derived_from_itself
from xdsl_tvm.analysis.tree_form import name_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.tvmscript.nodes.expressions import (
    VOID,
    Binary,
    Broadcast,
    BufferLoad,
    Call,
    CallFunc,
    Cast,
    Compare,
    Expr,
    FloatImm,
    IntImm,
    Let,
    Not,
    Ramp,
    Reducer,
    ScriptTypeError,
    Select,
    Shuffle,
    StringImm,
    Var,
    operands,
)
from xdsl_tvm.tvmscript.nodes.statements import Buffer
from xdsl_tvm.tvmscript.nodes.trees import with_operands

MAX_NODES = 100_000
"""The largest tree that is made of one value."""

Binding: TypeAlias = tuple[Var, Expr]

U32 = IntegerType(32, Signedness.UNSIGNED)


def name_hint(op: Operation, default: str) -> str:
    """The name of the first result, or `default`."""
    return op.results[0].name_hint or default


def constant(attribute: Attribute, op: Operation) -> Expr:
    """The immediate of an integer or a float attribute.

    Raises DiagnosticException for any other attribute, and for a constant that an
    immediate cannot be.
    """
    try:
        if isinstance(attribute, IntegerAttr | FloatAttr):
            number = cast("IntegerAttr[IntegerType] | FloatAttr[AnyFloat]", attribute)
            value = number.value.data
            if isinstance(number.type, IntegerType):
                is_bool = number.type.width.data == 1
                return IntImm(number.type, abs(int(value)) if is_bool else int(value))
            return FloatImm(number.type, float(value))
        if isinstance(attribute, tir.CustomValueAttr):
            return FloatImm(attribute.type, attribute.value.value.data)
    except ScriptTypeError as error:
        raise DiagnosticException(f"{name_of(op)}: {error}") from None
    raise DiagnosticException(
        f"{name_of(op)}: {attribute} has no spelling in TVMScript; use an integer or a "
        "float of a builtin dtype"
    )


class Trees:
    """The expressions of the values of one function.

    Variables and buffers are entered by whoever reads the op that defines them. What is
    computed from them is made when it is asked for, once, without recursion.
    """

    def __init__(self, is_expression: Callable[[Operation], bool]) -> None:
        self._is_expression = is_expression
        self._known: dict[SSAValue, Expr] = {}
        self._sizes: dict[SSAValue, int] = {}
        self._lets: dict[SSAValue, bool] = {}
        """The values whose trees hold a `Let`, and whether a use has the tree already."""
        self.buffers: dict[SSAValue, Buffer] = {}
        self.reducers: dict[SSAValue, Reducer] = {}

    def define(self, value: SSAValue, expression: Expr) -> None:
        """Enter what a value is."""
        self._known[value] = expression

    def is_known(self, value: SSAValue) -> bool:
        """Whether the expression of a value has been made or entered."""
        return value in self._known

    def variable(self, value: SSAValue, name: str) -> Var:
        """Enter a new variable for a value."""
        found = Var(name, value.type)
        self._known[value] = found
        return found

    def bind(self, op: Operation) -> Binding:
        """The expression of an op's result, which is a new variable from now on."""
        result = op.results[0]
        if isinstance(op, tir.LetOp):
            value = self.of(op.value)
            name = result.name_hint if op.var_name is None else op.var_name.data
        else:
            value = self._known.pop(result, None) or self.compute(op)
            name = result.name_hint
        self._sizes.pop(result, None)
        return self.variable(result, name or "x"), value

    def compute(self, op: Operation) -> Expr:
        """The expression of an op, also of one that is no expression by itself."""
        for operand in self._inputs(op):
            self.of(operand)
        return self._make(op)

    def of(self, value: SSAValue) -> Expr:
        """The expression of a value.

        Raises DiagnosticException for a value that TVMScript cannot say.
        """
        known = self._known
        waiting = set[SSAValue]()
        stack = [value]
        while stack:
            current = stack[-1]
            if current in known:
                stack.pop()
                continue
            op = self._maker(current)
            missing = [v for v in self._inputs(op) if v not in known]
            if missing:
                if current in waiting:
                    raise derived_from_itself(current)
                waiting.add(current)
                stack += reversed(missing)
            else:
                self._note_lets(current, op)
                known[current] = self._make(op)
                self._measure(current, op)
        return self._used(value)

    def _used(self, value: SSAValue) -> Expr:
        """The known expression of a value for one use of it.

        A variable is bound once in a function, so all uses but the first get `Let`s of
        their own.
        """
        found = self._known[value]
        if self._lets.get(value):
            return renewed(found)
        if value in self._lets:
            self._lets[value] = True
        return found

    def _note_lets(self, value: SSAValue, op: Operation) -> None:
        if any(operand in self._lets for operand in self._inputs(op)) or (
            isinstance(op, tir.IfThenElseOp) and _has_lets(op)
        ):
            self._lets[value] = False

    def _maker(self, value: SSAValue) -> Operation:
        op = value.owner
        if not isinstance(op, Operation):
            raise DiagnosticException(
                f"a block argument of type {value.type} is no variable of the program"
            )
        if not self._is_expression(op):
            raise DiagnosticException(
                f"{name_of(op)}: its result is used by what TVMScript has before "
                "it; declarations of functions and blocks use parameters, symbolic sizes "
                "and variables of loops and blocks only"
            )
        return op

    def _measure(self, value: SSAValue, op: Operation) -> None:
        sizes = self._sizes
        size = 1 + sum(sizes.get(operand, 1) for operand in self._inputs(op))
        if size > MAX_NODES:
            raise DiagnosticException(
                f"{name_of(op)}: as a tree it has more than {MAX_NODES} nodes, since "
                "values in it are shared; bind one of them with tir.let"
            )
        sizes[value] = size

    def _inputs(self, op: Operation) -> Sequence[SSAValue]:
        """The values that the expression of an op is made of, besides buffers."""
        if isinstance(op, tir.IfThenElseOp):
            return self._inputs_of_choice(op)
        return [
            operand
            for operand in op.operands
            if not isinstance(operand.type, tir.BufferType)
        ]

    def _inputs_of_choice(self, op: tir.IfThenElseOp) -> list[SSAValue]:
        found = [op.condition]
        for region in (op.true_region, op.false_region):
            for item in region.block.ops:
                if isinstance(item, tir.LetOp):
                    if item.result not in self._known:
                        name = item.var_name and item.var_name.data
                        self.variable(item.result, name or name_hint(item, "x"))
                    found.append(item.value)
                elif isinstance(item, tir.YieldOp):
                    found += item.values
        return found

    def _make(self, op: Operation) -> Expr:
        maker = _MAKERS.get(type(op))
        if maker is None:
            raise DiagnosticException(
                f"{name_of(op)}: has no form in TVMScript; lower or remove it first"
            )
        if op.attributes:
            refuse_attributes(op)
        try:
            return maker(self, op)
        except ScriptTypeError as error:
            raise DiagnosticException(f"{name_of(op)}: {error}") from None

    def all(self, values: Sequence[SSAValue]) -> tuple[Expr, ...]:
        """The expressions of several values."""
        return tuple(self.of(value) for value in values)

    def buffer(self, value: SSAValue) -> Buffer:
        """The buffer of a value of buffer type."""
        found = self.buffers.get(value)
        if found is None:
            tir.buffer_definition(value)
            raise DiagnosticException(
                f"{name_of(cast(Operation, value.owner))}: its buffer is used by what "
                "TVMScript has before it; declare the buffer in a block around"
            )
        return found

    def load(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> BufferLoad:
        """An element of a buffer, as a value or as a place."""
        return BufferLoad(self.buffer(buffer), self.all(indices))


def refuse_attributes(op: Operation) -> None:
    """Raise DiagnosticException for the discardable attributes of an op."""
    name = next(iter(op.attributes))
    raise DiagnosticException(
        f"{name_of(op)}: the attribute '{name}' has no place in TVMScript; remove it"
    )


# ---- one op ----


def _constant(_: Trees, op: tir.ConstOp) -> Expr:
    return constant(op.value, op)


def _string(_: Trees, op: tir.StringOp) -> Expr:
    return StringImm(op.value.data)


def _binary(trees: Trees, op: tir.BinaryOp) -> Expr:
    lhs, rhs = trees.all(op.operands)
    return Binary(op.name.removeprefix("tir."), lhs, rhs)


def _compare(trees: Trees, op: tir.CmpOp) -> Expr:
    return Compare(op.predicate.data, *trees.all(op.operands))


def _not(trees: Trees, op: tir.NotOp) -> Expr:
    return Not(trees.of(op.value))


def _select(trees: Trees, op: tir.SelectOp) -> Expr:
    return Select(*trees.all(op.operands))


def _cast(trees: Trees, op: tir.CastOp) -> Expr:
    return Cast(op.result.type, trees.of(op.value))


def _ramp(trees: Trees, op: tir.RampOp) -> Expr:
    return Ramp(trees.of(op.base), trees.of(op.stride), op.result.type)


def _broadcast(trees: Trees, op: tir.BroadcastOp) -> Expr:
    return Broadcast(trees.of(op.value), op.result.type)


def _shuffle(trees: Trees, op: tir.ShuffleOp) -> Expr:
    return Shuffle(trees.all(op.vectors), trees.all(op.indices))


def _load(trees: Trees, op: tir.LoadOp) -> Expr:
    predicate = None if op.predicate is None else trees.of(op.predicate)
    return BufferLoad(trees.buffer(op.buffer), trees.all(op.indices), predicate)


def _data(trees: Trees, op: tir.DataOp) -> Expr:
    return trees.buffer(op.buffer).data


def _address_of(trees: Trees, op: tir.AddressOfOp) -> Expr:
    return Call("address_of", (trees.load(op.buffer, op.indices),), op.result.type)


def _access_ptr(trees: Trees, op: tir.AccessPtrOp) -> Expr:
    data, offset, extent = trees.all(op.operands)
    mask = IntImm(i32, op.mode.data.mask)
    annotation = Call("type_annotation", (), op.element_type)
    arguments = (annotation, data, offset, extent, mask)
    return Call("tvm_access_ptr", arguments, op.result.type)


def _call(trees: Trees, op: tir.CallOp) -> Expr:
    dtype = VOID if op.result is None else op.result.type
    return Call(op.callee.data, trees.all(op.args), dtype)


def _call_func(trees: Trees, op: tir.CallFuncOp) -> Expr:
    dtype = VOID if op.result is None else op.result.type
    return CallFunc(op.callee.string_value(), trees.all(op.args), dtype)


def _allreduce(trees: Trees, op: tir.ThreadAllreduceOp) -> Expr:
    condition = None if op.condition is None else trees.of(op.condition)
    arguments: tuple[Expr, ...] = (
        IntImm(U32, len(op.sources)),
        *trees.all(op.sources),
        IntImm(i1, 1) if condition is None else condition,
        *(trees.load(place.buffer, place.indices) for place in op.places),
        *trees.all(op.threads),
    )
    return Call("tvm_thread_allreduce", arguments, tir.HandleType())


def _if_then_else(trees: Trees, op: tir.IfThenElseOp) -> Expr:
    branches: list[Expr] = []
    for region in (op.true_region, op.false_region):
        lets = [item for item in region.block.ops if isinstance(item, tir.LetOp)]
        value = trees.of(cast(tir.YieldOp, region.block.last_op).value)
        names = (cast(Var, trees.of(let.result)) for let in lets)
        values = (trees.of(let.value) for let in lets)
        bindings = list(zip(names, values, strict=True))
        branches.append(with_lets(bindings, value))
    condition = trees.of(op.condition)
    return Call("if_then_else", (condition, *branches), op.result.type)


def _has_lets(op: tir.IfThenElseOp) -> bool:
    return any(
        isinstance(item, tir.LetOp) for region in op.regions for item in region.block.ops
    )


def renewed(root: Expr) -> Expr:
    """A copy of a tree in which the variables of all `Let`s are new."""
    copies: dict[Expr, Expr] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        if node in copies:
            stack.pop()
            continue
        if isinstance(node, Let) and node.var not in copies:
            copies[node.var] = Var(node.var.name, node.var.type, node.var.size_var)
        parts = operands(node)
        waiting = [part for part in parts if part not in copies]
        if waiting:
            stack += reversed(waiting)
            continue
        copied = [copies[part] for part in parts]
        copies[node] = with_operands(node, copied)
        if isinstance(node, Let):
            copies[node] = Let(cast(Var, copies[node.var]), copied[0], copied[1])
    return copies[root]


def with_lets(bindings: Sequence[Binding], value: Expr) -> Expr:
    """`value` inside of bindings, the first one outermost."""
    for variable, bound in reversed(bindings):
        value = Let(variable, bound, value)
    return value


_MAKERS: Mapping[type[Operation], Callable[..., Expr]] = {
    tir.ConstOp: _constant,
    tir.StringOp: _string,
    **dict.fromkeys(
        (
            tir.AddOp,
            tir.SubOp,
            tir.MulOp,
            tir.DivOp,
            tir.ModOp,
            tir.FloorDivOp,
            tir.FloorModOp,
            tir.MinOp,
            tir.MaxOp,
            tir.AndOp,
            tir.OrOp,
        ),
        _binary,
    ),
    tir.CmpOp: _compare,
    tir.NotOp: _not,
    tir.SelectOp: _select,
    tir.CastOp: _cast,
    tir.RampOp: _ramp,
    tir.BroadcastOp: _broadcast,
    tir.ShuffleOp: _shuffle,
    tir.LoadOp: _load,
    tir.DataOp: _data,
    tir.AddressOfOp: _address_of,
    tir.AccessPtrOp: _access_ptr,
    tir.CallOp: _call,
    tir.CallFuncOp: _call_func,
    tir.ThreadAllreduceOp: _allreduce,
    tir.IfThenElseOp: _if_then_else,
}


def is_void(dtype: Attribute) -> bool:
    """Whether a call of the type has no result."""
    return isinstance(dtype, NoneType)
