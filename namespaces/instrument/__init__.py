"""TVM's `tvm.instrument`: what watches passes, in `PassContext(instruments=[…])`."""

from typing import NoReturn

from xdsl_tvm.passes.infra import (
    DumpIR,
    PassInstrument,
    PassPrintingInstrument,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    pass_instrument,
)
from xdsl_tvm.tvm_words import missing

__all__ = [
    "DumpIR",
    "PassInstrument",
    "PassPrintingInstrument",
    "PassTimingInstrument",
    "PrintAfterAll",
    "PrintBeforeAll",
    "pass_instrument",
]


def __getattr__(name: str) -> NoReturn:
    raise missing("instrument", name)
