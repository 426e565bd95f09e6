"""The vocabulary of Relax in scripts: `from xdsl_tvm.tvmscript import relax as R`.

Relax functions cannot be read from TVMScript yet. The decorators are here so that a
script with such functions is refused at their place.
"""

from __future__ import annotations

from typing import NoReturn

from xdsl_tvm.tvmscript.decorators import RelaxDecorator

function = RelaxDecorator("R.function")
macro = RelaxDecorator("R.macro")


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(
        f"R.{name} is not supported: Relax cannot be read from TVMScript yet; write it "
        "in the relax dialect"
    )
