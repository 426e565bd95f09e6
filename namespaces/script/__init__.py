"""TVM's `tvm.script`: the vocabularies of scripts, and reading them.

from xdsl_tvm.script import ir as I, relax as R, tir as T
"""

from typing import NoReturn

from xdsl_tvm.script import ir_builder, parser
from xdsl_tvm.tvm_words import missing
from xdsl_tvm.tvmscript import ir, parse, relax, tir
from xdsl_tvm.tvmscript.decorators import ir_module

tirx = tir
"""Newer TVM's name of `tir`."""
from_source = parse
"""The module of a text, a function or a class, as TVM's `tvm.script.from_source`."""

__all__ = [
    "from_source",
    "ir",
    "ir_builder",
    "ir_module",
    "parse",
    "parser",
    "relax",
    "tir",
]


def __getattr__(name: str) -> NoReturn:
    raise missing("script", name)
