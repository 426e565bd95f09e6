"""What functions of both dialects have in common, in TVM's words."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Self, overload

from xdsl.ir import BlockArgument
from xdsl.irdl import IRDLOperation

from xdsl_tvm.dialects.scriptable import Scriptable
from xdsl_tvm.dialects.tir.annotations import (
    AnnotationValue,
    annotation_attr,
    annotation_value,
)


class BaseFunc(Scriptable, IRDLOperation, ABC):
    """A `tir.func` or a `relax.func`: its attributes and its script. TVM's `BaseFunc`."""

    @property
    def params(self) -> Sequence[BlockArgument]:
        """The parameters."""
        return tuple(self.regions[0].block.args) if self.regions[0].blocks else ()

    @property
    def attrs(self) -> Mapping[str, AnnotationValue]:
        """The attributes as values of Python, which cannot be changed here."""
        items = self.attributes.items()
        return MappingProxyType({key: annotation_value(value) for key, value in items})

    @overload
    def with_attr(self, attr_key_or_dict: Mapping[str, object], /) -> Self: ...
    @overload
    def with_attr(self, attr_key_or_dict: str, attr_value: object, /) -> Self: ...
    def with_attr(
        self, attr_key_or_dict: str | Mapping[str, object], attr_value: object = None, /
    ) -> Self:
        """A copy of the function with an attribute set, or with those of a dictionary.

        Raises ValueError for what cannot be an attribute.
        """
        given = attr_key_or_dict
        copy = self.clone()
        new = {given: attr_value} if isinstance(given, str) else given
        copy.attributes.update({k: annotation_attr(value) for k, value in new.items()})
        return copy

    def with_attrs(self, attr_map: Mapping[str, object]) -> Self:
        """A copy of the function with the attributes of a dictionary set."""
        return self.with_attr(attr_map)

    def without_attr(self, key: str) -> Self:
        """A copy of the function without an attribute."""
        copy = self.clone()
        copy.attributes.pop(key, None)
        return copy
