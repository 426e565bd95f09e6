"""Random exchanges between lanes compute the same by shuffles of registers."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
from support.ir import parse
from support.ptx_road import assembled, run_lowered
from support.warp_exchanges import NUMPY, Exchange

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.tir.lower_warp_memory import LowerWarpMemory
from xdsl_tvm.registry import new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "6"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))


def test_exchanges_by_shuffles() -> None:
    shuffles = 0
    for seed in range(FIRST, FIRST + COUNT):
        exchange = Exchange.random(random.Random(seed))
        module = parse(exchange.text())
        numpy_dtype = NUMPY[exchange.dtype]
        given = np.arange(exchange.size * exchange.groups, dtype=numpy_dtype)
        expected = exchange.expected(given)
        # Before the pass, the simulator shares the memory among 32 threads.
        if exchange.groups == 1 and exchange.inside:
            found = np.zeros_like(expected)
            interpret(module)["f"](found, given)
            np.testing.assert_array_equal(found, expected)
        LowerWarpMemory().apply(new_context(), module)
        module.verify()
        found = np.zeros_like(expected)
        interpret(module)["f"](found, given)
        np.testing.assert_array_equal(found, expected, str(exchange))
        shuffles += any(
            isinstance(op, tir.CallOp) and op.callee.data == "tvm_warp_shuffle"
            for op in module.walk()
        )
        text = str(module)
        LowerWarpMemory().apply(new_context(), module)
        assert str(module) == text
    assert shuffles > COUNT // 2


PRODUCT = """
tir.func @f(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle)
    attributes {{target = #tir.target<"cuda">}} {{
  %A = tir.match_buffer "A" %a : !tir.buffer<{rows_a}xf16>
  %B = tir.match_buffer "B" %b : !tir.buffer<{rows_b}xf16>
  %C = tir.match_buffer "C" %c : !tir.buffer<{size_c}xf32>
  {constants}
  %no = tir.const false
  %b16 = tir.string ".b16"
  %shape = tir.string "m16n8k16"
  %row = tir.string "row"
  %col = tir.string "col"
  %fp16 = tir.string "fp16"
  %fp32 = tir.string "fp32"
  %shared = tir.string "shared"
  tir.launch_thread %tx = "threadIdx.x" to %c32 {{
    %pa = tir.allocate [{rows_a}] : !tir.ptr<f16, "shared">
    %As = tir.decl_buffer "As" %pa : !tir.buffer<{rows_a}xf16, "shared">
    %pb = tir.allocate [{rows_b}] : !tir.ptr<f16, "shared">
    %Bs = tir.decl_buffer "Bs" %pb : !tir.buffer<{rows_b}xf16, "shared">
    %wa = tir.allocate [{size_wa}] : !tir.ptr<f16, "warp">
    %wb = tir.allocate [{size_wb}] : !tir.ptr<f16, "warp">
    %wc = tir.allocate [{size_wc}] : !tir.ptr<f32, "warp">
    {copies}
    tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
    %own = tir.mul %tx, %c8 : i32
    {body}
  }}
}}"""
LOADED = (
    '(i1, i32, !tir.handle, !tir.ptr<f16, "warp">, i32, '
    '!tir.ptr<f16, "shared">, i32) -> f16'
)
MULTIPLIED = (
    "(!tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, "
    '!tir.ptr<f16, "warp">, i32, !tir.ptr<f16, "warp">, i32, !tir.ptr<f32, "warp">, '
    "i32, i1) -> f32"
)


class Tiles:
    """A product of 16 rows by tiles of 16 columns, all of whose registers are memory of a
    warp, in one of several versions each."""

    def __init__(self, rng: random.Random) -> None:
        self.depth, self.tiles = 16 * rng.choice((1, 2, 3)), rng.choice((1, 2))
        self._versions = (rng.choice((1, 2, 3)), rng.choice((1, 2)))
        self._rng = rng
        self._lines: list[str] = []
        self._count = 0

    def _value(self, text: str) -> str:
        self._count += 1
        name = f"%n{self._count}"
        self._lines.append(f"{name} = {text}")
        return name

    def _sum(self, *terms: str | int) -> str:
        names = [
            term if isinstance(term, str) else self._value(f"tir.const {term} : i32")
            for term in terms
        ]
        self._rng.shuffle(names)
        total = names[0]
        for name in names[1:]:
            total = self._value(f"tir.add {total}, {name} : i32")
        return total

    def _scaled(self, value: str, divisor: int, modulus: int, factor: int) -> str:
        """`value // divisor % modulus * factor`"""
        for name, number in (("floordiv", divisor), ("floormod", modulus)):
            constant = self._value(f"tir.const {number} : i32")
            value = self._value(f"tir.{name} {value}, {constant} : i32")
        constant = self._value(f"tir.const {factor} : i32")
        return self._value(f"tir.mul {value}, {constant} : i32")

    def _load(self, target: str, start: int, source: str, place: str) -> None:
        self._value(
            f'tir.call "ptx_ldmatrix"(%no, %c4, %b16, {target}, '
            f"{self._sum(start, '%own')}, {source}, {place}) : {LOADED}"
        )

    def _multiply(self, depth: int, tile: int) -> None:
        first, second = (
            256 * self._rng.randrange(versions) for versions in self._versions
        )
        row = self._scaled("%tx", 1, 16, self.depth)
        right = self._scaled("%tx", 16, 2, 8)
        self._load("%wa", first, "%pa", self._sum(row, right, 16 * depth))
        row = self._scaled("%tx", 1, 8, self.depth)
        below = self._scaled("%tx", 16, 2, 8 * self.depth)
        right = self._scaled("%tx", 8, 2, 8)
        start = 16 * depth + 16 * tile * self.depth
        self._load("%wb", second, "%pb", self._sum(row, below, right, start))
        halves = [0, 4]
        self._rng.shuffle(halves)
        for half in halves:
            places = (first, second + half, 256 * tile + half)
            a, b, c = (self._sum(place, "%own") for place in places)
            self._value(
                f'tir.call "ptx_mma"(%shape, %row, %col, %fp16, %fp16, %fp32, %wa, {a}, '
                f"%wb, {b}, %wc, {c}, %no) : {MULTIPLIED}"
            )

    def text(self) -> str:
        steps = [(d, t) for d in range(self.depth // 16) for t in range(self.tiles)]
        self._rng.shuffle(steps)
        for tile in range(self.tiles):
            start = self._sum(256 * tile)
            self._value(
                f'tir.call "mma_fill"(%c8, %wc, {start}) '
                ': (i32, !tir.ptr<f32, "warp">, i32) -> f32'
            )
        for depth, tile in steps:
            self._multiply(depth, tile)
        memory = self._value("tir.data %C : !tir.ptr<f32>")
        stride = self._sum(16 * self.tiles)
        for tile in range(self.tiles):
            column, end = self._sum(16 * tile), self._sum(256 * self.tiles - 16 * tile)
            pointer = self._value(
                f"tir.access_ptr w {memory}[{column} to {column} + {end}] : !tir.ptr<f32>"
            )
            start = self._sum(256 * tile)
            self._value(
                f'tir.call "mma_store"(%c16, %c16, {pointer}, %wc, {start}, {stride}) '
                ": (i32, i32, !tir.ptr<f32>, "
                '!tir.ptr<f32, "warp">, i32, i32) -> f32'
            )
        rows_a, rows_b = 16 * self.depth, 16 * self.tiles * self.depth
        copies = [
            f"""
            %e{name} = tir.const {size // 32} : i32
            tir.for %i = %c0 to %e{name} {{
              %top = tir.mul %i, %c32 : i32
              %at = tir.add %top, %tx : i32
              %x = tir.load %{name}[%at] : f16
              tir.store %x, %{name}s[%at] : f16
            }}"""
            for name, size in (("A", rows_a), ("B", rows_b))
        ]
        return PRODUCT.format(
            rows_a=rows_a,
            rows_b=rows_b,
            size_c=256 * self.tiles,
            size_wa=256 * self._versions[0],
            size_wb=256 * self._versions[1],
            size_wc=256 * self.tiles,
            constants="\n".join(
                f"%c{n} = tir.const {n} : i32" for n in (0, 4, 8, 16, 32)
            ),
            copies="\n".join(copies),
            body="\n".join(self._lines),
        )


def test_products_in_registers() -> None:
    """CASE: LowerWarpMemory.8"""
    for seed in range(FIRST, FIRST + max(1, COUNT // 5)):
        tiles = Tiles(random.Random(seed))
        module = parse(tiles.text())
        rng = np.random.default_rng(seed)
        a = rng.standard_normal((16, tiles.depth)).astype(np.float16)
        b = rng.standard_normal((16 * tiles.tiles, tiles.depth)).astype(np.float16)
        expected = a.astype(np.float32) @ b.astype(np.float32).T
        for _ in range(2):
            found = np.zeros(expected.shape, np.float32)
            interpret(module)["f"](a.reshape(-1), b.reshape(-1), found.reshape(-1))
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
            LowerWarpMemory().apply(new_context(), module)
            module.verify()
        scopes = {
            op.result.type.scope.data
            for op in module.walk()
            if isinstance(op, tir.AllocateOp)
        }
        assert scopes == {"shared", "local"}


def test_products_on_the_road_to_ptx(tmp_path: Path) -> None:
    """Memory of warps, `mma_fill` and `mma_store` with it, ends in registers."""
    for seed in range(FIRST, FIRST + max(1, COUNT // 20)):
        tiles = Tiles(random.Random(seed))
        symbol = 'attributes {global_symbol = "f", '
        text = tiles.text().replace("attributes {", symbol)
        rng = np.random.default_rng(seed)
        a = rng.standard_normal((16, tiles.depth)).astype(np.float16)
        b = rng.standard_normal((16 * tiles.tiles, tiles.depth)).astype(np.float16)
        found = np.zeros((16, 16 * tiles.tiles), np.float32)
        arrays = [a.reshape(-1), b.reshape(-1), found.reshape(-1)]
        run_lowered(parse(text), "f_kernel", 1, (32, 1, 1), arrays)
        expected = a.astype(np.float32) @ b.astype(np.float32).T
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
        assert "mma.sync.aligned.m16n8k16" in assembled(parse(text), tmp_path)
