"""TVM's `relax.analysis`: `relax.analysis.well_formed(mod)`.

What else there is to ask of Relax programs is in `xdsl_tvm.analysis.relax`.
"""

from xdsl_tvm.analysis.relax.well_formed import well_formed as well_formed
