"""Whether LLVM's vectorizers have anything to find in text that the emitter wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_VECTOR = re.compile(r"<(?:vscale x )?\d+ x ")
_CALLEE = re.compile(r"@([\w.$-]+|\"[^\"]*\")\(")
_TARGET = re.compile(r"label %([\w.]+)")
_LOOP = re.compile(r"!llvm\.loop (!\d+)")
_SPLAT = ", i64 0"
"""How the only insertion of an element ends that a vector of equal elements needs."""


def is_vectorized(text: str) -> bool:
    """Whether the text of a module holds vectors wherever LLVM could make some.

    So it is if every innermost loop computes with vectors or calls a function that is not
    here, no two scalars are stored beside each other in a loop, no vector is put together
    from scalars, and no call of a function of the module can be inlined. Loops that LLVM
    unrolls in full count as a part of the loop around them.

    LLVM's loop vectorizer looks at innermost loops, and leaves those with vectors alone
    (LoopVectorizationLegality); its SLP vectorizer begins at neighbouring stores and at
    insertions of elements. The answer is no promise of the form of the code: blocks in an
    unusual order may hide a loop.
    """
    unrolled = _unrolled(text)
    heads, functions = _functions(text)
    inlined = {name for name, head in heads if "noinline" not in head}
    if any("alwaysinline" in head for _, head in heads):
        return False
    return all(_is_vectorized(lines, unrolled, inlined) for lines in functions)


@dataclass
class _Loop:
    first: int
    last: int
    is_unrolled: bool


@dataclass
class _Block:
    """What matters of a block."""

    has_vectors: bool = False
    accesses_memory: bool = False
    calls: bool = False
    scalar_stores: int = 0


def _unrolled(text: str) -> set[str]:
    """The nodes of metadata of loops that are unrolled in full."""
    hint = re.search(r'^(!\d+) = !\{!"llvm\.loop\.unroll\.full"\}$', text, re.MULTILINE)
    if hint is None:
        return set()
    nodes = re.finditer(r"^(!\d+) = distinct !\{(!\d+, .*)\}$", text, re.MULTILINE)
    return {node[1] for node in nodes if hint[1] in node[2].split(", ")}


def _functions(text: str) -> tuple[list[tuple[str, str]], list[list[str]]]:
    """The names and first lines of the functions of a module, and their other lines."""
    heads: list[tuple[str, str]] = []
    bodies: list[list[str]] = []
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("define "):
            name = _CALLEE.search(line)
            heads.append(("" if name is None else name[1], line))
            bodies.append(list(_until_end(lines)))
    return heads, bodies


def _until_end(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if line == "}":
            return
        yield line


def _is_vectorized(lines: list[str], unrolled: set[str], inlined: set[str]) -> bool:
    """Whether the lines of a function hold vectors where LLVM could make some."""
    numbers: dict[str, int] = {}
    blocks: list[_Block] = []
    loops: list[_Loop] = []
    for line in lines:
        if not line.startswith(" "):
            numbers[line.rstrip(":")] = len(blocks)
            blocks.append(_Block())
            continue
        block = blocks[-1]
        block.has_vectors |= "<" in line and _VECTOR.search(line) is not None
        if line.startswith("  store "):
            block.accesses_memory = True
            block.scalar_stores += not line.startswith("  store <")
        elif " load " in line:
            block.accesses_memory = True
        elif "call " in line:
            if "@llvm." not in line:
                block.calls = True
                callee = _CALLEE.search(line)
                if callee is not None and callee[1] in inlined:
                    return False
        elif " insertelement " in line:
            if not line.endswith(_SPLAT):
                return False
        elif line.startswith(("  br ", "  switch ")):
            hint = _LOOP.search(line)
            is_unrolled = hint is not None and hint[1] in unrolled
            for target in _TARGET.findall(line):
                first = numbers.get(target)
                if first is not None:
                    loops.append(_Loop(first, len(blocks) - 1, is_unrolled))
    return all(_needs_no_vectors(loop, loops, blocks) for loop in loops)


def _needs_no_vectors(loop: _Loop, loops: list[_Loop], blocks: list[_Block]) -> bool:
    body = blocks[loop.first : loop.last + 1]
    most = 0 if loop.is_unrolled else 1
    if any(block.scalar_stores > most and not block.calls for block in body):
        return False
    inner = (
        other
        for other in loops
        if other is not loop and loop.first <= other.first and other.last <= loop.last
    )
    if loop.is_unrolled or not all(other.is_unrolled for other in inner):
        return True
    return any(block.has_vectors or block.calls for block in body) or not any(
        block.accesses_memory for block in body
    )
