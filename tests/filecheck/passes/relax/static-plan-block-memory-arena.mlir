// RUN: xdsl-opt %s -p 'relax-static-plan-block-memory{strategy="arena"},relax-verify-memory-plan' --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'relax-static-plan-block-memory{strategy="arena" alignment=4},relax-verify-memory-plan,relax-lower-alloc-tensor,relax-to-non-dataflow,relax-kill-after-last-use' --split-input-file | filecheck %s --check-prefix KILL

// All in one storage, offsets being multiples of the alignment; the last end is not
// rounded up. What is returned has a storage of its own.
// CHECK-LABEL: relax.func impure @main
// CHECK-NEXT: %[[S:.*]] = relax.memory.alloc_storage 304 on 0 scope "global" dtype f32
// CHECK-NEXT: %a = relax.memory.alloc_tensor %[[S]] at 0 : !relax.object -> tensor<60xf32>
// CHECK-NEXT: %b = relax.memory.alloc_tensor %[[S]] at 256 : !relax.object -> tensor<12xf32>
// CHECK: %c = relax.memory.alloc_tensor %[[S]] at 0 : !relax.object -> tensor<20xf32>
// CHECK: %d = relax.memory.alloc_tensor %[[S]] at 128 : !relax.object -> tensor<20xf32>
// CHECK: %e = relax.builtin.alloc_tensor

// KILL-LABEL: relax.func impure @main
// KILL-NEXT: %[[S:.*]] = relax.memory.alloc_storage 288
// KILL: %b = relax.memory.alloc_tensor %[[S]] at 240
// KILL: kill_tensor %a
// KILL-NEXT: %c = relax.memory.alloc_tensor %[[S]] at 0
// KILL: %d = relax.memory.alloc_tensor %[[S]] at 80
// KILL-NEXT: relax.memory.kill_storage %[[S]]
// KILL: relax.memory.alloc_storage 16 on 0 scope "global" dtype ui8
relax.func impure @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<60xf32>
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<12xf32>
  relax.call_packed "f"(%a, %b) : (tensor<60xf32>, tensor<12xf32>) -> ()
  %c = relax.builtin.alloc_tensor on 0 scope "global" : tensor<20xf32>
  relax.call_packed "f"(%x, %c) : (tensor<4xf32>, tensor<20xf32>) -> ()
  %d = relax.builtin.alloc_tensor on 0 scope "global" : tensor<20xf32>
  relax.call_packed "f"(%b, %c, %d) : (tensor<12xf32>, tensor<20xf32>, tensor<20xf32>) -> ()
  %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
  relax.call_packed "f"(%d, %e) : (tensor<20xf32>, tensor<4xf32>) -> ()
  relax.return %e : tensor<4xf32>
}

// -----

// Dtypes share bytes here, scopes and devices do not.
// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S:.*]] = relax.memory.alloc_storage 64 on 0 scope "global" dtype ui8
// CHECK-NEXT: %a = relax.memory.alloc_tensor %[[S]] at 0 : !relax.object -> tensor<8xf32>
// CHECK: %b = relax.memory.alloc_tensor %[[S]] at 0 : !relax.object -> tensor<8xi64>
// CHECK: %[[T:.*]] = relax.memory.alloc_storage 32 on 1 scope "global" dtype f32
// CHECK-NEXT: %c = relax.memory.alloc_tensor %[[T]] at 0
// CHECK: %[[U:.*]] = relax.memory.alloc_storage 32 on 0 scope "shared" dtype f32
// CHECK-NEXT: %d = relax.memory.alloc_tensor %[[U]] at 0
relax.func impure @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<8xf32>
  relax.call_packed "f"(%x, %a) : (tensor<8xf32>, tensor<8xf32>) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<8xi64>
  relax.call_packed "f"(%x, %b) : (tensor<8xf32>, tensor<8xi64>) -> ()
  %c = relax.builtin.alloc_tensor on 1 scope "global" : tensor<8xf32>
  relax.call_packed "f"(%x, %c) : (tensor<8xf32>, tensor<8xf32>) -> ()
  %d = relax.builtin.alloc_tensor on 0 scope "shared" : tensor<8xf32>
  relax.call_packed "f"(%x, %d) : (tensor<8xf32>, tensor<8xf32>) -> ()
  relax.return %x : tensor<8xf32>
}

