"""The targets that options of passes give to functions without one."""

from __future__ import annotations

from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.tir.function_target import cuda_capability
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import PassContext

_ASYNC_COPY = "tir.use_async_copy"
_ASYNC_SINCE = 80
"""The compute capability from which on `cp.async` exists."""


def parsed_target(pass_name: str, text: str | None) -> tir.Target | None:
    """The target of an option of a pass, None where it is not given.

    Raises PassFailedException, which names the pass, for a text that is no target.
    """
    if text is None:
        return None
    try:
        return tir.Target.parse(text)
    except ValueError as error:
        raise PassFailedException(f"{pass_name}: {error}") from error


def uses_async_copy(target: tir.Target, context: PassContext | None = None) -> bool:
    """Whether copies to shared memory that a schedule marks become asynchronous.

    Where `tir.use_async_copy` is set in the PassContext, it says so; else they do for a
    CUDA architecture that has such copies.
    """
    context = PassContext.current() if context is None else context
    if _ASYNC_COPY in context.config:
        return bool(context.get_config(_ASYNC_COPY, bool))
    return cuda_capability(target) >= _ASYNC_SINCE
