"""TVM's `tvm.target`: `Target("cuda -arch=sm_80")`, `with target:`, `Target.current()`.

A target is an attribute of the dialect `tir`; its fields are read by `attr`, `export` and
the other methods of `xdsl_tvm.dialects.tir.Target`.
"""

from typing import NoReturn

from xdsl_tvm.dialects.tir.target import Target
from xdsl_tvm.dialects.tir.target_kinds import TargetKind
from xdsl_tvm.dialects.tir.target_tags import TAGS
from xdsl_tvm.passes.tir import datatype
from xdsl_tvm.tvm_words import missing

__all__ = ["Target", "TargetKind", "datatype", "list_tags"]


def list_tags() -> dict[str, Target]:
    """The targets of well-known machines, by their tags."""
    return {tag: Target.parse(tag) for tag in TAGS}


def __getattr__(name: str) -> NoReturn:
    raise missing("target", name)
