"""Products of three matrices are multiplied in the cheaper order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.symbolic import Dim, bounds, product
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax._memory_plan.upper_bounds import upper_bounds_of
from xdsl_tvm.passes.relax.rewriting.compile_time import compile_time_values
from xdsl_tvm.passes.relax.rewriting.insertion import (
    BindingBuilder,
    by_function,
    function_around,
)
from xdsl_tvm.passes.relax.rewriting.symbols import hide_symbols


@dataclass(frozen=True)
class AdjustMatmulOrder(CompilerPass):
    """Summary: Multiplies three matrices in the order that takes fewer operations.

    TVM name: relax.AdjustMatmulOrder (v0.20)
    Input form: any
    Output form: the same
    Options: none
    Rewrites: before, where `n` is the only large dimension of `%x` and `%a`,

            %p = relax.matmul %x, %a : (tensor<nx64>, tensor<64x8>) -> tensor<nx8>
            %r = relax.matmul %p, %b : (tensor<nx8>, tensor<8x4>) -> tensor<nx4>

        after, since 64 * 8 * 4 + n * 64 * 4 is less than n * 64 * 8 + n * 8 * 4,

            %q = relax.matmul %a, %b : (tensor<64x8>, tensor<8x4>) -> tensor<64x4>
            %r = relax.matmul %x, %q : (tensor<nx64>, tensor<64x4>) -> tensor<nx4>

        and the other way around. With `num_input`, two factors that are both known
        before inputs are, weights and what is computed of them, are multiplied with each
        other; all three stay as they are. A product that is transposed for the next one
        is one of its transposed factors. Dimensions are taken to be positive, and at
        most what `tir_var_upper_bound` says. Time is linear in the number of products
        times those in a chain.
    Leaves alone: products whose order is not provably better; products with other uses;
        vectors, and factors of unknown shape; products with `out_dtype`; tensors that
        something writes in place, or that a function literal takes from outside with
        symbols
    Errors: a `num_input` that is no number of parameters; bounds that are no dictionary
        of positive integers
    Attributes: read: `num_input`, `tir_var_upper_bound`; created: none; removed: none
    Differs from TVM: a product that something else uses is not computed twice
    """

    name = "relax-adjust-matmul-order"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for products, written in by_function(op, relax.MatmulOp):
            func = function_around(products[0])
            upper = upper_bounds_of(func, self.name).symbols
            known = compile_time_values(func, self.name)
            _Orders(written, known, upper).adjust(products)


@dataclass
class _Orders:
    """The products of a function."""

    written: set[SSAValue]
    known: set[SSAValue]
    """Values that do not depend on inputs."""
    upper: Mapping[str, int]
    """The greatest values of symbols."""

    def adjust(self, products: Sequence[relax.MatmulOp]) -> None:
        """Adjust products, first to last, and those that come of it, again."""
        pending = list(reversed(products))
        left = 4 * len(pending)
        erased = set[Operation]()
        while pending and left:
            op = pending.pop()
            if op in erased:
                continue
            for new, old in self._adjusted(op):
                erased.update(old)
                pending += reversed(new)
                left -= 1

    def _adjusted(
        self, op: relax.MatmulOp
    ) -> Iterator[tuple[list[relax.MatmulOp], list[Operation]]]:
        """The new products and the erased operations, where the order changes."""
        if not self._is_plain(op):
            return
        builder = BindingBuilder(op)
        left, right = self._factors(op.lhs), self._factors(op.rhs)
        if left is not None and self._is_better(
            [*left.factors, op.rhs], [*left.shapes, _shape(op.rhs)], False
        ):
            first, second = left.make(builder)
            inner = relax.MatmulOp(second, op.rhs)
            outer_of = (first, inner)
            old = left.ops
        elif right is not None and self._is_better(
            [op.lhs, *right.factors], [_shape(op.lhs), *right.shapes], True
        ):
            first, second = right.make(builder)
            inner = relax.MatmulOp(op.lhs, first)
            outer_of = (inner, second)
            old = right.ops
        else:
            return
        builder.insert_op(inner)
        outer = builder.insert_op(relax.MatmulOp(*outer_of))
        if all(value in self.known for value in inner.operands):
            self.known.add(inner.result)
        outer.result.name_hint = op.result.name_hint
        Rewriter.replace_op(op, (), [builder.typed(outer.result, op.result.type)])
        for each in old:
            Rewriter.erase_op(each)
        yield [inner, outer], [op, *old]

    def _is_plain(self, op: relax.MatmulOp) -> bool:
        return (
            op.out_dtype is None
            and self.written.isdisjoint((*op.operands, op.result))
            and not hide_symbols(op.operands, op)
        )

    def _factors(self, value: SSAValue) -> _Product | None:
        """The factors of a product that is used once, transposed or not."""
        transposition = value.owner
        if value.has_more_than_one_use():
            return None
        if isinstance(transposition, relax.PermuteDimsOp):
            product = transposition.data.owner
            if not _is_transposition(transposition):
                return None
            if transposition.data.has_more_than_one_use():
                return None
        else:
            product, transposition = transposition, None
        if not isinstance(product, relax.MatmulOp) or not self._is_plain(product):
            return None
        return _Product(product, transposition)

    def _is_better(
        self,
        factors: Sequence[SSAValue],
        shapes: Sequence[Sequence[Dim] | None],
        to_left: bool,
    ) -> bool:
        """Whether three factors should be multiplied in the other order.

        `to_left` if the last two are multiplied first now.
        """
        is_known = [value in self.known for value in factors]
        if all(is_known):
            return False
        if any(shape is None or len(shape) < 2 for shape in shapes):
            return False
        if is_known[0] and is_known[1]:
            return to_left
        if is_known[1] and is_known[2]:
            return not to_left
        extents = _extents([shape for shape in shapes if shape is not None])
        if extents is None:
            return False
        n, r, m, b = extents
        from_left, from_right = (r + b) * n * m, (m + n) * r * b
        gain = from_right - from_left if to_left else from_left - from_right
        # Every dimension is at least 1.
        shifted = {name: Dim.symbol(name) + 1 for name in gain.symbols()}
        upper = {name: bound - 1 for name, bound in self.upper.items()}
        return bounds(gain.substitute(shifted), upper).min >= 1


@dataclass
class _Product:
    """A product that may be transposed afterwards."""

    product: relax.MatmulOp
    transposition: relax.PermuteDimsOp | None

    @property
    def ops(self) -> list[Operation]:
        """The operations, the last one first."""
        found: list[Operation] = [self.product]
        return found if self.transposition is None else [self.transposition, *found]

    @property
    def factors(self) -> tuple[SSAValue, SSAValue]:
        """Values that have the shapes of the factors, but for their transposition."""
        lhs, rhs = self.product.lhs, self.product.rhs
        return (lhs, rhs) if self.transposition is None else (rhs, lhs)

    @property
    def shapes(self) -> list[Sequence[Dim] | None]:
        """The shapes of the factors, transposed if their product is."""
        found = [_shape(value) for value in self.factors]
        if self.transposition is None:
            return found
        return [None if shape is None else shape[::-1] for shape in found]

    def make(self, builder: BindingBuilder) -> tuple[SSAValue, SSAValue]:
        """The two factors, transposed if their product is."""
        first, second = self.factors
        if self.transposition is None:
            return first, second
        return (
            builder.insert(relax.PermuteDimsOp(first, [1, 0])),
            builder.insert(relax.PermuteDimsOp(second, [1, 0])),
        )


def _is_transposition(op: relax.PermuteDimsOp) -> bool:
    info = TensorInfo.of(op.data.type)
    if info is None or info.rank != 2:
        return False
    return op.axes is None or [axis % 2 for axis in op.axes.get_values()] == [1, 0]


def _shape(value: SSAValue) -> Sequence[Dim] | None:
    info = TensorInfo.of(value.type)
    return None if info is None else info.shape


def _extents(shapes: Sequence[Sequence[Dim]]) -> tuple[Dim, Dim, Dim, Dim] | None:
    """The extents of a chain of three matrices; None where batches are not alike.

    Batches of the first one alone are further rows.
    """
    first, second, third = shapes
    rows = first[-2]
    if len(second) == len(third) == 2:
        rows = product(first[:-1])
    elif not first[:-2] == second[:-2] == third[:-2]:
        return None
    return rows, second[-2], third[-2], third[-1]
