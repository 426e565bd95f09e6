from xdsl.builder import ImplicitBuilder
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, f32

from xdsl_tvm import IRModule
from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import Sequential
from xdsl_tvm.passes.relax import (
    CallTIRRewrite,
    LegalizeOps,
    LowerAllocTensor,
    StaticPlanBlockMemory,
)

# The Relax module
x_type = TensorType(f32, (1, 64, 56, 56))
weight_type = TensorType(f32, (64, 64, 1, 1))
main = relax.FuncOp("main", [x_type], x_type)
with ImplicitBuilder(main.body) as (x,):
    # Some operators
    weight = relax.ConstantOp(DenseIntOrFPElementsAttr.from_list(weight_type, [0.5]))
    conv1 = relax.Conv2DOp(x, weight)
    relu1 = relax.ReluOp(conv1)
    relax.ReturnOp(relu1)

mod = IRModule({"main": main})

# The pass plans what is allocated, and operators do not say yet what they allocate
mod_optimized = StaticPlanBlockMemory()(mod)
print(mod_optimized)

# A chain of operators that TIR functions compute
t = TensorType(f32, (2, 4))
chain = relax.FuncOp("chain", [t], t)
with ImplicitBuilder(chain.body) as (x,):
    a = relax.ReluOp(x)
    b = relax.AddOp(a, a)
    c = relax.MultiplyOp(b, b)
    d = relax.ReluOp(c)
    relax.ReturnOp(d)
lowered = Sequential([LegalizeOps(), CallTIRRewrite()])(IRModule({"chain": chain}))

# a and c share a storage; d is returned and gets one of its own
optimized = StaticPlanBlockMemory()(lowered)
optimized = LowerAllocTensor()(optimized)
print(optimized["chain"])
