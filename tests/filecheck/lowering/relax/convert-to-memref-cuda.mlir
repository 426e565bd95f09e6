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
// Elements that the host reads or writes are copied to or from memory of its own.

relax.func @host(%t: tensor<2xi64>, %c: tensor<i1>)
    -> !relax.tuple<tensor<4xf32>, !relax.shape<[?, ?]>>
    attributes {global_symbol = "host", relax.force_pure} {
  %s = relax.tensor_to_shape %t : (tensor<2xi64>) -> !relax.shape<[?, ?]>
  %r = relax.if %c : tensor<i1> -> tensor<4xf32> {
    %0 = relax.constant dense<1.0> : tensor<4xf32>
    relax.yield %0 : tensor<4xf32>
  } else {
    %0 = relax.constant dense<2.0> : tensor<4xf32>
    relax.yield %0 : tensor<4xf32>
  }
  %u = relax.tuple(%r, %s) : tensor<4xf32>, !relax.shape<[?, ?]>
  relax.return %u : !relax.tuple<tensor<4xf32>, !relax.shape<[?, ?]>>
}

// CHECK-LABEL: func.func @host(
// CHECK-SAME:    %[[T:.*]]: memref<2xi64, 1 : i64>, %[[C:.*]]: memref<i1, 1 : i64>,
// CHECK:         %[[OUT:.*]] = memref.alloca() : memref<2xi64>
// CHECK-NEXT:    %[[BIT:.*]] = memref.alloca() : memref<1xi1>
// CHECK-NEXT:    %[[SHAPE:.*]] = memref.alloca() : memref<2xi64>
// CHECK:         "memref.copy"(%{{.*}}, %[[SHAPE]]) : (memref<2xi64, 1 : i64>, memref<2xi64>)
// CHECK:         memref.load %[[SHAPE]]
// CHECK:         memref.load %[[SHAPE]]
// CHECK:         "memref.copy"(%{{.*}}, %[[BIT]]) : (memref<1xi1, 1 : i64>, memref<1xi1>)
// CHECK:         %[[CONDITION:.*]] = memref.load %[[BIT]]
// CHECK:         scf.if %[[CONDITION]]
// CHECK:         memref.store %{{.*}}, %[[OUT]][%
// CHECK:         memref.store %{{.*}}, %[[OUT]][%
// CHECK:         "memref.copy"(%[[OUT]], %{{.*}}) : (memref<2xi64>, memref<2xi64, 1 : i64>)
// CHECK:       "gpu.module"()
