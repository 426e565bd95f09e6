"""What all operators share: the base class and the conventions of their inference rules.

An operator class has one rule, `infer`, a class method from operand types and attributes
to the type of the result. Nothing else knows that type: constructors call the rule, and
the verifier refuses a declared result type that the rule proves impossible (spec
relax-ir.md §8 rule 21, relax-ops.md §0). A declared type may be more general, and more
precise where the rule could not prove the dimensions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.algebra import Check, base_check
from xdsl_tvm.dialects.relax.attributes import Dims, VDeviceAttr
from xdsl_tvm.dialects.relax.symbolic import provably_equal
from xdsl_tvm.dialects.relax.types import TensorInfo, verify_type


class OperatorOp(IRDLOperation, ABC):
    """Base of the operators: pure, one result, its type known by one rule."""

    result = result_def()

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)

    @abstractmethod
    def infer_result_type(self) -> Attribute:
        """The result type that operands and attributes imply.

        Raises VerifyException where they do not fit together.
        """

    def verify_(self) -> None:
        verify_result(self, self.result.type, self.infer_result_type())


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


def common_vdevice(
    op: str, lhs: VDeviceAttr | None, rhs: VDeviceAttr | None
) -> VDeviceAttr | None:
    """`BinVDev`: the device of both; one without target gives way to the other."""
    if lhs is None or lhs.target_name is None:
        return lhs if rhs is None else rhs
    if rhs is None or rhs.target_name is None or lhs == rhs:
        return lhs
    raise VerifyException(f"{op}: operands live on different devices, {lhs} and {rhs}")


def broadcast(op: str, lhs: Dims, rhs: Dims) -> Dims:
    """`Bcast`: the shape of both operands, aligned at the right.

    A dimension is unknown where equality is not proven. Raises VerifyException for two
    different numbers, neither of them 1.
    """
    if len(lhs) < len(rhs):
        lhs, rhs = rhs, lhs
    lead = len(lhs) - len(rhs)
    result = list(lhs[:lead])
    for axis, (a, b) in enumerate(zip(lhs[lead:], rhs, strict=True), start=lead):
        if a is not None and a.value == 1:
            result.append(b)
        elif b is not None and b.value == 1:
            result.append(a)
        elif a is None or b is None:
            result.append(None)
        elif provably_equal(a, b):
            result.append(a)
        elif a.value is not None and b.value is not None:
            raise VerifyException(
                f"{op}: dimension {axis} of the result cannot be both {a} and {b}"
            )
        else:
            result.append(None)
    return tuple(result)
