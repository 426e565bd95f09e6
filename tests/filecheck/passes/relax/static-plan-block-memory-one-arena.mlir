// RUN: xdsl-opt %s -p 'relax-static-plan-block-memory{strategy="one-arena" alignment=256},relax-verify-memory-plan' --split-input-file | filecheck %s

// Arenas are one after the other. Sizes are rounded up, so that offsets are multiples of
// 256 for any n and m; those of %h are so by themselves. What needs a symbol of the body
// has a storage of its own, as has what may be a sum with negative terms.
!n = tensor<?xf32, #relax.dims<[n]>>
!m = tensor<?x3xf32, #relax.dims<[m, 3]>>
!k = tensor<?xf32, #relax.dims<[k]>>
!s = tensor<?x64xf32, #relax.dims<[min(n, m) - 1, 64]>>
!h = tensor<?x64xf32, #relax.dims<[n, 64]>>
// CHECK-LABEL: relax.func impure @main
// CHECK-NEXT: %[[S:.*]] = relax.memory.alloc_storage n * 256 + ((m + 63) floordiv 64) * 768 + ((n + 63) floordiv 64) * 512 + 512
// CHECK-NEXT: %a = relax.memory.alloc_tensor %[[S]] at 0
// CHECK-NEXT: %b = relax.memory.alloc_tensor %[[S]] at 512
// CHECK: %c = relax.memory.alloc_tensor %[[S]] at ((n + 63) floordiv 64) * 256 + 512
// CHECK: %d = relax.memory.alloc_tensor %[[S]] at ((n + 63) floordiv 64) * 512 + 512
// CHECK: %e = relax.memory.alloc_tensor %[[S]] at 256
// CHECK: %h = relax.memory.alloc_tensor %[[S]] at ((m + 63) floordiv 64) * 768 + ((n + 63) floordiv 64) * 512 + 512
// CHECK: %[[T:.*]] = relax.memory.alloc_storage ((k + 63) floordiv 64) * 256
// CHECK: %f = relax.memory.alloc_tensor %[[T]] at 0
// CHECK: %[[U:.*]] = relax.memory.alloc_storage
// CHECK: %g = relax.memory.alloc_tensor %[[U]] at 0
// CHECK-NOT: alloc_storage
relax.func impure @main<n, m>(%x: !n, %y: !m, %z: tensor<?xf32>) -> !n {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<60xf32>
  %b = relax.builtin.alloc_tensor on 0 scope "global" : !n
  relax.call_packed "f"(%x, %a, %b) : (!n, tensor<60xf32>, !n) -> ()
  %c = relax.builtin.alloc_tensor on 0 scope "global" : !n
  relax.call_packed "f"(%b, %c) : (!n, !n) -> ()
  %d = relax.builtin.alloc_tensor on 0 scope "global" : !m
  relax.call_packed "f"(%c, %d) : (!n, !m) -> ()
  %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<60xf32>
  relax.call_packed "f"(%a, %d, %e) : (tensor<60xf32>, !m, tensor<60xf32>) -> ()
  %h = relax.builtin.alloc_tensor on 0 scope "global" : !h
  relax.call_packed "f"(%e, %h) : (tensor<60xf32>, !h) -> ()
  %w = relax.match_cast %z defines [k] : tensor<?xf32> -> !k
  %f = relax.builtin.alloc_tensor on 0 scope "global" : !k
  relax.call_packed "f"(%w, %f) : (!k, !k) -> ()
  %g = relax.builtin.alloc_tensor on 0 scope "global" : !s
  relax.call_packed "f"(%f, %g) : (!k, !s) -> ()
  relax.return %x : !n
}

// -----

// Each scope and each device has one.
// CHECK-LABEL: relax.func impure @main
// CHECK: relax.memory.alloc_storage 32 on 0 scope "global" dtype f32
// CHECK: relax.memory.alloc_storage 32 on 1 scope "global" dtype f32
// CHECK-NOT: alloc_storage
relax.func impure @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<8xf32>
  relax.call_packed "f"(%x, %a) : (tensor<8xf32>, tensor<8xf32>) -> ()
  %b = relax.builtin.alloc_tensor on 1 scope "global" : tensor<8xf32>
  relax.call_packed "f"(%x, %b) : (tensor<8xf32>, tensor<8xf32>) -> ()
  relax.return %x : tensor<8xf32>
}
