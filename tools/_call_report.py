"""What `xdsl-tvm run` says of its calls: the function, its inputs, and the time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from xdsl_tvm.runtime.sample_inputs import flat_arguments
from xdsl_tvm.runtime.signature import ArraySpec, Signature, Spec

_MOST_INPUTS = 4


def call_line(
    signature: Signature,
    arguments: Sequence[Any],
    files: Sequence[Path],
    seconds: Sequence[float],
) -> str:
    """The function, where each input is from, and the time of the calls.

    `seconds` are those of each call in order. The first call is shown apart: it may
    compile more, and touches memory for the first time.
    """
    flat = flat_arguments(signature.tuples, arguments)
    inputs = [
        f"{param.name} = {_shown(param, value, files[i] if i < len(files) else None)}"
        for i, (param, value) in enumerate(zip(signature.params, flat, strict=True))
    ]
    if rest := inputs[_MOST_INPUTS:]:
        inputs[_MOST_INPUTS:] = [f"{len(rest)} more"]
    first, others = seconds[0], seconds[1:]
    if others:
        mean = sum(others) / len(others)
        time = f"first call {_time(first)}, {len(others)} more {_time(mean)} each"
    else:
        time = _time(first)
    return f"called @{signature.function}({', '.join(inputs)}): {time}"


def _shown(param: Spec, value: Any, file: Path | None) -> str:
    if not isinstance(param, ArraySpec):
        return str(value)
    array = np.asarray(value)
    made = "zeros" if param.written else "random"
    source = made if file is None else f"from {file}"
    return f"{array.dtype}{list(array.shape)} {source}"


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3f} ms"
