// RUN: xdsl-opt %s --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file | xdsl-opt --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file --print-op-generic | xdsl-opt --split-input-file | filecheck %s

// Tensors from shapes and scalars.

// CHECK-LABEL: func.func @creation
func.func @creation(%x: tensor<4x?xf32, #relax.dims<[4, n]>>, %s: !relax.shape<[4, n]>, %f: tensor<f32>, %p: !relax.prim<i64, n>, %q: !relax.prim<i64>) {
  // CHECK-NEXT: relax.full %s, %f : (!relax.shape<[4, n]>, tensor<f32>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r0 = relax.full %s, %f : (!relax.shape<[4, n]>, tensor<f32>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.full %s, %f dtype f16 : (!relax.shape<[4, n]>, tensor<f32>) -> tensor<4x?xf16, #relax.dims<[4, n]>>
  %r1 = relax.full %s, %f dtype f16 : (!relax.shape<[4, n]>, tensor<f32>) -> tensor<4x?xf16, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.full_like %x, %f : (tensor<4x?xf32, #relax.dims<[4, n]>>, tensor<f32>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r2 = relax.full_like %x, %f : (tensor<4x?xf32, #relax.dims<[4, n]>>, tensor<f32>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.full_like %x, %f dtype i32 : (tensor<4x?xf32, #relax.dims<[4, n]>>, tensor<f32>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  %r3 = relax.full_like %x, %f dtype i32 : (tensor<4x?xf32, #relax.dims<[4, n]>>, tensor<f32>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.ones %s dtype f32 : (!relax.shape<[4, n]>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r4 = relax.ones %s dtype f32 : (!relax.shape<[4, n]>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.zeros %s dtype i1 : (!relax.shape<[4, n]>) -> tensor<4x?xi1, #relax.dims<[4, n]>>
  %r5 = relax.zeros %s dtype i1 : (!relax.shape<[4, n]>) -> tensor<4x?xi1, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.ones_like %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r6 = relax.ones_like %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.zeros_like %x dtype i32 : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  %r7 = relax.zeros_like %x dtype i32 : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.eye %p, %q, %q dtype f32 : (!relax.prim<i64, n>, !relax.prim<i64>, !relax.prim<i64>) -> tensor<?x?xf32, #relax.dims<[n, ?]>>
  %r8 = relax.eye %p, %q, %q dtype f32 : (!relax.prim<i64, n>, !relax.prim<i64>, !relax.prim<i64>) -> tensor<?x?xf32, #relax.dims<[n, ?]>>
  // CHECK-NEXT: relax.eye_like %x, %q : (tensor<4x?xf32, #relax.dims<[4, n]>>, !relax.prim<i64>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r9 = relax.eye_like %x, %q : (tensor<4x?xf32, #relax.dims<[4, n]>>, !relax.prim<i64>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.eye_like %x, %q dtype i32 : (tensor<4x?xf32, #relax.dims<[4, n]>>, !relax.prim<i64>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  %r10 = relax.eye_like %x, %q dtype i32 : (tensor<4x?xf32, #relax.dims<[4, n]>>, !relax.prim<i64>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.arange %p, %q, %p dtype f32 : (!relax.prim<i64, n>, !relax.prim<i64>, !relax.prim<i64, n>) -> tensor<?xf32>
  %r11 = relax.arange %p, %q, %p dtype f32 : (!relax.prim<i64, n>, !relax.prim<i64>, !relax.prim<i64, n>) -> tensor<?xf32>
  // CHECK-NEXT: relax.tril %x, %q : (tensor<4x?xf32, #relax.dims<[4, n]>>, !relax.prim<i64>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r12 = relax.tril %x, %q : (tensor<4x?xf32, #relax.dims<[4, n]>>, !relax.prim<i64>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.triu %x, %q : (tensor<4x?xf32, #relax.dims<[4, n]>>, !relax.prim<i64>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r13 = relax.triu %x, %q : (tensor<4x?xf32, #relax.dims<[4, n]>>, !relax.prim<i64>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  func.return
}

// -----

// Other dtypes and devices.

// CHECK-LABEL: func.func @datatype
func.func @datatype(%x: tensor<4x?xf32, #relax.dims<[4, n]>>) {
  // CHECK-NEXT: relax.astype %x dtype i32 : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  %r0 = relax.astype %x dtype i32 : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.wrap_param %x dtype i32 : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  %r1 = relax.wrap_param %x dtype i32 : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xi32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.to_vdevice %x to #relax.vdevice<"cuda", 0, "global"> : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.placed<[4, n], #relax.vdevice<"cuda", 0, "global">>>
  %r2 = relax.to_vdevice %x to #relax.vdevice<"cuda", 0, "global"> : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.placed<[4, n], #relax.vdevice<"cuda", 0, "global">>>
  // CHECK-NEXT: relax.hint_on_device %x device 2, 0 : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r3 = relax.hint_on_device %x device 2, 0 : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  // CHECK-NEXT: relax.builtin.stop_lift_params %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  %r4 = relax.builtin.stop_lift_params %x : (tensor<4x?xf32, #relax.dims<[4, n]>>) -> tensor<4x?xf32, #relax.dims<[4, n]>>
  func.return
}
