// RUN: xdsl-opt %s -p 'relax-dispatch-sort-scan{target="cuda" threads=4 tile=8}' --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'relax-dispatch-sort-scan{target="llvm"}' --split-input-file | filecheck %s --check-prefix CPU

// Short rows: a block sorts several.

// CPU-LABEL: relax.func @short_rows
// CPU: relax.sort
// CPU: relax.cumsum
// CHECK-LABEL: relax.func @short_rows
// CHECK-NEXT: %[[S:.*]] = relax.call_tir @sort(%{{.*}})
// CHECK-NEXT: %[[C:.*]] = relax.call_tir @cumsum(%[[S]])
// CHECK-NEXT: relax.return %[[C]]
relax.func @short_rows(%a: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = relax.sort %a axis -1 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %s = relax.cumsum %r axis 1 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  relax.return %s : tensor<3x4xf32>
}
// CHECK-LABEL: tir.func @sort(
// CHECK-SAME: op_pattern = 8 : i32
// CHECK-SAME: tir.is_scheduled = true
// CHECK: tir.for "bx" {{.*}} thread_binding "blockIdx.x"
// CHECK: tir.for "tx" {{.*}} thread_binding "threadIdx.x"
// CHECK: tir.block "sort_tile"
// CHECK: tir.alloc_buffer "keys" : !tir.buffer<8xf32, "shared">
// CHECK: tir.alloc_buffer "order" : !tir.buffer<8xi32, "shared">
// CHECK: tir.call "tvm_storage_sync"
// CHECK: tir.for "step"
// CHECK: tir.call "tvm_storage_sync"
// CHECK-NOT: thread_binding
// CHECK-LABEL: tir.func @cumsum(
// CHECK: tir.block "cumsum"
// CHECK: tir.alloc_buffer "sums" : !tir.buffer<4xf32, "shared">
// CHECK: tir.alloc_buffer "own" : !tir.buffer<2xf32, "local">

// -----

// Long rows: tiles, merges in a loop of the host, and what is asked for.

// CHECK-LABEL: relax.func @long_rows
// CHECK: relax.call_tir @topk(%{{.*}}) : (tensor<2x20xf32>) -> !relax.tuple<tensor<2x3xf32>, tensor<2x3xi32>>
relax.func @long_rows(%a: tensor<2x20xf32>) -> !relax.tuple<tensor<2x3xf32>, tensor<2x3xi32>> {
  %r = relax.topk %a k 3 axis -1 ret "both" dtype i32 : (tensor<2x20xf32>) -> !relax.tuple<tensor<2x3xf32>, tensor<2x3xi32>>
  relax.return %r : !relax.tuple<tensor<2x3xf32>, tensor<2x3xi32>>
}
// CHECK-LABEL: tir.func @topk(
// CHECK: tir.alloc_buffer "first_keys" {{.*}} : !tir.buffer<2x20xf32>
// CHECK: tir.block "sort_tile"
// CHECK: tir.for "p"
// CHECK-NEXT: tir.const
// CHECK: tir.for "bx" {{.*}} thread_binding "blockIdx.x"
// CHECK: tir.block "merge"
// CHECK: tir.while
// CHECK: tir.block "merge_back"
// CHECK: tir.block "sorted"

// -----

// Another axis than the last one, of a symbolic extent.

!t = tensor<?x3xi32, #relax.dims<[n, 3]>>
!p = tensor<3x?xi32, #relax.dims<[3, n]>>

// CHECK-LABEL: relax.func @first_axis
// CHECK-NEXT: %[[T:.*]] = relax.permute_dims %{{.*}} axes [1, 0]
// CHECK-NEXT: %[[S:.*]] = relax.call_tir @cumprod(%[[T]])
// CHECK-NEXT: %[[R:.*]] = relax.permute_dims %[[S]] axes [1, 0]
// CHECK-NEXT: relax.return %[[R]]
relax.func @first_axis<n>(%a: !t) -> !t {
  %r = relax.cumprod %a axis 0 exclusive : (!t) -> !t
  relax.return %r : !t
}
// CHECK-LABEL: tir.func @cumprod(
// CHECK: tir.block "totals"
// CHECK: tir.block "before"
// CHECK: tir.block "cumprod"

// -----

// The device of the result says the target; empty results stay.

!cpu = tensor<2x3xf32, #relax.placed<[2, 3], #relax.vdevice<"llvm", 0, "global">>>
!gpu = tensor<2x3xf32, #relax.placed<[2, 3], #relax.vdevice<"cuda", 0, "global">>>
!e = tensor<0x3xf32>

// CPU-LABEL: relax.func @devices
// CPU-NEXT: relax.argsort
// CPU-NEXT: relax.call_tir @argsort_cuda
// CHECK-LABEL: relax.func @devices
// CHECK-NEXT: relax.argsort
// CHECK-NEXT: relax.call_tir @argsort_cuda
// CHECK-NEXT: relax.sort
relax.func @devices(%a: !cpu, %b: !gpu, %c: !e) -> !e {
  %r = relax.argsort %a axis -1 : (!cpu) -> !cpu
  %s = relax.argsort %b axis -1 : (!gpu) -> !gpu
  %t = relax.sort %c axis -1 : (!e) -> !e
  relax.return %t : !e
}
// CHECK: tir.func @argsort_cuda({{.*}} target = #tir.target<"cuda">
