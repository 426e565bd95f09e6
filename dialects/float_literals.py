"""Bits of floats in text: `dense<0xFF800000> : tensor<f32>`.

MLIR prints infinities and NaN so. xDSL's parser reads an element of this form as the
number 4286578688.
"""

from __future__ import annotations

import re
from typing import Any, cast

from xdsl.dialects.builtin import AnyFloat, BytesAttr, DenseIntOrFPElementsAttr

_ELEMENT = re.compile(r"[^\[\],\s]+")


DenseAttr = DenseIntOrFPElementsAttr[Any]


def with_hexadecimal_floats(attr: DenseAttr, text: str) -> DenseAttr:
    """The elements of floats that `text`, which was read as `attr`, has in hexadecimal.

    Elements are bits where they begin with `0x`; the others stay. Strings of bytes and
    elements of other types are read correctly and returned as they are.
    """
    element = attr.get_element_type()
    opening, closing = text.find("<"), text.find(">")
    literal = text[opening + 1 : closing]
    if not isinstance(element, AnyFloat) or '"' in literal or "x" not in literal.lower():
        return attr
    size = element.compile_time_size
    data = bytearray(attr.data.data)
    words = cast("list[str]", _ELEMENT.findall(literal))
    for index, word in enumerate(words):
        if word[:2].lower() == "0x":
            bits = int(word, 16).to_bytes(max(size, len(word) // 2), "little")[:size]
            repeat = 1 if len(words) > 1 else len(data) // size
            data[index * size : (index + repeat) * size] = bits * repeat
    return DenseIntOrFPElementsAttr(attr.type, BytesAttr(bytes(data)))
