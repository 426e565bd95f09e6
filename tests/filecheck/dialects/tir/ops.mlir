// RUN: xdsl-opt %s --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file | xdsl-opt --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file --print-op-generic | xdsl-opt --split-input-file | filecheck %s

// Functions, parameters, attributes.

// CHECK-LABEL: tir.func @scale(%a: !tir.handle, %s: f32, %p: !tir.ptr<vector<4xf16>, "shared">) -> i32
// CHECK-SAME: attributes {global_symbol = "scale", tir.noalias = true, param_names = ["a", "s", "p"]}
tir.func @scale(%a: !tir.handle, %s: f32, %p: !tir.ptr<vector<4xf16>, "shared">) -> i32 attributes {global_symbol = "scale", tir.noalias = true, param_names = ["a", "s", "p"]} {
  %c0 = tir.const 0 : i32
  // CHECK: tir.ret %{{.*}} : i32
  tir.ret %c0 : i32
}

// CHECK: tir.func private @declared(!tir.ptr<none>, ui8)
tir.func private @declared(!tir.ptr<none>, ui8)

// CHECK: tir.func @empty() {
// CHECK-NEXT: }
tir.func @empty() {
}

// -----

// Buffers.

// CHECK-LABEL: tir.func @buffers
tir.func @buffers(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle, %d: !tir.handle) {
  // CHECK: %n = tir.shape_var "n" : i32
  %n = tir.shape_var "n" : i32
  // CHECK: %m = tir.shape_var "m" size_var : i64
  %m = tir.shape_var "m" size_var : i64
  // CHECK: %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?x16xf32>
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?x16xf32>
  // CHECK: %B = tir.match_buffer %b strides [%n, 1] offset %n {data_alignment = 128 : i32, offset_factor = 4 : i32} : !tir.buffer<4x16xf32, "global.texture">
  %B = tir.match_buffer %b strides [%n, 1] offset %n {data_alignment = 128 : i32, offset_factor = 4 : i32} : !tir.buffer<4x16xf32, "global.texture">
  // CHECK: %C = tir.match_buffer %c {axis_separators = array<i64: 1>, buffer_kind = #tir<buffer_kind auto_broadcast>, index_type = i64, tag = "mine"} : !tir.buffer<4x4xi1>
  %C = tir.match_buffer %c {axis_separators = array<i64: 1>, buffer_kind = #tir<buffer_kind auto_broadcast>, index_type = i64, tag = "mine"} : !tir.buffer<4x4xi1>
  // CHECK: %D = tir.match_buffer %d : !tir.buffer<f8E4M3FN>
  %D = tir.match_buffer %d : !tir.buffer<f8E4M3FN>
  // CHECK: %E = tir.alloc_buffer "E" [%n, %n] : !tir.buffer<?x3x?xui16, "shared.dyn">
  %E = tir.alloc_buffer "E" [%n, %n] : !tir.buffer<?x3x?xui16, "shared.dyn">
  // CHECK: %p = tir.allocate "p" [4, %n] annotations {buffer_dim_align = {{\[\[}}-1 : i32, 0 : i32, 16 : i32, 8 : i32]]} : !tir.ptr<f32, "local">
  %p = tir.allocate "p" [4, %n] annotations {buffer_dim_align = [[-1 : i32, 0 : i32, 16 : i32, 8 : i32]]} : !tir.ptr<f32, "local">
  %t = tir.const true
  // CHECK: tir.allocate [] if %t : !tir.ptr<vector<4xf32>>
  %q = tir.allocate [] if %t : !tir.ptr<vector<4xf32>>
  // CHECK: tir.allocate_const "w" dense<{{.*}}> : tensor<2xf32> : !tir.ptr<f32>
  %w = tir.allocate_const "w" dense<[1.0, 2.0]> : tensor<2xf32> : !tir.ptr<f32>
  // CHECK: tir.allocate_const 3 : i32 : !tir.ptr<f32>
  %v = tir.allocate_const 3 : i32 : !tir.ptr<f32>
  // CHECK: %F = tir.decl_buffer "F" %p strides [17, 1] {implicit} : !tir.buffer<4x16xf32, "local">
  %F = tir.decl_buffer "F" %p strides [17, 1] {implicit} : !tir.buffer<4x16xf32, "local">
  // CHECK: tir.data %A : !tir.ptr<f32>
  %pa = tir.data %A : !tir.ptr<f32>
  %i = tir.const 2 : i32
  // CHECK: tir.address_of %A[%i, %i] : !tir.ptr<f32>
  %ad = tir.address_of %A[%i, %i] : !tir.ptr<f32>
  // CHECK: %x = tir.load %A[%i, %i] : f32
  %x = tir.load %A[%i, %i] : f32
  // CHECK: tir.store %x, %A[%i, %i] : f32
  tir.store %x, %A[%i, %i] : f32
  // CHECK: %y = tir.load %D[] : f8E4M3FN
  %y = tir.load %D[] : f8E4M3FN
  // CHECK: tir.store %y, %D[] : f8E4M3FN
  tir.store %y, %D[] : f8E4M3FN
  %r = tir.ramp %i, %i : vector<4xi32>
  %k = tir.broadcast %t : vector<4xi1>
  // CHECK: %z = tir.load %A[%i, %r] if %k : vector<4xf32>
  %z = tir.load %A[%i, %r] if %k : vector<4xf32>
  // CHECK: tir.store %z, %A[%i, %r] if %k : vector<4xf32>
  tir.store %z, %A[%i, %r] if %k : vector<4xf32>
}

// -----

// Vector elements times vector indices.

// CHECK-LABEL: tir.func @lanes
tir.func @lanes(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<8xvector<2xf32>>
  %B = tir.match_buffer %b : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %r = tir.ramp %c0, %c0 : vector<4xi32>
  // CHECK: tir.load %A[%r] : vector<8xf32>
  %x = tir.load %A[%r] : vector<8xf32>
  // CHECK: tir.ramp %c0, %c0 : vector<[4]xi32>
  %s = tir.ramp %c0, %c0 : vector<[4]xi32>
  // CHECK: tir.load %B[%s] : vector<[4]xf32>
  %y = tir.load %B[%s] : vector<[4]xf32>
}

// -----

// Loops and ranges: half-open, from the constant zero or not.

// CHECK-LABEL: tir.func @loops
tir.func @loops(%n: i32, %m: i64) {
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %l0 = tir.const 0 : i64
  // CHECK: tir.for %i = %c0 to %n {
  // CHECK-NEXT: }
  tir.for %i = %c0 to %n {
  }
  // CHECK: tir.for "j" %j = %c2 to %c2 + %n parallel annotations {pragma_x = 1 : i32, k = [2 : i32]} {
  tir.for "j" %j = %c2 to %c2 + %n parallel annotations {pragma_x = 1 : i32, k = [2 : i32]} {
    tir.evaluate %j : i32
  }
  // CHECK: tir.for %{{.*}} = %c0 to %n annotations {k = 1 : i32} {
  tir.for %k = %c0 to %n annotations {k = 1 : i32} {
  }
  // CHECK: tir.for %{{.*}} = %l0 to %m vectorized {
  tir.for %k = %l0 to %m vectorized {
  }
  // CHECK: tir.for %{{.*}} = %c0 to %c2 unrolled attributes {mine} {
  tir.for %k = %c0 to %c2 unrolled attributes {mine} {
  }
  // CHECK: tir.for %{{.*}} = %c0 to %c2 thread_binding "threadIdx.x" {
  tir.for %k = %c0 to %c2 thread_binding "threadIdx.x" {
  }
  // CHECK: tir.launch_thread %tx = "threadIdx.x" to %c2 env "tx" annotations {pragma_y = "s"} {
  tir.launch_thread %tx = "threadIdx.x" to %c2 env "tx" annotations {pragma_y = "s"} {
    // CHECK-NEXT: tir.evaluate %tx : i32
    tir.evaluate %tx : i32
  }
  // CHECK: tir.launch_thread %{{.*}} = "vthread.x" to %c2 virtual {
  tir.launch_thread %vx = "vthread.x" to %c2 virtual {
  }
}

// -----

// CHECK-LABEL: tir.func @statements
tir.func @statements(%h: !tir.handle, %n: i32, %p: i1) {
  // CHECK: tir.while {
  tir.while {
    // CHECK-NEXT: tir.yield %p : i1
    tir.yield %p : i1
  // CHECK-NEXT: } do {
  } do {
    // CHECK-NEXT: tir.evaluate
    tir.evaluate
  }
  // CHECK: tir.if %p {
  // CHECK-NEXT: }
  tir.if %p {
  }
  // CHECK: tir.if %p {
  tir.if %p {
    // CHECK-NEXT: tir.evaluate %n : i32
    tir.evaluate %n : i32
  // CHECK-NEXT: } else {
  } else {
    tir.evaluate
  }
  // CHECK: tir.scope {
  tir.scope {
    // CHECK: %x = tir.let "x" %n : i32
    %x = tir.let "x" %n : i32
    // CHECK: tir.let expr "y" %n : i32
    %y = tir.let expr "y" %n : i32
    // CHECK: tir.let %h : !tir.handle -> !tir.ptr<f32>
    %q = tir.let %h : !tir.handle -> !tir.ptr<f32>
    // CHECK: tir.attr "storage_alignment" (%q) = 64 : i32 {
    tir.attr "storage_alignment" (%q) = 64 : i32 {
    }
    // CHECK: tir.attr "device_id" ("default") = %n {
    tir.attr "device_id" ("default") = %n {
    }
    // CHECK: tir.attr "pragma_hint" (0 : i32) = "fast" {
    tir.attr "pragma_hint" (0 : i32) = "fast" {
    }
  }
  // CHECK: tir.assert %p, "n must be positive"
  tir.assert %p, "n must be positive"
  // CHECK: tir.assert %p, %n
  tir.assert %p, %n
  // CHECK: tir.ret
  tir.ret
}

// -----

// Blocks.

// CHECK-LABEL: tir.func @blocks
tir.func @blocks(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?x16xf32>
  %B = tir.match_buffer "B" %b [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  %p = tir.const true
  // CHECK: tir.block "root" {
  tir.block "root" {
    tir.for %i = %c0 to %n {
      tir.for %k = %c0 to %c16 {
        // CHECK: tir.block "B" (%vi : S in [%c0 to %n] = %i, %vk : R "k" in [%c4 to %c4 + %c16] = %k) where %p annotations {auto_copy = 1 : i32} {
        tir.block "B" (%vi : S in [%c0 to %n] = %i, %vk : R "k" in [%c4 to %c4 + %c16] = %k) where %p annotations {auto_copy = 1 : i32} {
          // CHECK-NEXT: %C = tir.alloc_buffer "C" : !tir.buffer<16xf32>
          %C = tir.alloc_buffer "C" : !tir.buffer<16xf32>
          // CHECK-NEXT: %V = tir.match_region "V" %A[%vi, %c0 to 16] : !tir.buffer<16xf32>
          %V = tir.match_region "V" %A[%vi, %c0 to 16] : !tir.buffer<16xf32>
          // CHECK-NEXT: tir.match_region %A[%vi, %c4 to %c4 + %n] [%n] : !tir.buffer<1x?xf32>
          %W = tir.match_region %A[%vi, %c4 to %c4 + %n] [%n] : !tir.buffer<1x?xf32>
          // CHECK-NEXT: tir.reads %A[%vi, %vk], %B[%vi to %vi + %n]
          tir.reads %A[%vi, %vk], %B[%vi to %vi + %n]
          // CHECK-NEXT: tir.writes
          tir.writes
          // CHECK-NEXT: tir.init {
          tir.init {
            %z = tir.const 0.0 : f32
            tir.store %z, %B[%vi] : f32
          }
        }
        // CHECK: tir.block (%{{.*}} : scan in [%c0 to %n] = %i, %{{.*}} : opaque in [%c0 to %n] = %i) {
        tir.block (%u : scan in [%c0 to %n] = %i, %v : opaque in [%c0 to %n] = %i) {
        }
      }
    }
  }
}

// -----

// CHECK-LABEL: tir.func @expressions
tir.func @expressions(%a: i32, %b: i32, %x: f32, %y: f32, %p: i1, %q: i1, %h: !tir.handle) {
  // CHECK: tir.const -7 : i8
  %c = tir.const -7 : i8
  // CHECK: tir.const 18446744073709551615 : ui64
  %u = tir.const 18446744073709551615 : ui64
  // CHECK: tir.const false
  %f = tir.const false
  // CHECK: tir.const {{.*}} : bf16
  %g = tir.const 1.5 : bf16
  // CHECK: tir.string "shared"
  %s = tir.string "shared"
  // CHECK: tir.add %a, %b : i32
  %0 = tir.add %a, %b : i32
  // CHECK: tir.sub %x, %y : f32
  %1 = tir.sub %x, %y : f32
  // CHECK: tir.mul %a, %b : i32
  %2 = tir.mul %a, %b : i32
  // CHECK: tir.div %a, %b : i32
  %3 = tir.div %a, %b : i32
  // CHECK: tir.mod %a, %b : i32
  %4 = tir.mod %a, %b : i32
  // CHECK: tir.floordiv %a, %b : i32
  %5 = tir.floordiv %a, %b : i32
  // CHECK: tir.floormod %a, %b : i32
  %6 = tir.floormod %a, %b : i32
  // CHECK: tir.min %x, %y : f32
  %7 = tir.min %x, %y : f32
  // CHECK: tir.max %x, %y : f32
  %8 = tir.max %x, %y : f32
  // CHECK: tir.cmp le %x, %y : f32
  %9 = tir.cmp le %x, %y : f32
  // CHECK: tir.cmp eq %h, %h : !tir.handle
  %e = tir.cmp eq %h, %h : !tir.handle
  // CHECK: tir.and %p, %q : i1
  %10 = tir.and %p, %q : i1
  // CHECK: tir.or %p, %q : i1
  %11 = tir.or %p, %q : i1
  // CHECK: tir.not %p : i1
  %12 = tir.not %p : i1
  // CHECK: tir.select %p, %x, %y : i1, f32
  %13 = tir.select %p, %x, %y : i1, f32
  // CHECK: tir.if_then_else %p -> f32 {
  %14 = tir.if_then_else %p -> f32 {
    // CHECK-NEXT: tir.yield %x : f32
    tir.yield %x : f32
  // CHECK-NEXT: } else {
  } else {
    tir.yield %y : f32
  }
  // CHECK: tir.cast %a : i32 to f32
  %15 = tir.cast %a : i32 to f32
  // CHECK: %[[R:.*]] = tir.ramp %a, %b : vector<4xi32>
  %16 = tir.ramp %a, %b : vector<4xi32>
  // CHECK: %[[B:.*]] = tir.broadcast %b : vector<4xi32>
  %17 = tir.broadcast %b : vector<4xi32>
  // CHECK: tir.cmp lt %[[R]], %[[B]] : vector<4xi32>
  %18 = tir.cmp lt %16, %17 : vector<4xi32>
  // CHECK: tir.select %{{.*}}, %[[R]], %[[B]] : vector<4xi1>, vector<4xi32>
  %19 = tir.select %18, %16, %17 : vector<4xi1>, vector<4xi32>
  // CHECK: tir.shuffle [%[[R]], %[[B]]] [%a, %b] : vector<2xi32>
  %20 = tir.shuffle [%16, %17] [%a, %b] : vector<2xi32>
  // CHECK: tir.shuffle [%[[R]]] [%a] : i32
  %21 = tir.shuffle [%16] [%a] : i32
  // CHECK: tir.call "exp"(%x) : (f32) -> f32
  %22 = tir.call "exp"(%x) : (f32) -> f32
  // CHECK: tir.call "tvm_storage_sync"(%s) : (!tir.handle) -> ()
  tir.call "tvm_storage_sync"(%s) : (!tir.handle) -> ()
  // CHECK: tir.call_func @callee(%a) : (i32) -> f32
  %23 = tir.call_func @callee(%a) : (i32) -> f32
}
tir.func @callee(%a: i32) -> f32 {
}

// -----

// Targets, custom dtypes, index maps.

// CHECK-LABEL: tir.func @attributes
// CHECK-SAME: attributes {target = #tir.target<"cuda", arch = "sm_80", host = #tir.target<"llvm", "num-cores" = 4>>}
tir.func @attributes(%x: !tir.custom<"posites2", 16>) attributes {target = #tir.target<"cuda", max_num_threads = 1024, arch = "sm_80", host = #tir.target<"llvm", "num-cores" = 4>>} {
  // CHECK: %c = tir.const #tir.custom_value<1.500000e+00 : f64, !tir.custom<"posites2", 16>>
  %c = tir.const #tir.custom_value<1.5 : f64, !tir.custom<"posites2", 16>>
  // CHECK: tir.mul %x, %c : !tir.custom<"posites2", 16>
  %y = tir.mul %x, %c : !tir.custom<"posites2", 16>
  // CHECK: tir.broadcast %y : vector<4x!tir.custom<"posites2", 16>>
  %v = tir.broadcast %y : vector<4x!tir.custom<"posites2", 16>>
  // CHECK: tir.block annotations {layout = #tir.index_map<(d0, d1) -> (d1, (d0 floordiv 4)), inverse (d0, d1) -> ((d1 * 4), d0), i32>} {
  tir.block annotations {layout = #tir.index_map<(d0, d1) -> (d1, d0 floordiv 4), inverse (d0, d1) -> (d1 * 4, d0), i32>} {
  }
}
