"""Linear algebra (docs/spec/relax-ops.md §7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.relax.attributes import Dims, VDeviceAttr
from xdsl_tvm.dialects.relax.operators import (
    OperatorOp,
    broadcast,
    broadcast_dim,
    common_dtype,
    common_dtypes,
    expect_tensor,
    expect_tensors,
    merged_vdevice,
)
from xdsl_tvm.dialects.relax.symbolic import Dim, provably_different
from xdsl_tvm.dialects.relax.types import TensorInfo

__all__ = ["EinsumOp", "MatmulOp"]


@irdl_op_definition
class MatmulOp(OperatorOp):
    """Matrix product over the last two dimensions, batched over the others.

    A vector on the left counts as one row, on the right as one column, and that
    dimension is left out of the result. With `out_dtype` both operands are converted
    before they are multiplied. TVM's `relax.matmul`.

    ```mlir
    %r = relax.matmul %a, %b out_dtype f32 :
      (tensor<4x8xf16>, tensor<8x2xf16>) -> tensor<4x2xf32>
    ```
    """

    name = "relax.matmul"
    SIGNATURE: ClassVar[str] = "x1, x2, out_dtype: dtype = None"

    lhs = operand_def()
    rhs = operand_def()
    out_dtype = opt_prop_def()

    assembly_format = (
        "$lhs `,` $rhs (`out_dtype` $out_dtype^)? attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        out_dtype: Attribute | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([lhs, rhs], {"out_dtype": out_dtype}, result_type)

    @classmethod
    def _dims(cls, lhs: Dims, rhs: Dims) -> Dims:
        one = (Dim.constant(1),)
        left = one + lhs if len(lhs) == 1 else lhs
        right = rhs + one if len(rhs) == 1 else rhs
        inner, outer = left[-1], right[-2]
        if inner is not None and outer is not None and provably_different(inner, outer):
            raise VerifyException(
                f"{cls.name}: the summed dimensions must be equal, "
                f"not {inner} and {outer}"
            )
        batch = broadcast(cls.name, left[:-2], right[:-2])
        rows = () if len(lhs) == 1 else left[-2:-1]
        columns = () if len(rhs) == 1 else right[-1:]
        return batch + rows + columns

    def infer_result_type(self) -> Attribute:
        """The tensor of batch dimensions, rows and columns."""
        a = expect_tensor(self.name, "lhs", self.lhs.type)
        b = expect_tensor(self.name, "rhs", self.rhs.type)
        dtype = self.out_dtype or common_dtype(self.name, a.dtype, b.dtype)
        vdevice = _vdevice(a.vdevice, b.vdevice)
        if a.rank == 0 or b.rank == 0:
            side = "lhs" if a.rank == 0 else "rhs"
            raise VerifyException(f"{self.name}: operand '{side}' must not have rank 0")
        if a.dims is None or b.dims is None:
            return TensorInfo(None, dtype, vdevice).type
        return TensorInfo(self._dims(a.dims, b.dims), dtype, vdevice).type


def _vdevice(lhs: VDeviceAttr | None, rhs: VDeviceAttr | None) -> VDeviceAttr | None:
    """Unlike other operators, a product on two devices lives on none."""
    if lhs is None or rhs is None:
        return lhs or rhs
    return lhs if lhs == rhs else None


@irdl_op_definition
class EinsumOp(OperatorOp):
    """Products of elements, summed over the labels that the result lacks.

    `subscripts` names the dimensions of the operands, a tuple, and after `->` those of
    the result; without it they are the labels that occur once, in alphabetical order.
    `...` stands for further dimensions, broadcast. Unlike TVM, a result of unknown shape
    has the rank that the labels give it. TVM's `relax.einsum`.

    ```mlir
    %t = relax.tuple(%a, %b) : tensor<4x8xf32>, tensor<8x2xf32>
    %r = relax.einsum %t subscripts "ij,jk->ik" :
      (!relax.tuple<tensor<4x8xf32>, tensor<8x2xf32>>) -> tensor<4x2xf32>
    ```
    """

    name = "relax.einsum"
    SIGNATURE: ClassVar[str] = "operands: tensors, subscripts: str"

    tensors = operand_def()
    subscripts = prop_def(StringAttr)

    assembly_format = (
        "$tensors `subscripts` $subscripts attr-dict `:`"
        " functional-type(operands, results)"
    )

    def __init__(
        self,
        tensors: SSAValue | Operation,
        subscripts: str,
        result_type: Attribute | None = None,
    ) -> None:
        self._make([tensors], {"subscripts": StringAttr(subscripts)}, result_type)

    def infer_result_type(self) -> Attribute:
        """A tensor with the extents of the labels of the result."""
        infos = expect_tensors(self.name, "tensors", self.tensors.type)
        dtype = common_dtypes(self.name, [info.dtype for info in infos])
        dims = einsum_dims(self.name, [info.dims for info in infos], self.subscripts.data)
        vdevice = merged_vdevice(info.vdevice for info in infos)
        return TensorInfo(dims, dtype, vdevice).type


ELLIPSIS = "..."
"""The label that stands for all further dimensions."""


def parse_subscripts(op: str, subscripts: str) -> tuple[list[list[str]], list[str]]:
    """Labels of the operands and of the result, `...` being one of them.

    Raises VerifyException for what is no list of labels, or a result that repeats a
    label or has one of no operand.
    """
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    inputs = [_labels(op, part) for part in left.split(",")]
    counts = Counter(label for labels in inputs for label in labels)
    if arrow:
        output = _labels(op, right)
    else:
        once = sorted(label for label in counts if counts[label] == 1)
        output = [label for label in once if label != ELLIPSIS]
        output = [ELLIPSIS, *output] if ELLIPSIS in counts else output
    for label in output:
        if label not in counts or output.count(label) > 1:
            raise VerifyException(
                f"{op}: the result of '{subscripts}' must have '{label}' once, and an "
                "operand too"
            )
    return inputs, output


def _labels(op: str, text: str) -> list[str]:
    before, dots, after = text.partition(ELLIPSIS)
    letters = before + after
    if not (letters.isascii() and letters.isalpha()) and letters:
        raise VerifyException(f"{op}: subscripts are letters and one '...', not '{text}'")
    return [*before, *([ELLIPSIS] if dots else []), *after]


def einsum_dims(op: str, shapes: Sequence[Dims | None], subscripts: str) -> Dims | None:
    """The result's dimensions, None where its rank is unknown."""
    inputs, output = parse_subscripts(op, subscripts)
    if len(inputs) != len(shapes):
        raise VerifyException(
            f"{op}: '{subscripts}' is for {len(inputs)} operands, not {len(shapes)}"
        )
    extents: dict[str, Dim | None] = {}
    batch: Dims | None = ()
    for index, (labels, shape) in enumerate(zip(inputs, shapes, strict=True)):
        if shape is None:
            extents.update((label, None) for label in labels)
            batch = None if ELLIPSIS in labels else batch
            continue
        named, rest = _split(op, index, labels, shape)
        if batch is not None:
            batch = broadcast(op, batch, rest)
        for label, dim in named:
            extents[label] = (
                broadcast_dim(extents[label], dim, f"{op}: label '{label}'")
                if label in extents
                else dim
            )
    if ELLIPSIS in output and batch is None:
        return None
    result: list[Dim | None] = []
    for label in output:
        result.extend(batch or () if label == ELLIPSIS else [extents[label]])
    return tuple(result)


def _split(
    op: str, index: int, labels: list[str], dims: Dims
) -> tuple[list[tuple[str, Dim | None]], Dims]:
    """The labelled dimensions of an operand, and those that `...` stands for."""
    count = len([label for label in labels if label != ELLIPSIS])
    has_rest = ELLIPSIS in labels
    if len(dims) < count or (len(dims) > count and not has_rest):
        raise VerifyException(
            f"{op}: operand {index} has rank {len(dims)}, but {count} labels"
        )
    if not has_rest:
        return list(zip(labels, dims, strict=True)), ()
    at = labels.index(ELLIPSIS)
    end = at + len(dims) - count
    named = zip(labels[:at] + labels[at + 1 :], dims[:at] + dims[end:], strict=True)
    return list(named), dims[at:end]
