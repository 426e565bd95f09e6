// RUN: xdsl-opt %s -p tir-fp8-compute-legalize --split-input-file | filecheck %s --check-prefixes=CHECK,F32
// RUN: xdsl-opt %s -p 'tir-fp8-compute-legalize{promote_dtype_str="float16"}' --split-input-file | filecheck %s --check-prefixes=CHECK,F16
// RUN: xdsl-opt %s -p 'tir-fp8-compute-legalize,tir-fp8-compute-legalize' --split-input-file | filecheck %s --check-prefixes=CHECK,F32

// Values are computed in a wider float and rounded by stores.
// TOLERANCE: 0.5

// CASE: FP8ComputeLegalize.1
// CASE: FP8ComputeLegalize.3
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
// CHECK-LABEL: tir.func @e4m3(%{{.*}}: !tir.ptr<f8E4M3FN>, %{{.*}}: !tir.ptr<f8E4M3FN>, %{{.*}}: !tir.ptr<f8E4M3FN>)
// F32:           tir.allocate "C" [100] : !tir.ptr<f32>
// F16:           tir.allocate "C" [100] : !tir.ptr<f16>
// CHECK:         tir.for
// CHECK-NEXT:      %[[X:.*]] = tir.load %{{.*}} : f8E4M3FN
// CHECK-NEXT:      %[[XB:.*]] = tir.call "reinterpret"(%[[X]]) : (f8E4M3FN) -> ui8
// F32-NEXT:        %[[XW:.*]] = tir.cast %[[XB]] : ui8 to ui32
// F32-NEXT:        %[[SB:.*]] = tir.const 128 : ui32
// F32-NEXT:        %[[S0:.*]] = tir.call "bitwise_and"(%[[XW]], %[[SB]])
// F32-NEXT:        %[[SN:.*]] = tir.const 24 : ui32
// F32-NEXT:        %[[S:.*]] = tir.call "shift_left"(%[[S0]], %[[SN]])
// F32-NEXT:        %[[MB:.*]] = tir.const 127 : ui32
// F32-NEXT:        %[[M0:.*]] = tir.call "bitwise_and"(%[[XW]], %[[MB]])
// F32-NEXT:        %[[MN:.*]] = tir.const 20 : ui32
// F32-NEXT:        %[[M:.*]] = tir.call "shift_left"(%[[M0]], %[[MN]])
// 120 in the exponent.
// F32-NEXT:        %[[E:.*]] = tir.const 1006632960 : ui32
// F32-NEXT:        %[[N:.*]] = tir.add %[[M]], %[[E]] : ui32
// The NaN.
// F32-NEXT:        %[[NAN:.*]] = tir.const 2143289344 : ui32
// F32-NEXT:        %[[TOP:.*]] = tir.const 133169152 : ui32
// F32-NEXT:        %[[ISNAN:.*]] = tir.cmp ge %[[M]], %[[TOP]] : ui32
// F32-NEXT:        %[[F:.*]] = tir.select %[[ISNAN]], %[[NAN]], %[[N]] : i1, ui32
// Zeros and subnormals.
// F32-NEXT:        %[[E1:.*]] = tir.const 1015021568 : ui32
// F32-NEXT:        %[[B0:.*]] = tir.add %[[M]], %[[E1]] : ui32
// F32-NEXT:        %[[B1:.*]] = tir.call "reinterpret"(%[[B0]]) : (ui32) -> f32
// F32-NEXT:        %[[LEAST:.*]] = tir.const 1.562500e-02 : f32
// F32-NEXT:        %[[B2:.*]] = tir.sub %[[B1]], %[[LEAST]] : f32
// F32-NEXT:        %[[SUBBITS:.*]] = tir.const 8388608 : ui32
// F32-NEXT:        %[[ISSUB:.*]] = tir.cmp lt %[[M]], %[[SUBBITS]] : ui32
// F32-NEXT:        %[[B:.*]] = tir.call "reinterpret"(%[[B2]]) : (f32) -> ui32
// F32-NEXT:        %[[G:.*]] = tir.select %[[ISSUB]], %[[B]], %[[F]] : i1, ui32
// F32-NEXT:        %[[H:.*]] = tir.call "bitwise_or"(%[[S]], %[[G]]) : (ui32, ui32) -> ui32
// F32-NEXT:        %[[XF:.*]] = tir.call "reinterpret"(%[[H]]) : (ui32) -> f32
// F16-NEXT:        tir.cast %[[XB]] : ui8 to ui16
// F16:             %[[XF:.*]] = tir.call "reinterpret"(%{{.*}}) : (ui16) -> f16
// CHECK:           tir.load %{{.*}} : f8E4M3FN
// F32:             tir.add %[[XF]], %{{.*}} : f32
// F32:             %[[V:.*]] = tir.call "exp"(%{{.*}}) : (f32) -> f32
// F32-NEXT:        %[[VB:.*]] = tir.call "reinterpret"(%[[V]]) : (f32) -> ui32
// F32-NEXT:        %[[D24:.*]] = tir.const 24 : ui32
// F32-NEXT:        %[[T0:.*]] = tir.call "shift_right"(%[[VB]], %[[D24]])
// F32-NEXT:        %[[D128:.*]] = tir.const 128 : ui32
// F32-NEXT:        %[[T:.*]] = tir.call "bitwise_and"(%[[T0]], %[[D128]])
// F16:             tir.add %{{.*}}, %{{.*}} : f16
// F16:             tir.call "exp"(%{{.*}}) : (f16) -> f16
// CHECK:           %[[R:.*]] = tir.call "reinterpret"(%{{.*}}) : (ui8) -> f8E4M3FN
// CHECK-NEXT:      tir.store %[[R]], %{{.*}} : f8E4M3FN
// CHECK-NEXT:    }

