"""What is read from the texts of the disassembler and of the assembler."""

from __future__ import annotations

import pytest

from xdsl_tvm.analysis.gpu_rates import GPUS, occupancy, rates_of
from xdsl_tvm.runtime import sass
from xdsl_tvm.runtime.kernel_estimate import bytes_of, estimate, matrix_operations
from xdsl_tvm.runtime.sass import (
    Instruction,
    KernelCode,
    Loop,
    machine_code,
    mix,
    parse_code,
)

LOG = """
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'outer' for 'sm_90'
ptxas info    : Function properties for outer
    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 2048 bytes smem
ptxas info    : Compiling entry function 'plain' for 'sm_90'
ptxas info    : Function properties for plain
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 0 barriers
"""
SASS = """
	.section	.text.plain,"ax",@progbits
.text.plain:
        /*0000*/                   S2R R0, SR_TID.X ;
        /*0010*/              @!P0 EXIT ;
.L_x_9:
        /*0020*/                   BRA `(.L_x_9);
        /*0030*/                   NOP;
	.section	.text.outer,"ax",@progbits
.text.outer:
.L_x_0:
        /*0000*/                   LDG.E.128 R4, desc[UR8][R2.64] ;
.L_x_1:
        /*0010*/                   LDS.128 R8, [R16] ;
        /*0020*/                   FFMA R9, R8, R4, R9 ;
        /*0030*/                   FFMA R10, R8, R5, R10 ;
        /*0040*/               @P1 BRA `(.L_x_1) ;
.L_x_2:
        /*0050*/                   FADD R9, R9, R10 ;
        /*0060*/              @!P2 BRA P3, `(.L_x_2) ;
        /*0070*/               @P0 BRA `(.L_x_0) ;
        /*0080*/                   EXIT ;
.L_x_3:
        /*0090*/                   BRA `(.L_x_3);
"""


@pytest.fixture
def codes() -> dict[str, KernelCode]:
    return parse_code(SASS, LOG, "sm_90")


def test_resources(codes: dict[str, KernelCode]) -> None:
    outer, plain = codes["outer"], codes["plain"]
    assert (outer.registers, outer.stack_bytes, outer.spill_bytes) == (40, 16, 12)
    assert outer.shared_bytes == 2048
    assert (plain.registers, plain.stack_bytes, plain.shared_bytes) == (12, 0, 0)


def test_instructions_and_loops(codes: dict[str, KernelCode]) -> None:
    outer, plain = codes["outer"], codes["plain"]
    assert [each.name for each in plain.instructions] == ["S2R", "EXIT", "BRA"]
    assert plain.instructions[1].predicate == "@!P0"
    assert plain.hottest_loop() is None
    assert [(loop.depth, loop.innermost) for loop in outer.loops] == [
        (1, False),
        (2, True),
        (2, True),
    ]
    hottest = outer.hottest_loop()
    assert hottest is not None
    assert mix(hottest.instructions) == {"FFMA": 2, "LDS": 1, "BRA": 1}
    added = outer.hottest_loop("FADD")
    assert added is not None
    assert len(added.instructions) == 2
    assert outer.hottest_loop("HMMA") is None
    assert outer.count("FFMA") == 2


def test_estimate(codes: dict[str, KernelCode]) -> None:
    """Of 64 warps, 2 FFMA take 16 cycles each, and 4 instructions 16 cycles each."""
    found = estimate(codes["outer"], 256)
    assert found is not None
    assert (found.occupancy.blocks, found.occupancy.limit) == (6, "registers")
    assert found.cycles == {"f32": 24, "shared": 48, "issue": 48}
    assert (found.bound, found.peak, found.share) == ("shared", "f32", 0.5)
    assert estimate(codes["outer"], 256, 1 << 20) is None


def test_occupancy() -> None:
    gpu = rates_of("sm_90a")
    assert gpu is GPUS["sm_90"]
    assert occupancy(gpu, 32, 0, 256).blocks == 8
    assert occupancy(gpu, 255, 0, 256).limit == "registers"
    assert occupancy(gpu, 255, 0, 256).blocks == 1
    assert occupancy(gpu, 32, 64 << 10, 128).blocks == 3
    assert occupancy(gpu, 16, 0, 32).blocks == 32
    with pytest.raises(ValueError, match="no rates are known of sm_70"):
        rates_of("sm_70")


def test_operations() -> None:
    assert matrix_operations("HMMA.16816.F32") == (2048, False)
    assert matrix_operations("HMMA.1688.F32.TF32") == (2048, False)
    assert matrix_operations("IMMA.16832.S8.S8") == (2048, False)
    assert matrix_operations("HGMMA.64x256x16.F32") == (64 * 256 * 16, True)
    assert matrix_operations("FFMA") is None
    assert matrix_operations("HMMA.999.F32") is None
    widths = {"LDG.E.128.CONSTANT": 16, "LDG.E.64": 8, "LDG.E": 4, "LDG.E.U16": 2}
    assert {k: bytes_of(Instruction(k, "")) for k in widths} == widths


def test_a_product_of_warpgroups() -> None:
    """Its operands come from shared memory; a load of nothing waits for copies."""
    body = [
        Instruction("HGMMA.64x256x16.F32", "R24, gdesc[UR4], R24"),
        Instruction("LDS", "RZ, [RZ]"),
        Instruction("BRA", "`(.L_x_0)", "@P0"),
    ]
    code = KernelCode("k", "sm_90a", 168, 0, 0, 0, body, [Loop(body, 1, True)])
    found = estimate(code, 128)
    assert found is not None
    assert found.occupancy.warps == 12
    assert found.cycles == {"tensor": 384, "shared": 240, "issue": 9}
    assert (found.bound, found.peak, found.share) == ("tensor", "tensor", 1.0)


def test_missing_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        assert name in ("ptxas", "nvdisasm")

    monkeypatch.setattr(sass, "find_program", nothing)
    with pytest.raises(RuntimeError, match=r"ptxas is not installed: pip install .*sass"):
        machine_code("", "sm_90")
