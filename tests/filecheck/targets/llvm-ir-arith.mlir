// RUN: xdsl-opt %s -t llvm-ir | filecheck %s

// Integer and float arithmetic, comparisons and casts, with all their flags.

// CHECK-LABEL: define i32 @integers(i32 %a0, i32 %a1) {
// CHECK-NEXT: b0:
// CHECK-NEXT:   %v3 = add i32 %a0, %a1
// CHECK-NEXT:   %v4 = sub nsw i32 %v3, %a1
// CHECK-NEXT:   %v5 = mul nuw nsw i32 %v4, %a1
// CHECK-NEXT:   %v6 = shl nuw i32 %v5, %a1
// CHECK-NEXT:   %v7 = udiv i32 %v6, %a1
// CHECK-NEXT:   %v8 = sdiv exact i32 %v7, %a1
// CHECK-NEXT:   %v9 = urem i32 %v8, %a1
// CHECK-NEXT:   %v10 = srem i32 %v9, %a1
// CHECK-NEXT:   %v11 = and i32 %v10, %a1
// CHECK-NEXT:   %v12 = or disjoint i32 %v11, %a1
// CHECK-NEXT:   %v13 = xor i32 %v12, %a1
// CHECK-NEXT:   %v14 = lshr exact i32 %v13, %a1
// CHECK-NEXT:   %v15 = ashr i32 %v14, %a1
// CHECK-NEXT:   ret i32 %v15
// CHECK-NEXT: }
llvm.func @integers(%a: i32, %b: i32) -> i32 {
  %0 = llvm.add %a, %b : i32
  %1 = llvm.sub %0, %b overflow<nsw> : i32
  %2 = llvm.mul %1, %b overflow<nsw, nuw> : i32
  %3 = llvm.shl %2, %b overflow<nuw> : i32
  %4 = llvm.udiv %3, %b : i32
  %5 = llvm.sdiv exact %4, %b : i32
  %6 = llvm.urem %5, %b : i32
  %7 = llvm.srem %6, %b : i32
  %8 = llvm.and %7, %b : i32
  %9 = llvm.or disjoint %8, %b : i32
  %10 = llvm.xor %9, %b : i32
  %11 = llvm.lshr exact %10, %b : i32
  %12 = llvm.ashr %11, %b : i32
  llvm.return %12 : i32
}

// CHECK-LABEL: define float @floats(float %a0, float %a1) {
// CHECK-NEXT: b0:
// CHECK-NEXT:   %v3 = fadd float %a0, %a1
// CHECK-NEXT:   %v4 = fsub contract float %v3, %a1
// CHECK-NEXT:   %v5 = fmul fast float %v4, %a1
// CHECK-NEXT:   %v6 = fdiv reassoc arcp float %v5, %a1
// CHECK-NEXT:   %v7 = frem float %v6, %a1
// CHECK-NEXT:   %v8 = fneg nsz float %v7
// CHECK-NEXT:   ret float %v8
// CHECK-NEXT: }
llvm.func @floats(%a: f32, %b: f32) -> f32 {
  %0 = llvm.fadd %a, %b : f32
  %1 = llvm.fsub %0, %b {fastmathFlags = #llvm.fastmath<contract>} : f32
  %2 = llvm.fmul %1, %b {fastmathFlags = #llvm.fastmath<fast>} : f32
  %3 = llvm.fdiv %2, %b {fastmathFlags = #llvm.fastmath<arcp, reassoc>} : f32
  %4 = llvm.frem %3, %b : f32
  %5 = llvm.fneg %4 {fastmathFlags = #llvm.fastmath<nsz>} : f32
  llvm.return %5 : f32
}

// CHECK-LABEL: define i1 @compares(i32 %a0, float %a1, ptr %a2, <4 x float> %a3) {
// CHECK-NEXT: b0:
// CHECK-NEXT:   %v5 = icmp slt i32 %a0, %a0
// CHECK-NEXT:   %v6 = fcmp ueq float %a1, %a1
// CHECK-NEXT:   %v7 = fcmp true float %a1, %a1
// CHECK-NEXT:   %v8 = icmp eq ptr %a2, %a2
// CHECK-NEXT:   %v9 = fcmp nnan olt <4 x float> %a3, %a3
// CHECK-NEXT:   %v10 = select <4 x i1> %v9, <4 x float> %a3, <4 x float> %a3
// CHECK-NEXT:   %v11 = select nsz i1 %v5, float %a1, float %a1
// CHECK-NEXT:   %v12 = freeze i1 %v8
// CHECK-NEXT:   ret i1 %v12
// CHECK-NEXT: }
llvm.func @compares(%a: i32, %f: f32, %p: !llvm.ptr, %v: vector<4xf32>) -> i1 {
  %0 = llvm.icmp "slt" %a, %a : i32
  %1 = llvm.fcmp "ueq" %f, %f : f32
  %2 = llvm.fcmp "_true" %f, %f : f32
  %3 = tvm_llvm.icmp "eq" %p, %p : !llvm.ptr
  %4 = tvm_llvm.fcmp "olt" %v, %v {fastmathFlags = #llvm.fastmath<nnan>} : vector<4xf32>
  %5 = tvm_llvm.select %4, %v, %v : vector<4xi1>, vector<4xf32>
  %6 = llvm.select %0, %f, %f {fastmathFlags = #llvm.fastmath<nsz>} : i1, f32
  %7 = tvm_llvm.freeze %3 : i1
  llvm.return %7 : i1
}

// CHECK-LABEL: define void @casts(i32 %a0, float %a1, ptr addrspace(3) %a2) {
// CHECK-NEXT: b0:
// CHECK-NEXT:   %v4 = trunc nsw i32 %a0 to i8
// CHECK-NEXT:   %v5 = zext nneg i8 %v4 to i64
// CHECK-NEXT:   %v6 = sext i8 %v4 to i16
// CHECK-NEXT:   %v7 = sitofp i32 %a0 to double
// CHECK-NEXT:   %v8 = uitofp i32 %a0 to float
// CHECK-NEXT:   %v9 = fptosi float %a1 to i32
// CHECK-NEXT:   %v10 = fptoui float %a1 to i8
// CHECK-NEXT:   %v11 = fpext float %a1 to double
// CHECK-NEXT:   %v12 = fptrunc double %v11 to half
// CHECK-NEXT:   %v13 = bitcast float %a1 to i32
// CHECK-NEXT:   %v14 = addrspacecast ptr addrspace(3) %a2 to ptr
// CHECK-NEXT:   %v15 = ptrtoint ptr %v14 to i64
// CHECK-NEXT:   %v16 = inttoptr i64 %v15 to ptr
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
llvm.func @casts(%i: i32, %f: f32, %p: !llvm.ptr<3>) {
  %0 = llvm.trunc %i overflow<nsw> : i32 to i8
  %1 = llvm.zext nneg %0 : i8 to i64
  %2 = llvm.sext %0 : i8 to i16
  %3 = llvm.sitofp %i : i32 to f64
  %4 = tvm_llvm.uitofp %i : i32 to f32
  %5 = tvm_llvm.fptosi %f : f32 to i32
  %6 = tvm_llvm.fptoui %f : f32 to i8
  %7 = llvm.fpext %f : f32 to f64
  %8 = llvm.fptrunc %7 : f64 to f16
  %9 = llvm.bitcast %f : f32 to i32
  %10 = tvm_llvm.addrspacecast %p : !llvm.ptr<3> to !llvm.ptr
  %11 = llvm.ptrtoint %10 : !llvm.ptr to i64
  %12 = llvm.inttoptr %11 : i64 to !llvm.ptr
  llvm.return
}