// -----

// CASE: FP8ComputeLegalize.1
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
// CHECK-LABEL: tir.func @e5m2
// F32:           tir.allocate "C" [100] : !tir.ptr<f32>
// F16:           tir.allocate "C" [100] : !tir.ptr<f16>
// CHECK:         %[[X:.*]] = tir.load %{{.*}} : f8E5M2
// CHECK-NEXT:    %[[XB:.*]] = tir.call "reinterpret"(%[[X]]) : (f8E5M2) -> ui8
// F16-NEXT:      %[[XW:.*]] = tir.cast %[[XB]] : ui8 to ui16
// F16-NEXT:      %[[N:.*]] = tir.const 8 : ui16
// F16-NEXT:      %[[S:.*]] = tir.call "shift_left"(%[[XW]], %[[N]]) : (ui16, ui16) -> ui16
// F16-NEXT:      %[[XF:.*]] = tir.call "reinterpret"(%[[S]]) : (ui16) -> f16
// F16:           tir.add %[[XF]], %{{.*}} : f16
// F16:           %[[V:.*]] = tir.call "exp"(%{{.*}}) : (f16) -> f16
// F16-NEXT:      tir.call "reinterpret"(%[[V]]) : (f16) -> ui16
// F16:           tir.const 127 : ui16
// F16:           tir.const 8 : ui16
// F16-NEXT:      tir.call "shift_right"
// F16-NEXT:      tir.cast %{{.*}} : ui16 to ui8
// F32:           tir.add %{{.*}}, %{{.*}} : f32
// F32:           tir.call "exp"(%{{.*}}) : (f32) -> f32
// CHECK:         %[[R:.*]] = tir.call "reinterpret"(%{{.*}}) : (ui8) -> f8E5M2
// CHECK-NEXT:    tir.store %[[R]], %{{.*}} : f8E5M2

// -----

// CASE: FP8ComputeLegalize.2
tir.func @sm_89(%a : !tir.handle) attributes {global_symbol = "sm_89", target = #tir.target<"cuda", arch = "sm_89">} {
  %A = tir.match_buffer %a : !tir.buffer<8xf8E4M3FN>
  %c0 = tir.const 0 : i32
  %x = tir.load %A[%c0] : f8E4M3FN
  %y = tir.add %x, %x : f8E4M3FN
  tir.store %y, %A[%c0] : f8E4M3FN
}
tir.func @sm_90(%a : !tir.handle) attributes {global_symbol = "sm_90", target = #tir.target<"cuda", arch = "sm_90a">} {
  %A = tir.match_buffer %a : !tir.buffer<8xf8E5M2>
  %c0 = tir.const 0 : i32
  %x = tir.load %A[%c0] : f8E5M2
  %y = tir.add %x, %x : f8E5M2
  tir.store %y, %A[%c0] : f8E5M2
}
// CHECK-LABEL: tir.func @sm_89
// CHECK:         tir.add %{{.*}} : f8E4M3FN
// CHECK-LABEL: tir.func @sm_90
// CHECK:         tir.add %{{.*}} : f8E5M2

// -----

// The reference fails on vectors, which are chosen by lane here. A conversion between the
// two dtypes goes through the wide one.
tir.func @vectors(%a : !tir.handle, %b : !tir.handle) attributes {target = #tir.target<"llvm">} {
  %A = tir.match_buffer %a : !tir.buffer<8xf8E4M3FN>
  %B = tir.match_buffer %b : !tir.buffer<8xf8E5M2>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %r = tir.ramp %c0, %c1 : vector<4xi32>
  %x = tir.load %A[%r] : vector<4xf8E4M3FN>
  %k = tir.const 0.75 : f8E4M3FN
  %kk = tir.broadcast %k : vector<4xf8E4M3FN>
  %y = tir.mul %x, %kk : vector<4xf8E4M3FN>
  %z = tir.cast %y : vector<4xf8E4M3FN> to vector<4xf8E5M2>
  tir.store %z, %B[%r] : vector<4xf8E5M2>
}
// CHECK-LABEL: tir.func @vectors
// F32:           %[[Y:.*]] = tir.mul %{{.*}} : vector<4xf32>
// F32-NEXT:      tir.call "reinterpret"(%[[Y]]) : (vector<4xf32>) -> vector<4xui32>
// F32:           tir.select %{{.*}} : vector<4xi1>, vector<4xui32>
// F16:           %[[Y:.*]] = tir.mul %{{.*}} : vector<4xf16>
// F16-NEXT:      tir.call "reinterpret"(%[[Y]]) : (vector<4xf16>) -> vector<4xui16>
// F16:           tir.select %{{.*}} : vector<4xi1>, vector<4xui16>
// CHECK:         tir.call "reinterpret"(%{{.*}}) : (vector<4xui8>) -> vector<4xf8E5M2>
// CHECK-NEXT:    tir.store

// -----

// Other narrow floats are not concerned.
tir.func @others(%a : !tir.handle, %b : !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<8xf4E2M1FN>
  %B = tir.match_buffer %b : !tir.buffer<8xbf16>
  %c0 = tir.const 0 : i32
  %x = tir.load %B[%c0] : bf16
  %y = tir.add %x, %x : bf16
  tir.store %y, %B[%c0] : bf16
}
// CHECK-LABEL: tir.func @others
// CHECK:         tir.add %{{.*}} : bf16
