// RUN: xdsl-opt %s -p 'relax-convert-to-memref{device="cuda"}' | filecheck %s

// Tensors, memory and constants of a Relax function are in the memory of the GPU.

tir.func @g(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  %B = tir.match_buffer %b : !tir.buffer<4xf32>
  %c4 = tir.const 4 : i32
  tir.launch_thread %t = "threadIdx.x" to %c4 {
    %x = tir.load %A[%t] : f32
    tir.store %x, %B[%t] : f32
  }
}
relax.func @f(%x: tensor<4xf32>) -> !relax.tuple<tensor<4xf32>, tensor<4xf32>>
    attributes {global_symbol = "f", relax.force_pure} {
  %w = relax.constant dense<1.0> : tensor<4xf32>
  %0 = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
  relax.call impure @g(%w, %0) : (tensor<4xf32>, tensor<4xf32>) -> ()
  %1 = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
  relax.call impure @g(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> ()
  %2 = relax.tuple(%1, %x) : tensor<4xf32>, tensor<4xf32>
  relax.return %2 : !relax.tuple<tensor<4xf32>, tensor<4xf32>>
}

// CHECK:       "memref.global"() <{sym_name = "constant_0", type = memref<4xf32, 1 : i64>
// CHECK:       func.func private @g(%{{.*}}: memref<4xf32, 1 : i64> {llvm.noalias}
// CHECK-LABEL: func.func @f(
// CHECK-SAME:    %[[X:.*]]: memref<4xf32, 1 : i64>,
// CHECK:         %[[W:.*]] = memref.get_global @constant_0 : memref<4xf32, 1 : i64>
// CHECK:         %[[M:.*]] = "gpu.alloc"()
// CHECK:         func.call @g(%[[W]], %[[M]])
// CHECK:         func.call @g(%[[M]], %[[R:.*]])
// CHECK-DAG:     "gpu.dealloc"(%[[M]])
// CHECK-DAG:     "gpu.memcpy"(%{{.*}}, %[[X]])
// CHECK:         func.return
// CHECK:       "gpu.module"()
