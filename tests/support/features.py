"""What the machine offers to tests: the names that `REQUIRES:` lines may use.

Both the in-process runner and `lit.cfg` ask here, so a file is skipped by both or by
neither.
"""

import ctypes
import shutil
from functools import cache
from importlib.util import find_spec

KNOWN_FEATURES = ("cuda", "llvmlite", "mlir", "ptxas")

_MLIR_VERSIONS = ("", "-22")
"""Suffixes under which MLIR's tools are installed, in order of preference."""


def mlir_tool(name: str) -> str | None:
    """The path of `mlir-opt` or `mlir-translate` of LLVM 22, or None."""
    found = (shutil.which(f"{name}{version}") for version in _MLIR_VERSIONS)
    return next((path for path in found if path is not None), None)


def _has_gpu() -> bool:
    """Whether the CUDA driver is installed and sees a device."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return False
    return count.value > 0


@cache
def available_features() -> frozenset[str]:
    """The features of `KNOWN_FEATURES` that this machine has."""
    present = {
        "cuda": _has_gpu(),
        "llvmlite": find_spec("llvmlite") is not None,
        "mlir": None not in (mlir_tool("mlir-opt"), mlir_tool("mlir-translate")),
        "ptxas": shutil.which("ptxas") is not None,
    }
    return frozenset(name for name, there in present.items() if there)


def feature_holds(expression: str) -> bool:
    """Evaluates one term of a `REQUIRES:` line, such as `cuda && !ptxas || llvmlite`.

    `&&` binds tighter than `||`. Raises ValueError for a name that is no known
    feature, so that a misspelt one does not skip a test for ever.
    """
    return any(
        all(_literal_holds(literal) for literal in alternative.split("&&"))
        for alternative in expression.split("||")
    )


def _literal_holds(literal: str) -> bool:
    literal = literal.strip()
    name = literal.removeprefix("!").strip()
    if name not in KNOWN_FEATURES:
        known = ", ".join(KNOWN_FEATURES)
        raise ValueError(f"unknown feature '{name}' (known: {known})")
    return (name in available_features()) != literal.startswith("!")
