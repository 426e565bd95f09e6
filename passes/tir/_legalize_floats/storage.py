"""Narrow floats as unsigned integers of their size: the retyping of one function.

docs/spec/tir-passes-c-memory-and-gpu.md, BF16StorageLegalize. It comes after the compute
pass: values are loaded, stored, chosen and reinterpreted, but not computed with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import SymbolTable
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._legalize_floats.compute import computes
from xdsl_tvm.passes.tir._legalize_floats.conversions import unsigned_of
from xdsl_tvm.passes.tir._legalize_floats.kinds import (
    NarrowFloats,
    TypeQuestion,
    element_name,
    fail,
)

MOVING = (
    tir.AccessPtrOp,
    tir.AddressOfOp,
    tir.AllocateConstOp,
    tir.AllocateOp,
    tir.AllocBufferOp,
    tir.AttrOp,
    tir.BroadcastOp,
    tir.CallFuncOp,
    tir.ConstOp,
    tir.DataOp,
    tir.DeclBufferOp,
    tir.EvaluateOp,
    tir.IfThenElseOp,
    tir.LetOp,
    tir.LoadOp,
    tir.MatchRegionOp,
    tir.ReadsOp,
    tir.RetOp,
    tir.SelectOp,
    tir.ShuffleOp,
    tir.StoreOp,
    tir.WritesOp,
)
"""Ops that move values or point to them, for which any dtype of the size will do."""
_REDUCING = (tir.ReducerOp, tir.ThreadAllreduceOp, tir.YieldOp)


def store_as_integers(
    module: Operation,
    functions: Sequence[tuple[tir.FuncOp, list[Operation]]],
    floats: NarrowFloats,
) -> None:
    """Give functions integers in the place of narrow floats, their parameters included.

    Each function is with the ops of its body. Calls in the module are made to fit. Linear
    in the size of the module.
    """
    storage = _IntegerStorage(floats)
    for _, ops in functions:
        for op in ops:
            storage.check(op)
    for func, ops in functions:
        storage.retype_function(func)
        for op in ops:
            storage.retype(op)
        for op in ops:
            _drop_reinterpret(op)
    if functions:
        for op in ops_of(module, tir.CallFuncOp):
            storage.fit_call(op)


def integer_type_of(type_: Attribute) -> Attribute:
    """A scalar, vector, pointer or buffer type with integers for narrow floats."""
    match type_:
        case tir.PtrType():
            return tir.PtrType(integer_type_of(type_.element_type), type_.scope)
        case tir.BufferType():
            element = integer_type_of(type_.element_type)
            return tir.BufferType(type_.shape, element, type_.scope)
        case _:
            return unsigned_of(type_)


class _IntegerStorage:
    def __init__(self, floats: NarrowFloats) -> None:
        self._floats = floats
        self._concerns = TypeQuestion(floats.concerns)
        self._is_narrow = TypeQuestion(floats.has)

    # ---- what there may be ----

    def check(self, op: Operation) -> None:
        """Refuse an op for which an integer does not mean what the float does."""
        if isinstance(op, tir.MatchBufferOp):
            raise fail(
                op,
                "the buffers of parameters must be gone here, since callers pass "
                f"{self._names()}; run tir-make-packed-api first",
            )
        arguments = [
            argument.type
            for region in op.regions
            for block in region.blocks
            for argument in block.args
        ]
        types = [value.type for value in (*op.operands, *op.results)]
        found = next(filter(self._concerns, (*types, *arguments)), None)
        if found is None or isinstance(op, MOVING) or self._is_movable(op, types):
            return
        name = element_name(found)
        if isinstance(op, tir.BufferRealizeOp):
            raise fail(
                op, f"a realized buffer cannot store {name} as integers; allocate it"
            )
        if computes(op) or isinstance(op, _REDUCING):
            raise fail(
                op, f"it computes in {name}; run {self._floats.compute_pass} first"
            )
        raise fail(
            op,
            f"what it does with {name} is not known, so that it cannot be given "
            "integers; pass a pointer by tir.call, or use other ops of the dialect tir",
        )

    def _is_movable(self, op: Operation, types: Sequence[Attribute]) -> bool:
        match op:
            case tir.YieldOp():
                return isinstance(op.parent_op(), tir.IfThenElseOp)
            case tir.CallOp():
                if op.callee.data in ("reinterpret", "type_annotation", "undef"):
                    return True
                # Callees outside of the module take addresses.
                return not any(map(self._is_narrow, types))
            case _:
                return False

    def _names(self) -> str:
        return " or ".join(element_name(kind()) for kind in self._floats.types)

    # ---- types ----

    def retype_function(self, func: tir.FuncOp) -> None:
        """Change the parameters and the result of a function."""
        for argument in func.args:
            self._retype_value(argument)
        inputs, outputs = (
            [integer_type_of(each) if self._concerns(each) else each for each in types]
            for types in (func.function_type.inputs, func.function_type.outputs)
        )
        func.properties["function_type"] = FunctionType.from_lists(inputs, outputs)

    def retype(self, op: Operation) -> None:
        """Change what an op defines."""
        if isinstance(op, tir.ConstOp) and self._is_narrow(op.result.type):
            op.properties["value"] = _bits_of(op.literal, op.result.type)
        elif isinstance(op, tir.AllocateConstOp) and self._concerns(op.result.type):
            _retype_contents(op)
        for result in op.results:
            self._retype_value(result)

    def _retype_value(self, value: SSAValue) -> None:
        if self._concerns(value.type):
            Rewriter.replace_value_with_new_type(value, integer_type_of(value.type))

    def fit_call(self, op: tir.CallFuncOp) -> None:
        """Pass pointers as the callee has them, whose target may have the floats."""
        callee = SymbolTable.lookup_symbol(op, op.callee)
        if callee is None:
            return
        type_ = callee.properties.get("function_type")
        if not isinstance(type_, FunctionType):
            return
        for index, needed in enumerate(type_.inputs):
            given = op.operands[index].type
            if given == needed:
                continue
            if not (isinstance(needed, tir.PtrType) and isinstance(given, tir.PtrType)):
                raise self._unlike(op, needed)
            pointer = tir.CallOp("reinterpret", [op.operands[index]], needed)
            pointer.location = op.location
            Rewriter.insert_op(pointer, InsertPoint.before(op))
            op.operands[index] = pointer.results[0]
        for result, expected in zip(op.results, type_.outputs, strict=True):
            if result.type != expected:
                raise self._unlike(op, expected)

    def _unlike(self, op: tir.CallFuncOp, type_: Attribute) -> PassFailedException:
        return fail(
            op,
            f"only one of caller and callee has {self._names()} on its target, and "
            f"{type_} is passed as a value; pass a pointer to it",
        )


def _bits_of(number: float, dtype: Attribute) -> IntegerAttr[IntegerType]:
    """The bits of a constant as an unsigned integer."""
    packed = cast(AnyFloat, dtype).pack((number,))
    bits = int.from_bytes(packed, "little")
    return IntegerAttr(bits, cast(IntegerType, unsigned_of(dtype)))


def _retype_contents(op: tir.AllocateConstOp) -> None:
    """The same bytes as integers. A number of a constant of the module stays."""
    if isinstance(op.data, DenseIntOrFPElementsAttr):
        data = cast("DenseIntOrFPElementsAttr[IntegerType]", op.data)
        element = cast(IntegerType, unsigned_of(data.get_element_type()))
        type_ = TensorType(element, data.get_shape())
        op.properties["data"] = DenseIntOrFPElementsAttr(type_, data.data)


def _drop_reinterpret(op: Operation) -> None:
    """Forward the operand of a `reinterpret` whose result has the type of it."""
    if not isinstance(op, tir.CallOp) or op.callee.data != "reinterpret":
        return
    (value,) = op.args
    if op.result is not None and value.type == op.result.type and value is not op.result:
        op.result.replace_all_uses_with(value)
        Rewriter.erase_op(op)