// -----

// Bounds of symbols make sizes constant; without a bound a tensor has its own storage.
// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S:.*]] = relax.memory.alloc_storage 128 on 0 scope "global" dtype f32
// CHECK: %a = relax.memory.alloc_tensor %[[S]] at 0
// CHECK: %b = relax.memory.alloc_tensor %[[S]] at 64
// CHECK: %[[T:.*]] = relax.memory.alloc_storage m * 4 on 0
// CHECK: %c = relax.memory.alloc_tensor %[[T]] at 0
!n = tensor<?xf32, #relax.dims<[n]>>
!m = tensor<?xf32, #relax.dims<[m]>>
relax.func impure @main<n, m>(%x: !n, %y: !m) -> !n attributes {tir_var_upper_bound = {n = 16 : i64}} {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : !n
  relax.call_packed "f"(%x, %a) : (!n, !n) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : !n
  relax.call_packed "f"(%a, %b) : (!n, !n) -> ()
  %c = relax.builtin.alloc_tensor on 0 scope "global" : !m
  relax.call_packed "f"(%b, %c) : (!n, !m) -> ()
  relax.return %x : !n
}

// -----

// An alignment that costs more than it helps: the storages of the other strategy. The
// last tensor takes one over.
// CHECK-LABEL: relax.func impure @main
// CHECK-COUNT-2: relax.memory.alloc_storage 4 on 0
// CHECK-NOT: alloc_storage
// KILL-LABEL: relax.func impure @main
// KILL: relax.memory.alloc_storage 8 on 0
!t = tensor<1xf32>
relax.func impure @main(%x: !t) -> !t {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : !t
  %b = relax.builtin.alloc_tensor on 0 scope "global" : !t
  relax.call_packed "f"(%a, %b) : (!t, !t) -> ()
  %c = relax.builtin.alloc_tensor on 0 scope "global" : !t
  relax.call_packed "f"(%x, %c) : (!t, !t) -> ()
  relax.return %x : !t
}

// -----

// Branches use the same bytes, in a storage before them.
// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S:.*]] = relax.memory.alloc_storage 32 on 0
// CHECK-NEXT: relax.if
// CHECK: %a = relax.memory.alloc_tensor %[[S]] at 0
// CHECK: } else {
// CHECK: %b = relax.memory.alloc_tensor %[[S]] at 0
!t = tensor<8xf32>
relax.func impure @main(%x: !t, %p: tensor<i1>) -> !t {
  %r = relax.if %p : tensor<i1> -> !t {
    %a = relax.builtin.alloc_tensor on 0 scope "global" : !t
    relax.call_packed "f"(%x, %a) : (!t, !t) -> ()
    relax.yield %x : !t
  } else {
    %b = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xi16>
    relax.call_packed "f"(%x, %b) : (!t, tensor<4xi16>) -> ()
    relax.yield %x : !t
  }
  relax.return %r : !t
}

// -----

// Sizes that are multiples of one expression have an arena as well.
// CHECK-LABEL: relax.func impure @main
// CHECK: %[[S:.*]] = relax.memory.alloc_storage n * 192 on 0
// CHECK: %a = relax.memory.alloc_tensor %[[S]] at 0
// CHECK: %b = relax.memory.alloc_tensor %[[S]] at n * 128
// CHECK: %c = relax.memory.alloc_tensor %[[S]] at 0
// CHECK: %d = relax.memory.alloc_tensor %[[S]] at n * 64
// CHECK-NOT: alloc_storage
!a = tensor<?x32xf32, #relax.dims<[n, 32]>>
!b = tensor<?x16xf32, #relax.dims<[n, 16]>>
relax.func impure @main<n>(%x: !a, %y: !b) -> !a {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : !a
  relax.call_packed "f"(%x, %a) : (!a, !a) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : !b
  relax.call_packed "f"(%a, %b) : (!a, !b) -> ()
  %c = relax.builtin.alloc_tensor on 0 scope "global" : !b
  relax.call_packed "f"(%b, %c) : (!b, !b) -> ()
  %d = relax.builtin.alloc_tensor on 0 scope "global" : !b
  relax.call_packed "f"(%b, %c, %d) : (!b, !b, !b) -> ()
  relax.call_packed "f"(%b, %d) : (!b, !b) -> ()
  relax.return %x : !a
}
