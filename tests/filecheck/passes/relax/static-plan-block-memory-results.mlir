// RUN: xdsl-opt %s --split-input-file -p 'relax-static-plan-block-memory{strategy="arena" share_results=true alignment=4},relax-verify-memory-plan,relax-report-memory-plan' | filecheck %s

// What ends before the result is allocated is in its memory, where the arena gets
// smaller by that.
// CHECK: @main: 96 bytes planned, 128 bytes in 3 tensors, 96 bytes at once, ratio 1.00
// CHECK-LABEL: relax.func impure @main
// CHECK: %[[R:.*]] = relax.memory.alloc_storage 32 on 0
// CHECK: %a = relax.memory.alloc_tensor %[[R]] at 0
// CHECK: %[[S:.*]] = relax.memory.alloc_storage 64 on 0
// CHECK: %b = relax.memory.alloc_tensor %[[S]] at 0
// CHECK: %c = relax.memory.alloc_tensor %[[R]] at 0
!a = tensor<8xf32>
!b = tensor<16xf32>
relax.func impure @main(%x: !a) -> !a {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : !a
  relax.call_packed "f"(%x, %a) : (!a, !a) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : !b
  relax.call_packed "f"(%a, %b) : (!a, !b) -> ()
  %c = relax.builtin.alloc_tensor on 0 scope "global" : !a
  relax.call_packed "f"(%b, %c) : (!b, !a) -> ()
  relax.return %c : !a
}

// -----

// What is read when the result is computed is not, nor are larger elements.
// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S:.*]] = relax.memory.alloc_storage 64 on 0
// CHECK: %a = relax.memory.alloc_tensor %[[S]] at 0
// CHECK: %b = relax.memory.alloc_tensor %[[S]] at 32
// CHECK: %c = relax.builtin.alloc_tensor
!t = tensor<4xf64>
!r = tensor<16xf32>
relax.func impure @main(%x: !t) -> !r {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : !t
  relax.call_packed "f"(%x, %a) : (!t, !t) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : !t
  relax.call_packed "f"(%a, %b) : (!t, !t) -> ()
  %c = relax.builtin.alloc_tensor on 0 scope "global" : !r
  relax.call_packed "f"(%b, %c) : (!t, !r) -> ()
  relax.return %c : !r
}

// -----

// Two results in a tuple: each has its own bytes, and one result is never in another.
// CHECK-LABEL: relax.func impure @main
// CHECK: %[[C:.*]] = relax.memory.alloc_storage 64 on 0
// CHECK: %a = relax.memory.alloc_tensor %[[C]] at 0
// CHECK: %[[D:.*]] = relax.memory.alloc_storage 32 on 0
// CHECK: %b = relax.memory.alloc_tensor %[[D]] at 0
// CHECK: %c = relax.memory.alloc_tensor %[[C]] at 0
// CHECK: %d = relax.memory.alloc_tensor %[[D]] at 0
// CHECK-NOT: alloc_storage
!c = tensor<16xf32>
!d = tensor<8xf32>
relax.func impure @main(%x: !c) -> !relax.tuple<!c, !d> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : !c
  relax.call_packed "f"(%x, %a) : (!c, !c) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : !d
  relax.call_packed "f"(%a, %b) : (!c, !d) -> ()
  relax.call_packed "f"(%a, %b) : (!c, !d) -> ()
  %c = relax.builtin.alloc_tensor on 0 scope "global" : !c
  relax.call_packed "f"(%x, %c) : (!c, !c) -> ()
  %d = relax.builtin.alloc_tensor on 0 scope "global" : !d
  relax.call_packed "f"(%x, %d) : (!c, !d) -> ()
  %r = relax.tuple(%c, %d)  : !c, !d
  relax.return %r : !relax.tuple<!c, !d>
}

// -----

// Results of symbolic size, and those of branches, are left alone.
// CHECK-LABEL: relax.func impure @main
// CHECK: %c = relax.builtin.alloc_tensor
!n = tensor<?xf32, #relax.dims<[n]>>
relax.func impure @main<n>(%x: !n) -> !n {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : !n
  relax.call_packed "f"(%x, %a) : (!n, !n) -> ()
  %c = relax.builtin.alloc_tensor on 0 scope "global" : !n
  relax.call_packed "f"(%x, %c) : (!n, !n) -> ()
  relax.return %c : !n
}
