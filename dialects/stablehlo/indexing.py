"""Operations of `stablehlo` that take and put slices at positions of a tensor."""

from __future__ import annotations

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    SameVariadicOperandSize,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.stablehlo.assembly import (
    element_of,
    expect_body,
    expect_dims,
    expect_element,
    expect_length,
    expect_shape,
    fits,
    ints_of,
    shape_of,
)
from xdsl_tvm.dialects.stablehlo.attributes import (
    DimensionNumbers,
    GatherAttr,
    ScatterAttr,
)


def _batch_shape(op: IRDLOperation, indices: SSAValue, vector: int) -> list[int]:
    """The shape of the indices without the dimension that holds their components."""
    shape = list(shape_of(indices))
    if not 0 <= vector <= len(shape):
        raise VerifyException(
            f"{op.name}: index_vector_dim must be from 0 to {len(shape)}, not {vector}"
        )
    return [*shape[:vector], *shape[vector + 1 :]]


def _verify_numbers(
    op: IRDLOperation,
    numbers: DimensionNumbers,
    names: tuple[str, str, str, str],
    operand: SSAValue,
    indices: SSAValue,
) -> None:
    """Check the lists that are of the operand and of the indices."""
    dropped, operand_batch, index_batch, index_map = (numbers.dims(n) for n in names)
    rank, vector = len(shape_of(operand)), numbers.index
    batch = _batch_shape(op, indices, vector)
    expect_dims(op, f"{names[0]} and {names[1]}", (*dropped, *operand_batch), rank)
    expect_dims(op, f"{names[3]} and {names[1]}", (*index_map, *operand_batch), rank)
    expect_length(op, names[2], index_batch, len(operand_batch))
    count = len(batch) + 1
    expect_dims(op, names[2], index_batch, count)
    if vector in index_batch:
        raise VerifyException(f"{op.name}: {names[2]} holds index_vector_dim")
    shape = shape_of(indices)
    components = shape[vector] if vector < len(shape) else 1
    expect_length(op, names[3], index_map, components)
    for left, right in zip(operand_batch, index_batch, strict=True):
        if not fits([shape_of(operand)[left]], [shape[right]]):
            raise VerifyException(f"{op.name}: extents of batches differ")


@irdl_op_definition
class GatherOp(IRDLOperation):
    """Slices of a tensor, one for each index, moved so far that they are within it."""

    name = "stablehlo.gather"

    operand = operand_def(TensorType)
    start_indices = operand_def(TensorType)
    result = result_def(TensorType)
    dimension_numbers = prop_def(GatherAttr)
    slice_sizes = prop_def(DenseArrayBase)
    indices_are_sorted = opt_prop_def(BoolAttr)

    traits = traits_def(Pure())

    def verify_(self) -> None:
        numbers = self.dimension_numbers
        _verify_numbers(
            self,
            numbers,
            (
                "collapsed_slice_dims",
                "operand_batching_dims",
                "start_indices_batching_dims",
                "start_index_map",
            ),
            self.operand,
            self.start_indices,
        )
        shape, sizes = shape_of(self.operand), ints_of(self.slice_sizes)
        expect_length(self, "slice_sizes", sizes, len(shape))
        taken = {
            *numbers.dims("collapsed_slice_dims"),
            *numbers.dims("operand_batching_dims"),
        }
        for dim, (size, extent) in enumerate(zip(sizes, shape, strict=True)):
            if size < 0 or -1 < extent < size or (dim in taken and size > 1):
                raise VerifyException(
                    f"{self.name}: a slice of {size} elements of {extent}, dimension "
                    f"{dim}"
                )
        batch = _batch_shape(self, self.start_indices, numbers.index)
        offsets = [size for dim, size in enumerate(sizes) if dim not in taken]
        dims = numbers.dims("offset_dims")
        expect_length(self, "offset_dims", dims, len(offsets))
        expect_shape(self, interleaved(self, dims, offsets, batch))
        expect_element(self, self.result, element_of(self.operand))


def interleaved(
    op: IRDLOperation, dims: tuple[int, ...], window: list[int], batch: list[int]
) -> list[int]:
    """A shape with the extents of windows at `dims`, and those of batches elsewhere."""
    rank = len(window) + len(batch)
    expect_dims(op, "dimensions of slices", dims, rank)
    if list(dims) != sorted(dims):
        raise VerifyException(f"{op.name}: dimensions of slices must ascend")
    windows, batches = iter(window), iter(batch)
    return [next(windows if dim in dims else batches) for dim in range(rank)]


@irdl_op_definition
class ScatterOp(IRDLOperation):
    """Tensors with slices of updates combined with them; those beyond are left out."""

    name = "stablehlo.scatter"

    inputs = var_operand_def(TensorType)
    scatter_indices = operand_def(TensorType)
    updates = var_operand_def(TensorType)
    res = var_result_def(TensorType)
    scatter_dimension_numbers = prop_def(ScatterAttr)
    indices_are_sorted = opt_prop_def(BoolAttr)
    unique_indices = opt_prop_def(BoolAttr)
    update_computation = region_def("single_block")

    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(RecursiveMemoryEffect())

    def verify_(self) -> None:
        numbers = self.scatter_dimension_numbers
        if not self.inputs:
            raise VerifyException(f"{self.name}: it needs a tensor")
        expect_length(self, "the results", self.results, len(self.inputs))
        names = (
            "inserted_window_dims",
            "input_batching_dims",
            "scatter_indices_batching_dims",
            "scatter_dims_to_operand_dims",
        )
        batch = _batch_shape(self, self.scatter_indices, numbers.index)
        dims = numbers.dims("update_window_dims")
        for index, (value, update) in enumerate(
            zip(self.inputs, self.updates, strict=True)
        ):
            _verify_numbers(self, numbers, names, value, self.scatter_indices)
            shape, given = shape_of(value), shape_of(update)
            taken = {*numbers.dims(names[0]), *numbers.dims(names[1])}
            expect_dims(self, "update_window_dims", dims, len(given))
            window = [given[dim] for dim in dims]
            expect_length(self, "update_window_dims", dims, len(shape) - len(taken))
            if not fits(given, interleaved(self, dims, window, batch)):
                raise VerifyException(
                    f"{self.name}: updates of shape {list(given)} do not fit indices of "
                    f"shape {list(shape_of(self.scatter_indices))}"
                )
            kept = [extent for dim, extent in enumerate(shape) if dim not in taken]
            if any(-1 < a < b for a, b in zip(kept, window, strict=True)):
                raise VerifyException(f"{self.name}: a slice is larger than the tensor")
            expect_shape(self, shape, index)
            expect_element(self, update, element_of(value))
            expect_element(self, self.results[index], element_of(value))
        elements = [element_of(value) for value in self.inputs]
        expect_body(self, 0, [*elements, *elements])
