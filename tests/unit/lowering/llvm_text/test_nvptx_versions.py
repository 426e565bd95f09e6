"""Every row of the table of NVPTX: LLVM compiles it where the table says so.

LLVM ends the process on what it cannot select, so each compilation is in a process of its
own, a fork of one that has loaded LLVM.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from support.gpu_schedules import MANY
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.lowering.llvm_text.nvptx_versions import (
    ARCHS,
    ROWS,
    Row,
    needs_of,
    ptx_version,
)

SHARED, GLOBAL, CLUSTER = (f"ptr addrspace({space})" for space in (3, 1, 7))
HALVES = "<2 x half>"
LITERAL = re.compile(r"(i\d+) (?:\d+|false)")

VALUES = """
read.ptx.sreg.tid.x: -> i32
barrier0: -> void
barrier.cta.sync.aligned.all: i32 0 -> void
barrier.cta.sync.aligned.count: i32 1, i32 -> void
bar.warp.sync: i32 -> void
membar.gl: -> void
shfl.sync.bfly.i32: i32, i32, i32, i32 -> i32
shfl.sync.idx.f32p: i32, float, i32, i32 -> {float, i1}
vote.any.sync: i32, i1 -> i1
vote.ballot.sync: i32, i1 -> i32
match.any.sync.i32: i32, i32 -> i32
activemask: -> i32
nanosleep: i32 -> void
redux.sync.umin: i32, i32 -> i32
griddepcontrol.wait: -> void
cp.async.ca.shared.global.4: S, G -> void
cp.async.ca.shared.global.8.s: S, G, i32 -> void
cp.async.cg.shared.global.16.s: S, G, i32 -> void
cp.async.commit.group: -> void
cp.async.wait.group: i32 1 -> void
cp.async.wait.all: -> void
cp.async.mbarrier.arrive.shared: S -> void
cp.async.mbarrier.arrive.noinc.shared: S -> void
cp.async.bulk.shared.cta.to.global: G, S, i32, i64 0, i1 false -> void
cp.async.bulk.commit.group: -> void
wgmma.fence.sync.aligned: -> void
wgmma.wait_group.sync.aligned: i64 0 -> void
fence.proxy.async.shared_cta: -> void
cp.async.bulk.wait.group: i32 0 -> void
prefetch.global.L1: G -> void
mbarrier.init.shared: S, i32 -> void
mbarrier.inval.shared: S -> void
mbarrier.arrive.shared: S -> i64
mbarrier.test.wait.shared: S, i64 -> i1
mbarrier.test.wait.parity.scope.cta.space.cta: S, i32 -> i1
mbarrier.try.wait.scope.cta.space.cta: S, i64 -> i1
mbarrier.try.wait.parity.scope.cta.space.cta: S, i32 -> i1
mbarrier.arrive.expect.tx.scope.cta.space.cta: S, i32 -> i64
ldmatrix.sync.aligned.m8n8.x1.b16.p3: S -> i32
ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3: S -> i32*4
stmatrix.sync.aligned.m8n8.x2.b16.p3: S, i32*2 -> void
mma.m8n8k4.col.row.f32.f32: h*2, h*2, float*8 -> float*8
mma.m8n8k4.row.col.f16.f16: h*2, h*2, h*4 -> h*4
mma.m16n8k8.row.col.f16.f16: h*2, h, h*2 -> h*2
mma.m16n8k16.row.col.f32.f32: h*4, h*2, float*4 -> float*4
mma.m16n8k8.row.col.bf16: i32*2, i32, float*4 -> float*4
mma.m16n8k8.row.col.tf32: i32*4, i32*2, float*4 -> float*4
mma.m8n8k4.row.col.f64: double, double, double*2 -> double*2
mma.m16n8k8.row.col.f64: double*4, double*2, double*4 -> double*4
mma.m16n8k32.row.col.f32.e4m3.e5m2.f32: i32*4, i32*2, float*4 -> float*4
mma.m8n8k16.row.col.satfinite.s8.u8: i32, i32, i32*2 -> i32*2
mma.m16n8k32.row.col.u8: i32*4, i32*2, i32*4 -> i32*4
mma.m8n8k32.row.col.s4: i32, i32, i32*2 -> i32*2
mma.m16n8k64.row.col.s4.u4: i32*4, i32*2, i32*4 -> i32*4
mma.xor.popc.m16n8k256.row.col.b1: i32*4, i32*2, i32*4 -> i32*4
mma.and.popc.m8n8k128.row.col.b1: i32, i32, i32*2 -> i32*2
mma.sp.m16n8k32.row.col.f32.f32: h*4, h*4, float*4, i32, i32 0 -> float*4
mma.sp.m16n8k16.row.col.bf16: i32*2, i32*2, float*4, i32, i32 1 -> float*4
mma.sp.m16n8k8.row.col.tf32: i32*2, i32*2, float*4, i32, i32 0 -> float*4
mma.sp.m16n8k64.row.col.satfinite.s8: i32*4, i32*4, i32*4, i32, i32 0 -> i32*4
mma.sp.m16n8k128.row.col.u4: i32*4, i32*4, i32*4, i32, i32 0 -> i32*4
mma.sp.m16n8k64.row.col.f32.e4m3.e4m3.f32: i32*4, i32*4, float*4, i32, i32 0 -> float*4
wmma.m16n16k16.load.a.col.stride.f16.p3: S, i32 -> h*8
wmma.m16n16k16.store.d.row.stride.f32.p1: G, float*8, i32 -> void
wmma.m16n16k16.mma.row.col.f32.f32: h*8, h*8, float*8 -> float*8
wmma.m32n8k16.load.b.row.stride.f16.p3: S, i32 -> h*8
wmma.m8n32k16.mma.row.row.f16.f16: h*8, h*8, h*4 -> h*4
wmma.m32n8k16.load.a.row.stride.s8.p3: S, i32 -> i32*4
wmma.m16n16k16.store.d.row.stride.s32.p1: G, i32*8, i32 -> void
wmma.m8n32k16.mma.row.col.u8: i32, i32*4, i32*8 -> i32*8
wmma.m32n8k16.load.a.row.stride.bf16.p3: S, i32 -> i32*8
wmma.m8n32k16.mma.row.col.bf16: i32*2, i32*8, float*8 -> float*8
wmma.m8n8k32.load.a.row.stride.s4.p3: S, i32 -> i32
wmma.m8n8k32.store.d.row.stride.s32.p1: G, i32*2, i32 -> void
wmma.m8n8k32.mma.row.col.u4: i32, i32, i32*2 -> i32*2
wmma.m8n8k128.load.b.col.stride.b1.p3: S, i32 -> i32
wmma.m8n8k128.mma.xor.popc.row.col.b1: i32, i32, i32*2 -> i32*2
wmma.m8n8k128.mma.and.popc.row.col.b1: i32, i32, i32*2 -> i32*2
wmma.m16n16k8.mma.row.col.tf32: i32*4, i32*4, float*8 -> float*8
wmma.m8n8k4.mma.row.col.f64: double, double, double*2 -> double*2
ex2.approx.f: float -> float
ex2.approx.f16: half -> half
rsqrt.approx.f: float -> float
sqrt.rn.f: float -> float
"""
"""Intrinsics with their operands and result; `h` is a vector of two halves."""

COPIES = {
    "cp.async.bulk.global.to.shared.cluster": (
        f"{CLUSTER}, {SHARED}, {GLOBAL}, i32, i16 0, i64 0, i1 false, i1 false"
    ),
    "cp.async.bulk.tensor.g2s.tile.2d": (
        f"{CLUSTER}, {SHARED}, ptr, i32, i32, i16 0, i64 0, i1 false, i1 false, i32 0"
    ),
    "cp.async.bulk.tensor.s2g.tile.2d": f"{SHARED}, ptr, i32, i32, i64 0, i1 false",
}


def operands(text: str) -> list[str]:
    """The types in a list, those of literals with their values."""
    names = {"S": SHARED, "G": GLOBAL, "C": CLUSTER, "h": HALVES}
    found: list[str] = []
    for item in filter(None, (each.strip() for each in text.split(","))):
        name, _, count = item.partition("*")
        found += [names.get(name, name)] * int(count or 1)
    return found


def module_of(name: str, arguments: list[str], result: str) -> str:
    """A kernel that calls an intrinsic with its parameters, and uses the result."""
    types = [LITERAL.sub(r"\1", each) for each in arguments]
    given = [
        each if LITERAL.fullmatch(each) else f"{each} %a{place}"
        for place, each in enumerate(arguments)
    ]
    parameters = [each for each in given if "%" in each]
    called = f"call {result} @llvm.nvvm.{name}({', '.join(given)})"
    use = f"  {called}\n"
    if result != "void":
        use = f"  %r = {called}\n  store {result} %r, ptr %out\n"
    return (
        f"declare {result} @llvm.nvvm.{name}({', '.join(types)})\n"
        f"define ptx_kernel void @k({', '.join(['ptr %out', *parameters])}) {{\n"
        f"{use}  ret void\n}}\n"
    )


def examples() -> dict[str, str]:
    """LLVM modules by the intrinsic that they call."""
    found: dict[str, str] = {}
    for line in VALUES.strip().splitlines():
        name, _, rest = line.partition(":")
        arguments, _, result = rest.rpartition("->")
        results = operands(result.strip())
        whole = results[0] if len(results) == 1 else f"{{{', '.join(results)}}}"
        if result.strip().startswith("{"):
            whole = result.strip()
        found[name] = module_of(name, operands(arguments), whole)
    for name, arguments in COPIES.items():
        found[name] = module_of(name, arguments.split(", "), "void")
    return found


EXAMPLES = examples()
PRODUCT = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
FOUR = "{float, float, float, float}"
ASSEMBLY = f"{PRODUCT} {{$0, $1, $2, $3}}, $8, $9, 1, 1, 1, 0, 0;"
CONSTRAINTS = "=f,=f,=f,=f,0,1,2,3,l,l"
EXAMPLES[PRODUCT] = f"""
define ptx_kernel void @k(ptr %out, float %x, i64 %a) {{
  %r = call {FOUR} asm sideeffect "{ASSEMBLY}", "{CONSTRAINTS}"(
    float %x, float %x, float %x, float %x, i64 %a, i64 %a)
  store {FOUR} %r, ptr %out
  ret void
}}
"""

PROGRAM = r"""
import json, os, sys
from xdsl_tvm.runtime import llvm_jit

