from xdsl.parser import Parser

from xdsl_tvm import IRModule
from xdsl_tvm.passes.infra import Sequential
from xdsl_tvm.passes.relax import AttachAttrLayoutFreeBuffers
from xdsl_tvm.registry import new_context

# An empty module
mod = IRModule({})

# The pass in a sequence
seq = Sequential([AttachAttrLayoutFreeBuffers()])
optimized_mod = seq(mod)

# The pass by itself
pass_obj = AttachAttrLayoutFreeBuffers()
result_mod = pass_obj(mod)

# A module with a weight: the second parameter, since there is one input
program = """
relax.func @main(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32>
    attributes {global_symbol = "main", num_input = 1 : i64} {
  %y = relax.call_tir @scale(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}
tir.func @scale(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
}
"""
result_mod = pass_obj(Parser(new_context(), program).parse_module())
print(result_mod)
