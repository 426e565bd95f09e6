// RUN: xdsl-opt %s --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file | xdsl-opt --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file --print-op-generic | xdsl-opt --split-input-file | filecheck %s

// CHECK-LABEL: relax.func impure @memory
relax.func impure @memory<n>(%x: tensor<?xf32, #relax.dims<[n]>>) -> !relax.tuple<> {
  // CHECK-NEXT: %[[S:.*]] = relax.memory.alloc_storage n * 4 on 0 scope "global" dtype f32 : !relax.object
  %s = relax.memory.alloc_storage 4 * n on 0 scope "global" dtype f32 : !relax.object
  // CHECK-NEXT: %[[H:.*]] = relax.memory.alloc_storage 64 on -1 scope "shared" dtype i8 {note} : !relax.object
  %h = relax.memory.alloc_storage 64 on -1 scope "shared" dtype i8 {note} : !relax.object
  // CHECK-NEXT: %[[A:.*]] = relax.memory.alloc_tensor %[[S]] at 0 : !relax.object -> tensor<?xf32, #relax.dims<[n]>>
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> tensor<?xf32, #relax.dims<[n]>>
  // CHECK-NEXT: relax.memory.kill_storage %[[S]] : !relax.object
  relax.memory.kill_storage %s : !relax.object
  // The last bytes of the storage.
  // CHECK-NEXT: %{{.*}} = relax.memory.alloc_tensor %[[H]] at 32 : !relax.object -> tensor<4x8xi1>
  %b = relax.memory.alloc_tensor %h at 32 : !relax.object -> tensor<4x8xi1>
  // CHECK-NEXT: %[[P:.*]] = relax.shape [n]
  %p = relax.shape [n]
  // CHECK-NEXT: %[[O:.*]] = relax.prim_value n * 2 : i64
  %o = relax.prim_value n * 2 : i64
  // CHECK-NEXT: relax.memory.view %[[A]] shape %[[P]] : !relax.shape<[n]> at %[[O]] : !relax.prim<i64, n * 2> dtype f16 : tensor<?xf32, #relax.dims<[n]>> -> tensor<?xf16, #relax.dims<[n]>>
  %v = relax.memory.view %a shape %p : !relax.shape<[n]> at %o : !relax.prim<i64, n * 2> dtype f16 : tensor<?xf32, #relax.dims<[n]>> -> tensor<?xf16, #relax.dims<[n]>>
  // CHECK-NEXT: relax.memory.view %[[A]] dtype i32 : tensor<?xf32, #relax.dims<[n]>> -> tensor<?xi32, #relax.dims<[n]>>
  %w = relax.memory.view %a dtype i32 : tensor<?xf32, #relax.dims<[n]>> -> tensor<?xi32, #relax.dims<[n]>>
  // CHECK-NEXT: relax.memory.view %[[A]] : tensor<?xf32, #relax.dims<[n]>> -> tensor<?xf32, #relax.dims<[n]>>
  %u = relax.memory.view %a : tensor<?xf32, #relax.dims<[n]>> -> tensor<?xf32, #relax.dims<[n]>>
  // CHECK-NEXT: relax.memory.ensure_zero_offset %{{.*}} : (tensor<?xf16, #relax.dims<[n]>>) -> tensor<?xf16, #relax.dims<[n]>>
  %z = relax.memory.ensure_zero_offset %v : (tensor<?xf16, #relax.dims<[n]>>) -> tensor<?xf16, #relax.dims<[n]>>
  // CHECK-NEXT: relax.memory.kill_tensor %[[A]] : tensor<?xf32, #relax.dims<[n]>>
  relax.memory.kill_tensor %a : tensor<?xf32, #relax.dims<[n]>>
  // CHECK-NEXT: %[[T:.*]] = relax.tuple()
  %t = relax.tuple()
  relax.return %t : !relax.tuple<>
}

// -----

// Instructions of the virtual machine: shapes are values.

tir.func @p(%a: !tir.handle, %b: !tir.handle, %n: i64) {
}
// CHECK-LABEL: relax.func impure @vm
relax.func impure @vm<n>(%x: tensor<?xf32, #relax.dims<[n]>>, %size: !relax.shape<[?]>, %any: !relax.shape<*>, %o: !relax.prim<i64>) -> !relax.tuple<> {
  // CHECK-NEXT: %[[S:.*]] = relax.vm.alloc_storage %size on 0 scope "global" dtype f32 : !relax.shape<[?]> -> !relax.object
  %s = relax.vm.alloc_storage %size on 0 scope "global" dtype f32 : !relax.shape<[?]> -> !relax.object
  // CHECK-NEXT: %[[P:.*]] = relax.shape [n]
  %p = relax.shape [n]
  // CHECK-NEXT: %[[A:.*]] = relax.vm.alloc_tensor %[[S]] at %o shape %[[P]] dtype f32 : (!relax.object, !relax.prim<i64>, !relax.shape<[n]>) -> tensor<?xf32, #relax.dims<[n]>>
  %a = relax.vm.alloc_tensor %s at %o shape %p dtype f32 : (!relax.object, !relax.prim<i64>, !relax.shape<[n]>) -> tensor<?xf32, #relax.dims<[n]>>
  // CHECK-NEXT: relax.vm.alloc_tensor %[[S]] at %o shape %any dtype f32 : (!relax.object, !relax.prim<i64>, !relax.shape<*>) -> tensor<*xf32>
  %b = relax.vm.alloc_tensor %s at %o shape %any dtype f32 : (!relax.object, !relax.prim<i64>, !relax.shape<*>) -> tensor<*xf32>
  // CHECK-NEXT: relax.vm.call_tir_dyn @p(%x, %[[A]], %[[P]]) : tensor<?xf32, #relax.dims<[n]>>, tensor<?xf32, #relax.dims<[n]>>, !relax.shape<[n]>
  relax.vm.call_tir_dyn @p(%x, %a, %p) : tensor<?xf32, #relax.dims<[n]>>, tensor<?xf32, #relax.dims<[n]>>, !relax.shape<[n]>
  // CHECK-NEXT: relax.vm.kill_object %[[S]] : !relax.object
  relax.vm.kill_object %s : !relax.object
  %t = relax.tuple()
  relax.return %t : !relax.tuple<>
}
