// RUN: xdsl-opt %s -t tvmscript | filecheck %s
// RUN: xdsl-opt %s -t 'tvmscript{sugar=false}' | filecheck %s --check-prefix=PLAIN
// RUN: xdsl-opt %s -t 'tvmscript{version="0.27"}' | filecheck %s --check-prefix=NEW

// CHECK:      # from tvm.script import ir as I
// CHECK-NEXT: # from tvm.script import tir as T
// CHECK:      @I.ir_module
// CHECK-NEXT: class Module:
// CHECK-NEXT:     @T.prim_func
// CHECK-NEXT:     def row_sums(a: T.handle, B: T.Buffer((16,), "float32")):
// CHECK-NEXT:         T.func_attr({"tir.noalias": T.bool(True)})
// CHECK-NEXT:         n = T.int32()
// CHECK-NEXT:         A = T.match_buffer(a, (16, n))
// CHECK-NEXT:         # with T.block("root"):
// CHECK-NEXT:         for i, k in T.grid(16, n):
// CHECK-NEXT:             with T.block("B"):
// CHECK-NEXT:                 vi, vk = T.axis.remap("SR", [i, k])
// CHECK-NEXT:                 T.reads(A[vi, vk])
// CHECK-NEXT:                 T.writes(B[vi])
// CHECK-NEXT:                 with T.init():
// CHECK-NEXT:                     B[vi] = T.float32(0.0)
// CHECK-NEXT:                 B[vi] = B[vi] + A[vi, vk]

// PLAIN:      def row_sums(a: T.handle, b: T.handle):
// PLAIN:          B = T.match_buffer(b, (16,))
// PLAIN-NEXT:     with T.block("root"):
// PLAIN:              for i in T.serial(16):
// PLAIN-NEXT:             for k in T.serial(n):
// PLAIN-NEXT:                 with T.block("B"):
// PLAIN-NEXT:                     vi = T.axis.spatial(16, i)
// PLAIN-NEXT:                     vk = T.axis.reduce(n, k)

// NEW:      # from tvm.script import tirx as T
// NEW:          @T.prim_func(s_tir=True)
// NEW-NEXT:     def row_sums(
// NEW:              # with T.sblock("root"):
// NEW:                  with T.sblock("B"):
tir.func @row_sums(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "row_sums", tir.noalias = true} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<16x?xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  tir.block "root" {
    tir.for %i = %c0 to %c16 {
      tir.for %k = %c0 to %n {
        tir.block "B" (%vi : S in [%c0 to %c16] = %i, %vk : R in [%c0 to %n] = %k) {
          tir.reads %A[%vi, %vk]
          tir.writes %B[%vi]
          tir.init {
            %zero = tir.const 0.0 : f32
            tir.store %zero, %B[%vi] : f32
          }
          %x = tir.load %B[%vi] : f32
          %y = tir.load %A[%vi, %vk] : f32
          %z = tir.add %x, %y : f32
          tir.store %z, %B[%vi] : f32
        }
      }
    }
  }
}
