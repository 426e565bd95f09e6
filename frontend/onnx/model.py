"""Files of models: read, and checked before they are converted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import cast

import onnx
from google.protobuf.message import DecodeError, Message
from onnx import ModelProto, checker

from xdsl_tvm.frontend.onnx.errors import OnnxError, one_line

# The stubs of onnx leave a part of its type out.
_check: Callable[[ModelProto], None] = vars(checker)["check_model"]


def load(model: ModelProto | str | PathLike[str]) -> tuple[ModelProto, Path | None]:
    """The model, and the folder of its external data, None where that is not known.

    Raises OnnxError for a file that is no model and OSError for one that cannot be read.
    """
    if isinstance(model, ModelProto):
        return model, None
    if not isinstance(cast(object, model), str | PathLike):
        raise OnnxError(
            "from_onnx: the model must be a ModelProto or the path of its file, not "
            f"{type(model).__name__}"
        )
    path = Path(model)
    proto = ModelProto()
    try:
        proto.ParseFromString(path.read_bytes())
    except DecodeError:
        raise OnnxError(
            f"{path}: no ONNX model, which is a message of protobuf"
        ) from None
    return proto, path.parent


def checked(model: ModelProto) -> None:
    """Raises OnnxError for a model that the standard does not allow."""
    if not model.HasField("graph"):
        raise OnnxError("the model has no graph; is the file an ONNX model?")
    if not model.opset_import:
        raise OnnxError("the model does not say its opset, in opset_import")
    _check_text(model)
    newest = onnx.defs.onnx_opset_version()
    for each in model.opset_import:
        if each.domain in ("", "ai.onnx") and not 1 <= each.version <= newest:
            raise OnnxError(
                f"the model is of opset {each.version}; this version of the package "
                f"onnx knows 1 to {newest}"
            )
    try:
        _check(_without_data(model))
    except checker.ValidationError as error:
        raise OnnxError(f"the model is not valid: {one_line(error)}") from None
    except ValueError as error:
        raise OnnxError(f"the model cannot be checked: {one_line(error)}") from None


def _check_text(model: ModelProto) -> None:
    """Raises OnnxError for names that are no text, which protobuf reads as bytes."""
    pending: list[Message] = [model]
    while pending:
        for field, value in pending.pop().ListFields():
            if field.type not in (field.TYPE_STRING, field.TYPE_MESSAGE):
                continue
            found = cast("object", value)
            is_one = isinstance(found, str | bytes | Message)
            each: object
            for each in [found] if is_one else cast("Iterable[object]", found):
                if isinstance(each, bytes):
                    raise OnnxError(
                        f"the model is not valid: the field '{field.name}' holds bytes "
                        "that are not UTF-8 text"
                    )
                if isinstance(each, Message):
                    pending.append(each)


def _without_data(model: ModelProto) -> ModelProto:
    """What the checker of onnx looks at: not the data, which is checked as it is read.

    The checker asks for types of inputs and outputs, which `from_onnx` can be told, or
    does not need.
    """
    result = ModelProto(ir_version=model.ir_version)
    result.opset_import.extend(model.opset_import)
    result.functions.extend(model.functions)
    graph = result.graph
    graph.name = model.graph.name or "graph"
    graph.node.extend(model.graph.node)
    graph.input.extend(model.graph.input)
    graph.output.extend(model.graph.output)
    for each in (*graph.input, *graph.output):
        if each.type.WhichOneof("value") in (None, "tensor_type"):
            tensor = each.type.tensor_type
            tensor.elem_type = tensor.elem_type or onnx.TensorProto.FLOAT
            tensor.shape.SetInParent()
    for tensor in model.graph.initializer:
        stub = graph.initializer.add()
        stub.name, stub.data_type = tensor.name, tensor.data_type
        stub.dims.append(0)
    return result
