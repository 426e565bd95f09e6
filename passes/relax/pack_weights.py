"""Constant weights of matrix products are stored in panels, as products read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    TensorType,
    bf16,
    f16,
    f32,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.relax.product_rows import LEAST_ROWS, product_rows
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.array_bytes import array_bytes, element_places
from xdsl_tvm.dialects.in_threads import map_in_threads
from xdsl_tvm.dialects.relax.dense import numpy_dtype
from xdsl_tvm.dialects.relax.symbolic import provably_equal
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.dialects.tir.processor_instructions import BYTES_OF_DOT, byte_dot, is_byte
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.legalize.calls import OperatorFunctions, call_of
from xdsl_tvm.passes.relax.legalize.registry import RegisteredRule, RuleContext
from xdsl_tvm.passes.relax.legalize.signature import proven_result_type
from xdsl_tvm.passes.relax.legalize.tensor_expression import SUM, Expr, Tensor
from xdsl_tvm.passes.relax.rewriting.insertion import BindingBuilder, by_function
from xdsl_tvm.passes.tir.rewriting.features import checked_features

_NAME = "packed_matmul"
_MANY_REGISTERS = 64
"""Processors with vectors of so many bytes have 32 of them; others may have 16."""
_LEAST_TERMS = 8
_LEAST_BITS = 32
_BYTES_OF_SUM = 4
"""Products of bytes are summed in 32 bits."""
_WIDTHS = frozenset(1 << power for power in range(2, 11))


@dataclass(frozen=True)
class PackWeights(CompilerPass):
    """Summary: Stores the constant right operands of matrix products in panels of
        neighbouring columns, in the order in which products read them.

    TVM name: none (ours)
    Input form: any
    Output form: the same; such products are calls of TIR functions
    Options: `vector_bytes`: the width of vectors (64); a panel has two or three vectors
        of columns. `least_rows`: products of fewer rows, which read a matrix once and
        where it is, are left alone (4). `features`: what the processor has, by LLVM's
        names with spaces between: `avx512vnni`, `avx512vl` and `avxvnni` (none)
    Rewrites: before, for 64 rows

            %y = relax.matmul %x, %w : (tensor<64x256xf32>, tensor<256x480xf32>) -> ...

        after

            %p = relax.constant dense<...> : tensor<10x256x48xf32>
            %y = relax.call_tir @packed_matmul(%x, %p) :
              (tensor<64x256xf32>, tensor<10x256x48xf32>) -> tensor<64x480xf32>

        where `%p[j // 48, k, j % 48]` is `%w[k, j]`. Columns that fill up the last panel
        are zero. The function computes the sum of `%x[i, k] * %p[j // 48, k, j % 48]` in
        the order of relax.matmul, so that results are equal to the bit; it is fused as
        relax.matmul is, and tir-default-cpu-schedule reads panels where they are. With
        vectors of 64 bytes panels have three vectors where that fills the last panel
        better than two, or as well. A weight of several products is packed once. Time is
        linear in the size of the function and of the weights.

        Products of bf16 or f16 that are summed in f32 have panels of their dtype.

        Products of bytes that are summed in i32, where `features` have an instruction for
        dot products of bytes, read `%p[j // 48, k // 4, j % 48 * 4 + k % 4]`, zeros after
        the last term, for any number of rows.
    Leaves alone: products whose right operand is no constant of two dimensions; of fewer
        rows than `least_rows`, of fewer than 8 terms, of fewer columns than a vector has
        lanes; other dtypes than f16 and those of 32 and 64 bits, and several dtypes, but
        for these; tensors on a device
    Errors: `vector_bytes` that is no power of two from 4 to 1024; a feature that is none
        of these
    Attributes: read: none; created: none; removed: none
    Differs from TVM: TVM's schedules of this are found by a search, whose layout
        AttachAttrLayoutFreeBuffers, SplitLayoutRewritePreproc and FoldConstant carry to
        the constants
    """

    name = "relax-pack-weights"

    vector_bytes: int = 64
    least_rows: int = LEAST_ROWS
    features: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.vector_bytes not in _WIDTHS:
            raise PassFailedException(
                f"{self.name}: vector_bytes must be a power of two from 4 to 1024, got "
                f"{self.vector_bytes}"
            )
        features = checked_features(self.features, self.name)
        has_dot = byte_dot(self.vector_bytes // _BYTES_OF_SUM, features) is not None
        products = [
            product
            for matmuls, _ in by_function(op, relax.MatmulOp)
            for matmul in matmuls
            for product in (self._found(matmul, has_dot),)
            if product is not None
        ]
        if not products:
            return
        functions = OperatorFunctions(op)
        packed = _packed({product.key: product for product in products})
        inserted: dict[_Key, SSAValue] = {}
        for product in products:
            product.replace(functions, packed[product.key], inserted)

    def _found(self, op: relax.MatmulOp, has_dot: bool) -> _Product | None:
        """The product, if its weight is to be packed."""
        constant = op.rhs.owner
        if not isinstance(constant, relax.ConstantOp):
            return None
        infos = [TensorInfo.of(v.type) for v in (op.lhs, op.rhs, op.result)]
        known = [info for info in infos if info is not None and info.vdevice is None]
        if len(known) != len(infos):
            return None
        x, weight, result = known
        dtype = result.dtype
        if dtype is None or x.shape is None or weight.shape is None:
            return None
        is_dot = has_dot and dtype == i32 and is_byte(x.dtype) and is_byte(weight.dtype)
        is_narrow = dtype == f32 and x.dtype == weight.dtype and x.dtype in (bf16, f16)
        if not (is_dot or is_narrow) and len({info.dtype for info in known}) != 1:
            return None
        if not tir.is_scalar(dtype) or not _is_computed(dtype):
            return None
        if len(x.shape) == 1 or len(weight.shape) != len("kj"):
            return None
        if not isinstance(constant.value, DenseIntOrFPElementsAttr):
            return None
        terms, columns = (dim.value for dim in weight.shape)
        lanes = self.vector_bytes // tir.bytes_of_lane(dtype)
        if terms is None or columns is None or lanes < 2 or columns < lanes:
            return None
        if terms < _LEAST_TERMS or not provably_equal(x.shape[-1], weight.shape[0]):
            return None
        least = 1 if is_dot else self.least_rows
        if product_rows(x.shape, least) < least or proven_result_type(op) is None:
            return None
        width = _width(columns, lanes, self.vector_bytes)
        return _Product(op, constant, width, BYTES_OF_DOT if is_dot else 1)


def _is_computed(dtype: Attribute) -> bool:
    """Whether products of a dtype are computed in that dtype, in vectors."""
    return dtype == f16 or tir.bits_of_lane(dtype) >= _LEAST_BITS


@dataclass(frozen=True)
class _Product:
    """A product, its constant, and how many columns a panel of it has."""

    op: relax.MatmulOp
    constant: relax.ConstantOp
    width: int
    group: int = 1
    """Terms that are next to each other, for each column."""

    @property
    def key(self) -> _Key:
        """What is the same for products that read the same panels."""
        return self.constant.result, self.width, self.group

    def replace(
        self,
        functions: OperatorFunctions,
        packed: DenseIntOrFPElementsAttr,
        inserted: dict[_Key, SSAValue],
    ) -> None:
        """Put the call of a function in the place of the product, if it has one.

        `packed` is its weight in panels, and `inserted` those that the function has.
        """
        result_type = proven_result_type(self.op)
        assert result_type is not None, "checked"
        weight = inserted.get(self.key) or BindingBuilder(self.constant).insert(
            relax.ConstantOp(packed)
        )
        rule = RegisteredRule(lambda _, site: self._stages(site), _NAME, (), ())
        operands = (self.op.lhs, weight)
        shape = (self.width, self.group)
        call = call_of(
            self.op, functions, rule, operands, result_type, shape, self._stages
        )
        if call is None:
            return
        inserted[self.key] = weight
        Rewriter.replace_op(self.op, call)

    @property
    def _value(self) -> DenseIntOrFPElementsAttr:
        value = self.constant.value
        assert isinstance(value, DenseIntOrFPElementsAttr), "checked"
        return value

    @property
    def size(self) -> int:
        """The bytes of the weight in panels."""
        return prod(self._shape) * numpy_dtype(self._value.get_element_type()).itemsize

    def packed(self, place: memoryview | None) -> DenseIntOrFPElementsAttr:
        """The weight in panels, the last one filled up with zeros, written to `place`."""
        import numpy as np

        value = self._value
        terms, columns = value.get_shape()
        elements = np.frombuffer(value.data.data, numpy_dtype(value.get_element_type()))
        weight = elements.reshape(terms, columns)
        panels, groups, _ = self._shape
        missing = (groups * self.group - terms, panels * self.width - columns)
        if any(missing):
            weight = np.pad(weight, [(0, count) for count in missing])
        found = (
            weight.reshape(groups, self.group, panels, self.width)
            .transpose(2, 0, 3, 1)
            .reshape(self._shape)
        )
        type_ = TensorType(value.get_element_type(), found.shape)
        return DenseIntOrFPElementsAttr(type_, BytesAttr(array_bytes(found, place)))

    @property
    def _shape(self) -> tuple[int, int, int]:
        """Panels, groups of terms, and elements of a group in a panel."""
        terms, columns = self._value.get_shape()
        groups = -(-terms // self.group)
        return -(-columns // self.width), groups, self.width * self.group

    def _stages(self, site: RuleContext) -> Tensor:
        """The product, with the weight in panels."""
        x, weight = site.tensor(0), site.tensor(1)

        def term(spatial: list[Expr], terms: list[Expr]) -> Expr:
            *rows, column = spatial
            (k,) = terms
            panel, lane = column // self.width, column % self.width
            if self.group == 1:
                element = weight[panel, k, lane]
            else:
                place = lane * self.group + k % self.group
                element = weight[panel, k // self.group, place]
            return x[(*rows, k)].cast(site.dtype) * element.cast(site.dtype)

        return site.program.reduce(
            _NAME, site.shape, [x.shape[-1]], site.dtype, SUM, term
        )


_Key: TypeAlias = tuple[SSAValue, int, int]
"""A constant, how many columns a panel of it has, and how many terms are together."""


def _packed(products: Mapping[_Key, _Product]) -> dict[_Key, DenseIntOrFPElementsAttr]:
    """The weights of products in panels."""
    sizes = [product.size for product in products.values()]
    each = list(zip(products.values(), element_places(sizes), strict=True))
    packed = map_in_threads(lambda item: item[0].packed(item[1]), each, sum(sizes))
    return dict(zip(products, packed, strict=True))


def _width(columns: int, lanes: int, vector_bytes: int) -> int:
    """The columns of a panel: those of which the last panel has the fewest too many."""
    counts = (3, 2) if vector_bytes >= _MANY_REGISTERS else (2,)
    return min((count * lanes for count in counts), key=lambda width: -columns % width)
