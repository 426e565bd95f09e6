// RUN: xdsl-opt %s -p relax-verify-memory-plan --split-input-file | filecheck %s

// One after the other at the same place, and at once side by side; an end of a life is no
// use, and neither is the storage's.
// CHECK-LABEL: relax.func impure @main
!t = tensor<4xf32>
relax.func impure @main(%x: !t) -> !t {
  %s = relax.memory.alloc_storage 32 on 0 scope "global" dtype f32 : !relax.object
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  relax.call_packed "f"(%x, %a) : (!t, !t) -> ()
  %b = relax.memory.alloc_tensor %s at 16 : !relax.object -> !t
  relax.call_packed "f"(%a, %b) : (!t, !t) -> ()
  %c = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  relax.memory.kill_tensor %a : !t
  relax.memory.kill_storage %s : !relax.object
  relax.call_packed "f"(%b, %c) : (!t, !t) -> ()
  relax.return %c : !t
}

// -----

// In branches: only one of them runs, and what one of them yields is not in the other.
// CHECK-LABEL: relax.func impure @main
!t = tensor<4xf32>
relax.func impure @main(%x: !t, %p: tensor<i1>) -> !t {
  %s = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 : !relax.object
  %r = relax.if %p : tensor<i1> -> !t {
    %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
    relax.call_packed "f"(%x, %a) : (!t, !t) -> ()
    relax.yield %a : !t
  } else {
    %b = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
    relax.call_packed "f"(%x, %b) : (!t, !t) -> ()
    relax.yield %b : !t
  }
  relax.return %r : !t
}

// -----

// Symbols: equal sizes one after the other, and sizes with bounds side by side.
// CHECK-LABEL: relax.func impure @main
!n = tensor<?xf32, #relax.dims<[n]>>
relax.func impure @main<n>(%x: !n) -> !n attributes {tir_var_upper_bound = {n = 20 : i64}} {
  %s = relax.memory.alloc_storage 160 on 0 scope "global" dtype f32 : !relax.object
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> !n
  relax.call_packed "f"(%x, %a) : (!n, !n) -> ()
  %b = relax.memory.alloc_tensor %s at 80 : !relax.object -> !n
  relax.call_packed "f"(%a, %b) : (!n, !n) -> ()
  relax.return %x : !n
}
