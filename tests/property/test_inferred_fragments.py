"""Random kernels with WMMA: what InferFragment records is how fragments are used.

The kernels compute the same before and after the pass, and as numpy does. With one more
call, by which a fragment has two shapes, two layouts or no value, they are refused.
`XDSL_TVM_FUZZ` sets the number of kernels.
"""

from __future__ import annotations

import os
import random
import re
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pytest
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.tir.infer_fragment import InferFragment
from xdsl_tvm.registry import new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "4"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
Array: TypeAlias = np.ndarray[Any, Any]
Shape: TypeAlias = tuple[int, int, int]
SHAPES: tuple[Shape, ...] = ((16, 16, 16), (8, 32, 16), (32, 8, 16))
DTYPES = (("f16", "f32"), ("f16", "f16"), ("i8", "i32"))
NUMPY = {"f16": np.float16, "f32": np.float32, "i8": np.int8, "i32": np.int32}
SCOPES = {"a": "matrix_a", "b": "matrix_b", "c": "accumulator"}
FILL = 3


@dataclass(frozen=True)
class Fragment:
    """Fragments of one allocation, and the layout that the pass should record."""

    name: str
    kind: str
    dtype: str
    shape: Shape
    count: int
    layout: str

    @property
    def rows(self) -> int:
        return self.shape[2] if self.kind == "b" else self.shape[0]

    @property
    def columns(self) -> int:
        return self.shape[2] if self.kind == "a" else self.shape[1]

    @property
    def elements(self) -> int:
        return self.rows * self.columns * self.count

    @property
    def types(self) -> str:
        return f'{self.dtype}, "wmma.{SCOPES[self.kind]}"'


@dataclass(frozen=True)
class Matrix:
    """A parameter: rows of a matrix, or columns, with more elements than they need."""

    name: str
    fragment: Fragment
    by_columns: bool
    stride: int

    @property
    def shape(self) -> tuple[int, int]:
        fragment = self.fragment
        return (fragment.columns if self.by_columns else fragment.rows, self.stride)

    def of(self, array: Array) -> Array:
        """The matrix in the array of the parameter."""
        fragment = self.fragment
        if self.by_columns:
            return array[:, : fragment.rows].T
        return array[:, : fragment.columns]


@dataclass(frozen=True)
class Sum:
    """`output = start + the sum of the products of pairs`; no start is that of a fill."""

    output: Matrix
    start: Matrix | None
    pairs: list[tuple[Matrix, Matrix]]


