"""Attributes of matrices: formats, layouts and shapes, spelled as upstream's."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar, cast

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute, Data, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.nvvm.formats import FORMATS, Shape


class _WordAttribute(Data[str], ABC):
    """One of some words: `#nvvm.mma_layout<row>`."""

    WORDS: ClassVar[tuple[str, ...]]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        with parser.in_angle_brackets():
            word = parser.parse_identifier()
        if word not in cls.WORDS:
            parser.raise_error(f"expected one of {', '.join(cls.WORDS)}, got {word}")
        return word

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data)

    def verify(self) -> None:
        if self.data not in self.WORDS:
            raise VerifyException(
                f"expected one of {', '.join(self.WORDS)}, got {self.data}"
            )


@irdl_attr_definition
class MMALayoutAttr(_WordAttribute):
    """Whether a matrix is in the order of its rows or of its columns."""

    name = "nvvm.mma_layout"
    WORDS: ClassVar = ("row", "col")


@irdl_attr_definition
class MMATypeAttr(_WordAttribute):
    """The format of elements of a matrix."""

    name = "nvvm.mma_type"
    WORDS: ClassVar = tuple(FORMATS)


@irdl_attr_definition
class MMAFragAttr(_WordAttribute):
    """Which matrix of a product a fragment is."""

    name = "nvvm.mma_frag"
    WORDS: ClassVar = ("a", "b", "c")


@irdl_attr_definition
class MMAIntOverflowAttr(_WordAttribute):
    """What sums of integers that do not fit become."""

    name = "nvvm.mma_int_overflow"
    WORDS: ClassVar = ("satfinite", "wrapped")


@irdl_attr_definition
class MMAB1OpAttr(_WordAttribute):
    """How bits are combined before the ones are counted."""

    name = "nvvm.mma_b1op"
    WORDS: ClassVar = ("xor_popc", "and_popc")


@irdl_attr_definition
class WGMMATypesAttr(_WordAttribute):
    """The format of elements of a matrix of a product of warpgroups."""

    name = "nvvm.wgmma_type"
    WORDS: ClassVar = ("f16", "bf16", "f32")


@irdl_attr_definition
class WGMMAScaleOutAttr(_WordAttribute):
    """Whether what was summed before counts."""

    name = "nvvm.wgmma_scale_out"
    WORDS: ClassVar = ("zero", "one")


@irdl_attr_definition
class WGMMAScaleInAttr(_WordAttribute):
    """Whether a matrix is negated."""

    name = "nvvm.wgmma_scale_in"
    WORDS: ClassVar = ("neg", "one")


@irdl_attr_definition
class LdStMatrixEltTypeAttr(_WordAttribute):
    """The elements of the matrices that `ldmatrix` loads."""

    name = "nvvm.ld_st_matrix_elt_type"
    WORDS: ClassVar = ("b16",)


@irdl_attr_definition
class ProxyKindAttr(_WordAttribute):
    """Which other way of accessing memory a fence is about."""

    name = "nvvm.proxy_kind"
    WORDS: ClassVar = ("async.shared",)


@irdl_attr_definition
class SharedSpaceAttr(_WordAttribute):
    """Whose shared memory a fence is about: the block's."""

    name = "nvvm.shared_space"
    WORDS: ClassVar = ("cta",)


class _ExtentsAttribute(ParametrizedAttribute, ABC):
    """Extents by name: `#nvvm.shape<m = 16, n = 8, k = 16>`."""

    NAMES: ClassVar[tuple[str, ...]]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        extents: list[Attribute] = []
        with parser.in_angle_brackets():
            for position, name in enumerate(cls.NAMES):
                if position:
                    parser.parse_punctuation(",")
                parser.parse_keyword(name)
                parser.parse_punctuation("=")
                extents.append(IntAttr(parser.parse_integer(allow_boolean=False)))
        return extents

    def print_parameters(self, printer: Printer) -> None:
        values = zip(self.NAMES, self.parameters, strict=True)
        with printer.in_angle_brackets():
            printer.print_string(
                ", ".join(f"{name} = {cast(IntAttr, x).data}" for name, x in values)
            )


@irdl_attr_definition
class MMAShapeAttr(_ExtentsAttribute):
    """The extents of a product."""

    name = "nvvm.shape"
    NAMES: ClassVar = ("m", "n", "k")

    m: IntAttr = param_def()
    n: IntAttr = param_def()
    k: IntAttr = param_def()

    @property
    def extents(self) -> Shape:
        """m, n and k."""
        return self.m.data, self.n.data, self.k.data


@irdl_attr_definition
class LdStMatrixShapeAttr(_ExtentsAttribute):
    """The extents of the matrices that `ldmatrix` loads."""

    name = "nvvm.ld_st_matrix_shape"
    NAMES: ClassVar = ("m", "n")

    m: IntAttr = param_def()
    n: IntAttr = param_def()


def mma_shape(shape: Shape) -> MMAShapeAttr:
    """The attribute of a shape."""
    return MMAShapeAttr(*map(IntAttr, shape))
