"""What all operators share: the base class and the conventions of their inference rules.

An operator class has one rule, `infer_result_type`, which reads operands and attributes
of the operation. Nothing else knows that type: constructors initialise the operation by
`_make`, which calls the rule, and the verifier refuses a declared result type that the
rule proves impossible (docs/spec/relax-ir.md §8 rule 21, docs/spec/relax-ops.md §0). A
declared type may be more general, and more precise where the rule could not prove the
dimensions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    AnyFloat,
    IntegerType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    result_def,
    traits_def,
)
from xdsl.rewriter import Rewriter
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.relax.algebra import Check, base_check
from xdsl_tvm.dialects.relax.attributes import Dims, VDeviceAttr
from xdsl_tvm.dialects.relax.call_arguments import Insert
from xdsl_tvm.dialects.relax.symbolic import Dim, provably_equal
from xdsl_tvm.dialects.relax.types import (
    OBJECT,
    PrimType,
    ShapeType,
    TensorInfo,
    TupleType,
    verify_type,
)


class InferredResultOp(IRDLOperation, ABC):
    """Base of the operations with one result, whose type follows from the others.

    Operands and attributes tell the type by one rule, `infer_result_type`. Constructors
    and the verifier call it; nothing else knows the type.
    """

    result = result_def()

    @abstractmethod
    def infer_result_type(self) -> Attribute:
        """The result type that operands and attributes imply.

        Raises VerifyException where they do not fit together.
        """

    def _make(
        self,
        operands: Sequence[SSAValue | Operation | None],
        properties: Mapping[str, Attribute | None],
        result_type: Attribute | None = None,
    ) -> None:
        """Initialises; without `result_type` the result is what the rule says.

        Raises VerifyException where operands and attributes do not fit together.
        """
        super().__init__(
            operands=operands,
            result_types=[OBJECT if result_type is None else result_type],
            properties=properties,
        )
        if result_type is None:
            inferred = self.infer_result_type()
            Rewriter.replace_value_with_new_type(self.result, inferred)

    def verify_(self) -> None:
        verify_result(self, self.result.type, self.infer_result_type())


class OperatorOp(InferredResultOp, ABC):
    """Base of the operators: pure, one result, its type known by one rule."""

    SIGNATURE: ClassVar[str]
    """The parameters of the operator's Python function, as Python writes them.

    They are those of the constructor, in the same order, and have TVM's names. An
    annotation is one of `signatures.Kind`, `value` where none is written.
    """

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)

    @classmethod
    def complete_arguments(cls, arguments: dict[str, object], insert: Insert) -> None:
        """Brings the arguments of a Python call, by parameter, to the constructor's form.

        A class overrides it where a default depends on other arguments, or one argument
        may stand for several. Operations that it needs are handed to `insert`.

        Raises VerifyException for arguments that do not fit.
        """


is_operator = of_classes(OperatorOp)
"""Whether an operation is an operator."""


def verify_result(op: IRDLOperation, declared: Attribute, inferred: Attribute) -> None:
    """Check a declared result type against the inferred one; VerifyException if wrong."""
    verify_type(declared)
    if base_check(declared, inferred) == Check.IMPOSSIBLE:
        raise VerifyException(
            f"{op.name}: result must be {inferred}, but {declared} is declared"
        )


def expect_tensor(op: str, operand: str, type_: Attribute) -> TensorInfo:
    """What is known of a tensor operand; VerifyException if it is no tensor."""
    info = TensorInfo.of(type_)
    if info is None:
        raise VerifyException(f"{op}: operand '{operand}' must be a tensor, not {type_}")
    return info


def expect_float(op: str, operand: str, info: TensorInfo) -> None:
    """Check that a tensor holds floats, as far as is known."""
    if info.dtype is not None and not isinstance(info.dtype, AnyFloat):
        raise VerifyException(
            f"{op}: operand '{operand}' must hold floats, not {info.dtype}"
        )


def expect_integer(op: str, operand: str, info: TensorInfo) -> None:
    """Check that a tensor holds integers, as far as is known."""
    if info.dtype is not None and not isinstance(info.dtype, IntegerType):
        raise VerifyException(
            f"{op}: operand '{operand}' must hold integers, not {info.dtype}"
        )


def expect_rank(op: str, operand: str, info: TensorInfo, rank: int) -> None:
    """Check that a tensor has the given rank, as far as is known."""
    if info.rank not in (None, rank):
        raise VerifyException(
            f"{op}: operand '{operand}' must have rank {rank}, not {info.rank}"
        )


def expect_scalar_tensor(op: str, operand: str, type_: Attribute) -> TensorInfo:
    """What is known of a tensor of rank 0; VerifyException for anything else."""
    info = expect_tensor(op, operand, type_)
    if info.rank != 0:
        raise VerifyException(
            f"{op}: operand '{operand}' must be a tensor of rank 0, not {type_}"
        )
    return info


def expect_shape(op: str, operand: str, type_: Attribute) -> ShapeType:
    """The type of a shape operand; VerifyException if it is no shape."""
    if not isinstance(type_, ShapeType):
        raise VerifyException(
            f"{op}: operand '{operand}' must be a !relax.shape, not {type_}"
        )
    return type_


def expect_prim(op: str, operand: str, type_: Attribute) -> PrimType:
    """The type of a scalar operand; VerifyException if it is no scalar."""
    if not isinstance(type_, PrimType):
        raise VerifyException(
            f"{op}: operand '{operand}' must be a !relax.prim, not {type_}"
        )
    return type_


def expect_integer_prim(op: str, operand: str, type_: Attribute) -> Dim | None:
    """The value of an integer scalar, None where unknown; VerifyException for others."""
    prim = expect_prim(op, operand, type_)
    if not isinstance(prim.dtype, IntegerType):
        raise VerifyException(
            f"{op}: operand '{operand}' must be an integer, not {type_}"
        )
    return prim.dim


def expect_tensors(op: str, operand: str, type_: Attribute) -> list[TensorInfo]:
    """What is known of a tuple of tensors; VerifyException for none or other fields."""
    if not isinstance(type_, TupleType) or not type_.fields.data:
        raise VerifyException(
            f"{op}: operand '{operand}' must be a tuple of tensors, not {type_}"
        )
    return [
        expect_tensor(op, f"{operand}[{index}]", field)
        for index, field in enumerate(type_.fields.data)
    ]


def expect_dtype(op: str, dtype: Attribute) -> Attribute:
    """The dtype, if tensors can hold it; VerifyException otherwise."""
    if not _is_number(dtype):
        raise VerifyException(f"{op}: dtype must be an integer or float, not {dtype}")
    return dtype


def _is_number(dtype: Attribute) -> bool:
    return isinstance(dtype, IntegerType | AnyFloat)


def normalize_axis(op: str, axis: int, rank: int) -> int:
    """The axis counted from the front; VerifyException if it is out of range."""
    if not -rank <= axis < rank:
        raise VerifyException(f"{op}: axis {axis} is out of range for rank {rank}")
    return axis % rank


def normalize_axes(op: str, axes: Sequence[int], rank: int) -> list[int]:
    """The axes counted from the front; VerifyException if out of range or repeated."""
    result: list[int] = []
    for axis in axes:
        normalized = normalize_axis(op, axis, rank)
        if normalized in result:
            raise VerifyException(f"{op}: axis {axis} is given twice")
        result.append(normalized)
    return result


def common_dtype(
    op: str, lhs: Attribute | None, rhs: Attribute | None
) -> Attribute | None:
    """`BinDtype`: the dtype of both, None where one is unknown. There is no promotion."""
    if lhs is None or rhs is None:
        return None
    if lhs != rhs:
        raise VerifyException(f"{op}: operands must have one dtype, not {lhs} and {rhs}")
    return lhs


def common_dtypes(op: str, dtypes: Sequence[Attribute | None]) -> Attribute | None:
    """The dtype of several operands, None where one is unknown; no promotion."""
    known = [dtype for dtype in dtypes if dtype is not None]
    for other in known[1:]:
        common_dtype(op, known[0], other)
    return known[0] if known and len(known) == len(dtypes) else None


def common_vdevice(
    op: str, lhs: VDeviceAttr | None, rhs: VDeviceAttr | None
) -> VDeviceAttr | None:
    """`BinVDev`: the device of both; one without target gives way to the other."""
    if lhs is None or lhs.target_name is None:
        return lhs if rhs is None else rhs
    if rhs is None or rhs.target_name is None or lhs == rhs:
        return lhs
    raise VerifyException(f"{op}: operands live on different devices, {lhs} and {rhs}")


def merged_vdevice(vdevices: Iterable[VDeviceAttr | None]) -> VDeviceAttr | None:
    """The first device that is given; none where a later one with target differs."""
    result: VDeviceAttr | None = None
    for vdevice in vdevices:
        if result is None:
            result = vdevice
        elif vdevice is not None and vdevice.target_name and vdevice != result:
            return None
    return result


def broadcast_dim(lhs: Dim | None, rhs: Dim | None, what: str) -> Dim | None:
    """The extent of two that are broadcast, None where equality is not proven.

    Raises VerifyException for two different numbers, neither of them 1, that `what`
    cannot both be.
    """
    if lhs is not None and lhs.value == 1:
        return rhs
    if rhs is not None and rhs.value == 1:
        return lhs
    if lhs is None or rhs is None:
        return None
    if provably_equal(lhs, rhs):
        return lhs
    if lhs.value is not None and rhs.value is not None:
        raise VerifyException(f"{what} cannot be both {lhs} and {rhs}")
    return None


def broadcast(op: str, lhs: Dims, rhs: Dims) -> Dims:
    """`Bcast`: the shape of both operands, aligned at the right.

    A dimension is unknown where equality is not proven. Raises VerifyException for two
    different numbers, neither of them 1.
    """
    if len(lhs) < len(rhs):
        lhs, rhs = rhs, lhs
    lead = len(lhs) - len(rhs)
    return lhs[:lead] + tuple(
        broadcast_dim(a, b, f"{op}: dimension {axis} of the result")
        for axis, (a, b) in enumerate(zip(lhs[lead:], rhs, strict=True), start=lead)
    )


def broadcast_known(op: str, lhs: Dims | None, rhs: Dims | None) -> Dims | None:
    """`broadcast`, None where one rank is unknown."""
    return None if lhs is None or rhs is None else broadcast(op, lhs, rhs)
