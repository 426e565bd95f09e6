// RUN: xdsl-opt %s -p relax-call-tir-rewrite --split-input-file | filecheck %s

// One output: its allocation takes the place of the call.

tir.func @f(%a: !tir.handle, %b: !tir.handle) {
}
// CHECK-LABEL: relax.func @single
// CHECK-SAME: attributes {relax.force_pure = true}
relax.func @single(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[Y:.*]] = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
  // CHECK-NEXT: relax.call impure @f(%x, %[[Y]]) : (tensor<4xf32>, tensor<4xf32>) -> ()
  // CHECK-NEXT: %[[Z:.*]] = relax.builtin.alloc_tensor
  // CHECK-NEXT: relax.call impure @f(%[[Y]], %[[Z]])
  // CHECK-NEXT: relax.return %[[Z]]
  %y = relax.call_tir @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = relax.call_tir @f(%y) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %z : tensor<4xf32>
}

// -----

// Several outputs become a tuple of allocations.

tir.func @f(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
}
// CHECK-LABEL: relax.func @multiple
relax.func @multiple(%x: tensor<4xf32>) -> tensor<2xi32> {
  // CHECK-NEXT: %[[A:.*]] = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
  // CHECK-NEXT: %[[B:.*]] = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xi32>
  // CHECK-NEXT: relax.call impure @f(%x, %[[A]], %[[B]])
  // CHECK-NEXT: %[[T:.*]] = relax.tuple(%[[A]], %[[B]])
  // CHECK-NEXT: relax.get_item %[[T]][1]
  %t = relax.call_tir @f(%x) : (tensor<4xf32>) -> !relax.tuple<tensor<4xf32>, tensor<2xi32>>
  %r = relax.get_item %t[1] : !relax.tuple<tensor<4xf32>, tensor<2xi32>> -> tensor<2xi32>
  relax.return %r : tensor<2xi32>
}

// -----

// Symbolic dimensions are passed as scalars; a cast of the call casts the allocation.

tir.func @f(%a: !tir.handle, %b: !tir.handle, %n: i64) {
}
// CHECK-LABEL: relax.func @dynamic<n>
relax.func @dynamic<n>(%x: tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32> {
  // CHECK-NEXT: %[[Y:.*]] = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?xf32, #relax.dims<[n * 2]>>
  // CHECK-NEXT: %[[N:.*]] = relax.prim_value n + 1 : i64
  // CHECK-NEXT: relax.call impure @f(%x, %[[Y]], %[[N]]) : (tensor<?xf32, #relax.dims<[n]>>, tensor<?xf32, #relax.dims<[n * 2]>>, !relax.prim<i64, n + 1>) -> ()
  // CHECK-NEXT: relax.match_cast %[[Y]] defines [k]
  %y = relax.call_tir @f(%x) [n + 1] : (tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32, #relax.dims<[n * 2]>>
  %z = relax.match_cast %y defines [k] : tensor<?xf32, #relax.dims<[n * 2]>> -> tensor<?xf32, #relax.dims<[k]>>
  relax.return %z : tensor<?xf32, #relax.dims<[k]>>
}

// -----

// The device of an allocation is that of its output.

// CHECK-LABEL: builtin.module
builtin.module attributes {relax.vdevices = [#relax.vdevice<"llvm", 0, "global">, #relax.vdevice<"cuda", 0, "global">]} {
  tir.func @f(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
  }
  // CHECK: relax.func impure @device
  // CHECK-NOT: force_pure
  relax.func impure @device(%x: tensor<4xf32>) -> tensor<4xf32> {
    // CHECK: alloc_tensor on 1 scope "global" : tensor<4xf32, #relax.placed<[4], #relax.vdevice<"cuda", 0, "global">>>
    // CHECK: alloc_tensor on 0 scope "global" : tensor<4xf32>
    %t = relax.call_tir @f(%x) : (tensor<4xf32>) -> !relax.tuple<tensor<4xf32, #relax.placed<[4], #relax.vdevice<"cuda", 0, "global">>>, tensor<4xf32>>
    %r = relax.get_item %t[1] : !relax.tuple<tensor<4xf32, #relax.placed<[4], #relax.vdevice<"cuda", 0, "global">>>, tensor<4xf32>> -> tensor<4xf32>
    relax.return %r : tensor<4xf32>
  }
}

// -----

// Nothing to do.

// CHECK-LABEL: relax.func @plain(%x: tensor<4xf32>) -> tensor<4xf32> {
relax.func @plain(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[Y:.*]] = relax.call @callee(%x)
  // CHECK-NEXT: relax.return %[[Y]]
  %y = relax.call @callee(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}
relax.func @callee(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %x : tensor<4xf32>
}

// -----

// An output in place is its argument; others are allocated.

// CHECK-LABEL: relax.func @main
// CHECK: %a = relax.builtin.alloc_tensor
// CHECK-NEXT: relax.call impure @new(%x, %a)
// CHECK-NEXT: relax.call impure @one(%x, %a) : (tensor<4xf32>, tensor<4xf32>) -> ()
// CHECK-NEXT: %[[C:.*]] = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xi8>
// CHECK-NEXT: relax.call impure @two(%a, %x, %[[C]]) :
// CHECK-NEXT: %[[T:.*]] = relax.tuple(%[[C]], %a) : tensor<4xi8>, tensor<4xf32>
// CHECK-NEXT: %d = relax.get_item %[[T]][1]
// CHECK-NEXT: relax.return %d
tir.func @new(%a: !tir.handle, %b: !tir.handle)
tir.func @one(%a: !tir.handle, %b: !tir.handle)
tir.func @two(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle)
!t = tensor<4xf32>
relax.func @main(%x: !t) -> !t {
  %a = relax.call_tir @new(%x) : (!t) -> !t
  %b = relax.call_tir_inplace @one(%x, %a) inplace [1] : (!t, !t) -> !t
  %c = relax.call_tir_inplace @two(%b, %x) inplace [-1, 0] :
    (!t, !t) -> !relax.tuple<tensor<4xi8>, !t>
  %d = relax.get_item %c[1] : !relax.tuple<tensor<4xi8>, !t> -> !t
  relax.return %d : !t
}

// -----

// Outputs of external functions are allocated alike.

// CHECK-LABEL: relax.func @external
// CHECK-NEXT: %[[A:.*]] = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
// CHECK-NEXT: relax.call_packed "my.scale"(%x, %[[A]]) : (tensor<4xf32>, tensor<4xf32>) -> ()
// CHECK-NEXT: %[[B:.*]] = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xf32>
// CHECK-NEXT: %[[C:.*]] = relax.builtin.alloc_tensor on 0 scope "global" : tensor<2xi32>
// CHECK-NEXT: relax.call_packed "my.split"(%[[A]], %[[B]], %[[C]]) {note = 1 : i32} :
// CHECK-NEXT: %[[T:.*]] = relax.tuple(%[[B]], %[[C]])
// CHECK-NEXT: relax.return %[[T]]
!r = !relax.tuple<tensor<2xf32>, tensor<2xi32>>
relax.func @external(%x: tensor<4xf32>) -> !r {
  %y = relax.call_dps_packed "my.scale"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %t = relax.call_dps_packed "my.split"(%y) {note = 1 : i32} : (tensor<4xf32>) -> !r
  relax.return %t : !r
}
