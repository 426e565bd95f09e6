"""The targets that options of passes give to functions without one."""

from __future__ import annotations

from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import tir


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
