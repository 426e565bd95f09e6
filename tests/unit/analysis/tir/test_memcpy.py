"""Loops that copy contiguous memory: what is accepted, and the reason for the rest."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm import tvmscript
from xdsl_tvm.analysis.tir.memcpy import Memcpy, identify_memcpy
from xdsl_tvm.dialects import tir

VECTOR = "T.Buffer(1024)"
MATRIX = "T.Buffer((32, 32))"
HALF = [(0, 32), (0, 32)]


def loops_of(kinds: tuple[str, str], extents: str, store: str) -> list[tir.ForOp]:
    """The loops of a nest that stores once, from outer to inner."""
    names = "i, j" if "," in extents else "i"
    grid = f"T.grid({extents})" if "," in extents else f"T.serial({extents})"
    module = tvmscript.parse(
        "from tvm.script import tir as T\n"
        "@T.prim_func\n"
        f"def f(A: {kinds[0]}, B: {kinds[1]}, n: T.int32):\n"
        f"    for {names} in {grid}:\n"
        f"        {store}\n"
    )
    assert isinstance(module, ModuleOp)
    return [op for op in module.walk() if isinstance(op, tir.ForOp)]


def shown(found: Memcpy | str) -> object:
    """The regions of a copy as numbers and text, or the reason."""
    if isinstance(found, str):
        return found
    return tuple(
        " ".join(f"[{each.min}, {each.extent})" for each in region)
        for region in (found.source, found.destination)
    )


def region(*ranges: tuple[object, int]) -> str:
    return " ".join(f"[{low}, {extent})" for low, extent in ranges)


WHOLE = region((0, 1024))
SQUARE = region((0, 32), (0, 32))
ROW = region(("(%i * 32)", 32))
LINE = region(("%i", 1), (0, 32))


# CASE: LowerAsyncDMA.1
@pytest.mark.parametrize(
    ("kinds", "extents", "store", "expected"),
    [
        ((VECTOR, VECTOR), "1024", "B[i] = A[i]", [(WHOLE, WHOLE)]),
        ((MATRIX, VECTOR), "1024", "B[i] = A[i // 32, i % 32]", [(SQUARE, WHOLE)]),
        ((VECTOR, MATRIX), "1024", "B[i // 32, i % 32] = A[i]", [(WHOLE, SQUARE)]),
        (
            (VECTOR, VECTOR),
            "32, 32",
            "B[i * 32 + j] = A[i * 32 + j]",
            [(WHOLE, WHOLE), (ROW, ROW)],
        ),
        (
            (VECTOR, VECTOR),
            "32, 32",
            "B[j + i * 32] = A[i * 32 + j]",
            [(WHOLE, WHOLE), (ROW, ROW)],
        ),
        ((MATRIX, MATRIX), "32, 32", "B[i, j] = A[i, j]", [(SQUARE,) * 2, (LINE,) * 2]),
        (
            (MATRIX, MATRIX),
            "32, 32",
            "B[j, i] = A[j, i]",
            [(SQUARE,) * 2, "Mismatch between loop iterations (32) and number of src"],
        ),
        (
            ("T.Buffer((4, 32))", "T.Buffer(32)"),
            "4, 32",
            "B[j] = A[i, j]",
            ["does not form a bijective transform", (LINE, region((0, 32)))],
        ),
        (
            ("T.Buffer(32)", "T.Buffer((4, 32))"),
            "4, 32",
            "B[i, j] = A[j]",
            ["does not form a bijective transform", (region((0, 32)), LINE)],
        ),
    ],
)
def test_copies(
    kinds: tuple[str, str], extents: str, store: str, expected: list[object]
) -> None:
    for loop, wanted in zip(loops_of(kinds, extents, store), expected, strict=True):
        found = shown(identify_memcpy(loop))
        if isinstance(wanted, str):
            assert isinstance(found, str)
            assert wanted in found
        else:
            assert found == wanted


# CASE: LowerAsyncDMA.2
@pytest.mark.parametrize(
    ("kinds", "extents", "store", "reason"),
    [
        (
            (VECTOR, VECTOR),
            "1024",
            "B[i] = A[i] + T.float32(1)",
            "the value that is stored is not a load",
        ),
        (
            (VECTOR, VECTOR),
            "1024",
            "if i < 1000: B[i] = A[i]",
            "the body is not a store, but a tir.if",
        ),
        (
            ("T.Buffer(2048)", VECTOR),
            "1024",
            "B[i] = A[i * 2]",
            "Mismatch between loop iterations (1024) and number of src indices (2047)",
        ),
        (
            (VECTOR, "T.Buffer(2048)"),
            "1024",
            "B[i * 2] = A[i]",
            "Mismatch between loop iterations (1024) and number of dst indices (2047)",
        ),
        ((MATRIX, MATRIX), "32, 32", "B[j, i] = A[i, j]", "different source: %i and %j"),
        ((MATRIX, MATRIX), "32, 32", "B[i, j] = A[j, i]", "different source: %j and %i"),
        ((VECTOR, VECTOR), "1024", "B[i] = A[1023 - i]", "different scale: -1 and 1"),
        (
            (VECTOR, VECTOR),
            "1024",
            "B[i] = A[T.max(0, i - n)]",
            "does not form a bijective transform",
        ),
        (
            (VECTOR, "T.Buffer(1024, 'int32')"),
            "1024",
            "B[B[i]] = B[i]",
            "an index depends on what the loop computes or loads",
        ),
        (
            (VECTOR, "T.Buffer((32, 32), axis_separators=[1])"),
            "1024",
            "B[i // 32, i % 32] = A[i]",
            "a buffer has several physical dimensions",
        ),
    ],
)
def test_reasons(kinds: tuple[str, str], extents: str, store: str, reason: str) -> None:
    found = identify_memcpy(loops_of(kinds, extents, store)[0])
    assert isinstance(found, str)
    assert reason in found


def test_extents_that_are_not_literals() -> None:
    (loop,) = loops_of((VECTOR, VECTOR), "n", "B[i + n] = A[i]")
    assert shown(identify_memcpy(loop)) == ("[0, %n)", "[%n, %n)")


def test_backwards_in_both_memories() -> None:
    (loop,) = loops_of((VECTOR, VECTOR), "64", "B[63 - i] = A[163 - i]")
    assert shown(identify_memcpy(loop)) == (region((100, 64)), region((0, 64)))
