import numpy as np

import xdsl_tvm as tvm
from xdsl_tvm import relax


# The Relax module
@relax.function
def main(x: relax.Tensor((1, 64, 56, 56), "float32")):
    # Some operators
    weight = relax.const(np.full((64, 64, 1, 1), 0.5), "float32")
    conv1 = relax.op.nn.conv2d(x, weight)
    relu1 = relax.op.nn.relu(conv1)
    return relu1


mod = tvm.IRModule({"main": main})

# The pass plans what is allocated, and operators do not say yet what they allocate
mod_optimized = relax.transform.StaticPlanBlockMemory()(mod)
print(mod_optimized)


# A chain of operators that TIR functions compute
@relax.function
def chain(x: relax.Tensor((2, 4), "float32")):
    a = relax.op.nn.relu(x)
    b = relax.op.add(a, a)
    c = relax.op.multiply(b, b)
    d = relax.op.nn.relu(c)
    return d


lower = tvm.transform.Sequential(
    [relax.transform.LegalizeOps(), relax.transform.CallTIRRewrite()]
)
lowered = lower(tvm.IRModule({"chain": chain}))

# a and c share a storage; d is returned and gets one of its own; lives end explicitly
finish = tvm.transform.Sequential(
    [relax.transform.LowerAllocTensor(), relax.transform.KillAfterLastUse()]
)
optimized = finish(relax.transform.StaticPlanBlockMemory()(lowered))
print(optimized["chain"])

# The same with all tensors at offsets in one storage, proven to be apart
arena = relax.transform.StaticPlanBlockMemory(strategy="arena", alignment=4)(lowered)
print(relax.transform.VerifyMemoryPlan()(arena)["chain"])
