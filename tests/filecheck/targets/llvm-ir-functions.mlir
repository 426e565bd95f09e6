// RUN: xdsl-opt %s -t llvm-ir | filecheck %s

// Function headers, attributes and calls.

// CHECK: %pair = type { i32, float }
// CHECK-LABEL: declare i32 @external(i32, ...)
llvm.func @external(i32, ...) -> i32
// CHECK-LABEL: declare extern_weak void @maybe(ptr) nounwind
llvm.func extern_weak @maybe(!llvm.ptr {llvm.noalias, llvm.readonly}) attributes {no_unwind}

// CHECK-LABEL: define internal fastcc zeroext i32 @inner(i32 noundef signext %a0) alwaysinline nounwind "target-cpu"="haswell" nofree "my-flag" "prefer-vector-width"="512" {
// CHECK-NEXT: b0:
// CHECK-NEXT:   ret i32 %a0
// CHECK-NEXT: }
llvm.func internal fastcc @inner(%x: i32 {llvm.noundef, llvm.signext}) -> (i32 {llvm.zeroext}) attributes {always_inline, no_unwind, target_cpu = "haswell", passthrough = ["nofree", "my-flag", ["prefer-vector-width", "512"]]} {
  llvm.return %x : i32
}

// CHECK-LABEL: define hidden void @arguments(ptr noalias captures(none) nonnull align 64 dereferenceable(256) writeonly %a0, ptr byval({ i32, i32 }) %a1) {
// CHECK-NEXT: b0:
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
llvm.func hidden @arguments(%p: !llvm.ptr {llvm.noalias, llvm.nocapture, llvm.nonnull, llvm.align = 64 : i64, llvm.dereferenceable = 256 : i64, llvm.writeonly}, %q: !llvm.ptr {llvm.byval = !llvm.struct<(i32, i32)>}) {
  llvm.return
}

// CHECK-LABEL: define i32 @calls(i32 %a0, ptr %a1, float %a2) {
// CHECK-NEXT: b0:
// CHECK-NEXT:   %v4 = call fastcc i32 @inner(i32 %a0)
// CHECK-NEXT:   %v5 = call i32 (i32, ...) @external(i32 %v4, float %a2)
// CHECK-NEXT:   %v6 = call i32 %a1(i32 %v5)
// CHECK-NEXT:   tail call void @maybe(ptr %a1)
// CHECK-NEXT:   ret i32 %v6
// CHECK-NEXT: }
llvm.func @calls(%x: i32, %f: !llvm.ptr, %y: f32) -> i32 {
  %0 = llvm.call fastcc @inner(%x) : (i32) -> i32
  %1 = llvm.call @external(%0, %y) vararg(!llvm.func<i32 (i32, ...)>) : (i32, f32) -> i32
  %2 = llvm.call %f(%1) : !llvm.ptr, (i32) -> i32
  llvm.call tail @maybe(%f) : (!llvm.ptr) -> ()
  llvm.return %2 : i32
}

// CHECK-LABEL: define %pair @structs(ptr %a0) {
// CHECK-NEXT: b0:
// CHECK-NEXT:   %v2 = load %pair, ptr %a0
// CHECK-NEXT:   %v3 = extractvalue %pair %v2, 0
// CHECK-NEXT:   %v4 = insertvalue %pair %v2, i32 %v3, 0
// CHECK-NEXT:   ret %pair %v4
// CHECK-NEXT: }
llvm.func @structs(%p: !llvm.ptr) -> !llvm.struct<"pair", (i32, f32)> {
  %0 = llvm.load %p : !llvm.ptr -> !llvm.struct<"pair", (i32, f32)>
  %1 = llvm.extractvalue %0[0] : !llvm.struct<"pair", (i32, f32)>
  %2 = llvm.insertvalue %1, %0[0] : !llvm.struct<"pair", (i32, f32)>
  llvm.return %2 : !llvm.struct<"pair", (i32, f32)>
}

// CHECK-LABEL: define void @assembly() {
// CHECK-NEXT: b0:
// CHECK-NEXT:   call void asm sideeffect "pause", "~{memory}"()
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
llvm.func @assembly() {
  llvm.inline_asm has_side_effects "pause", "~{memory}" : () -> ()
  llvm.return
}

// CHECK-LABEL: define void @"quoted \22name\22"() {
// CHECK-NEXT: b0:
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
llvm.func @"quoted \22name\22"() attributes {tir.is_scheduled = true} {
  llvm.return
}
