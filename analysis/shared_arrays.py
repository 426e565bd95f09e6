"""Arrays of other libraries as arrays of numpy, on the same memory."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

_HOST_MEMORY = (1, 3, 11, 13)
"""DLPack's numbers of memory that the processor reads: its own, and pinned or managed."""


def shared_array(value: Any) -> np.ndarray[Any, np.dtype[Any]] | None:
    """The array of numpy that a value is, or shares by DLPack; None for no array.

    Raises ValueError for an array that cannot be shared: one in another memory than the
    processor's, one of a dtype that numpy itself does not have, such as bfloat16, or a
    tensor that requires gradients.
    """
    if isinstance(value, np.ndarray):
        return cast("np.ndarray[Any, np.dtype[Any]]", value)
    if isinstance(value, type):
        # Classes have the methods that their arrays have.
        return None
    if not (hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__")):
        return None
    try:
        memory, _ = value.__dlpack_device__()
        if int(memory) in _HOST_MEMORY:
            return np.from_dlpack(value)
    except (BufferError, RuntimeError) as error:
        reason = str(error).rstrip(".")
        raise ValueError(f"{reason}; pass a numpy array of its elements") from error
    raise ValueError(
        "the array is not in the processor's memory; pass a copy of it that is"
    )
