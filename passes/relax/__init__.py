"""Passes over Relax under TVM's names: `relax.LegalizeOps()`.

A pass class is looked up by its name, and its file imported, when it is first used.
"""

from xdsl_tvm.passes._sequential import PassFamily

__getattr__ = PassFamily(__name__, "relax")