llvm_jit.ptx("define ptx_kernel void @k() {\n  ret void\n}\n", "sm_70")
for name, arch, text in json.load(sys.stdin):
    child = os.fork()
    if child == 0:
        print(name, arch, llvm_jit.ptx(text, arch).split(".version ")[1][:3], flush=True)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        print(name, arch, "fails", flush=True)
"""


def row_of(name: str) -> Row:
    """The row that counts for an intrinsic."""
    return next(row for row in ROWS if re.match(row.pattern + r"\.", name + "."))


def archs_of(name: str) -> list[str]:
    """The architectures on which an example is compiled: the oldest, or all that can."""
    row = row_of(name)
    fit = [arch for arch in ARCHS if row.needs.lack_of(arch) is None]
    return fit if MANY else fit[:1]


def test_every_row_has_an_example() -> None:
    assert {row_of(name) for name in EXAMPLES} == set(ROWS)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the test forks")
def test_rows_compile() -> None:
    pytest.importorskip("llvmlite", reason="PTX needs llvmlite")
    cases = [
        (name, arch, text) for name, text in EXAMPLES.items() for arch in archs_of(name)
    ]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == len(cases)
    for name, arch, version in lines:
        expected = max(row_of(name).needs.ptx, ARCHS[arch])
        assert version == f"{expected // 10}.{expected % 10}", (name, arch)


def test_what_is_too_new_is_refused_by_name() -> None:
    for name, text in EXAMPLES.items():
        needs = needs_of(f"llvm.nvvm.{name}")
        assert needs is not None
        for arch in ARCHS:
            lack = needs.lack_of(arch)
            if lack is not None and "asm" not in text:
                message = f"'llvm.nvvm.{name}' needs {lack}, not {arch}"
                with pytest.raises(DiagnosticException, match=re.escape(message)):
                    ptx_version(text, arch)
