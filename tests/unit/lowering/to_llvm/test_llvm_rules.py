"""Whatever the legality rules accept, LLVM compiles without ending the process.

The programs run in a process of their own: the last name that it printed is the one it
died of.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

PROGRAM = r"""
import sys
from itertools import islice
from xdsl.parser import Parser
from xdsl_tvm.lowering.to_llvm.verify_llvm_legal import rules_for
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime import llvm_jit
from xdsl_tvm.runtime.object_cache import ObjectCache
from xdsl_tvm.lowering.llvm_text.emitter import emit_llvm_ir
from xdsl_tvm.lowering.llvm_text.nvptx_versions import sm_of

every = int(sys.argv[1])
targets = [tuple(text.split()) for text in sys.argv[2:]]
WIDTHS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}

def cases():
    unary = "sqrt exp exp2 log log2 sin cos tan tanh floor ceil trunc rint nearbyint"
    unary += " round roundeven fabs canonicalize atan"
    binary = "minnum maxnum minimum maximum copysign pow"
    fma = ["fma", "fmuladd"]
    for type in ["f16", "bf16", "f32", "f64", "vector<4xf32>", "vector<2xf16>"]:
        for count, names in ((1, unary.split()), (2, binary.split()), (3, fma)):
            for name in names:
                for flags in ("none", "afn"):
                    args = ", ".join(["%a"] * count)
                    types = ", ".join([type] * count)
                    yield (
                        f"{name} {type} {flags}", type,
                        f'tvm_llvm.call_intrinsic "llvm.{name}"({args}) '
                        f'{{fastmathFlags = #llvm.fastmath<{flags}>}} '
                        f': ({types}) -> {type}', type,
                    )
        for name in ["fadd", "fsub", "fmul", "fdiv", "frem"]:
            yield f"{name} {type}", type, f"llvm.{name} %a, %a : {type}", type
    scalars = ["i1", "i8", "i16", "i32", "i64", "i128", "f16", "bf16", "f32", "f64"]
    for name, sources, targets in [
        ("llvm.fpext", scalars[6:], scalars[8:]),
        ("llvm.fptrunc", scalars[8:], scalars[6:9]),
        ("llvm.sitofp", scalars[:6], scalars[6:]),
        ("tvm_llvm.uitofp", scalars[:6], scalars[6:]),
        ("tvm_llvm.fptosi", scalars[6:], scalars[:6]),
        ("tvm_llvm.fptoui", scalars[6:], scalars[:6]),
    ]:
        for source in sources:
            for target in targets:
                if name == "llvm.fpext" and WIDTHS[target] <= WIDTHS[source]:
                    continue
                if name == "llvm.fptrunc" and WIDTHS[target] >= WIDTHS[source]:
                    continue
                yield (
                    f"{name} {source} {target}", source,
                    f"{name} %a : {source} to {target}", target,
                )
    for type in ["i8", "i64", "i128", "vector<4xi32>"]:
        for name in ["add", "mul", "sdiv", "urem", "shl", "ashr"]:
            yield f"{name} {type}", type, f"llvm.{name} %a, %a : {type}", type
        for name in ["smax", "umin", "sadd.sat"]:
            yield (
                f"{name} {type}", type,
                f'tvm_llvm.call_intrinsic "llvm.{name}"(%a, %a) '
                f": ({type}, {type}) -> {type}", type,
            )
    for type in ["i8", "i16", "i24", "i32", "i64", "i128", "vector<4xi32>"]:
        for name in ["ctpop", "bitreverse", "abs", "ctlz", "cttz"]:
            extra = name in ("abs", "ctlz", "cttz")
            args, types = ("%a, %b", f"{type}, i1") if extra else ("%a", type)
            yield (
                f"{name} {type}", type,
                "llvm.mlir.constant(false) : i1\n  %r = tvm_llvm.call_intrinsic "
                f'"llvm.{name}"({args}) : ({types}) -> {type}', type,
            )
        for name in ["fshl", "fshr"]:
            yield (
                f"{name} {type}", type,
                f'tvm_llvm.call_intrinsic "llvm.{name}"(%a, %a, %a) '
                f": ({type}, {type}, {type}) -> {type}", type,
            )
        if type[0] == "i":
            result = f"!llvm.struct<({type}, i1)>"
            for name in ["sadd", "umul", "smul"]:
                yield (
                    f"{name}.with.overflow {type}", type,
                    f'tvm_llvm.call_intrinsic "llvm.{name}.with.overflow"(%a, %a) '
                    f": ({type}, {type}) -> {result}", result,
                )
            for source in ["f16", "bf16", "f32", "f64"]:
                for name in ["fptosi.sat", "fptoui.sat"]:
                    yield (
                        f"{name} {source} {type}", source,
                        f'tvm_llvm.call_intrinsic "llvm.{name}"(%a) '
                        f": ({source}) -> {type}", type,
                    )
    for element in ["i8", "i32", "i64", "f16", "bf16", "f32", "f64"]:
        names = "add mul and or xor smax umin" if element[0] == "i" else ""
        for name in (names or "fmax fmin fmaximum fminimum").split():
            yield (
                f"reduce.{name} {element}", f"vector<4x{element}>",
                f'tvm_llvm.call_intrinsic "llvm.vector.reduce.{name}"(%a) '
                f": (vector<4x{element}>) -> {element}", element,
            )
        if not names:
            for name in ["fadd", "fmul"]:
                yield (
                    f"reduce.{name} {element}", f"vector<4x{element}>",
                    f"llvm.mlir.constant(0.0 : {element}) : {element}\n"
                    f'  %r = tvm_llvm.call_intrinsic "llvm.vector.reduce.{name}"(%b, %a)'
                    f" : ({element}, vector<4x{element}>) -> {element}", element,
                )
    for type in ["i8", "i16", "i32", "i64", "i128", "f16", "bf16", "f32", "f64"]:
        names = "xchg add _and max umin uinc_wrap" if type[0] == "i" else "xchg fadd fmax"
        for name in names.split():
            for scope in ["", 'syncscope("device") ', 'syncscope("agent") ']:
                yield (
                    f"atomicrmw {name} {type} {scope}", type,
                    f"tvm_llvm.atomicrmw {name} %p, %a {scope}acq_rel "
                    f": !llvm.ptr, {type}", type,
                )

