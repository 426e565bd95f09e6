import xdsl_tvm as tvm
from xdsl_tvm import relax


# The Relax module
@relax.expr.function
def main(x: relax.Tensor((32, 64), "float32")) -> relax.Tensor:
    with relax.dataflow():
        # Operators that may be computed in place
        y1 = relax.add(x, x)
        y2 = relax.multiply(y1, x)
        relax.output(y2)
    return y2


mod = tvm.IRModule({"main": main})

# y2 takes the place of y1; x is the caller's
mod_optimized = relax.transform.DataflowUseInplaceCalls()(mod)
print(mod_optimized["main"])

# The rest of the road to explicit memory: there is one tensor left to allocate
seq = tvm.transform.Sequential(
    [
        relax.transform.LegalizeOps(),
        relax.transform.ToNonDataflow(),
        relax.transform.CallTIRRewrite(),
    ]
)
lowered = seq(mod_optimized)
print(lowered["main"])
