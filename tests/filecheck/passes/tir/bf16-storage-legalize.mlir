// RUN: xdsl-opt %s -p tir-bf16-compute-legalize,tir-bf16-storage-legalize --split-input-file | filecheck %s

// CASE: BF16StorageLegalize.1
tir.func @add_exp(%pA : !tir.ptr<bf16, "shared">, %pB : !tir.ptr<bf16, "local">, %pD : !tir.ptr<bf16>) attributes {global_symbol = "add_exp", target = #tir.target<"cuda", arch = "sm_75">} {
  %A = tir.decl_buffer "A" %pA : !tir.buffer<100xbf16, "shared">
  %B = tir.decl_buffer "B" %pB : !tir.buffer<100xbf16, "local">
  %D = tir.decl_buffer "D" %pD : !tir.buffer<100xbf16>
  %p = tir.allocate "C" [100] : !tir.ptr<bf16>
  %C = tir.decl_buffer "C" %p : !tir.buffer<100xbf16>
  %c0 = tir.const 0 : i32
  %c100 = tir.const 100 : i32
  tir.for %i = %c0 to %c100 {
    %x = tir.load %A[%i] : bf16
    %y = tir.load %B[%i] : bf16
    %z = tir.add %x, %y : bf16
    tir.store %z, %C[%i] : bf16
    %u = tir.load %C[%i] : bf16
    %v = tir.call "exp"(%u) : (bf16) -> bf16
    tir.store %v, %D[%i] : bf16
  }
}
// CHECK-LABEL: tir.func @add_exp(%{{.*}}: !tir.ptr<ui16, "shared">, %{{.*}}: !tir.ptr<ui16, "local">, %{{.*}}: !tir.ptr<ui16>)
// CHECK-NEXT:    tir.decl_buffer "A" %{{.*}} : !tir.buffer<100xui16, "shared">
// CHECK-NEXT:    tir.decl_buffer "B" %{{.*}} : !tir.buffer<100xui16, "local">
// CHECK-NEXT:    tir.decl_buffer "D" %{{.*}} : !tir.buffer<100xui16>
// CHECK-NEXT:    tir.allocate "C" [100] : !tir.ptr<f32>
// CHECK:         tir.for
// CHECK-NEXT:      %[[X:.*]] = tir.load %{{.*}} : ui16
// CHECK-NEXT:      %[[XW:.*]] = tir.cast %[[X]] : ui16 to ui32
// CHECK-NEXT:      %[[N:.*]] = tir.const 16 : ui32
// CHECK-NEXT:      %[[XS:.*]] = tir.call "shift_left"(%[[XW]], %[[N]])
// CHECK-NEXT:      %[[XF:.*]] = tir.call "reinterpret"(%[[XS]]) : (ui32) -> f32
// CHECK-NEXT:      tir.load %{{.*}} : ui16
// CHECK:           tir.add %[[XF]], %{{.*}} : f32
// CHECK:           tir.select
// CHECK:           %[[CUT:.*]] = tir.call "shift_right"(%[[CHOSEN:.*]], %{{.*}})
// CHECK-NEXT:      %[[R:.*]] = tir.cast %[[CUT]] : ui32 to ui16
// CHECK-NEXT:      tir.store %[[R]], %{{.*}} : ui16

// -----

// CASE: BF16StorageLegalize.2
tir.func @allreduce(%a : !tir.ptr<bf16>, %b : !tir.ptr<bf16>) attributes {target = #tir.target<"cuda", arch = "sm_75">} {
  %A = tir.decl_buffer %a : !tir.buffer<32xbf16>
  %B = tir.decl_buffer %b : !tir.buffer<32xbf16>
  %c0 = tir.const 0 : i32
  %c32 = tir.const 32 : i32
  %r = tir.reducer (%l : bf16, %m : bf16) identity [0.0 : bf16] {
    %s = tir.add %l, %m : bf16
    tir.yield %s : bf16
  }
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %q = tir.allocate [1] : !tir.ptr<bf16, "local">
    %R = tir.decl_buffer %q : !tir.buffer<1xbf16, "local">
    %x = tir.load %A[%t] : bf16
    tir.attr "reduce_scope" (%r) = 0 : i32 {
      tir.thread_allreduce [%x] into [%R[%c0]] over [%t]
    }
    %y = tir.load %R[%c0] : bf16
    tir.store %y, %B[%t] : bf16
  }
}
// CHECK-LABEL: tir.func @allreduce(%{{.*}}: !tir.ptr<ui16>, %{{.*}}: !tir.ptr<ui16>)
// CHECK:         tir.reducer (%{{.*}} : f32, %{{.*}} : f32) identity [0.000000e+00 : f32] {
// CHECK:         tir.allocate [1] : !tir.ptr<f32, "local">
// CHECK:         %[[X:.*]] = tir.load %{{.*}} : ui16
// CHECK-NEXT:    tir.cast %[[X]] : ui16 to ui32
// CHECK:         %[[F:.*]] = tir.call "reinterpret"(%{{.*}}) : (ui32) -> f32
// CHECK-NEXT:    tir.attr "reduce_scope"
// CHECK-NEXT:      tir.thread_allreduce [%[[F]]] into

// -----

