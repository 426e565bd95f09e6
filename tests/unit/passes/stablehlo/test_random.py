"""Random bits are those of JAX on a CPU, which these numbers are from."""

from __future__ import annotations

import numpy as np
import pytest

import xdsl_tvm

STATE = np.array([0xFFFFFFFF00000007, 0xFFFFFFFFFFFFFFFE], np.uint64)
THREEFRY = "61e7f153 7f9d9b91 d33eda55 29391cec fc82002f 2e20c3f8"
PHILOX = "bd863edd cd20ff45 d51d7e90 d2e1a91d 476b7398 b8efcb8f"


@pytest.mark.parametrize(
    ("algorithm", "type_", "following", "words"),
    [
        ("THREE_FRY", "3x2xui32", 1, THREEFRY),
        ("THREE_FRY", "5xui32", 1, THREEFRY),
        ("THREE_FRY", "3xui64", 1, THREEFRY),
        ("THREE_FRY", "5xui8", 1, THREEFRY),
        ("PHILOX", "3x2xui32", 0, PHILOX),
        ("DEFAULT", "3xui64", 0, PHILOX),
    ],
)
def test_bits_and_the_next_state(
    algorithm: str, type_: str, following: int, words: str
) -> None:
    state = "tensor<2xui64>"
    text = f"""
    func.func public @main(%s: {state}) -> ({state}, tensor<{type_}>) {{
      %n, %b = stablehlo.rng_bit_generator %s, algorithm = {algorithm}
        : ({state}) -> ({state}, tensor<{type_}>)
      return %n, %b : {state}, tensor<{type_}>
    }}
    """
    after, bits = xdsl_tvm.interpret(text)["main"](STATE)
    # Both counters wrap around 2^64; Philox carries into its upper half.
    assert after.tolist() == [STATE[0], following]
    expected = np.array([int(word, 16) for word in words.split()], np.uint32)
    if bits.dtype == np.uint64:
        expected = expected.view(np.uint64)
    expected = expected[: bits.size].astype(bits.dtype).reshape(bits.shape)
    np.testing.assert_array_equal(bits, expected, strict=True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("2x4xf32", "2x4xui32"),
        ("2x4xui32", "2x4x4xui8"),
        ("2x4xf32", "2x4x2xi16"),
        ("2x4xui16", "2x2xf32"),
        ("2x4xi32", "2xui64"),
    ],
)
def test_bitcasts(before: str, after: str) -> None:
    if after in ("2x2xf32", "2xui64"):
        # The elements along the last dimension are one.
        factor = 2
        before = f"{before[:2]}{8 // factor // 2}x{factor}x{before[4:]}"
        after = f"{before[:2]}{8 // factor // 2}x{after.rpartition('x')[2]}"
    text = f"""
    func.func public @main(%x: tensor<{before}>) -> tensor<{after}> {{
      %0 = stablehlo.bitcast_convert %x : (tensor<{before}>) -> tensor<{after}>
      return %0 : tensor<{after}>
    }}
    """
    names = {"i": "int", "u": "uint", "f": "float"}

    def numpy_of(type_: str) -> tuple[list[int], str]:
        *shape, element = type_.split("x")
        width = "".join(each for each in element if each.isdigit())
        return list(map(int, shape)), names[element[0]] + width

    shape, dtype = numpy_of(before)
    wanted, result = numpy_of(after)
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    x = np.arange(1, size + 1, dtype=np.uint8).view(dtype).reshape(shape)
    found = xdsl_tvm.interpret(text)["main"](x)
    expected = x.reshape(-1).view(result).reshape(wanted)
    np.testing.assert_array_equal(found, expected, strict=True)


def test_the_inverse_of_the_error_function() -> None:
    text = """
    func.func public @main(%x: tensor<9xf32>) -> tensor<9xf32> {
      %0 = chlo.erf_inv %x : tensor<9xf32> -> tensor<9xf32>
      return %0 : tensor<9xf32>
    }
    """
    x = np.array([-1, -0.999, -0.5, -1e-3, 0, 0.3, 0.9, 0.99999, 1], np.float32)
    expected = [-np.inf, -2.3267577, -0.47693628, -0.00088622712, 0, 0.27246276, 1.163087,
                3.1232049, np.inf]  # fmt: skip
    found = xdsl_tvm.interpret(text)["main"](x)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_convolution_without_a_window_is_empty() -> None:
    text = """
    func.func public @main(%x: tensor<1x2x1xf32>, %w: tensor<5x1x1xf32>)
        -> tensor<1x0x1xf32> {
      %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
        window = {stride = [1], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate = [1],
        reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
        : (tensor<1x2x1xf32>, tensor<5x1x1xf32>) -> tensor<1x0x1xf32>
      return %0 : tensor<1x0x1xf32>
    }
    """
    x, w = np.ones((1, 2, 1), np.float32), np.ones((5, 1, 1), np.float32)
    assert xdsl_tvm.interpret(text)["main"](x, w).shape == (1, 0, 1)
