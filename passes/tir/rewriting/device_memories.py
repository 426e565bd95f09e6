"""What passes know of the memories of devices."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_tvm.dialects import tir


def memory_infos_around(op: Operation) -> Mapping[str, tir.MemoryInfo]:
    """All memories that are described for the code in or around `op`, by scope.

    Raises PassFailedException for a malformed description in a module around it.
    """
    try:
        return tir.memory_infos(op)
    except VerifyException as error:
        raise PassFailedException(str(error)) from error
