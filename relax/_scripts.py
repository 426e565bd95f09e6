"""Functions of `relax` that read scripts, or stand in scripts that are read.

`@relax.function` is `R.function` of `xdsl_tvm.tvmscript.relax`, and so are annotations
and what a decorated function calls. They are looked up when they are first used.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

_TYPES = "xdsl_tvm.tvmscript.nodes.relax_types"
_VALUES = "xdsl_tvm.tvmscript.reading.relax_values"


def script_attribute(name: str) -> Any:
    """`R.<name>`; AttributeError if there is none."""
    return getattr(importlib.import_module("xdsl_tvm.tvmscript.relax"), name)


def is_reading() -> bool:
    """Whether a decorated function is being read, so that calls are those of a script."""
    if (values := sys.modules.get(_VALUES)) is None:
        return False
    try:
        values.FunctionBuilder.current()
    except importlib.import_module(
        "xdsl_tvm.tvmscript.nodes.expressions"
    ).ScriptTypeError:
        return False
    return True


def script_type(annotation: object) -> Any:
    """The type that an annotation such as `R.Tensor((4,), "float32")` stands for.

    Raises ScriptTypeError for what is no annotation of Relax.
    """
    return importlib.import_module(_TYPES).annotated_type(annotation)
