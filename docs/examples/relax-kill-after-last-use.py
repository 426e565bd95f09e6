from xdsl.builder import ImplicitBuilder
from xdsl.dialects.builtin import TensorType, f32

from xdsl_tvm import IRModule
from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import Sequential
from xdsl_tvm.passes.relax import KillAfterLastUse

# A Relax function
tensor = TensorType(f32, (32, 64))
example_func = relax.FuncOp("example_func", [tensor], tensor)
with ImplicitBuilder(example_func.body) as (x,):
    y = relax.AddOp(x, x)
    z = relax.MultiplyOp(y, y)
    # Nothing uses y from here on
    w = relax.SubtractOp(z, z)
    relax.ReturnOp(w)

# The pass in a sequence, where others may follow
mod = IRModule({"main": example_func})
pass_seq = Sequential([KillAfterLastUse()])
optimized_mod = pass_seq(mod)

# The lives of y and z end behind their last uses
print(optimized_mod["main"])
