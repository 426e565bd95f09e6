"""`xdsl-tvm estimate`: how fast the kernels of a file can be at most, without a GPU.

The kernels are compiled to machine code by `ptxas`. Of each it says the registers, stack
and spills, how many blocks a multiprocessor holds and what allows no more, and of its
hottest loop the instructions, the cycles by unit, the unit that bounds it and the share
of the peak. That is an upper bound, from the loop alone and with rates of data sheets;
it is no forecast.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from xdsl_tvm.analysis.gpu_rates import ENOUGH_IN_FLIGHT, rates_of
from xdsl_tvm.lowering.llvm_ir import launched_bytes, llvm_ir, lowered
from xdsl_tvm.passes.infra.error_lines import UserError
from xdsl_tvm.passes.infra.module_text import reading
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.kernel_estimate import KernelEstimate, estimate
from xdsl_tvm.runtime.llvm_jit import ptx
from xdsl_tvm.runtime.sass import KernelCode, machine_code, mix
from xdsl_tvm.tools._compiling import FILE_HELP, input_module
from xdsl_tvm.tools._process import working_on
from xdsl_tvm.tools._scripts import EXECUTE_HELP
from xdsl_tvm.tools.opt import refuse_arguments

_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(")
_BLOCK = re.compile(r"\.(?:reqntid|maxntid)\s+([\d, ]+)")
_SHOWN = 10


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("xdsl-tvm estimate", description=__doc__)
    parser.error = refuse_arguments
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help=FILE_HELP)
    add("--arch", default="sm_90", help="the GPU, such as sm_80 (default: sm_90)")
    add("--threads", metavar="N", type=int, help="of a block, where the kernel has none")
    add(
        "--shared-bytes",
        metavar="N",
        type=int,
        help="of dynamic shared memory that a launch adds (default: as launches in the "
        "file say, where that is constant)",
    )
    add("--execute", action="store_true", help=EXECUTE_HELP)
    add("--traceback", action="store_true", help=argparse.SUPPRESS)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Runs the command; errors are raised, for the caller to print."""
    options = argument_parser().parse_args(arguments)
    with reading(str(options.file)):
        module, _ = input_module(options.file, execute=options.execute, locations=False)
        try:
            rates_of(options.arch)
            working_on(f"{options.file}: its compilation was")
            context = new_context()
            module = lowered(context, module, "nvptx", options.arch)
            ir = llvm_ir(context, module, "nvptx", options.arch, check=True)
            text = ptx(ir, options.arch)
            codes = machine_code(text, options.arch)
        except (ValueError, RuntimeError) as error:
            raise UserError(str(error)) from error
    working_on("")
    blocks, launched = block_sizes(text), launched_bytes(module)
    for name, code in codes.items():
        threads = options.threads or blocks.get(name)
        if threads is None:
            raise UserError(f"@{name}: it is made for blocks of any size; give --threads")
        added = options.shared_bytes
        if added is None:
            added = launched.get(name, 0)
        for line in report(code, threads, added):
            print(line)


def block_sizes(text: str) -> dict[str, int]:
    """The threads of a block that kernels in PTX text are made for, where it says so."""
    found: dict[str, int] = {}
    entries = _ENTRY.split(text)
    for name, rest in zip(entries[1::2], entries[2::2], strict=True):
        given = _BLOCK.search(rest.partition("{")[0])
        if given is not None:
            count = 1
            for extent in given[1].split(","):
                count *= int(extent)
            found[name] = count
    return found


def report(code: KernelCode, threads: int, dynamic_bytes: int = 0) -> list[str]:
    """What there is to say of a kernel, in lines."""
    shared = code.shared_bytes + dynamic_bytes
    lines = [
        f"@{code.name} for {code.arch}: {threads} threads a block, {code.registers} "
        f"registers, {shared} bytes of shared memory, {code.spill_bytes} bytes spilled, "
        f"{code.stack_bytes} bytes of stack"
    ]
    found = estimate(code, threads, dynamic_bytes)
    if found is None:
        return [*lines, "  no multiprocessor can hold a block of it"]
    return [*lines, *_bound_lines(found)]


def _bound_lines(found: KernelEstimate) -> list[str]:
    held = found.occupancy
    body = found.code.instructions if found.loop is None else found.loop.instructions
    what = "no loop" if found.loop is None else "hottest loop"
    # Those of the tensor units are few, and what counts.
    often = sorted(mix(body).items(), key=lambda item: not item[0].endswith("MMA"))
    shown = often[:_SHOWN]
    cycles = sorted(found.cycles.items(), key=lambda item: -item[1])
    flight = found.bytes_in_flight
    lines = [
        f"  a multiprocessor holds {held.blocks} blocks, {held.warps} warps; more would "
        f"need more {held.limit}",
        f"  {what}: {len(body)} instructions, "
        + ", ".join(f"{count} {name}" for name, count in shown),
        "  cycles for all warps: "
        + ", ".join(f"{unit} {value:.0f}" for unit, value in cycles),
        f"  upper bound: {100 * found.share:.0f} % of the {found.peak} peak, bound by "
        f"{found.bound}; from the loop alone, with rates of data sheets",
    ]
    if flight:
        lines.append(
            f"  loads in flight: at most {flight / 1024:.0f} KiB a multiprocessor; "
            f"{ENOUGH_IN_FLIGHT >> 10} KiB hide the latency of memory"
        )
    return lines
