// RUN: xdsl-opt %s -p relax-legalize-ops --split-input-file | filecheck %s

// A declared type that says less than is known does not stop the operators after it.

// CHECK-LABEL: relax.func @general
relax.func @general(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<*xf32> {
  // CHECK: %[[X:.*]] = relax.call_tir @add(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %x = relax.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<?xf32>
  // CHECK: %[[Y:.*]] = relax.call_tir @add(%[[X]], %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = relax.add %x, %b : (tensor<?xf32>, tensor<4xf32>) -> tensor<*xf32>
  // CHECK: %[[Z:.*]] = relax.alias %[[Y]] : tensor<4xf32> -> tensor<*xf32>
  // CHECK: relax.return %[[Z]]
  relax.return %y : tensor<*xf32>
}

// -----

// Each device's kind of target has functions of its own.

!d = tensor<4xf32, #relax.placed<[4], #relax.vdevice<"cuda", 0, "global">>>
// CHECK-LABEL: relax.func @device
relax.func @device(%a: !d, %b: tensor<4xf32>) -> !d {
  // CHECK: relax.call_tir @add_cuda(%a, %a)
  %x = relax.add %a, %a : (!d, !d) -> !d
  // CHECK: relax.call_tir @add(%b, %b)
  %y = relax.add %b, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: relax.call_tir @add_cuda(%{{.*}}, %a)
  %z = relax.add %x, %a : (!d, !d) -> !d
  relax.return %z : !d
}
// CHECK: tir.func @add_cuda({{.*}}target = #tir.target<"cuda">
// CHECK: tir.func @add(
// CHECK-NOT: tir.func

// -----

// A count becomes a dimension. Where the shape of the operand is not known, the runtime
// is called by name.

// CHECK-LABEL: relax.func @counted
// CHECK: %[[N:.*]] = relax.call_tir @nonzero_count(%a) : (tensor<4xf32>) -> tensor<1xi64>
// CHECK: %[[S:.*]] = relax.tensor_to_shape %[[N]]
// CHECK: relax.match_cast %[[S]] defines [count] : !relax.shape<[?]> -> !relax.shape<[count]>
// CHECK: relax.call_tir @nonzero(%a) : (tensor<4xf32>) -> tensor<1x?xi64, #relax.dims<[1, count]>>
relax.func @counted(%a: tensor<4xf32>) -> tensor<?x?xi64> {
  %r = relax.nonzero %a : (tensor<4xf32>) -> tensor<?x?xi64>
  relax.return %r : tensor<?x?xi64>
}

// CHECK-LABEL: relax.func @runtime
relax.func @runtime(%a: tensor<?xf32>) -> tensor<?x?xi64> {
  // CHECK: relax.call_pure_packed "relax.run.nonzero"(%a) : (tensor<?xf32>) -> tensor<?x?xi64>
  %r = relax.nonzero %a : (tensor<?xf32>) -> tensor<?x?xi64>
  relax.return %r : tensor<?x?xi64>
}

// -----

// Inside a branch and inside a nested region, foreign operations are carried along.

// CHECK-LABEL: relax.func @nested
relax.func @nested(%p: tensor<i1>, %a: tensor<4xf32>) -> tensor<4xf32> {
  %r = relax.if %p : tensor<i1> -> tensor<4xf32> {
    %d = relax.dataflow -> (tensor<4xf32>) {
      // CHECK: relax.call_tir @tir_exp(%a)
      %x = relax.exp %a : (tensor<4xf32>) -> tensor<4xf32>
      // CHECK: "test.op"
      %y = "test.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      relax.output %y : tensor<4xf32>
    }
    relax.yield %d : tensor<4xf32>
  } else {
    // CHECK: relax.call_tir @tir_exp(%a)
    %x = relax.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    relax.yield %x : tensor<4xf32>
  }
  relax.return %r : tensor<4xf32>
}
// CHECK: tir.func @tir_exp
// CHECK-NOT: tir.func

// -----

// Communication between workers is the runtime's.

// CHECK-LABEL: relax.func @workers
relax.func @workers(%a: tensor<4x8xf32>) -> tensor<4x4xf32> {
  // CHECK: %[[K:.*]] = relax.shape [3]
  // CHECK: %[[G:.*]] = relax.prim_value 1 : i1
  // CHECK: relax.call_dps_packed "runtime.disco.allreduce"(%a, %[[K]], %[[G]]) : {{.*}} -> tensor<4x8xf32>
  %x = relax.ccl.allreduce %a kind "max" : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: relax.call_dps_packed "runtime.disco.allgather"(%a, %{{.*}}) : {{.*}} -> tensor<8x8xf32>
  %y = relax.ccl.allgather %a workers 2 : (tensor<4x8xf32>) -> tensor<8x8xf32>
  // CHECK: relax.call_dps_packed "runtime.disco.broadcast_from_worker0"(%a, %{{.*}})
  %z = relax.ccl.broadcast_from_worker0 %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: %[[R:.*]] = relax.call_tir @reshape(%a) : (tensor<4x8xf32>) -> tensor<4x2x4xf32>
  // CHECK: %[[T:.*]] = relax.call_tir @transpose(%[[R]]) : (tensor<4x2x4xf32>) -> tensor<2x4x4xf32>
  // CHECK: relax.call_dps_packed "runtime.disco.scatter_from_worker0"(%[[T]], %{{.*}}) : {{.*}} -> tensor<4x4xf32>
  %w = relax.ccl.scatter_from_worker0 %a workers 2 axis 1 : (tensor<4x8xf32>) -> tensor<4x4xf32>
  relax.return %w : tensor<4x4xf32>
}
