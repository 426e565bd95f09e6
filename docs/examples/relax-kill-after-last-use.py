import xdsl_tvm as tvm
from xdsl_tvm import relax
from xdsl_tvm.relax import transform


# A Relax function
@relax.function
def example_func(x: relax.Tensor((32, 64), "float32")):
    # Some operators
    y = relax.op.add(x, x)
    z = relax.op.multiply(y, y)
    # Nothing uses y from here on
    w = relax.op.subtract(z, z)
    return w


# The pass in a sequence, where others may follow
mod = tvm.IRModule({"main": example_func})
pass_seq = transform.Sequential(
    [
        transform.KillAfterLastUse(),
    ]
)
optimized_mod = pass_seq(mod)

# The lives of y and z end after their last uses
print(optimized_mod["main"])
