"""Whether LLVM's vectorizers have anything to find in text that the emitter wrote."""

from __future__ import annotations

import re
from dataclasses import dataclass

_VECTOR = re.compile(r"<(?:vscale x )?\d+ x ")
_CALLEE = re.compile(r"@([\w.$-]+|\"[^\"]*\")\(")
# From the first column on, so that what is quoted in a line is not searched again.
_CALL = re.compile(r"^  (?:\S+ = )?call [^@\n]*(?:@(?!llvm\.)|%[\w.]+\()", re.MULTILINE)
_INSERTION = re.compile(r"^  \S+ = insertelement .*, i64 (?!0$)\S+$", re.MULTILINE)
"""What a vector of equal elements does not need."""
_LABEL = re.compile(r"^(\S+):\n", re.MULTILINE)
_TARGET = re.compile(r"label %([\w.]+)")
_LOOP = re.compile(r"!llvm\.loop (!\d+)")


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
    heads, bodies = _functions(text)
    if any("alwaysinline" in head for head in heads):
        return False
    inlined = {_name(head) for head in heads if "noinline" not in head}
    unrolled = _unrolled(text)
    return all(
        inlined.isdisjoint(_CALLEE.findall(body))
        and _INSERTION.search(body) is None
        and _is_vectorized(body, unrolled)
        for body in bodies
    )


def _functions(text: str) -> tuple[list[str], list[str]]:
    """The first lines of the functions that a module defines, and their other lines."""
    parts = [part.partition(" {\n") for part in f"\n{text}".split("\ndefine ")[1:]]
    heads = [head for head, _, _ in parts]
    return heads, [rest.partition("\n}")[0] for _, _, rest in parts]


def _name(head: str) -> str:
    name = _CALLEE.search(head)
    return "" if name is None else name[1]


def _unrolled(text: str) -> set[str]:
    """The nodes of metadata of loops that are unrolled in full."""
    # The emitter writes metadata last.
    nodes = text[text.rfind("\n!0 = ") :]
    hint = re.search(r'^(!\d+) = !\{!"llvm\.loop\.unroll\.full"\}$', nodes, re.MULTILINE)
    if hint is None:
        return set()
    found = re.finditer(r"^(!\d+) = distinct !\{(!\d+, .*)\}$", nodes, re.MULTILINE)
    return {node[1] for node in found if hint[1] in node[2].split(", ")}


@dataclass(frozen=True)
class _Loop:
    """A loop: blocks that are one after the other."""

    first: int
    last: int
    becomes_straight: bool
    """Whether no loop is left of it, or of those in it, once LLVM has unrolled them."""


def _is_vectorized(body: str, unrolled: set[str]) -> bool:
    """Whether a function holds vectors where LLVM could make some in loops."""
    _, *parts = _LABEL.split(body)
    labels, blocks = parts[::2], parts[1::2]
    numbers = {label: number for number, label in enumerate(labels)}
    loops: list[_Loop] = []
    """Those that are in no other one so far, in order."""
    for number, block in enumerate(blocks):
        jump = block.rstrip().rpartition("\n")[2]
        back = {numbers.get(target, number + 1) for target in _TARGET.findall(jump)}
        for first in sorted((each for each in back if each <= number), reverse=True):
            hint = _LOOP.search(jump)
            is_unrolled = hint is not None and hint[1] in unrolled
            inner: list[_Loop] = []
            own: list[str] = []
            end = number + 1
            while loops and loops[-1].first >= first:
                inner.append(loop := loops.pop())
                own += blocks[loop.last + 1 : end]
                end = loop.first
            own += blocks[first:end]
            if any(_has_neighbouring_stores(each, is_unrolled) for each in own):
                return False
            are_straight = all(loop.becomes_straight for loop in inner)
            is_innermost = are_straight and not is_unrolled
            if is_innermost and _has_only_scalars("".join(blocks[first : number + 1])):
                return False
            loops.append(_Loop(first, number, are_straight and is_unrolled))
    return True


def _has_neighbouring_stores(block: str, is_unrolled: bool) -> bool:
    scalars = block.count("  store ") - block.count("  store <")
    return scalars > (0 if is_unrolled else 1) and _CALL.search(block) is None


def _has_only_scalars(loop: str) -> bool:
    """Whether an innermost loop reads or writes memory, and LLVM could use vectors."""
    return (
        (" load " in loop or "  store " in loop)
        and _VECTOR.search(loop) is None
        and _CALL.search(loop) is None
    )