context = new_context()
accepted, refused = (dict.fromkeys(targets, 0) for _ in range(2))
for name, argument, operation, result in islice(cases(), 0, None, every):
    first, value = ("%b", "%r") if "%r" in operation else ("%0", "%0")
    text = f'''llvm.func @f(%p: !llvm.ptr, %a: {argument}) {{
      {first} = {operation}
      tvm_llvm.store volatile {value}, %p : {result}, !llvm.ptr
      llvm.return
    }}'''
    module = Parser(context, text).parse_module()
    module.verify()
    for target in targets:
        kind, arch = target
        rules = rules_for(kind, arch)
        if any(rules.problem(op) for op in module.walk() if op is not module):
            refused[target] += 1
            continue
        print(kind, arch, name, flush=True)
        accepted[target] += 1
        if kind == "cpu":
            llvm_jit.load(emit_llvm_ir(module), ["f"], cache=ObjectCache(None))
        else:
            llvm_jit.ptx(emit_llvm_ir(module, sm=sm_of(arch)), arch)
for target in targets:
    print("done", *target, accepted[target], refused[target])
"""

ALL_TARGETS = ("cpu sm_80", "nvptx sm_70", "nvptx sm_80", "nvptx sm_90")
MANY = "XDSL_TVM_FUZZ" in os.environ
TARGETS = ALL_TARGETS if MANY else ALL_TARGETS[::3]
EVERY = 1 if MANY else 4
"""Which of the operations take part."""


def test_accepted_operations_compile() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(EVERY), *TARGETS],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"{lines[-1]}: {done.stderr[-500:]}"
    for target, line in zip(TARGETS, lines[-len(TARGETS) :], strict=True):
        accepted, refused = line.removeprefix(f"done {target} ").split()
        assert int(accepted) > 200 / EVERY
        assert int(refused) > 50 / EVERY
