"""Dtypes of ONNX by TVM's names, and tensors of files as arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, external_data_helper, numpy_helper

from xdsl_tvm.frontend.onnx.errors import OnnxError, one_line
from xdsl_tvm.frontend.onnx.values import Array

DTYPES: dict[int, str] = {
    TensorProto.FLOAT: "float32",
    TensorProto.UINT8: "uint8",
    TensorProto.INT8: "int8",
    TensorProto.UINT16: "uint16",
    TensorProto.INT16: "int16",
    TensorProto.INT32: "int32",
    TensorProto.INT64: "int64",
    TensorProto.BOOL: "bool",
    TensorProto.FLOAT16: "float16",
    TensorProto.DOUBLE: "float64",
    TensorProto.UINT32: "uint32",
    TensorProto.UINT64: "uint64",
    TensorProto.BFLOAT16: "bfloat16",
    TensorProto.FLOAT8E4M3FN: "float8_e4m3fn",
    TensorProto.FLOAT8E5M2: "float8_e5m2",
}
"""TVM's names of the element types that are converted."""

NUMBERS = {name: number for number, name in DTYPES.items()}
"""The element types by TVM's names."""

_MOST_ELEMENTS = 1 << 34
"""Elements of the largest tensor that is read: a short file may promise any size."""


def dtype_name_of(element_type: int, what: str) -> str:
    """TVM's name of an element type. Raises OnnxError for one that is not converted."""
    if element_type not in DTYPES:
        known_types = TensorProto.DataType.items()
        names = {number: name for name, number in known_types}
        raise OnnxError(
            f"{what}: the element type {names.get(element_type, element_type)} is not "
            f"converted; convert it to one of {', '.join(DTYPES.values())}"
        )
    return DTYPES[element_type]


def array_of(tensor: TensorProto, folder: Path | None) -> Array:
    """The elements of a tensor of a file, whose external data is below `folder`.

    Raises OnnxError for an element type that is not converted, for data of another size
    than the shape says, and for external data outside of the folder.
    """
    what = f"tensor '{tensor.name}'"
    dtype = dtype_name_of(tensor.data_type, what)
    if any(extent < 0 for extent in tensor.dims):
        raise OnnxError(f"{what}: a dimension is negative: {list(tensor.dims)}")
    count = 1
    for extent in tensor.dims:
        count *= extent
    if count > _MOST_ELEMENTS:
        raise OnnxError(f"{what}: it has {count} elements, more than can be read")
    if tensor.data_location == TensorProto.EXTERNAL:
        tensor = _with_external_data(tensor, folder, what)
    try:
        array = numpy_helper.to_array(tensor)
    except (ValueError, TypeError, OverflowError) as error:
        raise OnnxError(
            f"{what}: its data is not that of {dtype}{list(tensor.dims)}: "
            f"{one_line(error)}"
        ) from None
    if array.dtype.name != dtype or array.shape != tuple(tensor.dims):
        raise OnnxError(f"{what}: its data is not that of {dtype}{list(tensor.dims)}")
    return np.ascontiguousarray(array).reshape(array.shape)


def _with_external_data(
    tensor: TensorProto, folder: Path | None, what: str
) -> TensorProto:
    """A copy that holds the data of its file.

    Paths that leave the folder of the model, by links too, are refused: a model from
    elsewhere must not read other files.
    """
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise OnnxError(
            f"{what}: its data is in the file '{location}', whose folder is not known; "
            "give the path of the model, or load it with onnx.load"
        )
    root = folder.resolve()
    is_path = bool(location) and "\0" not in location
    path = (root / location).resolve() if is_path else root
    if path == root or not path.is_relative_to(root):
        raise OnnxError(
            f"{what}: the path '{location}' of its data leaves the folder of the model; "
            "put the data next to the model"
        )
    if not path.is_file():
        raise OnnxError(f"{what}: there is no file '{location}' next to the model")
    for key in ("offset", "length"):
        if entries.get(key) and not entries[key].isdecimal():
            raise OnnxError(
                f"{what}: the {key} '{entries[key]}' of its data is no number"
            )
    copied = TensorProto()
    copied.CopyFrom(tensor)
    try:
        external_data_helper.load_external_data_for_tensor(copied, str(root))
    except Exception as error:
        # onnx checks the file again, with errors of several classes.
        raise OnnxError(f"{what}: {one_line(error)}") from None
    copied.data_location = TensorProto.DEFAULT
    del copied.external_data[:]
    return copied
