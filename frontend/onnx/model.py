"""Files of models: read, and checked before they are converted."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto, checker

from xdsl_tvm.frontend.onnx.errors import OnnxError, one_line


def load(model: ModelProto | str | PathLike[str]) -> tuple[ModelProto, Path | None]:
    """The model, and the folder of its external data, None where that is not known.

    Raises OnnxError for a file that is no model and OSError for one that cannot be read.
    """
    if isinstance(model, ModelProto):
        return model, None
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
    newest = onnx.defs.onnx_opset_version()
    for each in model.opset_import:
        if each.domain in ("", "ai.onnx") and not 1 <= each.version <= newest:
            raise OnnxError(
                f"the model is of opset {each.version}; this version of the package "
                f"onnx knows 1 to {newest}"
            )
    without_data = ModelProto()
    without_data.CopyFrom(model)
    for tensor in without_data.graph.initializer:
        # The checker looks for the files in the working directory.
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
            tensor.ClearField("dims")
            tensor.dims.append(0)
    try:
        checker.check_model(without_data)
    except checker.ValidationError as error:
        raise OnnxError(f"the model is not valid: {one_line(error)}") from None
    except ValueError as error:
        raise OnnxError(f"the model cannot be checked: {one_line(error)}") from None