// CASE: BF16StorageLegalize.3
tir.func @native(%a : !tir.ptr<bf16>) attributes {target = #tir.target<"cuda", arch = "sm_80">} {
  %A = tir.decl_buffer %a : !tir.buffer<8xbf16>
  %c0 = tir.const 0 : i32
  %x = tir.load %A[%c0] : bf16
  %y = tir.add %x, %x : bf16
  tir.store %y, %A[%c0] : bf16
}
// CHECK-LABEL: tir.func @native(%{{.*}}: !tir.ptr<bf16>)
// CHECK-NOT:     ui16

// -----

// CASE: BF16StorageLegalize.4
tir.func @copies(%a : !tir.ptr<bf16>, %u : !tir.ptr<ui16>, %p : i1) attributes {target = #tir.target<"llvm">} {
  %A = tir.decl_buffer %a : !tir.buffer<8xbf16>
  %U = tir.decl_buffer %u : !tir.buffer<8xui16>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %x = tir.load %A[%c0] : bf16
  tir.store %x, %A[%c1] : bf16
  %y = tir.call "reinterpret"(%x) : (bf16) -> ui16
  tir.store %y, %U[%c0] : ui16
  %z = tir.call "reinterpret"(%x) : (bf16) -> i16
  tir.evaluate %z : i16
}
// CHECK-LABEL: tir.func @copies
// CHECK:         %[[X:.*]] = tir.load %{{.*}} : ui16
// CHECK-NEXT:    tir.store %[[X]], %{{.*}} : ui16
// CHECK-NEXT:    tir.store %[[X]], %{{.*}} : ui16
// CHECK-NEXT:    tir.call "reinterpret"(%[[X]]) : (ui16) -> i16

// -----

// Constants, constant memory, scalar parameters, masks, pointers: all become integers.
tir.func @kernel(%a : !tir.ptr<bf16>) attributes {target = #tir.target<"cuda", arch = "sm_90">} {
  %A = tir.decl_buffer %a : !tir.buffer<8xbf16>
}
tir.func private @scalar(%x : bf16) -> bf16 attributes {target = #tir.target<"llvm">} {
  tir.ret %x : bf16
}
tir.func @rest(%a : !tir.ptr<bf16>, %s : bf16, %p : vector<2xi1>, %n : i32) attributes {target = #tir.target<"llvm">} {
  %A = tir.decl_buffer %a : !tir.buffer<8xbf16>
  %q = tir.allocate_const dense<[1.0, -2.5]> : tensor<2xbf16> : !tir.ptr<bf16>
  %Q = tir.decl_buffer %q : !tir.buffer<2xbf16>
  %m = tir.allocate [%n] : !tir.ptr<vector<2xbf16>>
  %M = tir.decl_buffer %m [%n] : !tir.buffer<?xvector<2xbf16>>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c3 = tir.const 3 : i32
  %k = tir.const -1.5 : bf16
  tir.store %k, %A[%c0] : bf16
  tir.store %s, %A[%c1] : bf16
  %r = tir.ramp %c0, %c1 : vector<2xi32>
  %x = tir.load %Q[%r] if %p : vector<2xbf16>
  tir.store %x, %M[%c1] if %p : vector<2xbf16>
  %h = tir.address_of %A[%c3] : !tir.ptr<bf16>
  %name = tir.string "f"
  %e = tir.call "call_extern"(%name, %h) : (!tir.handle, !tir.ptr<bf16>) -> i32
  tir.call_func @kernel(%h) : (!tir.ptr<bf16>) -> ()
  %v = tir.call_func @scalar(%s) : (bf16) -> bf16
  tir.store %v, %A[%c3] : bf16
}
// CHECK-LABEL: tir.func @kernel(%{{.*}}: !tir.ptr<bf16>)
// CHECK-LABEL: tir.func private @scalar(%{{.*}}: ui16) -> ui16
// CHECK:         tir.ret %{{.*}} : ui16
// CHECK-LABEL: tir.func @rest(%{{.*}}: !tir.ptr<ui16>,
// CHECK-SAME:    %[[S:[a-z]*]]: ui16,
// CHECK:         tir.allocate_const dense<[16256, 49184]> : tensor<2xui16> : !tir.ptr<ui16>
// CHECK-NEXT:    tir.decl_buffer %{{.*}} : !tir.buffer<2xui16>
// CHECK:         tir.allocate [%{{.*}}] : !tir.ptr<vector<2xui16>>
// CHECK-NEXT:    tir.decl_buffer %{{.*}} [%{{.*}}] : !tir.buffer<?xvector<2xui16>>
// CHECK:         %[[K:.*]] = tir.const 49088 : ui16
// CHECK-NEXT:    tir.store %[[K]]
// CHECK-NEXT:    tir.store %[[S]]
// CHECK:         tir.load %{{.*}} if %{{.*}} : vector<2xui16>
// CHECK-NEXT:    tir.store %{{.*}} if %{{.*}} : vector<2xui16>
// CHECK-NEXT:    %[[H:.*]] = tir.address_of %{{.*}} : !tir.ptr<ui16>
// CHECK:         tir.call "call_extern"(%{{.*}}, %[[H]]) : (!tir.handle, !tir.ptr<ui16>) -> i32
// CHECK-NEXT:    %[[HB:.*]] = tir.call "reinterpret"(%[[H]]) : (!tir.ptr<ui16>) -> !tir.ptr<bf16>
// CHECK-NEXT:    tir.call_func @kernel(%[[HB]]) : (!tir.ptr<bf16>) -> ()
// CHECK-NEXT:    tir.call_func @scalar(%[[S]]) : (ui16) -> ui16
