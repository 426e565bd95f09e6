// RUN: xdsl-opt %s -p tvm-lower-to-llvm | filecheck %s
// RUN: xdsl-opt %s -p tvm-lower-to-llvm,tvm-lower-to-llvm | filecheck %s
// RUN: xdsl-opt %s -t llvm-ir | filecheck %s --check-prefix=IR
// RUN: xdsl-opt %s -p tvm-lower-to-llvm -t llvm-ir | filecheck %s --check-prefix=IR

tir.func @row_sums(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "row_sums", tir.noalias = true} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?x16xf32>
  %B = tir.match_buffer "B" %b [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %n {
    tir.for %k = %c0 to %c16 {
      tir.block "B" (%vi : S in [%c0 to %n] = %i, %vk : R in [%c0 to %c16] = %k) {
        tir.reads %A[%vi, %vk]
        tir.writes %B[%vi]
        tir.init {
          %z = tir.const 0.0 : f32
          tir.store %z, %B[%vi] : f32
        }
        %s = tir.load %B[%vi] : f32
        %x = tir.load %A[%vi, %vk] : f32
        %t = tir.add %s, %x : f32
        tir.store %t, %B[%vi] : f32
      }
    }
  }
}

// CHECK:       builtin.module {
// CHECK-NEXT:    llvm.func @row_sums(%{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: i64) {
// CHECK:         llvm.getelementptr inbounds
// CHECK:         llvm.fadd
// CHECK:         llvm.return
// IR:          define void @row_sums(ptr noalias %{{.*}}, ptr noalias %{{.*}}, i64 %{{.*}}) {
// IR:            fadd float