class Kernel:
    """Sums of products, each in fragments of its own."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._factor, self._result = self._rng.choice(DTYPES)
        self._lines: list[str] = []
        self.fragments: list[Fragment] = []
        self.matrices: list[Matrix] = []
        self.sums = [self._sum() for _ in range(self._rng.randrange(1, 4))]

    # ---- the parts ----

    def _fragment(self, kind: str, shape: Shape, layout: str | None = None) -> Fragment:
        if layout is None:
            layouts = ("row_major", "") if kind == "c" else ("row_major", "col_major")
            layout = self._rng.choice(layouts)
        dtype = self._result if kind == "c" else self._factor
        name, count = f"%{kind}{len(self.fragments)}", self._rng.randrange(1, 4)
        self.fragments.append(Fragment(name, kind, dtype, shape, count, layout))
        return self.fragments[-1]

    def _matrix(self, fragment: Fragment, by_columns: bool) -> Matrix:
        least = fragment.rows if by_columns else fragment.columns
        stride = least + 8 * self._rng.randrange(3)
        name = f"%m{len(self.matrices)}"
        self.matrices.append(Matrix(name, fragment, by_columns, stride))
        return self.matrices[-1]

    def _pointer(self, fragment: Fragment) -> str:
        """The allocation, or a view of it."""
        if self._rng.random() < 0.7:
            return fragment.name
        view = f"%v{len(self._lines)}"
        buffer = f"!tir.buffer<{fragment.elements}x{fragment.types}>"
        self._lines += [
            f'{view}b = tir.decl_buffer "V" {fragment.name} : {buffer}',
            f"{view} = tir.data {view}b : !tir.ptr<{fragment.types}>",
        ]
        return view

    def _call(self, name: str, operands: list[tuple[str, str]]) -> None:
        values, types = zip(*operands, strict=True)
        text = f'tir.call "tvm_{name}"({", ".join(values)}) : ({", ".join(types)}) -> ()'
        self._lines.append(text)

    def _tile(
        self, fragment: Fragment, index: int, shape: Shape | None = None
    ) -> list[tuple[str, str]]:
        pointer = (self._pointer(fragment), f"!tir.ptr<{fragment.types}>")
        numbers = (*(shape or fragment.shape), index)
        return [pointer, *((f"%s{number}", "i32") for number in numbers)]

    def _fill(self, fragment: Fragment, index: int, shape: Shape | None = None) -> None:
        value = (f"%fill_{fragment.dtype}", fragment.dtype)
        self._call("fill_fragment", [*self._tile(fragment, index, shape), value])

    def _move(self, what: str, matrix: Matrix, index: int, layout: str = "") -> None:
        layout = layout or ("col_major" if matrix.by_columns else "row_major")
        memory = [
            (matrix.name, f"!tir.ptr<{matrix.fragment.dtype}>"),
            (f"%s{matrix.stride}", "i32"),
            (f"%{layout}", "!tir.handle"),
        ]
        self._call(f"{what}_matrix_sync", [*self._tile(matrix.fragment, index), *memory])

    def _multiply(self, *factors: tuple[Fragment, int]) -> None:
        """`d = a * b + d`."""
        operands: list[tuple[str, str]] = []
        for fragment, index in (*factors, factors[0]):
            operands.append((self._pointer(fragment), f"!tir.ptr<{fragment.types}>"))
            operands.append((f"%s{index}", "i32"))
        self._call("mma_sync", operands)

    def _sum(self) -> Sum:
        rng = self._rng
        shape = rng.choice(SHAPES)
        a, b, c = (self._fragment(kind, shape) for kind in "abc")
        at = rng.randrange(c.count)
        start = None
        if c.layout:
            self._fill(c, at)
        else:
            start = self._matrix(c, rng.random() < 0.5)
            self._move("load", start, at)
        pairs: list[tuple[Matrix, Matrix]] = []
        for _ in range(rng.randrange(1, 3)):
            left, right = (self._matrix(one, one.layout == "col_major") for one in (a, b))
            loads = [(left, rng.randrange(a.count)), (right, rng.randrange(b.count))]
            for matrix, index in rng.sample(loads, 2):
                self._move("load", matrix, index)
            self._multiply((c, at), (a, loads[0][1]), (b, loads[1][1]))
            pairs.append((left, right))
        output = self._matrix(c, rng.random() < 0.5)
        self._move("store", output, at)
        return Sum(output, start, pairs)

    # ---- faults ----

    def add_two_shapes(self) -> str:
        """A fragment gets another shape. Returns the error."""
        fragment = self._rng.choice(self.fragments)
        self._fill(fragment, 0, SHAPES[SHAPES.index(fragment.shape) - 1])
        return "tvm_fill_fragment uses a fragment of sizes .* with sizes .*; use one"

    def add_two_layouts(self) -> str:
        """A factor is loaded by rows and by columns."""
        matrix = next(one for one in self.matrices if one.fragment.kind != "c")
        other = "row_major" if matrix.by_columns else "col_major"
        self._move("load", matrix, 0, other)
        layouts = f"{matrix.fragment.layout} with layout {other}"
        return f"tvm_load_matrix_sync uses a fragment of layout {layouts}; use one"

    def add_no_value(self) -> str:
        """A product is added to a fragment that was never filled or loaded."""
        a, b, c = self.fragments[:3]
        self._multiply((self._fragment("c", c.shape, ""), 0), (a, 0), (b, 0))
        return "tvm_mma_sync uses a fragment that must be filled with .* or loaded with"

    def add_mixed_product(self) -> str:
        """Fragments of two shapes are multiplied."""
        a, b, c = self.fragments[:3]
        shape = SHAPES[SHAPES.index(c.shape) - 1]
        other = self._fragment("c", shape, "row_major")
        self._fill(other, 0)
        self._multiply((other, 0), (a, 0), (b, 0))
        return "tvm_mma_sync multiplies fragments of sizes .* and .*; give all of them"

    # ---- the whole ----

    def text(self) -> str:
        params = [f"{one.name}: !tir.ptr<{one.fragment.dtype}>" for one in self.matrices]
        allocations = [
            f"{one.name} = tir.allocate [{one.elements}] : !tir.ptr<{one.types}>"
            for one in self.fragments
        ]
        numbers = sorted({32, *map(int, re.findall(r"%s(\d+)", "\n".join(self._lines)))})
        constants = [f"%s{number} = tir.const {number} : i32" for number in numbers]
        fills = [
            f"%fill_{dtype} = tir.const {FILL}{'.0' * dtype.startswith('f')} : {dtype}"
            for dtype in sorted({self._factor, self._result})
        ]
        return f"""
        tir.func @f({", ".join(params)}) {{
          {chr(10).join([*constants, *fills])}
          %row_major = tir.string "row_major"
          %col_major = tir.string "col_major"
          tir.launch_thread %t = "threadIdx.x" to %s32 {{
            {chr(10).join([*allocations, *self._lines])}
          }}
        }}"""

    def arguments(self, seed: int) -> list[Array]:
        rng = np.random.default_rng(seed)
        return [
            rng.integers(-4, 5, one.shape).astype(NUMPY[one.fragment.dtype])
            for one in self.matrices
        ]

    def check(self, arguments: list[Array]) -> None:
        """The values are small integers, whose sums are exact in all dtypes."""
        by_name = {
            matrix.name: matrix.of(array).astype(np.int64)
            for matrix, array in zip(self.matrices, arguments, strict=True)
        }
        for each in self.sums:
            start = FILL if each.start is None else by_name[each.start.name]
            products = [by_name[a.name] @ by_name[b.name] for a, b in each.pairs]
            found = by_name[each.output.name]
            np.testing.assert_array_equal(found, start + sum(products))


def inferred(module: ModuleOp) -> dict[str, tuple[str, str]]:
    """Shape and layout that allocations state, by name."""
    found: dict[str, tuple[str, str]] = {}
    for op in module.walk():
        if isinstance(op, tir.AllocateOp) and op.annotations is not None:
            notes = [
                op.annotations.data.get(key, StringAttr(""))
                for key in ("fragment_shape", "fragment_layout")
            ]
            shape, layout = (str(note).strip('"') for note in notes)
            found[f"%{op.result.name_hint}"] = (shape, layout)
    return found


def test_fragments_of_random_kernels() -> None:
    for seed in range(FIRST, FIRST + COUNT):
        kernel = Kernel(seed)
        module = parse(kernel.text())
        arguments = kernel.arguments(seed)
        before = [array.copy() for array in arguments]
        interpret(module)["f"](*[array.reshape(-1) for array in before])
        kernel.check(before)
        InferFragment().apply(new_context(), module)
        module.verify()
        assert inferred(module) == {
            one.name: (", ".join(map(str, one.shape)), one.layout)
            for one in kernel.fragments
        }
        after = [array.copy() for array in arguments]
        interpret(module)["f"](*[array.reshape(-1) for array in after])
        for ours, theirs in zip(before, after, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        text = str(module)
        InferFragment().apply(new_context(), module)
        assert str(module) == text


@pytest.mark.parametrize(
    "add",
    [
        Kernel.add_two_shapes,
        Kernel.add_two_layouts,
        Kernel.add_no_value,
        Kernel.add_mixed_product,
    ],
    ids=lambda add: add.__name__,
)
def test_faults(add: Any) -> None:
    for seed in range(FIRST, FIRST + COUNT):
        kernel = Kernel(seed)
        message = add(kernel)
        module = parse(kernel.text())
        with pytest.raises(PassFailedException, match=message):
            InferFragment().apply(new_context(), module)
