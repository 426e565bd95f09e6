// RUN: xdsl-opt %s -t llvm-ir | filecheck %s

// Branches, phis, switches and loop hints; blocks may be in any order.

// CHECK-LABEL: define i64 @loop(i64 %a0) {
// CHECK-NEXT: b0:
// CHECK-NEXT:   br label %b1
// CHECK-NEXT: b1:
// CHECK-NEXT:   %v2 = phi i64 [ 0, %b0 ], [ %v5, %b2 ]
// CHECK-NEXT:   %v3 = phi i64 [ 0, %b0 ], [ %v6, %b2 ]
// CHECK-NEXT:   %v4 = icmp slt i64 %v2, %a0
// CHECK-NEXT:   br i1 %v4, label %b2, label %b3
// CHECK-NEXT: b2:
// CHECK-NEXT:   %v5 = add i64 %v2, 1
// CHECK-NEXT:   %v6 = add i64 %v3, %v2
// CHECK-NEXT:   br label %b1, !llvm.loop !3
// CHECK-NEXT: b3:
// CHECK-NEXT:   ret i64 %v3
// CHECK-NEXT: }
llvm.func @loop(%n: i64) -> i64 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^head(%zero, %zero : i64, i64)
^head(%i: i64, %sum: i64):
  %more = llvm.icmp "slt" %i, %n : i64
  llvm.cond_br %more, ^body, ^exit
^body:
  %next = llvm.add %i, %one : i64
  %total = llvm.add %sum, %i : i64
  llvm.br ^head(%next, %total : i64, i64) {tvm_llvm.loop = #tvm_llvm.loop<{unroll.disable, vectorize.enable = true, vectorize.width = 8 : i64}>}
^exit:
  llvm.return %sum : i64
}

// Two edges between the same blocks with different values: one of them is split.
// CHECK-LABEL: define i32 @same_target(i1 %a0, i32 %a1, i32 %a2) {
// CHECK-NEXT: b0:
// CHECK-NEXT:   br i1 %a0, label %b1, label %b0.e1
// CHECK-NEXT: b0.e1:
// CHECK-NEXT:   br label %b1
// CHECK-NEXT: b1:
// CHECK-NEXT:   %v4 = phi i32 [ %a1, %b0 ], [ %a2, %b0.e1 ]
// CHECK-NEXT:   ret i32 %v4
// CHECK-NEXT: }
llvm.func @same_target(%c: i1, %a: i32, %b: i32) -> i32 {
  llvm.cond_br %c, ^join(%a : i32), ^join(%b : i32)
^join(%x: i32):
  llvm.return %x : i32
}

// Without arguments nothing has to be split.
// CHECK-LABEL: define void @same_target_plain(i1 %a0) {
// CHECK-NEXT: b0:
// CHECK-NEXT:   br i1 %a0, label %b1, label %b1
// CHECK-NEXT: b1:
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
llvm.func @same_target_plain(%c: i1) {
  llvm.cond_br %c, ^join, ^join
^join:
  llvm.return
}

// CHECK-LABEL: define i32 @out_of_order() {
// CHECK-NEXT: b0:
// CHECK-NEXT:   br label %b2
// CHECK-NEXT: b1:
// CHECK-NEXT:   ret i32 3
// CHECK-NEXT: b2:
// CHECK-NEXT:   br label %b1
// CHECK-NEXT: }
llvm.func @out_of_order() -> i32 {
  llvm.br ^second
^first:
  llvm.return %x : i32
^second:
  %x = llvm.mlir.constant(3 : i32) : i32
  llvm.br ^first
}

// CHECK-LABEL: define i32 @no_predecessor() {
// CHECK-NEXT: b0:
// CHECK-NEXT:   ret i32 3
// CHECK-NEXT: b1:
// CHECK-NEXT:   %v1 = freeze i32 poison
// CHECK-NEXT:   ret i32 %v1
// CHECK-NEXT: }
llvm.func @no_predecessor() -> i32 {
  %0 = llvm.mlir.constant(3 : i32) : i32
  llvm.return %0 : i32
^dead(%x: i32):
  llvm.return %x : i32
}

// CHECK-LABEL: define float @switch(i32 %a0, float %a1) {
// CHECK-NEXT: b0:
// CHECK-NEXT:   switch i32 %a0, label %b1 [ i32 -1, label %b0.e1 i32 5, label %b2 ]
// CHECK-NEXT: b0.e1:
// CHECK-NEXT:   br label %b1
// CHECK-NEXT: b1:
// CHECK-NEXT:   %v3 = phi float [ %a1, %b0 ], [ %a1, %b0.e1 ]
// CHECK-NEXT:   ret float %v3
// CHECK-NEXT: b2:
// CHECK-NEXT:   unreachable
// CHECK-NEXT: }
llvm.func @switch(%v: i32, %a: f32) -> f32 {
  tvm_llvm.switch %v : i32, ^one(%a : f32) [-1: ^one(%a : f32), 5: ^two]
^one(%x: f32):
  llvm.return %x : f32
^two:
  llvm.unreachable
}

// CHECK: !0 = !{!"llvm.loop.unroll.disable"}
// CHECK-NEXT: !1 = !{!"llvm.loop.vectorize.enable", i1 true}
// CHECK-NEXT: !2 = !{!"llvm.loop.vectorize.width", i32 8}
// CHECK-NEXT: !3 = distinct !{!3, !0, !1, !2}
