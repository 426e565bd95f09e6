import xdsl_tvm as tvm
from xdsl_tvm import relax
from xdsl_tvm.relax.transform import AttachAttrLayoutFreeBuffers

# A Relax IRModule without functions
mod = tvm.IRModule({})

# The pass in a sequence
seq = tvm.transform.Sequential([AttachAttrLayoutFreeBuffers()])
optimized_mod = seq(mod)

# The pass by itself
pass_obj = AttachAttrLayoutFreeBuffers()
result_mod = pass_obj(mod)


# A function with a weight: the second parameter, since there is one input
@relax.function
def main(x: relax.Tensor((4,), "float32"), w: relax.Tensor((4,), "float32")):
    relax.func_attr({"num_input": 1})
    y = relax.op.multiply(x, w)
    return y


# What calls TIR functions comes from LegalizeOps
legalized = relax.transform.LegalizeOps()(tvm.IRModule({"main": main}))
result_mod = pass_obj(legalized)
print(result_mod)
