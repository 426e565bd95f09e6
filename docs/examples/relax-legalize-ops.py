from xdsl.ir import SSAValue

import xdsl_tvm as tvm
from xdsl_tvm import relax
from xdsl_tvm.dialects.relax import MultiplyOp, SquareOp
from xdsl_tvm.passes.relax.legalize.registry import Bindings
from xdsl_tvm.relax import transform


# A Relax function
@relax.function
def example_func(x: relax.Tensor((32, 64), "float32")):
    y = relax.op.add(x, x)
    z = relax.op.square(y)
    return z


# A rule of one's own: the square as a product, which is legalized recursively
def square(bindings: Bindings, op: SquareOp) -> SSAValue:
    return bindings.emit(MultiplyOp(op.data, op.data))


mod = tvm.IRModule({"main": example_func})
legalized_mod = transform.LegalizeOps({"relax.square": square})(mod)

# Calls of the functions add and multiply, which the module has now
print(legalized_mod["main"])
