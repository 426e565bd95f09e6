// RUN: xdsl-opt %s -p relax-lift-global-buffers --split-input-file | filecheck %s

// Buffers of the body and of its root block are passed by each call, before scalars. What
// is in shared memory, or in a loop, is not.

!n = tensor<?xf32, #relax.dims<[n]>>

// CHECK-LABEL: relax.func impure @main<n>
// CHECK-NEXT: %[[N:.*]] = relax.prim_value n : i64
// CHECK-NEXT: %own = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
// CHECK-NEXT: %wide = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?x2xf32, #relax.dims<[n + 3, 2]>>
// CHECK-NEXT: relax.call impure @f(%x, %y, %own, %wide, %[[N]])
// CHECK: %own_1 = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
// CHECK-NEXT: %wide_1 = relax.builtin.alloc_tensor on 0 scope "global" : tensor<6x2xf32>
// CHECK-NEXT: relax.call impure @f(%z, %w, %own_1, %wide_1,
relax.func impure @main<n>(%x: !n, %y: !n, %z: tensor<3xf32>, %w: tensor<3xf32>) -> !n attributes {global_symbol = "main"} {
  %n = relax.prim_value n : i64
  relax.call impure @f(%x, %y, %n) : (!n, !n, !relax.prim<i64, n>) -> ()
  %three = relax.prim_value 3 : i64
  relax.call impure @f(%z, %w, %three) : (tensor<3xf32>, tensor<3xf32>, !relax.prim<i64, 3>) -> ()
  relax.return %y : !n
}
// CHECK: tir.func private @f(%{{.*}}: !tir.handle, %{{.*}}: !tir.handle, %own_handle: !tir.handle, %wide_handle: !tir.handle, %{{.*}}: i64)
// CHECK-SAME: param_names = ["x", "y", "own", "wide", "k"]
// CHECK: tir.match_buffer "y"
// CHECK: %own = tir.match_buffer "own" %own_handle : !tir.buffer<4xf32>
// CHECK: %[[E:.*]] = tir.add %n, %{{.*}} : i64
// CHECK-NEXT: %wide = tir.match_buffer "wide" %wide_handle [%[[E]]] : !tir.buffer<?x2xf32>
// CHECK-NOT: match_buffer
// CHECK: tir.alloc_buffer "tile"
// CHECK: tir.alloc_buffer "inner"
tir.func private @f(%x: !tir.handle, %y: !tir.handle, %k: i64) attributes {tir.noalias = true, param_names = ["x", "y", "k"]} {
  %n = tir.shape_var "n" : i64
  %X = tir.match_buffer "x" %x [%n] : !tir.buffer<?xf32>
  %Y = tir.match_buffer "y" %y [%n] : !tir.buffer<?xf32>
  %own = tir.alloc_buffer "own" : !tir.buffer<4xf32>
  tir.block "root" {
    %c0 = tir.const 0 : i64
    %c3 = tir.const 3 : i64
    %c32 = tir.const 0 : i32
    %more = tir.add %n, %c3 : i64
    %wide = tir.alloc_buffer "wide" [%more] : !tir.buffer<?x2xf32>
    %tile = tir.alloc_buffer "tile" : !tir.buffer<2xf32, "shared">
    tir.for %i = %c0 to %n {
      tir.block "copy" {
        %inner = tir.alloc_buffer "inner" : !tir.buffer<2xf32>
        %v = tir.load %X[%i] : f32
        tir.store %v, %wide[%i, %c0] : f32
        tir.store %v, %own[%c32] : f32
        tir.store %v, %inner[%c32] : f32
      }
    }
    tir.for %i = %c0 to %n {
      %v = tir.load %wide[%i, %c0] : f32
      tir.store %v, %Y[%i] : f32
    }
  }
}

// -----

// The functions that others may call keep their parameters, and so do those whose calls
// are not known, or do not say how large the memory is.

