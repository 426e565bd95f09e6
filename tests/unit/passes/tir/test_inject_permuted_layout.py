"""Random kernels find in permuted shared memory what they have put there."""

from __future__ import annotations

import os
import random
from itertools import product

import numpy as np
import pytest
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.tir.inject_permuted_layout import InjectPermutedLayout
from xdsl_tvm.registry import new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "4"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
LOAD = """
%n{n} = tir.const {matrices} : i32
%d{n} = tir.call "ptx_ldmatrix"(%{trans}, %n{n}, %kind, %w, %c0, %p{n}, %o{n})
  : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "shared">, i32)
  -> f16
tir.evaluate %d{n} : f16
%e{n} = tir.const {registers} : i32
tir.for %k{n} = %c0 to %e{n} {{
  %y{n} = tir.load %W[%k{n}] : f16
  tir.store %y{n}, %O[%c{n}, %t, %k{n}] : f16
}}"""


def affine(rng: random.Random, name: str, bound: int) -> list[str]:
    """A value of the lane, in [0, bound), by the name `%name`."""
    factor, offset = rng.randrange(bound + 1), rng.randrange(bound)
    return [
        f"%{name}f = tir.const {factor} : i32",
        f"%{name}b = tir.const {bound} : i32",
        f"%{name}o = tir.const {offset} : i32",
        f"%{name}m = tir.mul %t, %{name}f : i32",
        f"%{name}s = tir.add %{name}m, %{name}o : i32",
        f"%{name} = tir.floormod %{name}s, %{name}b : i32",
    ]


