"""TVM's `relax.analysis`: `relax.analysis.well_formed(mod)`.

What else there is to ask of Relax programs is in `xdsl_tvm.analysis.relax`.
"""

from typing import NoReturn

from xdsl_tvm.analysis.relax.well_formed import well_formed as well_formed
from xdsl_tvm.tvm_words import missing


def __getattr__(name: str) -> NoReturn:
    raise missing("relax.analysis", name)
