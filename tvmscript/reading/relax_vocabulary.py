"""All functions of `R` by their full names in TVM: `vocabulary()["nn.relu"]`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from xdsl_tvm.tvmscript.reading.relax_calls import FUNCTIONS
from xdsl_tvm.tvmscript.reading.relax_operators import operators
from xdsl_tvm.tvmscript.reading.relax_values import const, const_data


@cache
def vocabulary() -> Mapping[str, Callable[..., object]]:
    """The functions by name, but for those that annotate."""
    # Made once: every operator of a script is looked up here.
    known = operators()
    # TVM has this one under a short name, too.
    short = {"stop_lift_params": known["builtin.stop_lift_params"]}
    return {**known, **FUNCTIONS, **short, "const": const, "const_data": const_data}
