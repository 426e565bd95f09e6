"""TIR functions from shapes and element expressions, in the manner of tensor expressions.

A `TensorProgram` collects stages. Each stage computes one tensor, element by element,
from tensors before it, and becomes one loop nest around one block; tensors that are
neither inputs nor results are allocated in the root block. The conventions are TVM's
(docs/spec/relax-ops.md §15): indices are `i64`, functions are private and carry
`tir.noalias`, symbolic extents are bound by the buffers that have them as a bare
dimension.

```python
program = TensorProgram("add")
a = program.input("A", (4, 16), f32)
b = program.input("B", (16,), f32)
c = program.compute("T_add", (4, 16), f32, lambda i, j: a[i, j] + b[j])
function = program.build([c])
```
"""

from xdsl_tvm.passes.relax.legalize.tensor_expression.program import TensorProgram
from xdsl_tvm.passes.relax.legalize.tensor_expression.values import (
    MAX,
    MIN,
    PRODUCT,
    SUM,
    Dim,
    Element,
    Expr,
    Operand,
    Reducer,
    Scalar,
    Slice,
    Tensor,
    highest,
    lowest,
)

__all__ = [
    "MAX",
    "MIN",
    "PRODUCT",
    "SUM",
    "Dim",
    "Element",
    "Expr",
    "Operand",
    "Reducer",
    "Scalar",
    "Slice",
    "Tensor",
    "TensorProgram",
    "highest",
    "lowest",
]
