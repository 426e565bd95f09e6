"""Names of values in the text of programs."""

from __future__ import annotations

from xdsl.ir import SSAValue


def set_name_hint(value: SSAValue, name: str | None) -> None:
    """Name a value in the text, where the name can be one.

    xDSL drops a number at the end of a name, as `_1` of `x_1`, each time that a name is
    assigned. Of `_1` it keeps the empty name, which it refuses when the operation is
    cloned; such a value is called `_`.
    """
    if not name or not SSAValue.is_valid_name(name):
        return
    short = SSAValue.extract_valid_name(name)
    while short and short != name:
        name, short = short, SSAValue.extract_valid_name(short)
    value.name_hint = short or "_"
