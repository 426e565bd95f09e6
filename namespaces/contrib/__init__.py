"""TVM's `tvm.contrib`, of which `utils` is here."""

from typing import NoReturn

from xdsl_tvm.contrib import utils
from xdsl_tvm.tvm_words import missing

__all__ = ["utils"]


def __getattr__(name: str) -> NoReturn:
    raise missing("contrib", name)
