// RUN: xdsl-opt %s -p relax-verify-memory-plan --split-input-file --verify-diagnostics --allow-unregistered-dialect | filecheck %s

// CHECK: relax-verify-memory-plan: in @main, the tensors %a and %b may overlap in their storage while both are alive: bytes 0 to 16 and bytes 8 to 24; give one of them another offset or storage
!t = tensor<4xf32>
relax.func impure @main(%x: !t) -> !t {
  %s = relax.memory.alloc_storage 24 on 0 scope "global" dtype f32 : !relax.object
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  %b = relax.memory.alloc_tensor %s at 8 : !relax.object -> !t
  relax.call_packed "f"(%a, %b) : (!t, !t) -> ()
  relax.return %x : !t
}

// -----

// A view keeps the memory, through a tuple and out of a dataflow block.
// CHECK: in @main, the tensors %a and %b may overlap
!t = tensor<4xf32>
!p = !relax.tuple<tensor<4xf32>, tensor<4xf32>>
relax.func impure @main(%x: !t) -> !t {
  %z = relax.shape [4]
  %s = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 : !relax.object
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  relax.call_packed "f"(%x, %a) : (!t, !t) -> ()
  %o = relax.dataflow -> (!p) {
    %v = relax.memory.view %a shape %z : !relax.shape<[4]> : !t -> !t
    %t = relax.tuple(%x, %v) : !t, !t
    relax.output %t : !p
  }
  %b = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  relax.call_packed "f"(%x, %b) : (!t, !t) -> ()
  %g = relax.get_item %o[1] : !p -> !t
  relax.call_packed "g"(%g) : (!t) -> ()
  relax.return %x : !t
}

// -----

// A result of the function is alive to the end.
// CHECK: in @main, the tensors %a and %b may overlap
!t = tensor<4xf32>
relax.func impure @main(%x: !t) -> !t {
  %s = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 : !relax.object
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  %b = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  relax.return %a : !t
}

// -----

// What another dialect sees may be kept.
// CHECK: in @main, the tensors %a and %b may overlap
!t = tensor<4xf32>
relax.func impure @main(%x: !t) -> !t {
  %s = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 : !relax.object
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  "test.op"(%a) : (!t) -> ()
  %b = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  relax.return %x : !t
}

// -----

// A branch yields what it got from outside; the other one uses the same bytes later on.
// CHECK: in @main, the tensors %a and %b may overlap
!t = tensor<4xf32>
relax.func impure @main(%x: !t, %p: tensor<i1>) -> !t {
  %s = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 : !relax.object
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  relax.call_packed "f"(%x, %a) : (!t, !t) -> ()
  %r = relax.if %p : tensor<i1> -> !t {
    relax.yield %a : !t
  } else {
    relax.yield %x : !t
  }
  %b = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  relax.return %r : !t
}

// -----

// Two storages of which nothing is known may be one.
// CHECK: in @main, the tensors %a and %b may overlap
!t = tensor<4xf32>
relax.func impure @main(%s: !relax.object, %t: !relax.object, %x: !t) -> !t {
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  %b = relax.memory.alloc_tensor %t at 16 : !relax.object -> !t
  relax.call_packed "f"(%a, %b) : (!t, !t) -> ()
  relax.return %x : !t
}

// -----

// Without a bound the size of the first is not known to end where the second starts.
// CHECK: in @main, the tensor a tensor<?xf32, #relax.dims<[n]>> takes bytes 0 to n * 4 of a storage of 160 bytes; make the storage larger
!n = tensor<?xf32, #relax.dims<[n]>>
relax.func impure @main<n>(%x: !n) -> !n {
  %s = relax.memory.alloc_storage 160 on 0 scope "global" dtype f32 : !relax.object
  %0 = relax.memory.alloc_tensor %s at 0 : !relax.object -> !n
  relax.return %x : !n
}

// -----

// An operator that may be lowered to nothing returns its operand.
// CHECK: in @main, the tensors %a and %b may overlap
!t = tensor<4xf32>
relax.func impure @main(%x: !t) -> !t {
  %s = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 : !relax.object
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  relax.call_packed "f"(%x, %a) : (!t, !t) -> ()
  %v = relax.astype %a dtype f32 : (!t) -> !t
  %b = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  relax.call_packed "f"(%v, %b) : (!t, !t) -> ()
  relax.return %x : !t
}

// -----

// Storages of the virtual machine are checked, too.
// CHECK: in @main, the tensor %a takes bytes 0 to 16 of a storage of 12 bytes; make the storage larger
!t = tensor<4xf32>
relax.func impure @main(%x: !t) -> !t {
  %n = relax.shape [12]
  %s = relax.vm.alloc_storage %n on 0 scope "global" dtype f32 : !relax.shape<[12]> -> !relax.object
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  relax.call_packed "f"(%x, %a) : (!t, !t) -> ()
  relax.return %x : !t
}

// -----

// CHECK: in @main, the tensor %a takes bytes 0 to 16 of a storage of unknown size; make the storage larger
!t = tensor<4xf32>
relax.func impure @main(%x: !t, %n: !relax.shape<[?]>) -> !t {
  %s = relax.vm.alloc_storage %n on 0 scope "global" dtype f32 : !relax.shape<[?]> -> !relax.object
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  relax.call_packed "f"(%x, %a) : (!t, !t) -> ()
  relax.return %x : !t
}
