// RUN: xdsl-opt %s -p relax-raise-runtime-builtin --split-input-file | filecheck %s

// Calls of the runtime are the operations that they were; what was passed to them goes.

// CHECK-LABEL: relax.func @shapes
relax.func @shapes(%x: tensor<2x4xf32>, %t: tensor<1xi64>) -> !relax.tuple<tensor<8xf32>, !relax.shape<[2, 4]>, !relax.shape<[?]>> attributes {relax.force_pure} {
  // CHECK-NEXT: %s = relax.shape [8]
  // CHECK-NEXT: %y = relax.reshape %x, %s : (tensor<2x4xf32>, !relax.shape<[8]>) -> tensor<8xf32>
  // CHECK-NEXT: %a = relax.shape_of %x : (tensor<2x4xf32>) -> !relax.shape<[2, 4]>
  // CHECK-NEXT: %b = relax.tensor_to_shape %t : (tensor<1xi64>) -> !relax.shape<[?]>
  // CHECK-NEXT: %c = relax.memory.ensure_zero_offset %y
  %s = relax.shape [8]
  %y = relax.call_packed "vm.builtin.reshape"(%x, %s) : (tensor<2x4xf32>, !relax.shape<[8]>) -> tensor<8xf32>
  %a = relax.call_packed "vm.builtin.shape_of"(%x) : (tensor<2x4xf32>) -> !relax.shape<[2, 4]>
  %b = relax.call_packed "vm.builtin.tensor_to_shape"(%t) : (tensor<1xi64>) -> !relax.shape<[?]>
  %c = relax.call_packed "vm.builtin.ensure_zero_offset"(%y) : (tensor<8xf32>) -> tensor<8xf32>
  %r = relax.tuple(%c, %a, %b) : tensor<8xf32>, !relax.shape<[2, 4]>, !relax.shape<[?]>
  relax.return %r : !relax.tuple<tensor<8xf32>, !relax.shape<[2, 4]>, !relax.shape<[?]>>
}

// -----

// Functions are named by the operations that call them.

// CHECK-LABEL: relax.func @closures
// CHECK-NEXT: %c = relax.make_closure @lifted(%x) : (tensor<4xf32>) -> !relax.object
// CHECK-NEXT: %y = relax.invoke_closure %c(%x) : !relax.object, (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: relax.return
relax.func @closures(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.force_pure} {
  %f = relax.global_ref @lifted : !relax.object
  %c = relax.call_packed "vm.builtin.make_closure"(%f, %x) : (!relax.object, tensor<4xf32>) -> !relax.object
  %y = relax.call_builtin_with_ctx "vm.builtin.invoke_closure"(%c, %x) : (!relax.object, tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}
relax.func @lifted(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %c = relax.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %c : tensor<4xf32>
}

// -----

// Shapes are what their types say, so that nothing computes on the memory of shapes.

// CHECK-LABEL: relax.func @memory
// CHECK-NEXT: %s = relax.shape [n * 2]
// CHECK-NEXT: %m = relax.prim_value n : i64
// CHECK-NEXT: relax.tuple
// CHECK-NEXT: relax.return
relax.func @memory<n>(%x: tensor<?xf32, #relax.dims<[n]>>) -> !relax.tuple<!relax.shape<[n * 2]>, !relax.prim<i64, n>> attributes {relax.force_pure} {
  %two = relax.prim_value 2 : i64
  %heap = relax.call_builtin_with_ctx "vm.builtin.alloc_shape_heap"(%two) : (!relax.prim<i64, 2>) -> tensor<2xi64>
  %one = relax.prim_value 1 : i64
  %zero = relax.prim_value 0 : i64
  relax.call_packed "vm.builtin.check_tensor_info"(%x, %one, %two, %zero) {err_ctx = "x"} : (tensor<?xf32, #relax.dims<[n]>>, !relax.prim<i64, 1>, !relax.prim<i64, 2>, !relax.prim<i64, 0>) -> ()
  relax.call_packed "vm.builtin.match_shape"(%x, %heap, %one, %one, %zero) {err_ctx = "x"} : (tensor<?xf32, #relax.dims<[n]>>, tensor<2xi64>, !relax.prim<i64, 1>, !relax.prim<i64, 1>, !relax.prim<i64, 0>) -> ()
  relax.call impure @shape_func(%heap) : (tensor<2xi64>) -> ()
  %s = relax.call_packed "vm.builtin.make_shape"(%heap, %one, %one, %one) : (tensor<2xi64>, !relax.prim<i64, 1>, !relax.prim<i64, 1>, !relax.prim<i64, 1>) -> !relax.shape<[n * 2]>
  %m = relax.call_packed "vm.builtin.make_prim_value"(%heap, %one, %zero) : (tensor<2xi64>, !relax.prim<i64, 1>, !relax.prim<i64, 0>) -> !relax.prim<i64, n>
  %r = relax.tuple(%s, %m) : !relax.shape<[n * 2]>, !relax.prim<i64, n>
  relax.return %r : !relax.tuple<!relax.shape<[n * 2]>, !relax.prim<i64, n>>
}
tir.func @shape_func(%h: !tir.handle) attributes {tir.is_host_func = true} {
  %H = tir.match_buffer "H" %h : !tir.buffer<2xi64>
  %zero = tir.const 0 : i64
  %one = tir.const 1 : i64
  %two = tir.const 2 : i64
  %n = tir.load %H[%zero] : i64
  %twice = tir.mul %n, %two : i64
  tir.store %twice, %H[%one] : i64
}

// -----

// A function of TIR gets its integers.

// CHECK-LABEL: relax.func @dynamic
// CHECK: relax.vm.call_tir_dyn @kernel(%x, %s) : tensor<4xf32>, !relax.shape<[4]>
relax.func @dynamic(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.force_pure} {
  %s = relax.shape [4]
  %f = relax.global_ref @kernel : !relax.object
  relax.call_packed "vm.builtin.call_tir_dyn"(%f, %x, %s) : (!relax.object, tensor<4xf32>, !relax.shape<[4]>) -> ()
  relax.return %x : tensor<4xf32>
}
tir.func @kernel(%a: !tir.handle, %n: i64) {
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?xf32>
}

// -----

// Other calls stay: checks that a program makes itself, shapes that only the memory
// knows, functions of other names.

// CHECK-LABEL: relax.func @others
// CHECK: "vm.builtin.alloc_shape_heap"
// CHECK: "vm.builtin.match_shape"
// CHECK: "vm.builtin.make_shape"
// CHECK: "vm.builtin.copy"
relax.func @others(%x: tensor<?xf32>) -> !relax.shape<[?]> attributes {relax.force_pure} {
  %one = relax.prim_value 1 : i64
  %zero = relax.prim_value 0 : i64
  %heap = relax.call_builtin_with_ctx "vm.builtin.alloc_shape_heap"(%one) : (!relax.prim<i64, 1>) -> tensor<1xi64>
  relax.call_packed "vm.builtin.match_shape"(%x, %heap, %one, %one, %zero) : (tensor<?xf32>, tensor<1xi64>, !relax.prim<i64, 1>, !relax.prim<i64, 1>, !relax.prim<i64, 0>) -> ()
  %s = relax.call_packed "vm.builtin.make_shape"(%heap, %one, %one, %zero) : (tensor<1xi64>, !relax.prim<i64, 1>, !relax.prim<i64, 1>, !relax.prim<i64, 0>) -> !relax.shape<[?]>
  %c = relax.call_packed "vm.builtin.copy"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  relax.return %s : !relax.shape<[?]>
}
