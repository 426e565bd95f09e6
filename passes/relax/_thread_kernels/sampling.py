"""Draws by threads: a block for each sample, whose threads scan its distribution."""

from __future__ import annotations

from xdsl.dialects.builtin import i64

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.relax._thread_kernels.program import (
    Sizes,
    ThreadProgram,
    ceildiv,
    power_of_two,
)
from xdsl_tvm.passes.relax._thread_kernels.scans import TileScan
from xdsl_tvm.passes.relax.legalize.registry import RuleContext
from xdsl_tvm.passes.relax.legalize.stages import accumulator_type
from xdsl_tvm.passes.relax.legalize.tensor_expression import SUM, Expr, Tensor


def multinomial(
    op: relax.MultinomialFromUniformOp, site: RuleContext, sizes: Sizes
) -> Tensor:
    """The first index whose cumulated probability exceeds the sample, else the last."""
    program = ThreadProgram.of(site)
    prob, uniform, rows = (site.tensor(position) for position in range(3))
    wide = accumulator_type(prob.dtype)
    each = max(sizes.tile // sizes.threads, 1)
    threads, length = sizes.threads, prob.shape[1]
    if isinstance(length, int):
        threads = min(threads, power_of_two(-(-length // each)))
    classes, zero = program.extent(length), program.extent(0)
    found = program.memory("indices", site.shape, site.dtype)
    parts = program.extent(ceildiv(program, length, threads * each))
    with program.launch("sample", uniform.shape[0], threads) as (block, thread):
        scan = TileScan(program, SUM, wide, thread, threads, each)
        firsts = program.scoped("firsts", [threads], i64, "shared")
        carry = program.scoped("carry", [1], wide, "local")
        mine = program.scoped("mine", [1], i64, "local")
        program.store(scan.identity(), carry, [zero])
        program.store(classes - 1, mine, [zero])
        row = rows[block, zero].cast(i64)
        sample = uniform[block, zero].cast(wide)
        with program.loop("part", zero, parts) as part:
            start = part * (threads * each) + thread * each
            nothing = scan.identity()

            def element(number: Expr) -> Expr:
                place = start + number
                return program.if_then_else(
                    place < classes,
                    lambda: prob[row, place].cast(wide),
                    lambda: nothing,
                )

            prefix = scan.scan(element)
            before, after = carry[zero] + prefix.before, carry[zero] + prefix.total
            with program.unrolled("u", each) as number:
                place = start + number
                exceeds = before + prefix.own[number] > sample
                with program.when((place < classes) & exceeds):
                    program.store(mine[zero].minimum(place), mine, [zero])
            program.store(after, carry, [zero])
            program.barrier()
        program.store(mine[zero], firsts, [thread])
        program.barrier()
        stride = threads // 2
        while stride:
            with program.when(thread < stride):
                least = firsts[thread].minimum(firsts[thread + stride])
                program.store(least, firsts, [thread])
            program.barrier()
            stride //= 2
        with program.when(thread.equals(0)):
            program.store(firsts[zero].cast(site.dtype), found, [block, zero])
    return found
