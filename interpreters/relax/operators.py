"""What each operator computes, on numpy arrays.

An evaluation gets the operation and the values of its operands, in order, and gives the
value of its result. The caller makes results contiguous and distinct from the operands.
The tables are by name of the operation, one module per family of operators.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl_tvm.interpreters.relax import creation as _relax_creation
from xdsl_tvm.interpreters.relax import elementwise as _relax_elementwise
from xdsl_tvm.interpreters.relax import gather as _relax_gather
from xdsl_tvm.interpreters.relax import images as _relax_images
from xdsl_tvm.interpreters.relax import indexing as _relax_indexing
from xdsl_tvm.interpreters.relax import manipulate as _relax_manipulate
from xdsl_tvm.interpreters.relax import nn as _relax_nn
from xdsl_tvm.interpreters.relax import normalization as _relax_normalization
from xdsl_tvm.interpreters.relax import quantize as _relax_quantize
from xdsl_tvm.interpreters.relax import reductions as _relax_reductions
from xdsl_tvm.interpreters.relax import windows as _relax_windows
from xdsl_tvm.interpreters.relax.numbers import Evaluation

EVALUATIONS: Mapping[str, Evaluation] = {
    **_relax_creation.TABLE,
    **_relax_elementwise.TABLE,
    **_relax_gather.TABLE,
    **_relax_images.TABLE,
    **_relax_indexing.TABLE,
    **_relax_manipulate.TABLE,
    **_relax_nn.TABLE,
    **_relax_normalization.TABLE,
    **_relax_quantize.TABLE,
    **_relax_reductions.TABLE,
    **_relax_windows.TABLE,
}
"""The evaluation of each operator, by the name of the operation."""
