"""Operations read as the expressions that TVM has for them.

A call of TVM has a callee and arguments that are expressions: an operator, a function by
name, a tuple that is written in place. In SSA these are parts of one operation. `Node` is
either kind, a value or such a part, so that patterns meet the same structure as in TVM.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.traits import is_side_effect_free

from xdsl_tvm.analysis.derivation import chain
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.attributes import Dims
from xdsl_tvm.dialects.relax.calls import AnyCallTIROp
from xdsl_tvm.dialects.relax.packed import PackedCallOp
from xdsl_tvm.dialects.relax.runtime import AnyInvokeClosureOp
from xdsl_tvm.dialects.relax.signatures import OPERATORS
from xdsl_tvm.dialects.relax.symbolic import provably_equal
from xdsl_tvm.dialects.tir.annotations import annotation_value


@dataclass(frozen=True)
class OperatorName:
    """An operator as the callee of a call, by the name of its operation."""

    name: str


@dataclass(frozen=True)
class GlobalName:
    """A function of the module."""

    name: str


@dataclass(frozen=True)
class ExternName:
    """A function of the runtime."""

    name: str


@dataclass(frozen=True)
class Fields:
    """A tuple that is written in place: the arguments of a call of a TIR function."""

    values: tuple[SSAValue, ...]


@dataclass(frozen=True)
class Extents:
    """A shape that is written in place: the integers of a call of a TIR function."""

    dims: Dims


Node: TypeAlias = (
    SSAValue | Operation | OperatorName | GlobalName | ExternName | Fields | Extents
)
"""An expression; an operation is a function of the module."""

INLINE = (
    relax.ConstantOp,
    relax.ShapeOp,
    relax.PrimValueOp,
    relax.NullValueOp,
    relax.GlobalRefOp,
)
"""Operations that TVM writes in the place of their uses: they bind no variables."""
_NO_CALLS = (
    *INLINE,
    relax.TupleOp,
    relax.GetItemOp,
    relax.AliasOp,
    relax.MatchCastOp,
    relax.LambdaOp,
    relax.IfOp,
    relax.DataflowOp,
)


@dataclass(frozen=True)
class CallView:
    """A call: what is called, with which arguments."""

    callee: Node
    args: tuple[Node, ...]


class Bindings:
    """What variables stand for: the operations of values.

    A binding that only names, and the result of a dataflow block, stand for the value
    they name; a `relax.match_cast` checks something and is not looked through. `known`
    are the values that may be looked through, all where it is None.
    """

    def __init__(
        self, root: Node | None = None, known: Collection[SSAValue] | None = None
    ) -> None:
        """`root` is the expression that is matched, which is looked at in any case."""
        self._root = root
        self._known = known

    def _is_known(self, value: SSAValue) -> bool:
        return self._known is None or value is self._root or value in self._known

    def origin(self, value: SSAValue) -> SSAValue:
        """The value that a value is another name of."""
        *_, found = chain(value, self._named)
        return found

    def _named(self, value: SSAValue) -> SSAValue | None:
        if not isinstance(value, OpResult) or not self._is_known(value):
            return None
        match value.op:
            case relax.AliasOp() as alias:
                return alias.value
            case relax.DataflowOp() as dataflow:
                return dataflow.output_op.values[value.index]
            case _:
                return None

    def definition(self, node: Node) -> Operation | None:
        """The operation that an expression is; None for variables that are not known.

        A function of the module is its own.
        """
        if isinstance(node, Operation):
            return node
        if not isinstance(node, SSAValue):
            return None
        value = self.origin(node)
        is_inline = isinstance(value.owner, INLINE)
        if not isinstance(value, OpResult) or not (is_inline or self._is_known(value)):
            return None
        return value.op

    def is_same(self, lhs: Node, rhs: Node) -> bool:
        """Whether two expressions are one."""
        if isinstance(lhs, SSAValue) and isinstance(rhs, SSAValue):
            return self.origin(lhs) is self.origin(rhs)
        return lhs == rhs


def call_view(op: Operation) -> CallView | None:
    """The call that an operation is in TVM; None for what is none.

    Arguments of an operator are its operands, in TVM's order. Operations of other
    dialects are calls, too, where they have one result and hold no blocks.
    """
    operands = tuple(op.operands)
    match op:
        case AnyCallTIROp():
            name = GlobalName(op.callee.root_reference.data)
            dims = () if op.tir_vars is None else (Extents(op.tir_vars.data),)
            return CallView(OperatorName(op.name), (name, Fields(operands), *dims))
        case relax.CallPackedOp():
            return CallView(ExternName(op.callee.data), operands)
        case relax.CallPurePackedOp() | relax.CallInplacePackedOp():
            name = ExternName(op.callee.data)
            return CallView(OperatorName(op.name), (name, *operands))
        case PackedCallOp():
            name = ExternName(op.callee.data)
            return CallView(OperatorName(op.name), (name, Fields(operands)))
        case relax.CallOp():
            return CallView(GlobalName(op.callee.root_reference.data), operands)
        case relax.CallIndirectOp():
            return CallView(op.callee, tuple(op.arguments))
        case relax.MakeClosureOp():
            name = GlobalName(op.callee.root_reference.data)
            return CallView(OperatorName(op.name), (name, Fields(operands)))
        case AnyInvokeClosureOp():
            arguments = Fields(operands[1:])
            return CallView(OperatorName(op.name), (operands[0], arguments))
        case _ if isinstance(op, _NO_CALLS) or len(op.results) != 1 or op.regions:
            return None
        case _:
            return CallView(OperatorName(op.name), operands)


def attributes_of(op: Operation) -> Mapping[str, object]:
    """The attributes of a call or of a function, by TVM's names, as values of Python.

    Attributes of operators are the arguments that are no operands. What has no value of
    Python, such as a dtype, is an attribute.
    """
    signature = OPERATORS.get(op.name.removeprefix("relax."))
    if signature is not None and op.name.startswith("relax."):
        found = signature.arguments(op)
        return {n: v for n, v in found.items() if not isinstance(v, SSAValue)}
    given: dict[str, Attribute] = {**op.properties, **op.attributes}
    given.pop("callee", None)
    return {name: annotation_value(attribute) for name, attribute in given.items()}


def fields_of(node: Node, bindings: Bindings) -> tuple[SSAValue, ...] | None:
    """The fields of a tuple that is known to be made of them."""
    if isinstance(node, Fields):
        return node.values
    op = bindings.definition(node)
    return tuple(op.elements) if isinstance(op, relax.TupleOp) else None


def dims_of(node: Node, bindings: Bindings) -> Dims | None:
    """The dimensions of a shape that is known to be made of them."""
    if isinstance(node, Extents):
        return node.dims
    op = bindings.definition(node)
    return op.values.data if isinstance(op, relax.ShapeOp) else None


def are_equal_dims(lhs: Dims | None, rhs: Dims | None) -> bool:
    """Whether two shapes are known and provably one."""
    if lhs is None or rhs is None or len(lhs) != len(rhs):
        return False
    return all(
        a is not None and b is not None and provably_equal(a, b)
        for a, b in zip(lhs, rhs, strict=True)
    )


def is_variable(node: Node) -> bool:
    """Whether TVM has a variable for a value."""
    return isinstance(node, SSAValue) and not isinstance(node.owner, INLINE)


def is_dataflow_variable(node: Node) -> bool:
    """Whether a value is bound in a dataflow block that does not give it out."""
    if not isinstance(node, OpResult) or not is_variable(node):
        return False
    if not isinstance(node.op.parent_op(), relax.DataflowOp):
        return False
    return not any(isinstance(use.operation, relax.OutputOp) for use in node.uses)


def is_equal_expression(lhs: SSAValue, rhs: SSAValue, bindings: Bindings) -> bool:
    """Whether two values are one, or are computed alike from the same variables.

    `bindings` say what is known of the second one; of the first one everything is.
    Operations with regions or effects are not compared. Linear in the number of pairs.
    """
    everything = Bindings()
    pending, seen = [(lhs, rhs)], set[tuple[SSAValue, SSAValue]]()
    while pending:
        left, right = pending.pop()
        a, b = everything.origin(left), bindings.origin(right)
        if a is b or left is right or (a, b) in seen:
            continue
        seen.add((a, b))
        first, second = everything.definition(a), bindings.definition(b)
        if first is None or second is None or not _is_alike(first, second):
            return False
        pending += zip(first.operands, second.operands, strict=True)
    return True


def _is_alike(lhs: Operation, rhs: Operation) -> bool:
    """Whether two operations compute one result of equal operands."""
    return (
        lhs.name == rhs.name
        and len(lhs.results) == 1
        and not lhs.regions
        and lhs.properties == rhs.properties
        and lhs.attributes == rhs.attributes
        and tuple(lhs.result_types) == tuple(rhs.result_types)
        and len(lhs.operands) == len(rhs.operands)
        and is_side_effect_free(lhs)
    )
