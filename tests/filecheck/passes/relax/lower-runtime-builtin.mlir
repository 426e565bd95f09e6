// RUN: xdsl-opt %s -p relax-lower-runtime-builtin --split-input-file | filecheck %s

// Shapes and views become calls of the runtime; a pure function may hold them.

!x = tensor<2x4xf32>

// CHECK: relax.func @shapes({{.*}}) -> {{.*}} attributes {relax.force_pure = true}
relax.func @shapes(%x: !x, %t: tensor<1xi64>) -> !relax.tuple<tensor<8xf32>, !relax.shape<[2, 4]>, !relax.shape<[?]>, tensor<8xf32>> {
  %s = relax.shape [8]
  // CHECK: %[[Y:.*]] = relax.call_packed "vm.builtin.reshape"(%x, %s) : (tensor<2x4xf32>, !relax.shape<[8]>) -> tensor<8xf32>
  // CHECK-NEXT: relax.call_packed "vm.builtin.shape_of"(%x) : (tensor<2x4xf32>) -> !relax.shape<[2, 4]>
  // CHECK-NEXT: relax.call_packed "vm.builtin.tensor_to_shape"(%t) : (tensor<1xi64>) -> !relax.shape<[?]>
  // CHECK-NEXT: relax.call_packed "vm.builtin.ensure_zero_offset"(%[[Y]])
  %y = relax.reshape %x, %s : (!x, !relax.shape<[8]>) -> tensor<8xf32>
  %a = relax.shape_of %x : (!x) -> !relax.shape<[2, 4]>
  %b = relax.tensor_to_shape %t : (tensor<1xi64>) -> !relax.shape<[?]>
  %c = relax.memory.ensure_zero_offset %y : (tensor<8xf32>) -> tensor<8xf32>
  %r = relax.tuple(%y, %a, %b, %c) : tensor<8xf32>, !relax.shape<[2, 4]>, !relax.shape<[?]>, tensor<8xf32>
  relax.return %r : !relax.tuple<tensor<8xf32>, !relax.shape<[2, 4]>, !relax.shape<[?]>, tensor<8xf32>>
}

// -----

// Closures name their functions; what calls them gets the virtual machine.

!t = tensor<4xf32>

// CHECK-LABEL: relax.func @closures
relax.func @closures(%x: !t) -> !t {
  // CHECK-NEXT: %[[F:.*]] = relax.global_ref @lifted : !relax.object
  // CHECK-NEXT: %[[C:.*]] = relax.call_packed "vm.builtin.make_closure"(%[[F]], %x) : (!relax.object, tensor<4xf32>) -> !relax.object
  // CHECK-NEXT: relax.call_builtin_with_ctx "vm.builtin.invoke_closure"(%[[C]], %x)
  %c = relax.make_closure @lifted(%x) : (!t) -> !relax.object
  %r = relax.invoke_pure_closure %c(%x) : !relax.object, (!t) -> !t
  relax.return %r : !t
}
relax.func @lifted(%x: !t, %y: !t) -> !t {
  %r = relax.add %x, %y : (!t, !t) -> !t
  relax.return %r : !t
}

// -----

// Memory: sizes, offsets and shapes are values.

!t = tensor<?x2xf32, #relax.dims<[n, 2]>>

// CHECK-LABEL: relax.func @memory
relax.func @memory<n>(%x: !t) -> !t attributes {relax.force_pure} {
  // CHECK-NEXT: %[[S:.*]] = relax.shape [n * 8]
  // CHECK-NEXT: %[[M:.*]] = relax.vm.alloc_storage %[[S]] on 0 scope "global" dtype ui8
  // CHECK-NEXT: %[[O:.*]] = relax.prim_value 0 : i64
  // CHECK-NEXT: %[[D:.*]] = relax.shape [n, 2]
  // CHECK-NEXT: %[[T:.*]] = relax.vm.alloc_tensor %[[M]] at %[[O]] shape %[[D]] dtype f32
  // CHECK-NEXT: relax.vm.kill_object %[[M]]
  // CHECK-NEXT: relax.call impure @copy(%x, %[[T]])
  // CHECK-NEXT: %[[V:.*]] = relax.shape [n]
  // CHECK-NEXT: %[[G:.*]] = relax.global_ref @copy_dyn : !relax.object
  // CHECK-NEXT: relax.call_packed "vm.builtin.call_tir_dyn"(%[[G]], %x, %[[T]], %[[V]])
  %m = relax.memory.alloc_storage n * 8 on 0 scope "global" dtype f32 : !relax.object
  %t = relax.memory.alloc_tensor %m at 0 : !relax.object -> !t
  relax.memory.kill_storage %m : !relax.object
  relax.call impure @copy(%x, %t) : (!t, !t) -> ()
  %v = relax.shape [n]
  relax.vm.call_tir_dyn @copy_dyn(%x, %t, %v) : !t, !t, !relax.shape<[n]>
  relax.return %t : !t
}
tir.func @copy(%a: !tir.handle, %b: !tir.handle) {
  %n = tir.shape_var "n" : i64
  %A = tir.match_buffer %a [%n] : !tir.buffer<?x2xf32>
  %B = tir.match_buffer %b [%n] : !tir.buffer<?x2xf32>
  %zero = tir.const 0 : i64
  %two = tir.const 2 : i64
  tir.for %i = %zero to %n {
    tir.for %j = %zero to %two {
      %x = tir.load %A[%i, %j] : f32
      tir.store %x, %B[%i, %j] : f32
    }
  }
}
tir.func @copy_dyn(%a: !tir.handle, %b: !tir.handle, %k: i64) {
  %n = tir.shape_var "n" : i64
  %A = tir.match_buffer %a [%n] : !tir.buffer<?x2xf32>
  %B = tir.match_buffer %b [%n] : !tir.buffer<?x2xf32>
  %zero = tir.const 0 : i64
  tir.for %i = %zero to %k {
    %x = tir.load %A[%i, %zero] : f32
    tir.store %x, %B[%i, %zero] : f32
  }
}

// -----

// A copy to a device names the kind of the target and its index. Views stay.

!x = tensor<4xf32>
!g = tensor<4xf32, #relax.placed<[4], #relax.vdevice<"cuda", 1, "global">>>

// CHECK-LABEL: relax.func @devices
relax.func @devices(%x: !x) -> !g {
  // CHECK: relax.memory.view
  // CHECK: %[[K:.*]] = relax.prim_value 2 : i64
  // CHECK-NEXT: %[[I:.*]] = relax.prim_value 1 : i64
  // CHECK-NEXT: relax.call_packed "vm.builtin.to_device"(%{{.*}}, %[[K]], %[[I]])
  %v = relax.memory.view %x : !x -> !x
  %y = relax.to_vdevice %v to #relax.vdevice<"cuda", 1, "global"> : (!x) -> !g
  relax.return %y : !g
}
