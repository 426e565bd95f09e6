"""Features of Arm processors, from the options that name one (docs/spec/tir-ir.md §10).

TVM asks LLVM for them. The same answer is found here in tables, for the processors that
are common and for the versions of the architecture, so that a target means the same
without LLVM. A processor that no table has is known by its `mattr` alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_FEATURE_OF: Final = {
    "has_asimd": "neon",
    "has_dotprod": "dotprod",
    "has_fp16_simd": "fullfp16",
    "has_matmul_i8": "i8mm",
    "has_sme": "sme",
    "has_sve": "sve",
}
"""TVM's name of a feature -> that of the LLVM attribute that gives it."""

_IMPLIED: Final = {
    "dotprod": ("neon",),
    "fullfp16": (),
    "i8mm": ("neon",),
    "sme": ("bf16",),
    "sme2": ("sme",),
    "sve": ("fullfp16",),
    "sve2": ("sve",),
}
"""What an LLVM attribute of AArch64 switches on besides itself."""

_FROM_VERSION: Final = (((8, 4), "dotprod"), ((8, 6), "i8mm"), ((9, 0), "sve2"))
"""What is part of the architecture from a version on, in LLVM."""

_V8_2 = ("dotprod", "fullfp16")
_PROCESSORS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("cortex-a35", "cortex-a53", "cortex-a57", "cortex-a72"), ()),
    **dict.fromkeys(("cortex-a55", "cortex-a75", "cortex-a76", "cortex-a77"), _V8_2),
    **dict.fromkeys(("cortex-a78", "cortex-x1", "neoverse-n1"), _V8_2),
    "neoverse-v1": (*_V8_2, "i8mm", "sve"),
    **dict.fromkeys(
        ("cortex-a510", "cortex-a710", "cortex-x2", "neoverse-n2", "neoverse-v2"),
        (*_V8_2, "i8mm", "sve2"),
    ),
    "a64fx": ("fullfp16", "sve"),
    "apple-m1": _V8_2,
    "apple-m2": (*_V8_2, "i8mm"),
}
"""What common AArch64 processors have beyond `neon`."""

_VERSION = re.compile(r"v(\d+)(?:\.(\d+))?a\Z")


def is_aarch64(triple: str) -> bool:
    """Whether a target triple is of the 64-bit Arm architecture."""
    return triple.startswith(("aarch64", "arm64"))


def is_arm(triple: str, mcpu: str) -> bool:
    """Whether a triple is of an Arm application processor.

    TVM takes triples `arm64…`, as Apple spells them, for 32-bit Arm.
    """
    if is_aarch64(triple):
        return True
    return triple.startswith("arm") and not mcpu.startswith("cortex-m")


def arm_features(triple: str, mcpu: str, mattr: Sequence[str]) -> dict[str, bool]:
    """The features of an Arm processor by TVM's names, `is_aarch64` among them."""
    found: set[str] = set()
    if is_aarch64(triple):
        _add(found, "neon")
        for name in _PROCESSORS.get(mcpu, ()):
            _add(found, name)
    for flag in mattr:
        name = flag[1:]
        if flag.startswith("-"):
            _remove(found, name)
        elif (version := _VERSION.match(name)) is not None:
            _add_version(found, (int(version[1]), int(version[2] or 0)))
        else:
            _add(found, name)
    features = {ours: llvm in found for ours, llvm in _FEATURE_OF.items()}
    return {"is_aarch64": is_aarch64(triple), **features}


def _add(found: set[str], name: str) -> None:
    found.add(name)
    for implied in _IMPLIED.get(name, ()):
        _add(found, implied)


def _remove(found: set[str], name: str) -> None:
    found.discard(name)
    for other, implied in _IMPLIED.items():
        if name in implied and other in found:
            _remove(found, other)


def _add_version(found: set[str], version: tuple[int, int]) -> None:
    major, minor = version
    for since, name in _FROM_VERSION:
        # Version 9.x has all of 8.(5 + x).
        equal = (since[0], minor + 5 * (major - since[0]))
        if major >= since[0] and equal >= since:
            _add(found, name)
