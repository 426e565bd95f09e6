"""Arguments given by name, put where the parameters are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def in_order(
    function: str, names: Sequence[str], args: Sequence[Any], named: Mapping[str, Any]
) -> list[Any]:
    """`args`, and those of `named` in the order of the parameters.

    `names` are the parameters that a call gives. Raises TypeError, which begins with
    `function`, for a name that no parameter or more than one has, for a parameter that is
    given twice, and for one that is not given.
    """
    positions: dict[str, int] = {}
    for position, name in enumerate(names):
        positions[name] = -1 if name in positions else position
    for name in named:
        position = positions.get(name)
        if position is None:
            known = ", ".join(names) or "none"
            raise TypeError(f"{function} has no parameter '{name}'; it has {known}")
        if position < 0:
            raise TypeError(
                f"{function} has several parameters '{name}'; give them in order"
            )
        if position < len(args):
            raise TypeError(f"{function}: argument '{name}' is given twice")
    rest = names[len(args) :]
    missing = [name for name in rest if name not in named]
    if missing:
        raise TypeError(f"{function}: no argument for {', '.join(missing)}")
    return [*args, *(named[name] for name in rest)]
