"""Machine code of NVIDIA GPUs: PTX assembled by `ptxas`, and what is in it.

The programs `ptxas` and `nvdisasm` are in the packages `nvidia-cuda-nvcc` and
`nvidia-cuda-nvdisasm` (extra `sass`), or on the PATH. Neither needs a GPU.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

_PACKAGES = {"ptxas": "nvidia-cuda-nvcc", "nvdisasm": "nvidia-cuda-nvdisasm"}

_INSTRUCTION = re.compile(
    r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:\{\s*)?(@!?U?P\w+\s+)?([A-Z][A-Za-z0-9_.]*)(.*?);", re.M
)
_LABEL = re.compile(r"^(\.L_\w+):")
_JUMP = re.compile(r"\bBRA(?:\.\w+)*\s+(?:[!U]?U?P\w+,\s*)?`\((\.L_\w+)\)")
_SECTION = re.compile(r"^\s*\.section\s+\.text\.([^,\s]+)", re.M)
_PROPERTIES = re.compile(
    r"Function properties for (\S+)\s+(\d+) bytes stack frame, "
    r"(\d+) bytes spill stores, (\d+) bytes spill loads"
)
_USED = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")


def find_program(name: str) -> Path | None:
    """`ptxas` or `nvdisasm`: that on the PATH, else that of an installed package."""
    on_path = shutil.which(name)
    if on_path is not None:
        return Path(on_path)
    found = importlib.util.find_spec("nvidia")
    for folder in [] if found is None else found.submodule_search_locations or []:
        for path in sorted(Path(folder).glob(f"*/bin/{name}")):
            if os.access(path, os.X_OK):
                return path
    return None


def _program(name: str) -> Path:
    found = find_program(name)
    if found is None:
        raise RuntimeError(
            f"{name} is not installed: pip install 'xdsl-tvm[sass]', which brings "
            f"{_PACKAGES[name]}"
        )
    return found


@dataclass(frozen=True)
class Instruction:
    """One instruction: its opcode with suffixes, its operands, and its predicate."""

    opcode: str
    operands: str
    predicate: str = ""

    @property
    def name(self) -> str:
        """The opcode without suffixes."""
        return self.opcode.partition(".")[0]


@dataclass(frozen=True)
class Loop:
    """The instructions from a label to the branch back to it."""

    instructions: Sequence[Instruction]
    depth: int
    """How many loops it is in, itself among them."""
    innermost: bool

    def count(self, opcode: str) -> int:
        """The instructions whose opcode begins with `opcode`."""
        return sum(each.opcode.startswith(opcode) for each in self.instructions)


@dataclass(frozen=True)
class KernelCode:
    """The machine code of one kernel, and what it needs of the GPU."""

    name: str
    arch: str
    registers: int
    stack_bytes: int
    spill_bytes: int
    """Stored and loaded because registers are too few."""
    shared_bytes: int
    """Static shared memory."""
    instructions: Sequence[Instruction]
    loops: Sequence[Loop] = field(default_factory=tuple)

    def count(self, opcode: str) -> int:
        """The instructions whose opcode begins with `opcode`."""
        return sum(each.opcode.startswith(opcode) for each in self.instructions)

    def hottest_loop(self, opcode: str = "") -> Loop | None:
        """The innermost loop that counts most, None without loops.

        With `opcode`, that of most such instructions; else, of the most deeply nested
        loops the longest.
        """
        found = [loop for loop in self.loops if loop.innermost]
        if opcode:
            found = [loop for loop in found if loop.count(opcode)]
            return max(found, key=lambda loop: loop.count(opcode), default=None)
        return max(
            found, key=lambda loop: (loop.depth, len(loop.instructions)), default=None
        )


def mix(instructions: Sequence[Instruction]) -> dict[str, int]:
    """How often each opcode, without suffixes, occurs; the most frequent one first."""
    return dict(Counter(each.name for each in instructions).most_common())


def machine_code(ptx: str, arch: str) -> dict[str, KernelCode]:
    """The kernels in PTX text, assembled for `arch`, by name.

    Raises RuntimeError where `ptxas` or `nvdisasm` is missing, or refuses the text.
    """
    assembler, disassembler = _program("ptxas"), _program("nvdisasm")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(ptx)
        log = _run([assembler, f"-arch={arch}", "-v", "-O3", source, "-o", target])
        text = _run([disassembler, "-c", "-ndf", target])
    return parse_code(text, log, arch)


def _run(command: Sequence[str | Path]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise RuntimeError(f"{Path(command[0]).name} failed: {lines[0]}")
    return done.stdout + done.stderr


def parse_code(sass: str, log: str, arch: str) -> dict[str, KernelCode]:
    """The kernels in the text of `nvdisasm` and in what `ptxas -v` said."""
    sections = _SECTION.split(sass)
    texts = dict(zip(sections[1::2], sections[2::2], strict=True))
    found: dict[str, KernelCode] = {}
    for part in log.split("Compiling entry function")[1:]:
        properties, used = _PROPERTIES.search(part), _USED.search(part)
        if properties is None or used is None:
            continue
        name = properties[1]
        stack, stores, loads = (int(properties[n]) for n in (2, 3, 4))
        text = texts.get(name, "")
        found[name] = KernelCode(
            name,
            arch,
            int(used[1]),
            stack,
            stores + loads,
            int(used[2] or 0),
            _instructions(text),
            _loops(text),
        )
    return found


def _instructions(text: str) -> list[Instruction]:
    return [
        Instruction(match[2], match[3].strip(), (match[1] or "").strip())
        for match in _INSTRUCTION.finditer(text)
        if match[2] != "NOP"
    ]


def _loops(text: str) -> list[Loop]:
    lines = text.splitlines()
    labels: dict[str, int] = {}
    spans: set[tuple[int, int]] = set()
    for number, line in enumerate(lines):
        label, jump = _LABEL.match(line.strip()), _JUMP.search(line)
        if label is not None:
            labels[label[1]] = number
        first = None if jump is None else labels.get(jump[1])
        # A branch to itself ends the code of every kernel.
        if first is not None and number > first + 1:
            spans.add((first, number))
    return [
        Loop(
            _instructions("\n".join(lines[first : last + 1])),
            sum(a <= first and last <= b for a, b in spans),
            not any(
                first <= a and b <= last and (a, b) != (first, last) for a, b in spans
            ),
        )
        for first, last in sorted(spans)
    ]
