"""RemoveWeightLayoutRewriteBlock: what functions compute, and what it refuses."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from textwrap import dedent

import numpy as np
import numpy.typing as npt
import pytest
from support.ir import parse as parse_ir
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.tir.remove_weight_layout_rewrite_block import (
    RemoveWeightLayoutRewriteBlock,
)
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse

REMOVE = RemoveWeightLayoutRewriteBlock()


def script(text: str) -> ModuleOp:
    module = parse(
        "from tvm.script import tir as T\n\n@T.prim_func\n" + dedent(text).lstrip()
    )
    assert isinstance(module, ModuleOp)
    return module


def removed(module: ModuleOp, *, skip: bool = False) -> ModuleOp:
    module = module.clone()
    one = RemoveWeightLayoutRewriteBlock(skip_ndarray_rewrite=skip)
    one.apply(new_context(), module)
    module.verify()
    return module


@dataclass(frozen=True)
class Part:
    """One dimension of a layout: some digits of one index."""

    name: str
    step: int
    size: int
    is_reversed: bool = False

    def of(self, index: int) -> int:
        digit = index // self.step % self.size
        return self.size - 1 - digit if self.is_reversed else digit

    def __str__(self) -> str:
        digit = f"{self.name} // {self.step} % {self.size}"
        return f"{self.size - 1} - ({digit})" if self.is_reversed else digit


class Layout:
    """A random layout of a matrix: sides split in two, and all parts in any order."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.shape = rng.choice((4, 6)), rng.choice((2, 4, 6))
        self.parts: list[Part] = []
        for name, size in zip("ij", self.shape, strict=True):
            factor = rng.choice([each for each in (1, 2, 3) if size % each == 0])
            self.parts.append(Part(name, factor, size // factor))
            if factor > 1 or rng.random() < 0.5:
                self.parts.append(Part(name, 1, factor, rng.random() < 0.2))
        rng.shuffle(self.parts)
        self.packed = tuple(part.size for part in self.parts)
        self.index = ", ".join(map(str, self.parts))

    def place(self, i: int, j: int) -> tuple[int, ...]:
        """Where an element goes."""
        return tuple(part.of(i if part.name == "i" else j) for part in self.parts)

    def pack(self, weight: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        found = np.zeros(self.packed, weight.dtype)
        for i, j in np.ndindex(self.shape):
            found[self.place(i, j)] = weight[i, j]
        return found

    def copy_and_use(self) -> str:
        """Statements that pack `W`, and add the columns of what is packed into `C`."""
        high, wide = self.shape
        text = f"""
            P = T.alloc_buffer({self.packed}, "int32")
            for x, y in T.grid({high}, {wide}):
                with T.block("pack"):
                    i, j = T.axis.remap("SS", [x, y])
                    T.reads(W[i, j])
                    T.writes(P[{self.index}])
                    T.block_attr({{"meta_schedule.layout_rewrite_preproc": True}})
                    P[{self.index}] = W[i, j]
            for x, y in T.grid({high}, {wide}):
                with T.block("use"):
                    i, j = T.axis.remap("SR", [x, y])
                    T.reads(P[{self.index}])
                    T.writes(C[i])
                    with T.init():
                        C[i] = 0
                    C[i] = C[i] * 3 + P[{self.index}]
        """
        return dedent(text).strip()


def indented(text: str, depth: int) -> str:
    lines = text.splitlines()
    return "\n".join("    " * depth + line for line in lines).lstrip()


@pytest.mark.parametrize("seed", range(12))
def test_parameters_are_passed_packed(seed: int) -> None:
    layout = Layout(seed)
    high, wide = layout.shape
    module = script(f"""
def main(W: T.Buffer(({high}, {wide}), "int32"), C: T.Buffer(({high},), "int32")):
    with T.block("root"):
        {indented(layout.copy_and_use(), 2)}
""")
    rng = np.random.default_rng(seed)
    weight = rng.integers(-9, 9, layout.shape, dtype=np.int32)
    expected, found = np.zeros(high, np.int32), np.zeros(high, np.int32)
    interpret(module)["main"](weight, expected)
    interpret(removed(module))["main"](layout.pack(weight), found)
    assert expected.any()
    np.testing.assert_array_equal(found, expected)


def constant_module(layout: Layout, weight: npt.NDArray[np.int32]) -> ModuleOp:
    """The same with a constant weight."""
    high, wide = layout.shape
    return script(f"""
def main(C: T.Buffer(({high},), "int32")):
    p = T.allocate_const({weight.tolist()}, "int32", [{high}, {wide}])
    W = T.decl_buffer(({high}, {wide}), "int32", data=p)
    with T.block("root"):
        {indented(layout.copy_and_use(), 2)}
""")


@pytest.mark.parametrize("seed", range(12))
def test_constants_are_packed(seed: int) -> None:
    layout = Layout(seed)
    rng = np.random.default_rng(seed)
    weight = rng.integers(-9, 9, layout.shape, dtype=np.int32)
    module = constant_module(layout, weight)
    check_semantics(module, [REMOVE], tolerance=0.0)
    assert "tir.alloc_buffer" not in str(removed(module))


def test_contents_stay_in_order() -> None:
    # CASE: RemoveWeightLayoutRewriteBlock.3
    layout = Layout(4)
    high, _ = layout.shape
    weight = np.arange(math.prod(layout.shape), dtype=np.int32).reshape(layout.shape)
    given = np.empty(layout.shape, np.int32)
    for i, j in np.ndindex(layout.shape):
        # The weight that is packed in the order of the bytes of `weight`.
        place = np.ravel_multi_index(layout.place(i, j), layout.packed)
        given[i, j] = weight.ravel()[place]
    expected, found = np.zeros(high, np.int32), np.zeros(high, np.int32)
    interpret(constant_module(layout, given))["main"](expected)
    interpret(removed(constant_module(layout, weight), skip=True))["main"](found)
    np.testing.assert_array_equal(found, expected)


def test_elements_of_all_types_are_moved_as_they_are() -> None:
    module = parse_ir("""
    tir.func @main(%c: !tir.handle) {
      %C = tir.match_buffer %c : !tir.buffer<2x2xbf16>
      %c0 = tir.const 0 : i32
      %c2 = tir.const 2 : i32
      %p = tir.allocate_const dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xbf16>
        : !tir.ptr<bf16>
      %W = tir.decl_buffer %p : !tir.buffer<2x2xbf16>
      %P = tir.alloc_buffer : !tir.buffer<2x2xbf16>
      tir.for %i = %c0 to %c2 {
        tir.for %j = %c0 to %c2 {
          tir.block (%vi : S in [%c0 to %c2] = %i, %vj : S in [%c0 to %c2] = %j)
            annotations {meta_schedule.layout_rewrite_preproc = true} {
            %x = tir.load %W[%vi, %vj] : bf16
            tir.store %x, %P[%vj, %vi] : bf16
          }
        }
      }
      tir.for %i = %c0 to %c2 {
        tir.for %j = %c0 to %c2 {
          %x = tir.load %P[%i, %j] : bf16
          tir.store %x, %C[%i, %j] : bf16
        }
      }
    }
    """)
    check_semantics(module, [REMOVE], tolerance=0.0)
    assert "dense<[[1.000000e+00, 3.000000e+00]" in str(removed(module))


PLAIN = """
def main(V: T.Buffer((4, 6), "int32"), C: T.Buffer((4,), "int32"), n: T.int32):
    with T.block("root"):
        {alloc}
        P = T.alloc_buffer({packed}, "int32")
        for x, y in T.grid(4, 6):
            with T.block("pack"):
                i, j = T.axis.remap("SS", [x, y])
                T.block_attr({{"meta_schedule.layout_rewrite_preproc": 1}})
                {body}
        for x in range(4):
            with T.block("use"):
                i = T.axis.spatial(4, x)
                {use}
"""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"body": "P[j, i] = V[i, j] + 1"}, "must load one element and store it"),
        ({"body": "P[j, i] = V[i, 0]"}, "indices of its load must be different vari"),
        ({"body": "P[j, i] = V[i, i]"}, "indices of its load must be different vari"),
        ({"body": "P[j, n] = V[i, j]"}, "indices of its store must be computed from"),
        ({"body": "C[i] = V[i, j]"}, "must copy to a buffer of a tir.alloc_buffer"),
        (
            {"body": "if i < 2: P[j, i] = V[i, j]"},
            "does more than copy an element: tir.if",
        ),
        (
            {"body": 'D = T.alloc_buffer((1,), "int32"); P[j, i] = V[i, j]'},
            "declares a buffer by tir.alloc_buffer",
        ),
        (
            {"body": 'M = T.match_buffer(V[i, j], (), "int32"); P[j, i] = M[()]'},
            "declares a buffer by tir.match_region",
        ),
        (
            {"use": "C[i] = P[0, i] + V[i, 0]"},
            "the weight is used elsewhere, by tir.load",
        ),
        ({"use": "P[0, i] = 1; C[i] = P[0, i]"}, "the copy is written elsewhere"),
        (
            {"alloc": 'W = T.alloc_buffer((4, 6), "int32")', "body": "P[j, i] = W[i, j]"},
            "the weight is neither a parameter nor a constant",
        ),
        ({"packed": "(6, n)"}, "the copy must have constant extents"),
    ],
)
def test_what_is_no_copy_is_refused(changes: dict[str, str], message: str) -> None:
    # CASE: RemoveWeightLayoutRewriteBlock.5
    parts = {
        "alloc": "T.evaluate(0)",
        "packed": "(6, 4)",
        "body": "P[j, i] = V[i, j]",
        "use": "C[i] = P[0, i]",
    }
    removed(script(PLAIN.format(**parts)))
    parts |= changes
    for key, depth in (("body", 4), ("use", 4)):
        parts[key] = indented(parts[key].replace("; ", "\n"), depth)
    with pytest.raises(PassFailedException, match=message):
        removed(script(PLAIN.format(**parts)))


