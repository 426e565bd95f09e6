// RUN: xdsl-opt %s -p tir-fp8-compute-legalize,tir-fp8-storage-legalize --split-input-file | filecheck %s --check-prefixes=CHECK,F32
// RUN: xdsl-opt %s -p 'tir-fp8-compute-legalize{promote_dtype_str="float16"},tir-fp8-storage-legalize' --split-input-file | filecheck %s --check-prefixes=CHECK,F16

// CASE: FP8StorageLegalize.1
tir.func @e4m3(%pA : !tir.ptr<f8E4M3FN>, %pB : !tir.ptr<f8E4M3FN>, %pD : !tir.ptr<f8E4M3FN>) attributes {global_symbol = "e4m3", target = #tir.target<"cuda", arch = "sm_80">} {
  %A = tir.decl_buffer "A" %pA : !tir.buffer<100xf8E4M3FN>
  %B = tir.decl_buffer "B" %pB : !tir.buffer<100xf8E4M3FN>
  %D = tir.decl_buffer "D" %pD : !tir.buffer<100xf8E4M3FN>
  %p = tir.allocate "C" [100] : !tir.ptr<f8E4M3FN>
  %C = tir.decl_buffer "C" %p : !tir.buffer<100xf8E4M3FN>
  %c0 = tir.const 0 : i32
  %c100 = tir.const 100 : i32
  tir.for %i = %c0 to %c100 {
    %x = tir.load %A[%i] : f8E4M3FN
    %y = tir.load %B[%i] : f8E4M3FN
    %z = tir.add %x, %y : f8E4M3FN
    tir.store %z, %C[%i] : f8E4M3FN
    %u = tir.load %C[%i] : f8E4M3FN
    %v = tir.call "exp"(%u) : (f8E4M3FN) -> f8E4M3FN
    tir.store %v, %D[%i] : f8E4M3FN
  }
}
// CHECK-LABEL: tir.func @e4m3(%{{.*}}: !tir.ptr<ui8>, %{{.*}}: !tir.ptr<ui8>, %{{.*}}: !tir.ptr<ui8>)
// CHECK-NEXT:    tir.decl_buffer "A" %{{.*}} : !tir.buffer<100xui8>
// F32:           tir.allocate "C" [100] : !tir.ptr<f32>
// F16:           tir.allocate "C" [100] : !tir.ptr<f16>
// CHECK:         %[[X:.*]] = tir.load %{{.*}} : ui8
// F32-NEXT:      tir.cast %[[X]] : ui8 to ui32
// F16-NEXT:      tir.cast %[[X]] : ui8 to ui16
// CHECK:         tir.load %{{.*}} : ui8
// F32:           %[[R:.*]] = tir.cast %{{.*}} : ui32 to ui8
// F16:           %[[R:.*]] = tir.cast %{{.*}} : ui16 to ui8
// CHECK-NEXT:    tir.store %[[R]], %{{.*}} : ui8

// -----

// CASE: FP8StorageLegalize.1
tir.func @e5m2(%pA : !tir.ptr<f8E5M2>, %pB : !tir.ptr<f8E5M2>, %pD : !tir.ptr<f8E5M2>) attributes {global_symbol = "e5m2", target = #tir.target<"cuda", arch = "sm_80">} {
  %A = tir.decl_buffer "A" %pA : !tir.buffer<100xf8E5M2>
  %B = tir.decl_buffer "B" %pB : !tir.buffer<100xf8E5M2>
  %D = tir.decl_buffer "D" %pD : !tir.buffer<100xf8E5M2>
  %p = tir.allocate "C" [100] : !tir.ptr<f8E5M2>
  %C = tir.decl_buffer "C" %p : !tir.buffer<100xf8E5M2>
  %c0 = tir.const 0 : i32
  %c100 = tir.const 100 : i32
  tir.for %i = %c0 to %c100 {
    %x = tir.load %A[%i] : f8E5M2
    %y = tir.load %B[%i] : f8E5M2
    %z = tir.add %x, %y : f8E5M2
    tir.store %z, %C[%i] : f8E5M2
    %u = tir.load %C[%i] : f8E5M2
    %v = tir.call "exp"(%u) : (f8E5M2) -> f8E5M2
    tir.store %v, %D[%i] : f8E5M2
  }
}
// CHECK-LABEL: tir.func @e5m2(%{{.*}}: !tir.ptr<ui8>, %{{.*}}: !tir.ptr<ui8>, %{{.*}}: !tir.ptr<ui8>)
// CHECK:         %[[X:.*]] = tir.load %{{.*}} : ui8
// F16-NEXT:      %[[W:.*]] = tir.cast %[[X]] : ui8 to ui16
// F16-NEXT:      %[[N:.*]] = tir.const 8 : ui16
// F16-NEXT:      %[[S:.*]] = tir.call "shift_left"(%[[W]], %[[N]]) : (ui16, ui16) -> ui16
// F16-NEXT:      tir.call "reinterpret"(%[[S]]) : (ui16) -> f16
// F32:           %[[R:.*]] = tir.cast %{{.*}} : ui32 to ui8
// F16:           %[[R:.*]] = tir.cast %{{.*}} : ui16 to ui8
// CHECK-NEXT:    tir.store %[[R]], %{{.*}} : ui8

// -----

// CASE: FP8StorageLegalize.2
tir.func @sm_89(%a : !tir.ptr<f8E4M3FN>) attributes {target = #tir.target<"cuda", arch = "sm_89">} {
  %A = tir.decl_buffer %a : !tir.buffer<8xf8E4M3FN>
}
tir.func @sm_100(%a : !tir.ptr<f8E5M2>) attributes {target = #tir.target<"cuda", arch = "sm_100">} {
  %A = tir.decl_buffer %a : !tir.buffer<8xf8E5M2>
}
// CHECK-LABEL: tir.func @sm_89
// CHECK-NEXT:    !tir.buffer<8xf8E4M3FN>
// CHECK-LABEL: tir.func @sm_100
// CHECK-NEXT:    !tir.buffer<8xf8E5M2>

// -----

tir.func @constants(%a : !tir.ptr<f8E4M3FN>, %b : !tir.ptr<f8E5M2>) attributes {target = #tir.target<"llvm">} {
  %A = tir.decl_buffer %a : !tir.buffer<8xf8E4M3FN>
  %B = tir.decl_buffer %b : !tir.buffer<8xf8E5M2>
  %c0 = tir.const 0 : i32
  %k = tir.const -1.5 : f8E4M3FN
  tir.store %k, %A[%c0] : f8E4M3FN
  %l = tir.const -1.5 : f8E5M2
  tir.store %l, %B[%c0] : f8E5M2
  %n = tir.const 0x7F : f8E4M3FN
  tir.store %n, %A[%c0] : f8E4M3FN
}
// CHECK-LABEL: tir.func @constants
// CHECK:         tir.const 188 : ui8
// CHECK:         tir.const 190 : ui8
// CHECK:         tir.const 127 : ui8
