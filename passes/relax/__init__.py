"""Passes over Relax under TVM's names: `relax.LegalizeOps()`.

A pass class is looked up by its name, and its file imported, when it is first used.
"""

from collections.abc import Callable

from xdsl_tvm.passes._compiler_pass import CompilerPass
from xdsl_tvm.passes._sequential import pass_attribute


def __getattr__(name: str) -> Callable[..., CompilerPass]:
    return pass_attribute(__name__, "relax", name)
