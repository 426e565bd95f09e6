"""TVM's `tvm.tir.analysis`: `tir.analysis.verify_well_formed(mod)`.

What else there is to ask of TIR programs is in `xdsl_tvm.analysis.tir`.
"""

from typing import NoReturn

from xdsl_tvm.analysis.tir.well_formed import verify_well_formed as verify_well_formed
from xdsl_tvm.tvm_words import missing


def __getattr__(name: str) -> NoReturn:
    raise missing("tir.analysis", name)
