// RUN: xdsl-opt %s -p 'relax-rewrite-cuda-graph{use_cuda_graph=true}' --split-input-file --verify-diagnostics | filecheck %s

!t = tensor<4xf32>
// CHECK: relax-rewrite-cuda-graph: relax.call_builtin_with_ctx {{.*}} is in a dataflow block, which holds no impure call; run relax-to-non-dataflow first
relax.func @dataflow(%x: !t) -> !t {
  %y = relax.dataflow -> (!t) {
    %c = relax.constant dense<1.0> : !t
    %z = relax.add %c, %c : (!t, !t) -> !t
    relax.output %z : !t
  }
  relax.return %y : !t
}

// -----

// CHECK: relax-rewrite-cuda-graph: num_input of @inputs is 3 : i64; give an integer from 0 to 1, the number of its parameters
relax.func @inputs(%x: tensor<4xf32>) -> tensor<4xf32> attributes {num_input = 3} {
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax-rewrite-cuda-graph: relax.rewrite_cuda_graph.capture_symbolic_vars of @symbols is ["m"]; list names of the symbols that its parameters define: n
relax.func @symbols<n>(%x: tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32, #relax.dims<[n]>> attributes {relax.rewrite_cuda_graph.capture_symbolic_vars = ["m"]} {
  relax.return %x : tensor<?xf32, #relax.dims<[n]>>
}
