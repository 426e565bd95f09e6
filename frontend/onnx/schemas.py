"""The standard's own bodies of operators.

Some are fixed, others depend on attributes and types. The stubs of the package `onnx` do
not have the methods that return them, which `_Bodies` names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from onnx import FunctionProto, NodeProto, TypeProto, defs


class _Bodies(Protocol):
    @property
    def has_function(self) -> bool: ...
    @property
    def has_context_dependent_function(self) -> bool: ...
    @property
    def function_body(self) -> FunctionProto: ...
    def get_context_dependent_function(
        self, node: bytes, input_types: Sequence[bytes]
    ) -> bytes: ...


def has_body(schema: defs.OpSchema) -> bool:
    """Whether the standard defines an operator by others."""
    bodies = cast("_Bodies", schema)
    return bodies.has_function or bodies.has_context_dependent_function


def body_of(
    schema: defs.OpSchema, node: NodeProto, types: Sequence[TypeProto | None]
) -> FunctionProto | None:
    """The body of an operator for a node, None where it has none.

    `types` are those of the inputs, None where one is not known.
    """
    bodies = cast("_Bodies", schema)
    if bodies.has_function:
        return bodies.function_body
    if not bodies.has_context_dependent_function:
        return None
    known = [each for each in types if each is not None]
    if len(known) < len(types):
        return None
    text = bodies.get_context_dependent_function(
        node.SerializeToString(), [each.SerializeToString() for each in known]
    )
    if not text:
        return None
    body = FunctionProto()
    body.ParseFromString(text)
    return body
