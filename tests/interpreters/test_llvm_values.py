"""Arithmetic of the interpreter of kernels against LLVM's own, on this processor.

Each operation is a function of one element, and all are in one module, which LLVM
compiles without optimization.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from support.ir import parse
from xdsl.dialects import llvm

from xdsl_tvm.interpreters.llvm_kernels.launches import LLVMKernels
from xdsl_tvm.lowering.llvm_text.emitter import emit_llvm_ir

llvm_jit = pytest.importorskip("xdsl_tvm.runtime.llvm_jit")
pytest.importorskip("llvmlite")

COUNT = 200
INTEGERS = ("i8", "i16", "i32", "i64")
FLOATS = ("f32", "f64")
CASES: dict[str, tuple[str, str, str]] = {}
"""The text of an operation on `%a` and `%b`, the type of both, and that of the result."""

for _type in INTEGERS:
    _all = ["add", "sub", "mul", "and", "or", "xor"]
    for _name in _all:
        CASES[f"{_name} {_type}"] = (f"llvm.{_name} %a, %b : {_type}", _type, _type)
    for _name in ("sdiv", "udiv", "srem", "urem"):
        CASES[f"{_name} {_type}"] = (f"llvm.{_name} %a, %odd : {_type}", _type, _type)
    for _name in ("shl", "lshr", "ashr"):
        CASES[f"{_name} {_type}"] = (f"llvm.{_name} %a, %few : {_type}", _type, _type)
    for _name in ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]:
        CASES[f"{_name} {_type}"] = (
            f'llvm.icmp "{_name}" %a, %b : {_type}',
            _type,
            "i1",
        )
    for _name in ("smax", "smin", "umax", "umin"):
        CASES[f"{_name} {_type}"] = (
            f'tvm_llvm.call_intrinsic "llvm.{_name}"(%a, %b) : ({_type}, {_type}) -> '
            f"{_type}",
            _type,
            _type,
        )
    for _name in ("ctpop",):
        CASES[f"{_name} {_type}"] = (
            f'tvm_llvm.call_intrinsic "llvm.{_name}"(%a) : ({_type}) -> {_type}',
            _type,
            _type,
        )
    for _name in ("ctlz", "cttz", "abs"):
        CASES[f"{_name} {_type}"] = (
            f'tvm_llvm.call_intrinsic "llvm.{_name}"(%a, %no) : ({_type}, i1) -> {_type}',
            _type,
            _type,
        )
    for _other in FLOATS:
        CASES[f"sitofp {_type} {_other}"] = (
            f"llvm.sitofp %a : {_type} to {_other}",
            _type,
            _other,
        )
        CASES[f"uitofp {_type} {_other}"] = (
            f"tvm_llvm.uitofp %a : {_type} to {_other}",
            _type,
            _other,
        )
        for _sign in "su":
            CASES[f"fpto{_sign}i {_other} {_type}"] = (
                f'tvm_llvm.call_intrinsic "llvm.fpto{_sign}i.sat"(%a) : ({_other}) -> '
                f"{_type}",
                _other,
                _type,
            )
    for _other in INTEGERS:
        if int(_other[1:]) > int(_type[1:]):
            CASES[f"zext {_type} {_other}"] = (
                f"llvm.zext %a : {_type} to {_other}",
                _type,
                _other,
            )
            CASES[f"sext {_type} {_other}"] = (
                f"llvm.sext %a : {_type} to {_other}",
                _type,
                _other,
            )
            CASES[f"trunc {_other} {_type}"] = (
                f"llvm.trunc %a : {_other} to {_type}",
                _other,
                _type,
            )
for _type in FLOATS:
    for _name in ("fadd", "fsub", "fmul", "fdiv"):
        CASES[f"{_name} {_type}"] = (f"llvm.{_name} %a, %b : {_type}", _type, _type)
    CASES[f"fneg {_type}"] = (f"llvm.fneg %a : {_type}", _type, _type)
    for _name in [
        "oeq",
        "ogt",
        "oge",
        "olt",
        "ole",
        "one",
        "ord",
        "ueq",
        "ugt",
        "uge",
        "ult",
        "ule",
        "une",
        "uno",
    ]:
        CASES[f"{_name} {_type}"] = (
            f'llvm.fcmp "{_name}" %a, %b : {_type}',
            _type,
            "i1",
        )
    for _name in ("maximum", "minimum", "copysign"):
        CASES[f"{_name} {_type}"] = (
            f'tvm_llvm.call_intrinsic "llvm.{_name}"(%a, %b) : ({_type}, {_type}) -> '
            f"{_type}",
            _type,
            _type,
        )
    for _name in ["fabs", "sqrt", "floor", "ceil", "trunc", "rint", "roundeven", "round"]:
        CASES[f"{_name} {_type}"] = (
            f'tvm_llvm.call_intrinsic "llvm.{_name}"(%a) : ({_type}) -> {_type}',
            _type,
            _type,
        )
    CASES[f"fma {_type}"] = (
        f'tvm_llvm.call_intrinsic "llvm.fma"(%a, %b, %a) : ({_type}, {_type}, {_type}) '
        f"-> {_type}",
        _type,
        _type,
    )
CASES["fpext"] = ("llvm.fpext %a : f32 to f64", "f32", "f64")
CASES["fptrunc"] = ("llvm.fptrunc %a : f64 to f32", "f64", "f32")
CASES["bitcast"] = ("llvm.bitcast %a : f32 to i32", "f32", "i32")

STORAGE: dict[str, np.dtype[Any]] = {
    "i1": np.dtype(np.bool_),
    **{name: np.dtype(name.replace("i", "int")) for name in INTEGERS},
    **{name: np.dtype(name.replace("f", "float")) for name in FLOATS},
}


def function(name: str, case: str, *, kernel: bool) -> str:
    """A function of one element, or a kernel that computes one in each thread."""
    text, type, result = CASES[case]
    space = "<1>" if kernel else ""
    pointer = f"!llvm.ptr{space}"
    odd = ""
    if "%odd" in text or "%few" in text:
        bits = int(type[1:])
        odd = f"""
    %one = llvm.mlir.constant(1 : {type}) : {type}
    %odd = llvm.or %b, %one : {type}
    %most = llvm.mlir.constant({bits - 1} : {type}) : {type}
    %few = llvm.and %b, %most : {type}"""
    index = (
        """
    %block = nvvm.read.ptx.sreg.ctaid.x : i32
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %size = nvvm.read.ptx.sreg.ntid.x : i32
    %first = llvm.mul %block, %size : i32
    %i32 = llvm.add %first, %thread : i32
    %i = llvm.zext %i32 : i32 to i64"""
        if kernel
        else ""
    )
    attributes = " attributes {nvvm.kernel}" if kernel else ""
    parameter = "" if kernel else ", %i: i64"
    return f"""
  llvm.func @{name}(%pa: {pointer}, %pb: {pointer}, %pc: {pointer}{parameter})
      {attributes} {{{index}
    %no = llvm.mlir.constant(false) : i1
    %qa = llvm.getelementptr %pa[%i] : ({pointer}, i64) -> {pointer}, {type}
    %qb = llvm.getelementptr %pb[%i] : ({pointer}, i64) -> {pointer}, {type}
    %qc = llvm.getelementptr %pc[%i] : ({pointer}, i64) -> {pointer}, {result}
    %a = llvm.load %qa : {pointer} -> {type}
    %b = llvm.load %qb : {pointer} -> {type}{odd}
    %v = {text}
    llvm.store %v, %qc : {result}, {pointer}
    llvm.return
  }}"""


def numbers(type: str, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Small and large numbers, and special ones."""
    storage = STORAGE[type]
    if storage.kind == "i":
        limits = np.iinfo(storage)
        found = rng.integers(limits.min, limits.max, COUNT, storage, endpoint=True)
        found[:100] = rng.integers(-9, 10, 100)
        found[:4] = limits.min, limits.max, 0, -1
        return found
    found = rng.normal(size=COUNT) * 2.0 ** rng.integers(-40, 70, COUNT)
    found[:60] = rng.integers(-9, 10, 60) / 2
    special = (np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, 1.5, 2.5, -0.5, 1e30, 1e-40)
    found[: len(special)] = rng.permutation(special)
    return found.astype(storage)