def matrices(
    rng: random.Random, n: int, versions: int, rows: int, columns: int
) -> list[str]:
    """Loads one matrix or more, each lane pointing at the row of one."""
    count = rng.choice((1, 2, 4))
    lines = affine(rng, f"v{n}", max(1, versions)) + affine(rng, f"r{n}", rows)
    lines += affine(rng, f"g{n}", columns // 8)
    lines += [
        f"%h{n} = tir.const {rows} : i32",
        f"%w{n} = tir.const {columns} : i32",
        f"%1{n} = tir.mul %v{n}, %h{n} : i32".replace("%1", "%top"),
        f"%row{n} = tir.add %top{n}, %r{n} : i32",
        f"%start{n} = tir.mul %row{n}, %w{n} : i32",
        f"%left{n} = tir.mul %g{n}, %c8 : i32",
    ]
    # What is at a pointer is the sum of its place and the offset of the call.
    parts = [f"%start{n}", f"%left{n}"]
    if rng.random() < 0.3:
        lines.append(f"%all{n} = tir.add {parts[0]}, {parts[1]} : i32")
        parts = [f"%all{n}", "%c0"]
    rng.shuffle(parts)
    lines += [
        f"%p{n} = tir.access_ptr r %s[{parts[0]} to {parts[0]} + %c8] "
        ': !tir.ptr<f16, "shared">',
        f"%o{n} = tir.add {parts[1]}, %c0 : i32",
    ]
    trans = rng.choice(("yes", "no"))
    return [
        *lines,
        LOAD.format(n=n, matrices=count, registers=2 * count, trans=trans),
    ]


def element(
    rng: random.Random, n: int, versions: int, rows: int, columns: int
) -> list[str]:
    """Loads an element for each lane."""
    lines = affine(rng, f"r{n}", rows) + affine(rng, f"g{n}", columns)
    place = f"%r{n}, %g{n}"
    if versions:
        lines += affine(rng, f"v{n}", versions)
        place = f"%v{n}, {place}"
    return [
        *lines,
        f"%y{n} = tir.load %S[{place}] : f16",
        f"tir.store %y{n}, %O[%c{n}, %t, %c0] : f16",
    ]


def random_kernel(seed: int) -> str:
    """A warp that fills shared memory, and reads of it elements and matrices."""
    rng = random.Random(seed)
    columns = rng.choice((32, 64, 96, 128, 192))
    rows = rng.choice((2, 6, 8, 12, 16)) if columns % 64 else rng.choice((1, 5, 8, 12))
    versions = rng.choice((0, 0, 2, 3))
    leading = f"{versions}x" if versions else ""
    shape = f"{leading}{rows}x{columns}"
    reads = [
        rng.choice((matrices, element))(rng, n, versions, rows, columns) for n in range(4)
    ]
    body = "\n".join(line for lines in reads for line in lines)
    numbers = "\n".join(f"%c{n} = tir.const {n} : i32" for n in (0, 1, 2, 3, 8, 32))
    place, loop, end = "%r, %k", "", ""
    if versions:
        place = f"%v, {place}"
        loop, end = "tir.for %v = %c0 to %versions {", "}"
    mark = rng.choice(('"x"', "1 : i32", "7 : i64"))
    return f"""
    tir.func @kernel(%i: !tir.handle, %o: !tir.handle) {{
      %I = tir.match_buffer %i : !tir.buffer<{shape}xf16>
      %O = tir.match_buffer %o : !tir.buffer<4x32x8xf16>
      {numbers}
      %yes = tir.const true
      %no = tir.const false
      %kind = tir.string ".b16"
      %shared = tir.string "shared"
      %versions = tir.const {max(1, versions)} : i32
      %rows = tir.const {rows} : i32
      %parts = tir.const {columns // 32} : i32
      tir.for %t = %c0 to %c32 thread_binding "threadIdx.x" {{
        tir.block "root" annotations {{"permuted_layout" = {mark}}} {{
          %S = tir.alloc_buffer "S" : !tir.buffer<{shape}xf16, "shared">
          %W = tir.alloc_buffer "W" : !tir.buffer<8xf16, "local">
          {loop}
          tir.for %r = %c0 to %rows {{
            tir.for %c = %c0 to %parts {{
              tir.block "fill" {{
                %0 = tir.mul %c, %c32 : i32
                %k = tir.add %0, %t : i32
                %x = tir.load %I[{place}] : f16
                tir.store %x, %S[{place}] : f16
              }}
            }}
          }}
          {end}
          tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
          %s = tir.data %S : !tir.ptr<f16, "shared">
          %w = tir.data %W : !tir.ptr<f16, "local">
          {body}
        }}
      }}
    }}"""


def permuted(module: ModuleOp) -> int:
    """How many places are permuted; none is marked afterwards."""
    module = module.clone()
    InjectPermutedLayout().apply(new_context(), module)
    module.verify()
    for op in module.walk():
        if isinstance(op, tir.BlockOp):
            assert op.annotations is None
    calls = [op for op in module.walk() if isinstance(op, tir.CallOp)]
    return sum(op.callee.data == "bitwise_xor" for op in calls)


def test_what_is_put_is_found() -> None:
    found = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = parse(random_kernel(seed))
        check_semantics(module, (InjectPermutedLayout(),), seed=seed, runs=1)
        found += permuted(module) > 0
    assert found >= COUNT - COUNT // 4


def places(columns: int, group: int) -> list[int]:
    """Where the pass puts the first elements of one group of 8 rows, in elements."""
    numbers = "\n".join(f"%c{n} = tir.const {n} : i32" for n in range(columns))
    stores = "\n".join(
        f"tir.store %x, %S[%c{row}, %c{8 * group}] : f16" for row in range(8)
    )
    module = parse(f"""
    tir.func @column(%x: f16) {{
      {numbers}
      tir.block "root" annotations {{"permuted_layout" = 1 : i32}} {{
        %S = tir.alloc_buffer "S" : !tir.buffer<8x{columns}xf16, "shared">
        {stores}
      }}
    }}""")
    InjectPermutedLayout().apply(new_context(), module)
    found: list[int] = []
    for op in module.walk():
        if isinstance(op, tir.StoreOp):
            row, column = (tir.constant_value(index) for index in op.indices)
            assert isinstance(row, int)
            assert isinstance(column, int)
            found.append(row * columns + column)
    return found


def test_groups_of_a_matrix_lie_in_all_banks() -> None:
    """The 8 rows that `ptx_ldmatrix` reads at once lie 16 bytes apart, modulo the 128
    that the banks of shared memory hold."""
    for columns, group in product((32, 64, 96, 128), range(4)):
        assert len({2 * place // 16 % 8 for place in places(columns, group)}) == 8


def tile(columns: int) -> str:
    """A warp that loads all matrices of 16 rows from shared memory."""
    return f"""
    tir.func @tile(%i: !tir.handle) {{
      %I = tir.match_buffer %i : !tir.buffer<16x{columns}xf16>
      {"".join(f"%c{n} = tir.const {n} : i32 " for n in (0, 4, 8, 16, 32))}
      %columns = tir.const {columns} : i32
      %parts = tir.const {columns // 32} : i32
      %steps = tir.const {columns // 16} : i32
      %no = tir.const false
      %kind = tir.string ".b16"
      %shared = tir.string "shared"
      tir.for %t = %c0 to %c32 thread_binding "threadIdx.x" {{
        tir.block "root" annotations {{"permuted_layout" = 1 : i32}} {{
          %S = tir.alloc_buffer "S" : !tir.buffer<16x{columns}xf16, "shared">
          %W = tir.alloc_buffer "W" : !tir.buffer<8xf16, "local">
          tir.for %r = %c0 to %c16 {{
            tir.for %c = %c0 to %parts {{
              %0 = tir.mul %c, %c32 : i32
              %k = tir.add %0, %t : i32
              %x = tir.load %I[%r, %k] : f16
              tir.store %x, %S[%r, %k] : f16
            }}
          }}
          tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
          %s = tir.data %S : !tir.ptr<f16, "shared">
          %w = tir.data %W : !tir.ptr<f16, "local">
          %row = tir.floormod %t, %c16 : i32
          %start = tir.mul %row, %columns : i32
          %half = tir.floordiv %t, %c16 : i32
          %right = tir.mul %half, %c8 : i32
          tir.for %n = %c0 to %steps {{
            %1 = tir.mul %n, %c16 : i32
            %2 = tir.add %start, %1 : i32
            %at = tir.add %2, %right : i32
            %p = tir.access_ptr r %s[%at to %at + %c8] : !tir.ptr<f16, "shared">
            %d = tir.call "ptx_ldmatrix"(%no, %c4, %kind, %w, %c0, %p, %c0)
              : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32,
                 !tir.ptr<f16, "shared">, i32) -> f16
            tir.evaluate %d : f16
          }}
        }}
      }}
    }}"""


@pytest.mark.parametrize(
    ("columns", "before"), [(32, 4), (64, 8), (96, 4), (128, 8), (192, 8)]
)
def test_matrices_are_loaded_without_bank_conflicts(columns: int, before: int) -> None:
    module = parse(tile(columns))
    phases = 4 * (columns // 16)
    for steps in (before, 1):
        functions = interpret(module, count_bank_conflicts=True)
        functions["tile"](np.zeros((16, columns), np.float16))
        stores, loads = functions.bank_conflicts().accesses
        assert (stores.worst, stores.conflicts) == (1, 0)
        assert (loads.worst, loads.phases, loads.steps) == (steps, phases, steps * phases)
        InjectPermutedLayout().apply(new_context(), module)
