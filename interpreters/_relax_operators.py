"""What each operator computes, on numpy arrays.

An evaluation gets the operation and the values of its operands, in order, and gives the
value of its result. The caller makes results contiguous and distinct from the operands.
The tables are by name of the operation, one module per family of operators.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl_tvm.interpreters import (
    _relax_creation,
    _relax_elementwise,
    _relax_gather,
    _relax_images,
    _relax_indexing,
    _relax_manipulate,
    _relax_nn,
    _relax_normalization,
    _relax_quantize,
    _relax_reductions,
    _relax_windows,
)
from xdsl_tvm.interpreters._relax_numbers import Evaluation

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
