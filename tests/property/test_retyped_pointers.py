"""Random copies by vectors compute the same where memory gets these as elements."""

from __future__ import annotations

import os
import random

import numpy as np
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.tir import interpret
from xdsl_tvm.passes.tir.pointer_value_type_rewrite import PointerValueTypeRewrite
from xdsl_tvm.passes.tir.storage_rewrite import StorageRewrite
from xdsl_tvm.registry import new_context

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "10"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
SIZE = 64
Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
HEADER = """
tir.func @main(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<64xf32>
  %dA = tir.data %A : !tir.ptr<f32>
  %dB = tir.data %B : !tir.ptr<f32>
  %V = tir.decl_buffer "V" %dA : !tir.buffer<4x16xf32>
  %p = tir.allocate [64] : !tir.ptr<f32>
  %L = tir.decl_buffer "L" %p : !tir.buffer<64xf32>
  %M = tir.decl_buffer "M" %p : !tir.buffer<4x16xf32>
  %one = tir.const 1 : i32
  %zero = tir.const 0.0 : f32
  %c0 = tir.const 0 : i32
  %c64 = tir.const 64 : i32
  %c16 = tir.const 16 : i32
  tir.for %z = %c0 to %c16 {
    %z0 = tir.const 4 : i32
    %z1 = tir.mul %z, %z0 : i32
    %z2 = tir.ramp %z1, %one : vector<4xi32>
    %z3 = tir.broadcast %zero : vector<4xf32>
    tir.store %z3, %L[%z2] : vector<4xf32>
  }
"""


FLAT = "\n".join(line for line in HEADER.splitlines() if "4x16" not in line)


def program(rng: random.Random, *, flat: bool = False) -> str:
    """Copies between the parameters and an allocation, through views of one dimension
    and of two, unless `flat`, mostly by four lanes and aligned."""
    lines = [FLAT if flat else HEADER]
    ways = ("AL", "LB", "AB", "LA") if flat else ("AL", "AM", "VL", "VM", "LB", "MB")
    for n in range(rng.randrange(1, 5)):
        lanes = 4 if rng.random() < 0.8 else rng.choice((2, 8))
        step = lanes * rng.choice((1, 1, 1, 2))
        shift = 0 if rng.random() < 0.7 else rng.choice((1, 2, lanes))
        count = (16 - shift - lanes) // step + 1
        if count < 1:
            continue
        lines += [
            f"%e{n} = tir.const {count} : i32",
            f"%s{n} = tir.const {step} : i32",
            f"%h{n} = tir.const {shift} : i32",
            f"%w{n} = tir.const {rng.randrange(4)} : i32",
            f"tir.for %i{n} = %c0 to %e{n} {{",
            f"%m{n} = tir.mul %i{n}, %s{n} : i32",
            f"%k{n} = tir.add %m{n}, %h{n} : i32",
            f"%r{n} = tir.ramp %k{n}, %one : vector<{lanes}xi32>",
        ]
        source, target = rng.choice(ways if flat else (*ways, "AB", "LA"))
        element = "f32"
        vector = f"vector<{lanes}xf32>"
        reads_scalar = rng.random() < 0.3
        writes_scalar = reads_scalar and (target == "B" or rng.random() < 0.3)
        at_read = f"%k{n}" if reads_scalar else f"%r{n}"
        at_write = f"%k{n}" if writes_scalar else f"%r{n}"
        source_at = f"%w{n}, {at_read}" if source in "VM" else at_read
        target_at = f"%w{n}, {at_write}" if target in "VM" else at_write
        dtype = element if reads_scalar else vector
        lines.append(f"%x{n} = tir.load %{source}[{source_at}] : {dtype}")
        value = f"%x{n}"
        if reads_scalar and not writes_scalar:
            lines.append(f"%y{n} = tir.broadcast {value} : {vector}")
            value, dtype = f"%y{n}", vector
        lines += [f"tir.store {value}, %{target}[{target_at}] : {dtype}", "}"]
    return "\n".join([*lines, "}"])


def ran(module: ModuleOp, arrays: list[Array]) -> list[Array]:
    """The parameters after a run, flat; vectors are a last dimension of arrays."""
    func = next(op for op in module.walk() if isinstance(op, tir.FuncOp))
    copies: list[Array] = []
    for array, match in zip(arrays, func.buffer_map.values(), strict=True):
        lanes = tir.lanes_of(match.type.element_type)
        copies.append((array.reshape(-1, lanes) if lanes > 1 else array).copy())
    interpret(module)["main"](*copies)
    return [copy.reshape(-1) for copy in copies]


def test_vectors_as_elements() -> None:
    retyped = 0
    for seed in range(FIRST, FIRST + COUNT):
        rng = random.Random(seed)
        module = parse(program(rng))
        numbers = np.random.default_rng(seed)
        arrays = [numbers.standard_normal(SIZE).astype(np.float32) for _ in range(2)]
        expected = ran(module, arrays)
        before = module.clone()
        PointerValueTypeRewrite().apply(new_context(), module)
        module.verify()
        for want, found in zip(expected, ran(module, arrays), strict=True):
            np.testing.assert_array_equal(want, found)
        retyped += not module.is_structurally_equivalent(before)
        again = module.clone()
        PointerValueTypeRewrite().apply(new_context(), again)
        assert again.is_structurally_equivalent(module)
    assert retyped > COUNT // 2


def test_storage_rewrite() -> None:
    """It retypes allocations, and counts a scalar read as an access of scalars."""
    retyped = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = parse(program(random.Random(seed), flat=True))
        numbers = np.random.default_rng(seed)
        arrays = [numbers.standard_normal(SIZE).astype(np.float32) for _ in range(2)]
        expected = ran(module, arrays)
        StorageRewrite().apply(new_context(), module)
        module.verify()
        for want, found in zip(expected, ran(module, arrays), strict=True):
            np.testing.assert_array_equal(want, found)
        for op in module.walk():
            if isinstance(op, tir.MatchBufferOp):
                assert tir.is_scalar(op.type.element_type)
            if isinstance(op, tir.AllocateOp):
                retyped += not tir.is_scalar(op.result.type.element_type)
            assert not isinstance(op, tir.ShuffleOp)
    assert retyped > COUNT // 6
