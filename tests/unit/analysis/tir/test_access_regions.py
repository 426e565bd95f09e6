"""Regions that blocks and statements access, asked for from Python."""

from __future__ import annotations

import random
from textwrap import dedent

import pytest
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Const, view
from xdsl_tvm.analysis.tir.access_regions import (
    AccessRegion,
    domain_touched,
    get_block_access_region,
    get_block_read_write_region,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.tvmscript import parse


def module_of(body: str) -> ModuleOp:
    head = """\
        from tvm.script import tir as T

        @T.prim_func
        def main(A: T.Buffer((64, 64), "int32"), B: T.Buffer((64, 64), "int32")):
        """
    parsed = parse(dedent(head) + body)
    assert isinstance(parsed, ModuleOp)
    return parsed


def blocks_of(module: ModuleOp) -> dict[str, tir.BlockOp]:
    return {op.block_name.data: op for op in module.walk() if isinstance(op, tir.BlockOp)}


def buffers_of(module: ModuleOp) -> dict[str, tir.MatchBufferOp]:
    return {
        op.buffer_name.data: op
        for op in module.walk()
        if isinstance(op, tir.MatchBufferOp) and op.buffer_name is not None
    }


def check_same(
    found: tuple[AccessRegion, ...], declared: tuple[tir.BufferRegion, ...]
) -> None:
    analyzer = Analyzer()
    assert [each.buffer for each in found] == [each.buffer for each in declared]
    for ours, theirs in zip(found, declared, strict=True):
        sides = zip(ours.region, theirs.mins, theirs.extents, strict=True)
        for side, low, extent in sides:
            assert analyzer.can_prove_equal(side.min, view(low)), (str(ours), low)
            other = (
                Const(extent, side.extent.dtype)
                if isinstance(extent, int)
                else view(extent)
            )
            assert analyzer.can_prove_equal(side.extent, other), (str(ours), extent)


def random_index(rng: random.Random, name: str) -> str:
    terms = [f"{name} * {rng.randint(1, 3)}"]
    if rng.random() < 0.7:
        terms.append(rng.choice(["k", "k * 2", "l", "(k + l)", "(k * 4 + l)"]))
    terms.append(str(rng.randint(0, 5)))
    return " + ".join(terms)


def random_block(rng: random.Random) -> str:
    """A block that the script gives no regions, with loops and perhaps a condition."""

    def place(buffer: str) -> str:
        return f"{buffer}[{random_index(rng, 'vi')}, {random_index(rng, 'vj')}]"

    bounds = [f"k < {rng.randint(1, 3)}", f"l >= {rng.randint(0, 2)}", "k + l < 4"]
    condition = rng.choice(bounds)
    lines = [
        "    for i, j in T.grid(4, 4):",
        '        with T.block("b"):',
        '            vi, vj = T.axis.remap("SS", [i, j])',
        f"            for k, l in T.grid({rng.randint(2, 4)}, {rng.randint(3, 4)}):",
        f"                if {condition}:",
        f"                    {place('B')} = {place('A')} + {place('A')}",
        f"                {place('B')} = {place('B')}",
    ]
    if rng.random() < 0.4:
        init = ["            with T.init():", "                B[vi, vj] = 0"]
        lines[3:3] = init
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(12))
def test_regions_are_those_that_scripts_leave_out(seed: int) -> None:
    module = module_of(random_block(random.Random(seed)))
    for block in blocks_of(module).values():
        if block.is_opaque:
            continue
        found = get_block_read_write_region(block)
        declared = {type(op): op for op in block.body.block.ops}
        reads, writes = declared[tir.ReadsOp], declared[tir.WritesOp]
        assert isinstance(reads, tir.ReadsOp)
        assert isinstance(writes, tir.WritesOp)
        check_same(found.reads, reads.buffer_regions)
        check_same(found.writes, writes.buffer_regions)


COPY = """\
    for i in range(8):
        with T.block("copy"):
            vi = T.axis.spatial(8, i)
            for k in range(4):
                B[vi, k + 2] = A[vi * 2, k] + B[0, 0]
"""


def test_buffers_that_are_asked_for() -> None:
    module = module_of(COPY)
    block, buffers = blocks_of(module)["copy"], buffers_of(module)
    found = get_block_access_region(block, {buffers["A"].buffer})
    assert [str(each) for each in found.reads] == ["%A[(%vi * 2) for 1, 0 for 4]"]
    assert found.writes == found.opaque == ()


def test_domain_touched() -> None:
    module = module_of(COPY)
    loop, inner = (op for op in module.walk() if isinstance(op, tir.ForOp))
    buffer = buffers_of(module)["B"].buffer

    def touched(op: tir.ForOp, *, loads: bool, stores: bool) -> list[str]:
        found = domain_touched(op, buffer, loads=loads, stores=stores)
        return [f"{each.min} for {each.extent}" for each in found]

    assert touched(inner, loads=True, stores=False) == ["0 for 1", "0 for 1"]
    stored = touched(inner, loads=False, stores=True)
    assert stored == ["%vi for 1", "2 for 4"]
    assert touched(inner, loads=False, stores=False) == []
    assert touched(loop, loads=False, stores=True) == ["0 for 8", "2 for 4"]
    assert touched(loop, loads=True, stores=True) == ["0 for 8", "0 for 6"]
    assert smart.literal(domain_touched(loop, buffer)[1].extent) == 6


def test_domain_of_a_buffer_in_the_statement() -> None:
    module = module_of(COPY)
    buffer = buffers_of(module)["B"]
    func = buffer.parent_op()
    assert func is not None
    with pytest.raises(ValueError, match=r"defines the buffer itself; ask about"):
        domain_touched(func, buffer.buffer)