// CHECK-LABEL: relax.func impure @main
// CHECK-NOT: builtin.alloc_tensor
// CHECK: tir.func @shown
// CHECK: tir.alloc_buffer
// CHECK: tir.func private @depends
// CHECK: tir.alloc_buffer
// CHECK: tir.func private @returned
// CHECK: tir.alloc_buffer
relax.func impure @main(%x: tensor<4xi32>) -> tensor<4xi32> attributes {global_symbol = "main"} {
  relax.call impure @shown(%x) : (tensor<4xi32>) -> ()
  relax.call impure @depends(%x) : (tensor<4xi32>) -> ()
  %r = relax.call_tir @returned(%x) : (tensor<4xi32>) -> tensor<4xi32>
  relax.return %r : tensor<4xi32>
}
tir.func @shown(%x: !tir.handle) attributes {global_symbol = "shown"} {
  %X = tir.match_buffer "x" %x : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %own = tir.alloc_buffer "own" : !tir.buffer<4xi32>
  tir.store %c0, %own[%c0] : i32
}
tir.func private @depends(%x: !tir.handle) {
  %X = tir.match_buffer "x" %x : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  tir.block "root" {
    %n = tir.load %X[%c0] : i32
    %own = tir.alloc_buffer "own" [%n] : !tir.buffer<?xi32>
    tir.for %i = %c0 to %n {
      tir.store %c0, %own[%i] : i32
    }
  }
}
tir.func private @returned(%x: !tir.handle, %y: !tir.handle) {
  %X = tir.match_buffer "x" %x : !tir.buffer<4xi32>
  %Y = tir.match_buffer "y" %y : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %own = tir.alloc_buffer "own" : !tir.buffer<4xi32>
  tir.for %i = %c0 to %c4 {
    %v = tir.load %X[%i] : i32
    tir.store %v, %own[%i] : i32
    %w = tir.load %own[%i] : i32
    tir.store %w, %Y[%i] : i32
  }
}

// -----

// The memory is where the tensors are. With tensors on several devices it is not known
// where the function runs.

!here = tensor<4xi32, #relax.placed<[4], #relax.vdevice<"llvm", 0, "global">>>
!there = tensor<4xi32, #relax.placed<[4], #relax.vdevice<"cuda", 0, "global">>>

builtin.module attributes {relax.vdevices = [#relax.vdevice<"llvm", 0, "global">, #relax.vdevice<"cuda", 0, "global">]} {
  // CHECK-LABEL: relax.func impure @main
  // CHECK-NEXT: %own = relax.builtin.alloc_tensor on 1 scope "global" : tensor<2xi32, #relax.placed<[2], #relax.vdevice<"cuda", 0, "global">>>
  // CHECK-NEXT: relax.call impure @on_one(%x, %x, %own)
  // CHECK-NEXT: relax.call impure @on_two(%x, %y)
  relax.func impure @main(%x: !there, %y: !here) -> !here attributes {global_symbol = "main"} {
    relax.call impure @on_one(%x, %x) : (!there, !there) -> ()
    relax.call impure @on_two(%x, %y) : (!there, !here) -> ()
    relax.return %y : !here
  }
  tir.func private @on_one(%x: !tir.handle, %y: !tir.handle) {
    %X = tir.match_buffer "x" %x : !tir.buffer<4xi32>
    %Y = tir.match_buffer "y" %y : !tir.buffer<4xi32>
    %c0 = tir.const 0 : i32
    %own = tir.alloc_buffer "own" : !tir.buffer<2xi32>
    tir.store %c0, %own[%c0] : i32
  }
  tir.func private @on_two(%x: !tir.handle, %y: !tir.handle) {
    %X = tir.match_buffer "x" %x : !tir.buffer<4xi32>
    %Y = tir.match_buffer "y" %y : !tir.buffer<4xi32>
    %c0 = tir.const 0 : i32
    %own = tir.alloc_buffer "own" : !tir.buffer<2xi32>
    tir.store %c0, %own[%c0] : i32
  }
}

// -----

// An extent that may be negative, where the loops over it do not run, is that of no tensor.

!n = tensor<?xf32, #relax.dims<[n]>>

// CHECK-LABEL: relax.func impure @main
// CHECK-NOT: builtin.alloc_tensor
// CHECK: tir.alloc_buffer "steps"
relax.func impure @main<n>(%x: !n) -> !n attributes {global_symbol = "main"} {
  relax.call impure @f(%x) : (!n) -> ()
  relax.return %x : !n
}
tir.func private @f(%x: !tir.handle) {
  %n = tir.shape_var "n" : i64
  %X = tir.match_buffer "x" %x [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i64
  %c1 = tir.const 1 : i64
  %less = tir.sub %n, %c1 : i64
  %steps = tir.alloc_buffer "steps" [%less] : !tir.buffer<?xf32>
  tir.for %i = %c0 to %less {
    %v = tir.load %X[%i] : f32
    tir.store %v, %steps[%i] : f32
  }
}
