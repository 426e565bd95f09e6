"""Relax quantisation against values computed by hand."""

import ml_dtypes
import numpy as np
from support.relax_programs import operator


def test_quantize():
    run = operator(
        "relax.quantize %a, %b, %c axis 1 out_dtype i8",
        *("tensor<2x2xf32>", "tensor<2xf32>", "tensor<2xi8>"),
        result="tensor<2x2xi8>",
    )
    data = np.array([[1.25, 1.25], [-3.0, 90.0]], np.float32)
    found = run(data, np.array([0.5, 0.25], np.float32), np.array([0, -3], np.int8))
    assert found.tolist() == [[2, 2], [-6, 127]]
    assert found.dtype == np.int8


def test_quantize_to_floats():
    run = operator(
        "relax.quantize %a, %b, %c axis 0 out_dtype f8E4M3FN",
        *("tensor<3xf32>", "tensor<f32>", "tensor<f16>"),
        result="tensor<3xf8E4M3FN>",
    )
    data = np.array([0.25, 3000, -3000], np.float32)
    found = run(data, np.array(2, np.float32), np.array(0, np.float16))
    assert found.dtype == ml_dtypes.float8_e4m3fn
    assert found.astype(np.float32).tolist() == [0.125, 448, -448]


def test_dequantize():
    for dtype, kind in (("f32", np.float32), ("f16", np.float16)):
        run = operator(
            f"relax.dequantize %a, %b, %c axis -1 out_dtype {dtype}",
            *("tensor<2xi32>", "tensor<2xf32>", "tensor<2xi8>"),
            result=f"tensor<2x{dtype}>",
        )
        data = np.array([7, 10**6], np.int32)
        found = run(data, np.array([0.5, 1], np.float32), np.array([3, 0], np.int8))
        assert found.dtype == kind
        assert found.tolist() == [2, 10**6 if dtype == "f32" else 65504]
