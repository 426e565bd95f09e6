"""`stablehlo` and `chlo`: graphs as JAX prints them.

Operations have the names, properties and assembly of the StableHLO specification, so text
of `jax.jit(f).lower(…).as_text()` is read, in the custom and in the generic form.
`stablehlo-to-relax` makes Relax functions of it.
"""

from xdsl.ir import Dialect

from xdsl_tvm.dialects.definitions import attributes_of, operations_of
from xdsl_tvm.dialects.stablehlo import (
    attributes,
    chlo,
    contraction,
    control,
    elementwise,
    indexing,
    random,
    reductions,
    shapes,
)

StableHLO = Dialect(
    "stablehlo",
    operations_of(
        elementwise, shapes, contraction, reductions, indexing, control, random
    ),
    attributes_of(attributes),
)
CHLO = Dialect("chlo", operations_of(chlo))

__all__ = ["CHLO", "StableHLO"]