def test_arithmetic_is_that_of_llvm() -> None:
    """All cases in one module: most of the time is that of the compilation."""
    names = {case: f"f{number}" for number, case in enumerate(CASES)}
    host = parse("\n".join(function(names[c], c, kernel=False) for c in CASES))
    device = parse("\n".join(function(names[c], c, kernel=True) for c in CASES))
    code = llvm_jit.load_object(
        llvm_jit.compile_object(emit_llvm_ir(host), 0), dict.fromkeys(names.values())
    )
    kernels = LLVMKernels([op for op in device.ops if isinstance(op, llvm.FuncOp)])
    rng = np.random.default_rng(0)
    for case, name in names.items():
        _, type, result = CASES[case]
        a, b = numbers(type, rng), numbers(type, rng)
        expected, found = (np.zeros(COUNT, STORAGE[result]) for _ in range(2))
        call = code.function(name, None, *(ctypes.c_void_p,) * 3, ctypes.c_int64)
        for index in range(COUNT):
            call(a.ctypes.data, b.ctypes.data, expected.ctypes.data, index)
        kernels.launch(name, (4, 1, 1), (COUNT // 4, 1, 1), [a, b, found])
        np.testing.assert_array_equal(found, expected, err_msg=case)
        if expected.dtype.kind == "f":
            there = ~np.isnan(expected)
            np.testing.assert_array_equal(
                np.signbit(found[there]), np.signbit(expected[there]), err_msg=case
            )
