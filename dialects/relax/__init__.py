"""Relax: graphs of tensor operators, TVM's high-level IR.

Tensors are builtin tensors whose encoding names symbolic dimensions, so Relax operations
mix with those of other dialects. `symbolic` holds the dimensions, `types` and `algebra`
the types and their lattice, `operators` the conventions of inference; the operations
are in one module per family. What `__all__` of a family names is exported here, as
`relax.AddOp`.
"""

from xdsl.ir import Dialect

from xdsl_tvm.dialects.definitions import attributes_of, operations_of
from xdsl_tvm.dialects.relax.operators import OperatorOp as OperatorOp
from xdsl_tvm.dialects.relax.symbolic import Dim as Dim

# Relative, since a type checker refuses stars of what it takes for an installed library,
# and exports modules that are imported so.
from . import (
    activations,
    attention,
    attributes,
    calls,
    collective,
    convolution,
    creation,
    datatype,
    elementwise,
    functions,
    gather,
    gradient,
    image,
    indexing,
    inspect,
    lambdas,
    layout_transform,
    linear_algebra,
    logic,
    losses,
    manipulate,
    memory,
    nn,
    normalization,
    packed,
    pooling,
    quantize,
    reductions,
    runtime,
    sorting,
    ternary,
    types,
    unary,
    values,
    vm,
)
from .activations import *
from .algebra import *
from .attention import *
from .attributes import *
from .calls import *
from .collective import *
from .convolution import *
from .creation import *
from .datatype import *
from .elementwise import *
from .functions import *
from .gather import *
from .gradient import *
from .image import *
from .indexing import *
from .inspect import *
from .lambdas import *
from .layout_transform import *
from .linear_algebra import *
from .logic import *
from .losses import *
from .manipulate import *
from .memory import *
from .nn import *
from .normalization import *
from .packed import *
from .pooling import *
from .quantize import *
from .reductions import *
from .runtime import *
from .sorting import *
from .ternary import *
from .types import *
from .unary import *
from .values import *
from .vm import *

Relax = Dialect(
    "relax",
    operations_of(
        functions,
        lambdas,
        values,
        calls,
        memory,
        vm,
        layout_transform,
        inspect,
        gradient,
        collective,
        image,
        quantize,
        losses,
        gather,
        normalization,
        attention,
        runtime,
        packed,
        pooling,
        convolution,
        elementwise,
        linear_algebra,
        manipulate,
        activations,
        creation,
        datatype,
        indexing,
        logic,
        ternary,
        unary,
        sorting,
        nn,
        reductions,
    ),
    attributes_of(attributes, types),
)
