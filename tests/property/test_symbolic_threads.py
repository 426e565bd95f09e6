"""Kernels of symbolic sizes are accepted only where threads store different elements.

Each kernel stores one element in each thread, at an index that is split and joined by
symbolic and constant numbers. What `tir-verify-thread-sync` accepts is evaluated in all
threads, for several sizes. The ordinary run takes a few random kernels;
`XDSL_TVM_FUZZ=1000` takes that many.
"""

from __future__ import annotations

import itertools
import os
import random
from dataclasses import dataclass

from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.passes.tir.verify_thread_sync import VerifyThreadSync
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "20"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
TEXT = """
@T.prim_func
def f(a: T.handle, n: T.int32):
    A = T.match_buffer(a, ({extent},), "float32")
    bx = T.launch_thread("blockIdx.x", {blocks})
    ty = T.launch_thread("threadIdx.y", {rows})
    tx = T.launch_thread("threadIdx.x", {columns})
    if {condition}:
        A[{index}] = T.Cast("float32", bx * 16 + ty * 4 + tx)
"""
"""Texts of the parts are expressions of Python with the same meaning."""


@dataclass(frozen=True)
class Kernel:
    """A kernel of one store."""

    extent: str
    blocks: str
    rows: int
    columns: int
    condition: str
    index: str

    @property
    def text(self) -> str:
        """The kernel as a script."""
        return TEXT.format(**vars(self))

    def is_accepted(self) -> bool:
        """Whether the pass finds no two threads that may store one element."""
        module = parse(self.text)
        try:
            VerifyThreadSync().apply(new_context(), module)
        except PassFailedException:
            return False
        return True

    def doubled(self, n: int) -> tuple[object, object] | None:
        """Two threads that store one element for a size; None if there are none."""
        if _value(self.extent, {"n": n}) < 1:
            return None
        stored: dict[int, object] = {}
        blocks = range(_value(self.blocks, {"n": n}))
        for bx, ty, tx in itertools.product(
            blocks, range(self.rows), range(self.columns)
        ):
            names = {"n": n, "bx": bx, "ty": ty, "tx": tx}
            if _value(self.condition, names):
                thread = bx, ty, tx
                other = stored.setdefault(_value(self.index, names), thread)
                if other != thread:
                    return other, thread
        return None


def _value(text: str, names: dict[str, int]) -> int:
    return int(eval(text, {"__builtins__": {}}, names))


def random_kernel(rng: random.Random) -> Kernel:
    """A kernel of tiles, some of which fit together and some of which do not."""
    rows, columns = rng.choice((1, 2, 4)), rng.choice((2, 3, 4))
    width = rng.choice(("n", "n + 1", "n * 2", "5", "8"))
    tile = rng.choice((columns, columns, columns + 1, 2))
    tiles = f"(({width} + {tile - 1}) // {tile})"
    step = rng.choice((rows, rows, 3))
    if rng.random() < 0.3:
        flat = f"(bx * {rng.choice((rows * columns, columns))} + ty * {columns} + tx)"
        row, column = f"{flat} // ({width})", f"{flat} % ({width})"
        condition = rng.choice(("tx < 9", f"{flat} < n * 3"))
    else:
        divisor = rng.choice((tiles, tiles, "2", "n"))
        row = f"(bx // {divisor} * {step} + ty)"
        column = f"(bx % {divisor} * {tile} + tx)"
        condition = rng.choice(
            (f"{column} < {width}", f"{column} < {width}", f"{column} <= n", "tx < 9")
        )
    pitch = rng.choice((width, width, f"({width} + 1)", "n", "8"))
    index = f"{row} * ({pitch}) + {column}"
    if rng.random() < 0.3:
        index = f"{index} + {rng.choice(('1', 'n', 'n * 3'))}"
    blocks = rng.choice((f"{tiles} * 2", f"{tiles} * n", tiles, "6"))
    extent = rng.choice(("n", "n + 1", "n * 2 + 3"))
    return Kernel(extent, blocks, rows, columns, condition, index)


def test_accepted_kernels_store_each_element_once() -> None:
    rng = random.Random(FIRST + 11)
    accepted = 0
    for _ in range(COUNT):
        kernel = random_kernel(rng)
        if not kernel.is_accepted():
            continue
        accepted += 1
        for n in range(-3, 8):
            if "n" in kernel.text and n == 0 and "% n" in kernel.text:
                continue
            try:
                found = kernel.doubled(n)
            except ZeroDivisionError:
                continue
            assert found is None, f"n = {n}: {found} in{kernel.text}"
    assert accepted >= COUNT // 10


def test_tiles_that_fit_are_accepted() -> None:
    tiles = "((n + 31) // 32)"
    row, column = f"(bx // {tiles} * 8 + ty)", f"(bx % {tiles} * 32 + tx)"
    kernel = Kernel("n", f"{tiles} * 4", 8, 32, f"{column} < n", f"{row} * n + {column}")
    assert kernel.is_accepted()


def test_rows_of_symbolic_length_are_copied() -> None:
    flat = "(bx * 32 + tx)"
    index = f"{flat} // n * (n + 7) + {flat} % n + 7"
    kernel = Kernel("n", "n + 1", 1, 32, f"{flat} < n * 9", index)
    assert kernel.is_accepted()


def test_rows_that_overlap_are_refused() -> None:
    flat = "(bx * 32 + tx)"
    index = f"{flat} // n * (n - 1) + {flat} % n"
    assert not Kernel("n", "n + 1", 1, 32, f"{flat} < n * 9", index).is_accepted()
