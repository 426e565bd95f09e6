"""Convolutions by Winograd's minimal filtering, with fewer products."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    ModuleOp,
    TensorType,
    f32,
    i32,
)
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.relax.op_pattern import OpPattern
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.dense import dense_of
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.annotate_tir_op_pattern import OP_PATTERN
from xdsl_tvm.passes.relax.legalize.calls import OperatorFunctions
from xdsl_tvm.passes.relax.legalize.registry import RuleContext
from xdsl_tvm.passes.relax.legalize.signature import signature_of
from xdsl_tvm.passes.relax.legalize.stages import broadcast_indices
from xdsl_tvm.passes.relax.legalize.tensor_expression import SUM, Dim, Expr, Tensor
from xdsl_tvm.passes.relax.legalize.windows import guarded
from xdsl_tvm.passes.relax.rewriting.followers import Follower, followers, known_shape
from xdsl_tvm.passes.relax.rewriting.insertion import BindingBuilder, by_function

if TYPE_CHECKING:
    import numpy as np

_WINDOW = 3
_LEAST_CHANNELS = 32
"""With fewer the transformations cost more than the products that are saved."""
_LEAST_TILES = 32
"""With fewer, multiplying takes less time than reading the weight, which is larger."""
_SMALL_SCRATCH = 2 << 20
"""Bytes of intermediate tensors that a cache holds for a whole image."""
_ROW_SCRATCH = 512 << 10
"""The same for rows of tiles, beside the weight that all of them are multiplied by."""

_INPUT = {
    2: ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1)),
    4: (
        (4, 0, -5, 0, 1, 0),
        (0, -4, -4, 1, 1, 0),
        (0, 4, -4, -1, 1, 0),
        (0, -2, -1, 2, 1, 0),
        (0, 2, -1, -2, 1, 0),
        (0, 4, 0, -5, 0, 1),
    ),
}
_OUTPUT = {
    2: ((1, 1, 1, 0), (0, 1, -1, -1)),
    4: (
        (1, 1, 1, 1, 1, 0),
        (0, 1, -1, 2, -2, 0),
        (0, 1, 1, 4, 4, 0),
        (0, 1, -1, 8, -8, 1),
    ),
}
_WEIGHT = {
    2: ((1, 0, 0), (1 / 2, 1 / 2, 1 / 2), (1 / 2, -1 / 2, 1 / 2), (0, 0, 1)),
    4: (
        (1 / 4, 0, 0),
        (-1 / 6, -1 / 6, -1 / 6),
        (-1 / 6, 1 / 6, -1 / 6),
        (1 / 24, 1 / 12, 1 / 6),
        (1 / 24, -1 / 12, 1 / 6),
        (0, 0, 1),
    ),
}
"""The matrices of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks"
(2015), for two and for four results: B^T, A^T and G."""


@dataclass(frozen=True)
class WinogradConvolutions(CompilerPass):
    """Summary: Computes convolutions of 3 by 3 with known weights from fewer products, by
        Winograd's minimal filtering.

    TVM name: none (ours)
    Input form: any; layouts of relax-block-convolutions
    Output form: the same; such convolutions are calls of TIR functions
    Options: `tile`: results of a tile along each axis, 2 or 4 (2). Products are 4/9 of
        the direct ones with 2, and 1/4 with 4, whose results are less exact; where there
        are few tiles with 4, there are some with 2
    Rewrites: before

            %y = relax.nn.conv2d %x, %w ... layout "NCHW16c" kernel "OIHW16i16o" : ...

        after, for 64 channels of 56 by 56, 28 rows of 28 tiles

            %u = relax.constant dense<...> : tensor<16x4x4x16x16xf32>
            %t = relax.call_tir @winograd_conv2d(%x, %u) :
              (tensor<1x4x56x56x16xf32>, tensor<16x4x4x16x16xf32>) ->
              tensor<1x4x28x1x2x28x2x16xf32>
            %y = relax.reshape %t, ... : ... -> tensor<1x4x56x56x16xf32>

        The weight is `G w G^T`, computed here in double precision. The function has four
        stages, each over an image and a group of rows of tiles first, so that
        tir-default-cpu-schedule computes group after group: the padded data; `B^T d B` of
        each tile of `tile` + 2 by `tile` + 2; its products with the weight, summed over
        the input channels; `A^T m A`. To each result it applies the `relax.add`,
        `relax.multiply` and `relax.nn.relu` that follow as its only uses; where tiles
        reach over the edge of the result, those of operands with one row and one column,
        and a `relax.strided_slice` cuts it. The function is opaque for fusion. Time is
        linear in the size of the function and of the weights.
        Against double precision, an error of one part in 10^6 of the largest result
        becomes one of two parts with 2, and of up to ten with 4.
    Leaves alone: convolutions whose weight is no constant, of other layouts, windows,
        strides, dilations and groups, of other dtypes than f32, of unknown extents, with
        fewer than 32 input or output channels or 32 tiles
    Errors: `tile` that is neither 2 nor 4
    Attributes: read: none; created: `op_pattern` of the functions; removed: none
    Differs from TVM: TVM has no such pass; schedules of its operators do
        this
    """

    name = "relax-winograd-convolutions"

    tile: int = 2

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.tile not in _INPUT:
            raise PassFailedException(
                f"{self.name}: tile must be 2 or 4, got {self.tile}"
            )
        functions: OperatorFunctions | None = None
        for convolutions, written in by_function(op, relax.Conv2DOp):
            for convolution in convolutions:
                found = None
                for tile in range(self.tile, 1, -2):
                    found = found or _Convolution.of(convolution, tile, written)
                if found is not None:
                    functions = functions or OperatorFunctions(op)
                    found.replace(functions)


_AFTER: dict[type[Operation], Callable[[Expr, list[Expr]], Expr]] = {
    relax.AddOp: lambda x, others: x + others[0],
    relax.MultiplyOp: lambda x, others: x * others[0],
    relax.ReluOp: lambda x, _: x.maximum(0),
}
"""Operators that are applied to results while they are in registers: from a result and
the other operands. Results are either operand of those that have two."""


@dataclass(frozen=True)
class _Convolution:
    """A convolution in blocks that is to be computed in tiles."""

    op: relax.Conv2DOp
    weight: bytes
    """Elements of f32."""
    kernel: tuple[int, ...]
    """Blocks of output and of input channels, window, channels of the blocks."""
    tile: int
    data: tuple[int, ...]
    """Batch, blocks of channels, rows, columns, channels of a block."""
    result: tuple[int, ...]
    after: tuple[Follower, ...] = ()

    @staticmethod
    def of(
        op: relax.Conv2DOp, tile: int, written: Collection[SSAValue]
    ) -> _Convolution | None:
        """The convolution, if it is one; `written` is in memory that is written to."""
        constant = op.weight.owner
        if not isinstance(constant, relax.ConstantOp) or op.groups.value.data != 1:
            return None
        weight = constant.value
        if not isinstance(weight, DenseIntOrFPElementsAttr):
            return None
        steps = (*op.window_strides, *op.window_dilation)
        if any(step != 1 for step in steps) or op.out_layout is not None:
            return None
        layouts = [op.data_layout.data, op.kernel_layout.data]
        shapes = [known_shape(value.type) for value in (op.data, op.weight, op.result)]
        known = [shape for shape in shapes if shape is not None]
        if len(known) != len(shapes) or not all(known):
            return None
        data, kernel, result = known
        if len(data) != len("NCHWc") or len(kernel) != len("OIHWio"):
            return None
        wanted = [f"NCHW{data[-1]}c", f"OIHW{data[-1]}i{result[-1]}o"]
        if layouts != wanted or data[-1] != result[-1]:
            return None
        if kernel[2:4] != (_WINDOW, _WINDOW):
            return None
        if min(data[1] * data[-1], result[1] * result[-1]) < _LEAST_CHANNELS:
            return None
        elements = weight.data.data
        found = _Convolution(op, elements, kernel, tile, data, result)
        rows = -(-result[2] // tile)
        if result[0] * rows * found.columns < _LEAST_TILES:
            return None
        if op.data in written:
            return found
        after = followers(
            op, lambda each: each not in written and found.is_read_there(each)
        )
        return replace(found, after=tuple(after))

    def is_read_there(self, value: SSAValue) -> bool:
        """Whether each result has an element of a value. Where tiles reach over the edge,
        those of a value of as many rows and columns end before."""
        shape = known_shape(value.type)
        if not shape or len(shape) > len(self.result):
            return False
        whole = all(extent % self.tile == 0 for extent in self.result[2:4])
        # Rows and columns are before the channels of a block.
        return whole or all(extent == 1 for extent in shape[-3:-1])

    # ---- sizes ----

    @property
    def reach(self) -> int:
        """Elements of a tile of the data, along an axis."""
        return self.tile + _WINDOW - 1

    @property
    def columns(self) -> int:
        """Tiles of a row."""
        return -(-self.result[3] // self.tile)

    @cached_property
    def groups(self) -> tuple[int, int]:
        """How many groups of rows there are, and rows of tiles in each."""
        rows = -(-self.result[2] // self.tile)
        channels = self.data[1] * self.data[-1] + self.result[1] * self.result[-1]
        of_a_row = 4 * self.reach**2 * self.columns * channels
        if rows * of_a_row <= _SMALL_SCRATCH:
            return 1, rows
        fitting = [
            size
            for size in range(1, rows + 1)
            if rows % size == 0 and size * of_a_row <= _ROW_SCRATCH
        ]
        size = max(fitting, default=1)
        return rows // size, size

    # ---- the call ----

    def replace(self, functions: OperatorFunctions) -> None:
        """Put the call of a function in the place of the convolution."""
        op = self.op
        last = self.after[-1].op if self.after else op
        builder = BindingBuilder(last)
        weight = builder.insert(relax.ConstantOp(dense_of(self._transformed())))
        (count, rows), tile = self.groups, self.tile
        batch, blocks, height, width, lanes = self.result
        shape = (batch, blocks, count, rows, tile, self.columns, tile, lanes)
        type_ = TensorType(f32, shape)
        operands = [op.data, weight, *(each for a in self.after for each in a.others)]
        signature = signature_of(operands, type_)
        assert signature is not None, "all extents are known"
        padding = tuple(op.window_padding)
        after = tuple(each.op.name for each in self.after)
        key = (self.tile, padding, self.data, self.result, after)
        name, _ = functions.made("winograd_conv2d", key, signature, self._stages)
        functions.by_name[name].attributes[OP_PATTERN] = IntegerAttr(
            int(OpPattern.OPAQUE), i32
        )
        value = builder.insert(relax.CallTIROp(name, operands, type_))
        whole = (batch, blocks, count * rows * tile, self.columns * tile, lanes)
        value = builder.insert(
            relax.ReshapeOp(value, builder.insert(relax.ShapeOp(whole)))
        )
        if whole[2:4] != (height, width):
            axes, begin, end = (
                _numbers_tuple(builder, numbers)
                for numbers in ((2, 3), (0, 0), (height, width))
            )
            value = builder.insert(relax.StridedSliceOp(value, axes, begin, end))
        value = builder.typed(value, op.result.type)
        Rewriter.replace_op(last, [], [value])
        for each in reversed([op, *(after.op for after in self.after)][:-1]):
            Rewriter.erase_op(each)

    def _transformed(self) -> np.ndarray[Any, Any]:
        """The weight of each position of a tile, as blocks of output channels."""
        import numpy as np

        matrix = np.array(_WEIGHT[self.tile])
        outer, inner, _, _, *lanes = self.kernel
        elements = np.frombuffer(self.weight, "<f4").astype(np.float64)
        windows = elements.reshape(outer * inner, _WINDOW**2, -1)
        # Rows of the product are positions of a tile, columns those of the window.
        found = np.kron(matrix, matrix) @ windows
        found = found.reshape(outer, inner, len(matrix) ** 2, *lanes)
        return np.ascontiguousarray(np.moveaxis(found, 2, 0), np.float32)

    # ---- the function ----

    def _stages(self, site: RuleContext) -> Tensor:
        padded = self._padded(site)
        transformed = self._transformed_data(site, padded)
        products = self._products(site, transformed)
        return self._results(site, products)

    def _padded(self, site: RuleContext) -> Tensor:
        """The rows that the tiles of a group need, with zeros around the image."""
        program, data = site.program, site.tensor(0)
        (count, rows), tile = self.groups, self.tile
        batch, blocks, height, width, lanes = self.data
        (top, _), (left, _) = self.op.window_padding
        inner = rows * tile + _WINDOW - 1, self.columns * tile + _WINDOW - 1
        shape = (batch, count, blocks, *inner, lanes)
        last = (count - 1) * rows * tile + inner[0] - 1 - top

        def element(*at: Expr) -> Expr:
            image, group, block, y, x, lane = at
            row = group * (rows * tile) + y - top
            column = x - left
            conditions: list[Expr] = []
            if top > 0:
                conditions.append(row >= program.extent(0))
            if last >= height:
                conditions.append(row < program.extent(height))
            if left > 0:
                conditions.append(column >= program.extent(0))
            if inner[1] - 1 - left >= width:
                conditions.append(column < program.extent(width))
            return guarded(
                program,
                conditions,
                lambda: data[image, block, row, column, lane],
                site.dtype,
            )

        return program.compute("winograd_padded", shape, site.dtype, element)

    def _transformed_data(self, site: RuleContext, padded: Tensor) -> Tensor:
        """`B^T d B` of each tile, position by position of the tile."""
        program, tile, reach = site.program, self.tile, self.reach
        count, rows = self.groups
        batch, blocks, *_, lanes = self.data
        tiles = rows * self.columns
        shape = (batch, count, reach**2, blocks, tiles, lanes)

        def body(point: list[Expr], outputs: list[Tensor]) -> None:
            image, group, block, number, lane = point
            (out,) = outputs
            y = (number // self.columns) * tile
            x = (number % self.columns) * tile
            elements = [
                [padded[image, group, block, y + i, x + j, lane] for j in range(reach)]
                for i in range(reach)
            ]
            found = _both_axes(_INPUT[tile], elements)
            for place, value in enumerate(chain(*found)):
                at = program.extent(place)
                program.store(value, out, (image, group, at, block, number, lane))

        (out,) = program.sequential(
            "winograd_data",
            (batch, count, blocks, tiles, lanes),
            [("winograd_data", shape, site.dtype)],
            lambda point: [(padded, (*point[:3], None, None, point[4]))],
            lambda point, outputs: [(outputs[0], (*point[:2], None, *point[2:]))],
            body,
        )
        return out

    def _products(self, site: RuleContext, data: Tensor) -> Tensor:
        """The products of data and weight at each position, summed over the channels."""
        weight = site.tensor(1)
        count, rows = self.groups
        batch, blocks, *_, lanes = self.data
        tiles = rows * self.columns
        shape = (batch, count, self.reach**2, self.result[1], tiles, self.result[-1])

        def term(spatial: list[Expr], terms: list[Expr]) -> Expr:
            image, group, place, block, number, lane = spatial
            inner, channel = terms
            x = data[image, group, place, inner, number, channel]
            return x * weight[place, block, inner, channel, lane]

        over = (blocks, lanes)
        return site.program.reduce(
            "winograd_products", shape, over, site.dtype, SUM, term
        )

    def _results(self, site: RuleContext, products: Tensor) -> Tensor:
        """`A^T m A` of each tile."""
        program, tile, reach = site.program, self.tile, self.reach
        batch, blocks, count, rows, _, columns, _, lanes = _numbers(site.shape)

        def body(point: list[Expr], outputs: list[Tensor]) -> None:
            image, group, block, row, column, lane = point
            (out,) = outputs
            number = row * columns + column
            elements = [
                [
                    products[
                        image,
                        group,
                        program.extent(i * reach + j),
                        block,
                        number,
                        lane,
                    ]
                    for j in range(reach)
                ]
                for i in range(reach)
            ]
            found = _both_axes(_OUTPUT[tile], elements)
            for i, values in enumerate(found):
                for j, value in enumerate(values):
                    y, x = (group * rows + row) * tile + i, column * tile + j
                    value = self._with_operators(site, value, (image, block, y, x, lane))
                    inner = program.extent(i), column, program.extent(j), lane
                    program.store(value, out, (image, block, group, row, *inner))

        def written(point: list[Expr], outputs: list[Tensor]) -> list[Any]:
            image, group, block, row, column, lane = point
            place = (image, block, group, row, None, column, None, lane)
            return [(outputs[0], place)]

        (out,) = program.sequential(
            "winograd_results",
            (batch, count, blocks, rows, columns, lanes),
            [("winograd_results", site.shape, site.dtype)],
            lambda point: [
                (products, (*point[:2], None, point[2], None, point[5])),
                *((each, (None,) * len(each.shape)) for each in self._others(site)),
            ],
            written,
            body,
        )
        return out

    def _others(self, site: RuleContext) -> list[Tensor]:
        """What the operators after the convolution read besides its results."""
        count = sum(len(each.others) for each in self.after)
        return [site.tensor(number) for number in range(2, 2 + count)]

    def _with_operators(
        self, site: RuleContext, value: Expr, at: tuple[Expr, ...]
    ) -> Expr:
        """A result, at which place it is, after the operators."""
        others = iter(self._others(site))
        for each in self.after:
            given = [next(others) for _ in each.others]
            elements = [
                other[broadcast_indices(site.program, other, at, self.result)]
                for other in given
            ]
            value = _AFTER[type(each.op)](value, elements)
        return value


def _numbers_tuple(builder: BindingBuilder, numbers: Sequence[int]) -> SSAValue:
    values = [builder.insert(relax.PrimValueOp(number)) for number in numbers]
    return builder.insert(relax.TupleOp(values))


def _numbers(shape: Sequence[Dim]) -> list[int]:
    numbers = [dim for dim in shape if isinstance(dim, int)]
    assert len(numbers) == len(shape), "all extents are known"
    return numbers


Matrix: TypeAlias = Sequence[Sequence[float]]


def _both_axes(matrix: Matrix, elements: list[list[Expr]]) -> list[list[Expr]]:
    """`M E M^T`."""
    columns = [_applied(matrix, column) for column in zip(*elements, strict=True)]
    return [_applied(matrix, row) for row in zip(*columns, strict=True)]


def _applied(matrix: Matrix, vector: Sequence[Expr]) -> list[Expr]:
    """The product of a matrix and a vector, without the terms that are zero."""
    return [_sum(zip(row, vector, strict=True)) for row in matrix]


def _sum(terms: Iterable[tuple[float, Expr]]) -> Expr:
    """The sum of multiples, positive ones first."""
    given = sorted((term for term in terms if term[0]), key=lambda term: term[0] < 0)
    (factor, value), *rest = given
    total = value * factor if factor != 1 else value
    for factor, value in rest:
        part = value * abs(factor) if abs(factor) != 1 else value
        total = total + part if factor > 0 else total - part
    return total