CONSTANT = """
def main(C: T.Buffer((4,), "int32")):
    p = T.allocate_const([0, 1, 2, 3], "int32", [4])
    W = T.decl_buffer(({weight},), "int32", data=p)
    {more}
    with T.block("root"):
        P = T.alloc_buffer(({packed},), "int32")
        for x in range(4):
            with T.block("pack"):
                i = T.axis.spatial(4, x)
                T.block_attr({{"meta_schedule.layout_rewrite_preproc": 1}})
                P[{index}] = W[i]
        for x in range(4):
            C[x] = P[x]
"""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"packed": "5"}, "the weight 4 and the copy 5; they must have equally many"),
        ({"weight": "3"}, "the constant has 4 elements, the weight 3"),
        ({"index": "i // 2"}, "copies several elements of the weight to one place"),
        ({"index": "i + 1"}, "copies outside of the extent 4"),
        ({"index": "5 // i"}, "an index of its store is no sum or quotient"),
        ({"index": "T.bitwise_xor(i, 1)"}, "an index of its store is no sum or quotient"),
        ({"more": 'V = T.decl_buffer((4,), "int32", data=p)'}, "view it once"),
    ],
)
def test_what_is_no_rearrangement_is_refused(
    changes: dict[str, str], message: str
) -> None:
    parts = {"packed": "4", "weight": "4", "index": "3 - i", "more": "T.evaluate(0)"}
    check_semantics(script(CONSTANT.format(**parts)), [REMOVE], tolerance=0.0)
    with pytest.raises(PassFailedException, match=message):
        removed(script(CONSTANT.format(**(parts | changes))))
