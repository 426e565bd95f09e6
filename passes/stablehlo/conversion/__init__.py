"""How `stablehlo-to-relax` converts: a file a family of operations.

`emitter.py` makes the operations of Relax, `functions.py` walks functions, and the others
hold the table of conversions, which importing this package fills.
"""

from xdsl_tvm.passes.stablehlo.conversion import (
    contraction,
    elementwise,
    indexing,
    random,
    reductions,
    shapes,
)
from xdsl_tvm.passes.stablehlo.conversion.functions import FunctionConversion
from xdsl_tvm.passes.stablehlo.conversion.rules import RULES

__all__ = [
    "RULES",
    "FunctionConversion",
    "contraction",
    "elementwise",
    "indexing",
    "random",
    "reductions",
    "shapes",
]
