"""Kernels that reduce over threads of a block."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from random import Random

IDENTITIES = {"add": "0", "mul": "1", "max": "-1000000", "min": "1000000"}
EXTENTS = (
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    12,
    16,
    24,
    31,
    32,
    33,
    48,
    64,
    100,
    128,
    201,
    256,
    512,
    1024,
)


def allreduce_kernel(
    extents: Sequence[int],
    reduced: str,
    *,
    combine: str = "add",
    dtype: str = "i32",
    target: str | None = "cuda",
    masked: bool = False,
    loop: int = 1,
    use: str = "",
) -> str:
    """A kernel of threads along x, y and z that reduce over the axes of `reduced`.

    Each thread stores what it gets, `loop` times for other values; `masked` leaves each
    third value out. `target` is what the attribute holds. `use` is code after the
    reduction, which names the destination `%R`.
    """
    count = prod(extents)
    axes = list(zip("xyz", extents, strict=False))
    number = "0.0" if dtype.startswith("f") and combine == "add" else IDENTITIES[combine]
    if dtype.startswith("f") and "." not in number:
        number += ".0"
    attributes = ['global_symbol = "f"']
    if target is not None:
        kind, _, options = target.partition(", ")
        parts = [f'"{kind}"', options] if options else [f'"{kind}"']
        attributes.append(f"target = #tir.target<{', '.join(parts)}>")
    lines = [
        f"tir.func @f(%a: !tir.handle, %b: !tir.handle) attributes "
        f"{{{', '.join(attributes)}}} {{",
        f'%A = tir.match_buffer "A" %a : !tir.buffer<{loop * count}x{dtype}>',
        f'%B = tir.match_buffer "B" %b : !tir.buffer<{loop * count}x{dtype}>',
        "%c0 = tir.const 0 : i32",
        "%c3 = tir.const 3 : i32",
        f"%count = tir.const {count} : i32",
        f"%loop = tir.const {loop} : i32",
        f"%r = tir.reducer (%x : {dtype}, %y : {dtype}) identity [{number} : {dtype}] {{",
        f"%z = tir.{combine} %x, %y : {dtype}",
        f"tir.yield %z : {dtype}",
        "}",
        *(f"%e{axis} = tir.const {extent} : i32" for axis, extent in axes),
        *(
            f'tir.launch_thread %t{axis} = "threadIdx.{axis}" to %e{axis} {{'
            for axis, _ in reversed(axes)
        ),
        f'%p = tir.allocate "R" [1] : !tir.ptr<{dtype}, "local">',
        f'%R = tir.decl_buffer "R" %p : !tir.buffer<1x{dtype}, "local">',
        "tir.for %l = %c0 to %loop {",
        "%base = tir.mul %l, %count : i32",
        "%i0 = tir.add %base, %tx : i32",
    ]
    stride = 1
    for number_of, (axis, _) in enumerate(axes[1:]):
        stride *= extents[number_of]
        lines += [
            f"%s{axis} = tir.const {stride} : i32",
            f"%m{axis} = tir.mul %t{axis}, %s{axis} : i32",
            f"%i{number_of + 1} = tir.add %i{number_of}, %m{axis} : i32",
        ]
    index = f"%i{len(axes) - 1}"
    condition = ""
    if masked:
        condition = " if %wanted"
        lines += [
            f"%third = tir.floormod {index}, %c3 : i32",
            "%wanted = tir.cmp ne %third, %c0 : i32",
        ]
    over = ", ".join(f"%t{axis}" for axis in reduced) or "%c0"
    lines += [
        f"%v = tir.load %A[{index}] : {dtype}",
        'tir.attr "reduce_scope" (%r) = 0 : i32 {',
        f"tir.thread_allreduce [%v]{condition} into [%R[%c0]] over [{over}]",
        "}",
        use,
        f"%w = tir.load %R[%c0] : {dtype}",
        f"tir.store %w, %B[{index}] : {dtype}",
        "}",
        *("}" for _ in axes),
        "}",
    ]
    return "\n".join(lines)


def random_allreduce(seed: int) -> str:
    """A kernel of up to 1,024 threads, any of whose axes are reduced."""
    rng = Random(seed)
    extents: list[int] = []
    for _ in range(rng.randint(1, 3)):
        fitting = [each for each in EXTENTS if prod(extents) * each <= 1024]
        extents.append(rng.choice(fitting))
    axes = "xyz"[: len(extents)]
    reduced = "".join(axis for axis in axes if rng.random() < 0.6) or rng.choice(axes)
    return allreduce_kernel(
        extents,
        reduced,
        combine=rng.choice(tuple(IDENTITIES)),
        dtype=rng.choice(("i32", "i32", "i64")),
        target=rng.choice(("cuda", "cuda", "metal", "opencl")),
        masked=rng.random() < 0.4,
        loop=rng.choice((1, 1, 2)),
    )
