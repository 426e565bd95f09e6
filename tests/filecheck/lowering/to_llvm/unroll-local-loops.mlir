// RUN: xdsl-opt %s -p 'tvm-unroll-local-loops{max_operations=64}' | filecheck %s

"gpu.module"() <{sym_name = "kernels"}> ({
  "gpu.func"() <{function_type = (memref<64xf32, 1>, index) -> (), kernel}> ({
  ^bb0(%g : memref<64xf32, 1>, %n : index):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %x = arith.constant 1.0 : f32
    %a = "memref.alloca"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> memref<64xf32>
    // The counter is part of an index.
    scf.for %i = %c0 to %c8 step %c1 {
      %j = arith.addi %i, %c1 : index
      memref.store %x, %a[%j] : memref<64xf32>
    }
    // Of a loop around a loop, the counter of the outer one.
    scf.for %k = %c0 to %c8 step %c1 {
      scf.for %l = %c0 to %n step %c1 {
        memref.store %x, %a[%k] : memref<64xf32>
      }
    }
    // It is an index of other memory.
    scf.for %o = %c0 to %c8 step %c1 {
      memref.store %x, %g[%o] : memref<64xf32, 1>
    }
    // Longer than the limit.
    scf.for %p = %c0 to %c64 step %c1 {
      %q = arith.addi %p, %c0 : index
      memref.store %x, %a[%q] : memref<64xf32>
    }
    // Of unknown extent.
    scf.for %r = %c0 to %n step %c1 {
      memref.store %x, %a[%r] : memref<64xf32>
    }
    "gpu.return"() : () -> ()
  }) {sym_name = "k"} : () -> ()
}) : () -> ()

// CHECK:      scf.for
// CHECK:      } {tvm_llvm.loop = #tvm_llvm.loop<{unroll.full}>}
// CHECK-NEXT: scf.for
// CHECK-NEXT:   scf.for
// CHECK-NEXT:     memref.store
// CHECK-NEXT:   }
// CHECK-NEXT: } {tvm_llvm.loop = #tvm_llvm.loop<{unroll.full}>}
// CHECK-NEXT: scf.for
// CHECK-NEXT:   memref.store
// CHECK-NEXT: }
// CHECK-NEXT: scf.for
// CHECK-NEXT:   arith.addi
// CHECK-NEXT:   memref.store
// CHECK-NEXT: }
// CHECK-NEXT: scf.for
// CHECK-NEXT:   memref.store
// CHECK-NEXT: }
// CHECK-NEXT: "gpu.return"
