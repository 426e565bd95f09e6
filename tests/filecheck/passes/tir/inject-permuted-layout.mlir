// RUN: xdsl-opt %s -p tir-inject-permuted-layout --split-input-file | filecheck %s

// Rows of 32 elements: copied into shared memory, and loaded as matrices.
// CASE: InjectPermutedLayout.1
tir.func @matrix_a(%hX: !tir.handle, %hO: !tir.handle) {
  %X = tir.match_buffer "X" %hX : !tir.buffer<128x32xf16>
  %O = tir.match_buffer "O" %hO : !tir.buffer<4x32x64xf16>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  %c128 = tir.const 128 : i32
  %c0i = tir.const 0 : i32
  %c4i = tir.const 4 : i32
  %no = tir.const false
  %yes = tir.const true
  %kind = tir.string ".b16"
  %scope = tir.string "shared"
  tir.for "ty" %ty = %c0 to %c4 thread_binding "threadIdx.y" {
    tir.for "tx" %tx = %c0 to %c32 thread_binding "threadIdx.x" {
      tir.block "root" {
        %S = tir.alloc_buffer "X_shared" strides [32, 1] : !tir.buffer<128x32xf16, "shared">
        %W = tir.alloc_buffer "X_warp" : !tir.buffer<64xf16, "local">
        tir.for "ax0" %ax0 = %c0 to %c4 {
          tir.for "v" %v = %c0 to %c8 vectorized {
            tir.block "X_copy" annotations {"permuted_layout" = "g2s_A", "other" = 1 : i32} {
              %0 = tir.mul %ax0, %c32 : i32
              %1 = tir.mul %ty, %c8 : i32
              %2 = tir.floordiv %tx, %c4 : i32
              %3 = tir.add %0, %1 : i32
              %row = tir.add %3, %2 : i32
              %4 = tir.floormod %tx, %c4 : i32
              %5 = tir.mul %4, %c8 : i32
              %column = tir.add %5, %v : i32
              tir.reads %X[%row, %column]
              tir.writes %S[%row, %column]
              %x = tir.load %X[%row, %column] : f16
              tir.store %x, %S[%row, %column] : f16
            }
          }
        }
        tir.call "tvm_storage_sync"(%scope) : (!tir.handle) -> ()
        tir.for "ax0" %ax0 = %c0 to %c2 {
          tir.for "ax2" %ax2 = %c0 to %c4 {
            tir.block "X_load" annotations {"permuted_layout" = "s2l_A"} {
              tir.reads %S[%c0 to 128, %c0 to 32]
              tir.writes %W[%c0 to 64]
              %data = tir.data %S : !tir.ptr<f16, "shared">
              %0 = tir.floordiv %ty, %c2 : i32
              %1 = tir.mul %0, %c64 : i32
              %2 = tir.mul %ax0, %c32 : i32
              %3 = tir.add %1, %2 : i32
              %4 = tir.mul %3, %c32 : i32
              %5 = tir.mul %ax2, %c8 : i32
              %at = tir.add %4, %5 : i32
              %p = tir.access_ptr r %data[%at to %at + %c128] : !tir.ptr<f16, "shared">
              %step = tir.mul %tx, %c32 : i32
              %w = tir.data %W : !tir.ptr<f16, "local">
              %6 = tir.mul %ax0, %c4 : i32
              %7 = tir.add %6, %ax2 : i32
              %8 = tir.mul %7, %c8 : i32
              %d = tir.call "ptx_ldmatrix"(%no, %c4, %kind, %w, %8, %p, %step) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "shared">, i32) -> f16
              tir.evaluate %d : f16
            }
          }
        }
        tir.for "k" %k = %c0 to %c64 {
          %y = tir.load %W[%k] : f16
          tir.store %y, %O[%ty, %tx, %k] : f16
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @matrix_a
// CHECK-NEXT:     %[[X:.*]] = tir.match_buffer "X" %{{.*}} : !tir.buffer<128x32xf16>
// CHECK-NEXT:     %[[O:.*]] = tir.match_buffer "O" %{{.*}} : !tir.buffer<4x32x64xf16>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[C8:.*]] = tir.const 8 : i32
// CHECK-NEXT:     %[[C16:.*]] = tir.const 16 : i32
// CHECK-NEXT:     %[[C32:.*]] = tir.const 32 : i32
// CHECK-NEXT:     %[[C64:.*]] = tir.const 64 : i32
// CHECK-NEXT:     %[[C128:.*]] = tir.const 128 : i32
// CHECK-NEXT:     %[[C0I:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C4I:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[NO:.*]] = tir.const false
// CHECK-NEXT:     %[[YES:.*]] = tir.const true
// CHECK-NEXT:     %[[KIND:.*]] = tir.string ".b16"
// CHECK-NEXT:     %[[SCOPE:.*]] = tir.string "shared"
// CHECK-NEXT:     tir.for "ty" %[[TY:.*]] = %[[C0]] to %[[C4]] thread_binding "threadIdx.y" {
// CHECK-NEXT:       tir.for "tx" %[[TX:.*]] = %[[C0]] to %[[C32]] thread_binding "threadIdx.x" {
// CHECK-NEXT:         tir.block "root" {
// CHECK-NEXT:           %[[S:.*]] = tir.alloc_buffer "X_shared" strides [32, 1] : !tir.buffer<128x32xf16, "shared">
// CHECK-NEXT:           %[[W:.*]] = tir.alloc_buffer "X_warp" : !tir.buffer<64xf16, "local">
// CHECK-NEXT:           tir.for "ax0" %[[AX0:.*]] = %[[C0]] to %[[C4]] {
// CHECK-NEXT:             tir.for "v" %[[V:.*]] = %[[C0]] to %[[C8]] vectorized {
// CHECK-NEXT:               tir.block "X_copy" annotations {other = 1 : i32} {
// CHECK-NEXT:                 %[[V0:.*]] = tir.mul %[[AX0]], %[[C32]] : i32
// CHECK-NEXT:                 %[[V1:.*]] = tir.mul %[[TY]], %[[C8]] : i32
// CHECK-NEXT:                 %[[V2:.*]] = tir.floordiv %[[TX]], %[[C4]] : i32
// CHECK-NEXT:                 %[[V3:.*]] = tir.add %[[V0]], %[[V1]] : i32
// CHECK-NEXT:                 %[[ROW:.*]] = tir.add %[[V3]], %[[V2]] : i32
// CHECK-NEXT:                 %[[V4:.*]] = tir.floormod %[[TX]], %[[C4]] : i32
// CHECK-NEXT:                 %[[V5:.*]] = tir.mul %[[V4]], %[[C8]] : i32
// CHECK-NEXT:                 %[[COLUMN:.*]] = tir.add %[[V5]], %[[V]] : i32
// CHECK-NEXT:                 tir.reads %[[X]][%[[ROW]], %[[COLUMN]]]
// CHECK-NEXT:                 tir.writes %[[S]][%[[ROW]], %[[COLUMN]]]
// CHECK-NEXT:                 %[[X_:.*]] = tir.load %[[X]][%[[ROW]], %[[COLUMN]]] : f16
// CHECK-NEXT:                 %[[V6:.*]] = tir.floordiv %[[TX]], %[[C8]] : i32
// CHECK-NEXT:                 %[[V7:.*]] = tir.call "bitwise_xor"(%[[V4]], %[[V6]]) : (i32, i32) -> i32
// CHECK-NEXT:                 %[[V8:.*]] = tir.mul %[[V7]], %[[C8]] : i32
// CHECK-NEXT:                 %[[V9:.*]] = tir.add %[[V8]], %[[V]] : i32
// CHECK-NEXT:                 tir.store %[[X_]], %[[S]][%[[ROW]], %[[V9]]] : f16
// CHECK-NEXT:               }
// CHECK-NEXT:             }
// CHECK-NEXT:           }
// CHECK-NEXT:           tir.call "tvm_storage_sync"(%[[SCOPE]]) : (!tir.handle) -> ()
// CHECK-NEXT:           tir.for "ax0" %[[AX0_1:.*]] = %[[C0]] to %[[C2]] {
// CHECK-NEXT:             tir.for "ax2" %[[AX2:.*]] = %[[C0]] to %[[C4]] {
// CHECK-NEXT:               tir.block "X_load" {
// CHECK-NEXT:                 tir.reads %[[S]][%[[C0]] to 128, %[[C0]] to 32]
// CHECK-NEXT:                 tir.writes %[[W]][%[[C0]] to 64]
// CHECK-NEXT:                 %[[DATA:.*]] = tir.data %[[S]] : !tir.ptr<f16, "shared">
// CHECK-NEXT:                 %[[V10:.*]] = tir.floordiv %[[TY]], %[[C2]] : i32
// CHECK-NEXT:                 %[[STEP:.*]] = tir.mul %[[TX]], %[[C32]] : i32
// CHECK-NEXT:                 %[[W_:.*]] = tir.data %[[W]] : !tir.ptr<f16, "local">
// CHECK-NEXT:                 %[[V11:.*]] = tir.mul %[[AX0_1]], %[[C4]] : i32
// CHECK-NEXT:                 %[[V12:.*]] = tir.add %[[V11]], %[[AX2]] : i32
// CHECK-NEXT:                 %[[V13:.*]] = tir.mul %[[V12]], %[[C8]] : i32
// CHECK-NEXT:                 %[[V14:.*]] = tir.const 2048 : i32
// CHECK-NEXT:                 %[[V15:.*]] = tir.mul %[[V10]], %[[V14]] : i32
// CHECK-NEXT:                 %[[V16:.*]] = tir.const 1024 : i32
// CHECK-NEXT:                 %[[V17:.*]] = tir.mul %[[AX0_1]], %[[V16]] : i32
// CHECK-NEXT:                 %[[V18:.*]] = tir.add %[[V15]], %[[V17]] : i32
// CHECK-NEXT:                 %[[V19:.*]] = tir.add %[[V18]], %[[STEP]] : i32
// CHECK-NEXT:                 %[[V20:.*]] = tir.floormod %[[TX]], %[[C8]] : i32
// CHECK-NEXT:                 %[[V21:.*]] = tir.floordiv %[[V20]], %[[C2]] : i32
// CHECK-NEXT:                 %[[V22:.*]] = tir.call "bitwise_xor"(%[[AX2]], %[[V21]]) : (i32, i32) -> i32
// CHECK-NEXT:                 %[[V23:.*]] = tir.mul %[[V22]], %[[C8]] : i32
// CHECK-NEXT:                 %[[V24:.*]] = tir.add %[[V19]], %[[V23]] : i32
// CHECK-NEXT:                 %[[P:.*]] = tir.access_ptr r %[[DATA]][%[[V24]] to %[[V24]] + %[[C128]]] : !tir.ptr<f16, "shared">
// CHECK-NEXT:                 %[[D:.*]] = tir.call "ptx_ldmatrix"(%[[NO]], %[[C4]], %[[KIND]], %[[W_]], %[[V13]], %[[P]], %[[C0]]) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "shared">, i32) -> f16
// CHECK-NEXT:                 tir.evaluate %[[D]] : f16
// CHECK-NEXT:               }
// CHECK-NEXT:             }
// CHECK-NEXT:           }
// CHECK-NEXT:           tir.for "k" %[[K:.*]] = %[[C0]] to %[[C64]] {
// CHECK-NEXT:             %[[Y:.*]] = tir.load %[[W]][%[[K]]] : f16
// CHECK-NEXT:             tir.store %[[Y]], %[[O]][%[[TY]], %[[TX]], %[[K]]] : f16
// CHECK-NEXT:           }
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }

// -----

// Rows of 128 elements.
// CASE: InjectPermutedLayout.2
tir.func @matrix_b(%hY: !tir.handle, %hO: !tir.handle) {
  %Y = tir.match_buffer "Y" %hY : !tir.buffer<32x128xf16>
  %O = tir.match_buffer "O" %hO : !tir.buffer<4x32x64xf16>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  %c128 = tir.const 128 : i32
  %c0i = tir.const 0 : i32
  %c4i = tir.const 4 : i32
  %no = tir.const false
  %yes = tir.const true
  %kind = tir.string ".b16"
  %scope = tir.string "shared"
  tir.for "ty" %ty = %c0 to %c4 thread_binding "threadIdx.y" {
    tir.for "tx" %tx = %c0 to %c32 thread_binding "threadIdx.x" {
      tir.block "root" {
        %S = tir.alloc_buffer "Y_shared" : !tir.buffer<32x128xf16, "shared">
        %W = tir.alloc_buffer "Y_warp" : !tir.buffer<64xf16, "local">
        tir.for "ax0" %ax0 = %c0 to %c4 {
          tir.for "v" %v = %c0 to %c8 vectorized {
            tir.block "Y_copy" annotations {"permuted_layout" = "g2s_B"} {
              %0 = tir.mul %ax0, %c8 : i32
              %1 = tir.mul %ty, %c2 : i32
              %2 = tir.floordiv %tx, %c16 : i32
              %3 = tir.add %0, %1 : i32
              %row = tir.add %3, %2 : i32
              %4 = tir.floormod %tx, %c16 : i32
              %5 = tir.mul %4, %c8 : i32
              %column = tir.add %5, %v : i32
              %x = tir.load %Y[%row, %column] : f16
              tir.store %x, %S[%row, %column] : f16
            }
          }
        }
        tir.call "tvm_storage_sync"(%scope) : (!tir.handle) -> ()
        tir.for "ax1" %ax1 = %c0 to %c2 {
          tir.for "ax2" %ax2 = %c0 to %c4 {
            tir.block "Y_load" annotations {"permuted_layout" = "s2l_B"} {
              %data = tir.data %S : !tir.ptr<f16, "shared">
              %0 = tir.mul %ax2, %c8 : i32
              %1 = tir.mul %0, %c128 : i32
              %2 = tir.floormod %ty, %c2 : i32
              %3 = tir.mul %2, %c64 : i32
              %4 = tir.mul %ax1, %c32 : i32
              %5 = tir.add %1, %3 : i32
              %at = tir.add %5, %4 : i32
              %p = tir.access_ptr r %data[%at to %at + %c128] : !tir.ptr<f16, "shared">
              %6 = tir.floormod %tx, %c8 : i32
              %7 = tir.mul %6, %c128 : i32
              %8 = tir.floordiv %tx, %c8 : i32
              %9 = tir.mul %8, %c8 : i32
              %step = tir.add %7, %9 : i32
              %w = tir.data %W : !tir.ptr<f16, "local">
              %10 = tir.mul %ax1, %c4 : i32
              %11 = tir.add %10, %ax2 : i32
              %12 = tir.mul %11, %c8 : i32
              %d = tir.call "ptx_ldmatrix"(%yes, %c4, %kind, %w, %12, %p, %step) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "shared">, i32) -> f16
              tir.evaluate %d : f16
            }
          }
        }
        tir.for "k" %k = %c0 to %c64 {
          %y = tir.load %W[%k] : f16
          tir.store %y, %O[%ty, %tx, %k] : f16
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @matrix_b
// CHECK-NEXT:     %[[Y:.*]] = tir.match_buffer "Y" %{{.*}} : !tir.buffer<32x128xf16>
// CHECK-NEXT:     %[[O:.*]] = tir.match_buffer "O" %{{.*}} : !tir.buffer<4x32x64xf16>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[C8:.*]] = tir.const 8 : i32
// CHECK-NEXT:     %[[C16:.*]] = tir.const 16 : i32
// CHECK-NEXT:     %[[C32:.*]] = tir.const 32 : i32
// CHECK-NEXT:     %[[C64:.*]] = tir.const 64 : i32
// CHECK-NEXT:     %[[C128:.*]] = tir.const 128 : i32
// CHECK-NEXT:     %[[C0I:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C4I:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[NO:.*]] = tir.const false
// CHECK-NEXT:     %[[YES:.*]] = tir.const true
// CHECK-NEXT:     %[[KIND:.*]] = tir.string ".b16"
// CHECK-NEXT:     %[[SCOPE:.*]] = tir.string "shared"
// CHECK-NEXT:     tir.for "ty" %[[TY:.*]] = %[[C0]] to %[[C4]] thread_binding "threadIdx.y" {
// CHECK-NEXT:       tir.for "tx" %[[TX:.*]] = %[[C0]] to %[[C32]] thread_binding "threadIdx.x" {
// CHECK-NEXT:         tir.block "root" {
// CHECK-NEXT:           %[[S:.*]] = tir.alloc_buffer "Y_shared" : !tir.buffer<32x128xf16, "shared">
// CHECK-NEXT:           %[[W:.*]] = tir.alloc_buffer "Y_warp" : !tir.buffer<64xf16, "local">
// CHECK-NEXT:           tir.for "ax0" %[[AX0:.*]] = %[[C0]] to %[[C4]] {
// CHECK-NEXT:             tir.for "v" %[[V:.*]] = %[[C0]] to %[[C8]] vectorized {
// CHECK-NEXT:               tir.block "Y_copy" {
// CHECK-NEXT:                 %[[V0:.*]] = tir.mul %[[AX0]], %[[C8]] : i32
// CHECK-NEXT:                 %[[V1:.*]] = tir.mul %[[TY]], %[[C2]] : i32
// CHECK-NEXT:                 %[[V2:.*]] = tir.floordiv %[[TX]], %[[C16]] : i32
// CHECK-NEXT:                 %[[V3:.*]] = tir.add %[[V0]], %[[V1]] : i32
// CHECK-NEXT:                 %[[ROW:.*]] = tir.add %[[V3]], %[[V2]] : i32
// CHECK-NEXT:                 %[[V4:.*]] = tir.floormod %[[TX]], %[[C16]] : i32
// CHECK-NEXT:                 %[[V5:.*]] = tir.mul %[[V4]], %[[C8]] : i32
// CHECK-NEXT:                 %[[COLUMN:.*]] = tir.add %[[V5]], %[[V]] : i32
// CHECK-NEXT:                 %[[X:.*]] = tir.load %[[Y]][%[[ROW]], %[[COLUMN]]] : f16
// CHECK-NEXT:                 %[[V6:.*]] = tir.add %[[V1]], %[[V2]] : i32
// CHECK-NEXT:                 %[[V7:.*]] = tir.call "bitwise_xor"(%[[V4]], %[[V6]]) : (i32, i32) -> i32
// CHECK-NEXT:                 %[[V8:.*]] = tir.mul %[[V7]], %[[C8]] : i32
// CHECK-NEXT:                 %[[V9:.*]] = tir.add %[[V8]], %[[V]] : i32
// CHECK-NEXT:                 tir.store %[[X]], %[[S]][%[[ROW]], %[[V9]]] : f16
// CHECK-NEXT:               }
// CHECK-NEXT:             }
// CHECK-NEXT:           }
// CHECK-NEXT:           tir.call "tvm_storage_sync"(%[[SCOPE]]) : (!tir.handle) -> ()
// CHECK-NEXT:           tir.for "ax1" %[[AX1:.*]] = %[[C0]] to %[[C2]] {
// CHECK-NEXT:             tir.for "ax2" %[[AX2:.*]] = %[[C0]] to %[[C4]] {
// CHECK-NEXT:               tir.block "Y_load" {
// CHECK-NEXT:                 %[[DATA:.*]] = tir.data %[[S]] : !tir.ptr<f16, "shared">
// CHECK-NEXT:                 %[[V10:.*]] = tir.floormod %[[TY]], %[[C2]] : i32
// CHECK-NEXT:                 %[[V11:.*]] = tir.floormod %[[TX]], %[[C8]] : i32
// CHECK-NEXT:                 %[[V12:.*]] = tir.mul %[[V11]], %[[C128]] : i32
// CHECK-NEXT:                 %[[V13:.*]] = tir.floordiv %[[TX]], %[[C8]] : i32
// CHECK-NEXT:                 %[[W_:.*]] = tir.data %[[W]] : !tir.ptr<f16, "local">
// CHECK-NEXT:                 %[[V14:.*]] = tir.mul %[[AX1]], %[[C4]] : i32
// CHECK-NEXT:                 %[[V15:.*]] = tir.add %[[V14]], %[[AX2]] : i32
// CHECK-NEXT:                 %[[V16:.*]] = tir.mul %[[V15]], %[[C8]] : i32
// CHECK-NEXT:                 %[[V17:.*]] = tir.const 1024 : i32
// CHECK-NEXT:                 %[[V18:.*]] = tir.mul %[[AX2]], %[[V17]] : i32
// CHECK-NEXT:                 %[[V19:.*]] = tir.add %[[V18]], %[[V12]] : i32
// CHECK-NEXT:                 %[[V20:.*]] = tir.mul %[[V10]], %[[C8]] : i32
// CHECK-NEXT:                 %[[V21:.*]] = tir.add %[[V20]], %[[V14]] : i32
// CHECK-NEXT:                 %[[V22:.*]] = tir.add %[[V21]], %[[V13]] : i32
// CHECK-NEXT:                 %[[V23:.*]] = tir.call "bitwise_xor"(%[[V22]], %[[V11]]) : (i32, i32) -> i32
// CHECK-NEXT:                 %[[V24:.*]] = tir.mul %[[V23]], %[[C8]] : i32
// CHECK-NEXT:                 %[[V25:.*]] = tir.add %[[V19]], %[[V24]] : i32
// CHECK-NEXT:                 %[[P:.*]] = tir.access_ptr r %[[DATA]][%[[V25]] to %[[V25]] + %[[C128]]] : !tir.ptr<f16, "shared">
// CHECK-NEXT:                 %[[D:.*]] = tir.call "ptx_ldmatrix"(%[[YES]], %[[C4]], %[[KIND]], %[[W_]], %[[V16]], %[[P]], %[[C0]]) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "shared">, i32) -> f16
// CHECK-NEXT:                 tir.evaluate %[[D]] : f16
// CHECK-NEXT:               }
// CHECK-NEXT:             }
// CHECK-NEXT:           }
// CHECK-NEXT:           tir.for "k" %[[K:.*]] = %[[C0]] to %[[C64]] {
// CHECK-NEXT:             %[[Y_:.*]] = tir.load %[[W]][%[[K]]] : f16
// CHECK-NEXT:             tir.store %[[Y_]], %[[O]][%[[TY]], %[[TX]], %[[K]]] : f16
// CHECK-NEXT:           }
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }

// -----

// A number as annotation, for a block inside, too; 64-bit indices.
// CASE: InjectPermutedLayout.3
tir.func @nested_a(%hX: !tir.handle, %hO: !tir.handle) {
  %X = tir.match_buffer "X" %hX : !tir.buffer<16x32xf16>
  %O = tir.match_buffer "O" %hO : !tir.buffer<32x16xf16>
  %c0 = tir.const 0 : i64
  %c1 = tir.const 1 : i64
  %c2 = tir.const 2 : i64
  %c4 = tir.const 4 : i64
  %c8 = tir.const 8 : i64
  %c16 = tir.const 16 : i64
  %c32 = tir.const 32 : i64
  %c64 = tir.const 64 : i64
  %c128 = tir.const 128 : i64
  %c0i = tir.const 0 : i32
  %c4i = tir.const 4 : i32
  %no = tir.const false
  %yes = tir.const true
  %kind = tir.string ".b16"
  %scope = tir.string "shared"
  tir.for "ty" %ty = %c0 to %c1 thread_binding "threadIdx.y" {
    tir.for "tx" %tx = %c0 to %c32 thread_binding "threadIdx.x" {
      tir.block "root" {
        %S = tir.alloc_buffer "S" : !tir.buffer<16x32xf16, "shared">
        %W = tir.alloc_buffer "W" : !tir.buffer<16xf16, "local">
        tir.block "copy" annotations {"permuted_layout" = 1 : i32} {
          tir.for "r" %r = %c0 to %c16 {
            %x = tir.load %X[%r, %tx] : f16
            tir.store %x, %S[%r, %tx] : f16
          }
        }
        tir.call "tvm_storage_sync"(%scope) : (!tir.handle) -> ()
        tir.block "compute" annotations {"permuted_layout" = 1 : i32} {
          tir.for "v0" %v0 = %c0 to %c2 {
            tir.block "load" {
              %data = tir.data %S : !tir.ptr<f16, "shared">
              %at = tir.mul %v0, %c16 : i64
              %p = tir.access_ptr r %data[%at to %at + %c128] : !tir.ptr<f16, "shared">
              %8 = tir.floormod %tx, %c16 : i64
              %9 = tir.mul %8, %c32 : i64
              %10 = tir.floordiv %tx, %c16 : i64
              %11 = tir.mul %10, %c8 : i64
              %step = tir.add %9, %11 : i64
              %w = tir.data %W : !tir.ptr<f16, "local">
              %to = tir.mul %v0, %c8 : i64
              %d = tir.call "ptx_ldmatrix"(%no, %c4i, %kind, %w, %to, %p, %step) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i64, !tir.ptr<f16, "shared">, i64) -> f16
              tir.evaluate %d : f16
            }
          }
        }
        tir.for "k" %k = %c0 to %c16 {
          %y = tir.load %W[%k] : f16
          tir.store %y, %O[%tx, %k] : f16
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @nested_a
// CHECK-NEXT:     %[[X:.*]] = tir.match_buffer "X" %{{.*}} : !tir.buffer<16x32xf16>
// CHECK-NEXT:     %[[O:.*]] = tir.match_buffer "O" %{{.*}} : !tir.buffer<32x16xf16>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i64
// CHECK-NEXT:     %[[C1:.*]] = tir.const 1 : i64
// CHECK-NEXT:     %[[C2:.*]] = tir.const 2 : i64
// CHECK-NEXT:     %[[C4:.*]] = tir.const 4 : i64
// CHECK-NEXT:     %[[C8:.*]] = tir.const 8 : i64
// CHECK-NEXT:     %[[C16:.*]] = tir.const 16 : i64
// CHECK-NEXT:     %[[C32:.*]] = tir.const 32 : i64
// CHECK-NEXT:     %[[C64:.*]] = tir.const 64 : i64
// CHECK-NEXT:     %[[C128:.*]] = tir.const 128 : i64
// CHECK-NEXT:     %[[C0I:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C4I:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[NO:.*]] = tir.const false
// CHECK-NEXT:     %[[YES:.*]] = tir.const true
// CHECK-NEXT:     %[[KIND:.*]] = tir.string ".b16"
// CHECK-NEXT:     %[[SCOPE:.*]] = tir.string "shared"
// CHECK-NEXT:     tir.for "ty" %[[TY:.*]] = %[[C0]] to %[[C1]] thread_binding "threadIdx.y" {
// CHECK-NEXT:       tir.for "tx" %[[TX:.*]] = %[[C0]] to %[[C32]] thread_binding "threadIdx.x" {
// CHECK-NEXT:         tir.block "root" {
// CHECK-NEXT:           %[[S:.*]] = tir.alloc_buffer "S" : !tir.buffer<16x32xf16, "shared">
// CHECK-NEXT:           %[[W:.*]] = tir.alloc_buffer "W" : !tir.buffer<16xf16, "local">
// CHECK-NEXT:           tir.block "copy" {
// CHECK-NEXT:             tir.for "r" %[[R:.*]] = %[[C0]] to %[[C16]] {
// CHECK-NEXT:               %[[X_:.*]] = tir.load %[[X]][%[[R]], %[[TX]]] : f16
// CHECK-NEXT:               %[[V0:.*]] = tir.floordiv %[[TX]], %[[C8]] : i64
// CHECK-NEXT:               %[[V1:.*]] = tir.floormod %[[R]], %[[C8]] : i64
// CHECK-NEXT:               %[[V2:.*]] = tir.floordiv %[[V1]], %[[C2]] : i64
// CHECK-NEXT:               %[[V3:.*]] = tir.call "bitwise_xor"(%[[V0]], %[[V2]]) : (i64, i64) -> i64
// CHECK-NEXT:               %[[V4:.*]] = tir.mul %[[V3]], %[[C8]] : i64
// CHECK-NEXT:               %[[V5:.*]] = tir.floormod %[[TX]], %[[C8]] : i64
// CHECK-NEXT:               %[[V6:.*]] = tir.add %[[V4]], %[[V5]] : i64
// CHECK-NEXT:               tir.store %[[X_]], %[[S]][%[[R]], %[[V6]]] : f16
// CHECK-NEXT:             }
// CHECK-NEXT:           }
// CHECK-NEXT:           tir.call "tvm_storage_sync"(%[[SCOPE]]) : (!tir.handle) -> ()
// CHECK-NEXT:           tir.block "compute" {
// CHECK-NEXT:             tir.for "v0" %[[V0_:.*]] = %[[C0]] to %[[C2]] {
// CHECK-NEXT:               tir.block "load" {
// CHECK-NEXT:                 %[[DATA:.*]] = tir.data %[[S]] : !tir.ptr<f16, "shared">
// CHECK-NEXT:                 %[[V7:.*]] = tir.floormod %[[TX]], %[[C16]] : i64
// CHECK-NEXT:                 %[[V8:.*]] = tir.mul %[[V7]], %[[C32]] : i64
// CHECK-NEXT:                 %[[V9:.*]] = tir.floordiv %[[TX]], %[[C16]] : i64
// CHECK-NEXT:                 %[[W_:.*]] = tir.data %[[W]] : !tir.ptr<f16, "local">
// CHECK-NEXT:                 %[[TO:.*]] = tir.mul %[[V0_]], %[[C8]] : i64
// CHECK-NEXT:                 %[[V10:.*]] = tir.mul %[[V0_]], %[[C2]] : i64
// CHECK-NEXT:                 %[[V11:.*]] = tir.add %[[V10]], %[[V9]] : i64
// CHECK-NEXT:                 %[[V12:.*]] = tir.floormod %[[TX]], %[[C8]] : i64
// CHECK-NEXT:                 %[[V13:.*]] = tir.floordiv %[[V12]], %[[C2]] : i64
// CHECK-NEXT:                 %[[V14:.*]] = tir.call "bitwise_xor"(%[[V11]], %[[V13]]) : (i64, i64) -> i64
// CHECK-NEXT:                 %[[V15:.*]] = tir.mul %[[V14]], %[[C8]] : i64
// CHECK-NEXT:                 %[[V16:.*]] = tir.add %[[V8]], %[[V15]] : i64
// CHECK-NEXT:                 %[[P:.*]] = tir.access_ptr r %[[DATA]][%[[V16]] to %[[V16]] + %[[C128]]] : !tir.ptr<f16, "shared">
// CHECK-NEXT:                 %[[D:.*]] = tir.call "ptx_ldmatrix"(%[[NO]], %[[C4I]], %[[KIND]], %[[W_]], %[[TO]], %[[P]], %[[C0]]) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i64, !tir.ptr<f16, "shared">, i64) -> f16
// CHECK-NEXT:                 tir.evaluate %[[D]] : f16
// CHECK-NEXT:               }
// CHECK-NEXT:             }
// CHECK-NEXT:           }
// CHECK-NEXT:           tir.for "k" %[[K:.*]] = %[[C0]] to %[[C16]] {
// CHECK-NEXT:             %[[Y:.*]] = tir.load %[[W]][%[[K]]] : f16
// CHECK-NEXT:             tir.store %[[Y]], %[[O]][%[[TX]], %[[K]]] : f16
// CHECK-NEXT:           }
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }

// -----

// CASE: InjectPermutedLayout.4
tir.func @nested_b(%hX: !tir.handle, %hO: !tir.handle) {
  %X = tir.match_buffer "X" %hX : !tir.buffer<16x32xf16>
  %O = tir.match_buffer "O" %hO : !tir.buffer<32x16xf16>
  %c0 = tir.const 0 : i64
  %c1 = tir.const 1 : i64
  %c2 = tir.const 2 : i64
  %c4 = tir.const 4 : i64
  %c8 = tir.const 8 : i64
  %c16 = tir.const 16 : i64
  %c32 = tir.const 32 : i64
  %c64 = tir.const 64 : i64
  %c128 = tir.const 128 : i64
  %c0i = tir.const 0 : i32
  %c4i = tir.const 4 : i32
  %no = tir.const false
  %yes = tir.const true
  %kind = tir.string ".b16"
  %scope = tir.string "shared"
  tir.for "ty" %ty = %c0 to %c1 thread_binding "threadIdx.y" {
    tir.for "tx" %tx = %c0 to %c32 thread_binding "threadIdx.x" {
      tir.block "root" {
        %S = tir.alloc_buffer "S" : !tir.buffer<16x32xf16, "shared">
        %W = tir.alloc_buffer "W" : !tir.buffer<16xf16, "local">
        tir.block "copy" annotations {"permuted_layout" = 1 : i32} {
          tir.for "r" %r = %c0 to %c16 {
            %x = tir.load %X[%r, %tx] : f16
            tir.store %x, %S[%r, %tx] : f16
          }
        }
        tir.call "tvm_storage_sync"(%scope) : (!tir.handle) -> ()
        tir.block "compute" annotations {"permuted_layout" = 1 : i32} {
          tir.for "v0" %v0 = %c0 to %c2 {
            tir.block "load" {
              %data = tir.data %S : !tir.ptr<f16, "shared">
              %at = tir.mul %v0, %c16 : i64
              %p = tir.access_ptr r %data[%at to %at + %c128] : !tir.ptr<f16, "shared">
              %8 = tir.floordiv %tx, %c16 : i64
              %9 = tir.mul %8, %c8 : i64
              %10 = tir.floormod %tx, %c8 : i64
              %11 = tir.add %9, %10 : i64
              %12 = tir.mul %11, %c32 : i64
              %13 = tir.floormod %tx, %c16 : i64
              %14 = tir.floordiv %13, %c8 : i64
              %15 = tir.mul %14, %c8 : i64
              %step = tir.add %12, %15 : i64
              %w = tir.data %W : !tir.ptr<f16, "local">
              %to = tir.mul %v0, %c8 : i64
              %d = tir.call "ptx_ldmatrix"(%yes, %c4i, %kind, %w, %to, %p, %step) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i64, !tir.ptr<f16, "shared">, i64) -> f16
              tir.evaluate %d : f16
            }
          }
        }
        tir.for "k" %k = %c0 to %c16 {
          %y = tir.load %W[%k] : f16
          tir.store %y, %O[%tx, %k] : f16
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @nested_b
// CHECK-NEXT:     %[[X:.*]] = tir.match_buffer "X" %{{.*}} : !tir.buffer<16x32xf16>
// CHECK-NEXT:     %[[O:.*]] = tir.match_buffer "O" %{{.*}} : !tir.buffer<32x16xf16>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i64
// CHECK-NEXT:     %[[C1:.*]] = tir.const 1 : i64
// CHECK-NEXT:     %[[C2:.*]] = tir.const 2 : i64
// CHECK-NEXT:     %[[C4:.*]] = tir.const 4 : i64
// CHECK-NEXT:     %[[C8:.*]] = tir.const 8 : i64
// CHECK-NEXT:     %[[C16:.*]] = tir.const 16 : i64
// CHECK-NEXT:     %[[C32:.*]] = tir.const 32 : i64
// CHECK-NEXT:     %[[C64:.*]] = tir.const 64 : i64
// CHECK-NEXT:     %[[C128:.*]] = tir.const 128 : i64
// CHECK-NEXT:     %[[C0I:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C4I:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[NO:.*]] = tir.const false
// CHECK-NEXT:     %[[YES:.*]] = tir.const true
// CHECK-NEXT:     %[[KIND:.*]] = tir.string ".b16"
// CHECK-NEXT:     %[[SCOPE:.*]] = tir.string "shared"
// CHECK-NEXT:     tir.for "ty" %[[TY:.*]] = %[[C0]] to %[[C1]] thread_binding "threadIdx.y" {
// CHECK-NEXT:       tir.for "tx" %[[TX:.*]] = %[[C0]] to %[[C32]] thread_binding "threadIdx.x" {
// CHECK-NEXT:         tir.block "root" {
// CHECK-NEXT:           %[[S:.*]] = tir.alloc_buffer "S" : !tir.buffer<16x32xf16, "shared">
// CHECK-NEXT:           %[[W:.*]] = tir.alloc_buffer "W" : !tir.buffer<16xf16, "local">
// CHECK-NEXT:           tir.block "copy" {
// CHECK-NEXT:             tir.for "r" %[[R:.*]] = %[[C0]] to %[[C16]] {
// CHECK-NEXT:               %[[X_:.*]] = tir.load %[[X]][%[[R]], %[[TX]]] : f16
// CHECK-NEXT:               %[[V0:.*]] = tir.floordiv %[[TX]], %[[C8]] : i64
// CHECK-NEXT:               %[[V1:.*]] = tir.floormod %[[R]], %[[C8]] : i64
// CHECK-NEXT:               %[[V2:.*]] = tir.floordiv %[[V1]], %[[C2]] : i64
// CHECK-NEXT:               %[[V3:.*]] = tir.call "bitwise_xor"(%[[V0]], %[[V2]]) : (i64, i64) -> i64
// CHECK-NEXT:               %[[V4:.*]] = tir.mul %[[V3]], %[[C8]] : i64
// CHECK-NEXT:               %[[V5:.*]] = tir.floormod %[[TX]], %[[C8]] : i64
// CHECK-NEXT:               %[[V6:.*]] = tir.add %[[V4]], %[[V5]] : i64
// CHECK-NEXT:               tir.store %[[X_]], %[[S]][%[[R]], %[[V6]]] : f16
// CHECK-NEXT:             }
// CHECK-NEXT:           }
// CHECK-NEXT:           tir.call "tvm_storage_sync"(%[[SCOPE]]) : (!tir.handle) -> ()
// CHECK-NEXT:           tir.block "compute" {
// CHECK-NEXT:             tir.for "v0" %[[V0_:.*]] = %[[C0]] to %[[C2]] {
// CHECK-NEXT:               tir.block "load" {
// CHECK-NEXT:                 %[[DATA:.*]] = tir.data %[[S]] : !tir.ptr<f16, "shared">
// CHECK-NEXT:                 %[[V7:.*]] = tir.floordiv %[[TX]], %[[C16]] : i64
// CHECK-NEXT:                 %[[V8:.*]] = tir.floormod %[[TX]], %[[C8]] : i64
// CHECK-NEXT:                 %[[V9:.*]] = tir.floormod %[[TX]], %[[C16]] : i64
// CHECK-NEXT:                 %[[V10:.*]] = tir.floordiv %[[V9]], %[[C8]] : i64
// CHECK-NEXT:                 %[[W_:.*]] = tir.data %[[W]] : !tir.ptr<f16, "local">
// CHECK-NEXT:                 %[[TO:.*]] = tir.mul %[[V0_]], %[[C8]] : i64
// CHECK-NEXT:                 %[[V11:.*]] = tir.const 256 : i64
// CHECK-NEXT:                 %[[V12:.*]] = tir.mul %[[V7]], %[[V11]] : i64
// CHECK-NEXT:                 %[[V13:.*]] = tir.mul %[[V8]], %[[C32]] : i64
// CHECK-NEXT:                 %[[V14:.*]] = tir.add %[[V12]], %[[V13]] : i64
// CHECK-NEXT:                 %[[V15:.*]] = tir.mul %[[V0_]], %[[C2]] : i64
// CHECK-NEXT:                 %[[V16:.*]] = tir.add %[[V15]], %[[V10]] : i64
// CHECK-NEXT:                 %[[V17:.*]] = tir.floordiv %[[V8]], %[[C2]] : i64
// CHECK-NEXT:                 %[[V18:.*]] = tir.call "bitwise_xor"(%[[V16]], %[[V17]]) : (i64, i64) -> i64
// CHECK-NEXT:                 %[[V19:.*]] = tir.mul %[[V18]], %[[C8]] : i64
// CHECK-NEXT:                 %[[V20:.*]] = tir.add %[[V14]], %[[V19]] : i64
// CHECK-NEXT:                 %[[P:.*]] = tir.access_ptr r %[[DATA]][%[[V20]] to %[[V20]] + %[[C128]]] : !tir.ptr<f16, "shared">
// CHECK-NEXT:                 %[[D:.*]] = tir.call "ptx_ldmatrix"(%[[YES]], %[[C4I]], %[[KIND]], %[[W_]], %[[TO]], %[[P]], %[[C0]]) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i64, !tir.ptr<f16, "shared">, i64) -> f16
// CHECK-NEXT:                 tir.evaluate %[[D]] : f16
// CHECK-NEXT:               }
// CHECK-NEXT:             }
// CHECK-NEXT:           }
// CHECK-NEXT:           tir.for "k" %[[K:.*]] = %[[C0]] to %[[C16]] {
// CHECK-NEXT:             %[[Y:.*]] = tir.load %[[W]][%[[K]]] : f16
// CHECK-NEXT:             tir.store %[[Y]], %[[O]][%[[TX]], %[[K]]] : f16
// CHECK-NEXT:           }
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }

// -----

// Elements of any type, permuted by groups of 8.
// CASE: InjectPermutedLayout.5
tir.func @floats(%hO: !tir.handle) {
  %O = tir.match_buffer "O" %hO : !tir.buffer<128x128xf16>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  %c128 = tir.const 128 : i32
  %c0i = tir.const 0 : i32
  %c4i = tir.const 4 : i32
  %no = tir.const false
  %yes = tir.const true
  %kind = tir.string ".b16"
  %scope = tir.string "shared"
  tir.for "ty" %ty = %c0 to %c4 thread_binding "threadIdx.y" {
    tir.for "tx" %tx = %c0 to %c32 thread_binding "threadIdx.x" {
      tir.block "root" {
        %S = tir.alloc_buffer "O_shared" : !tir.buffer<128x128xf32, "shared">
        %W = tir.alloc_buffer "O_warp" : !tir.buffer<4xf32, "local">
        tir.block "store" annotations {"permuted_layout" = "l2s_O"} {
          tir.for "r" %r = %c0 to %c32 {
            tir.for "j" %j = %c0 to %c4 {
              %0 = tir.mul %ty, %c32 : i32
              %i = tir.add %0, %r : i32
              %1 = tir.mul %tx, %c4 : i32
              %column = tir.add %1, %j : i32
              %x = tir.cast %column : i32 to f32
              tir.store %x, %W[%j] : f32
              %y = tir.load %W[%j] : f32
              tir.store %y, %S[%i, %column] : f32
            }
          }
        }
        tir.call "tvm_storage_sync"(%scope) : (!tir.handle) -> ()
        tir.for "r" %r = %c0 to %c32 {
          tir.for "v" %v = %c0 to %c4 vectorized {
            tir.block "read" annotations {"permuted_layout" = "s2g_O"} {
              %0 = tir.mul %r, %c4 : i32
              %i = tir.add %0, %ty : i32
              %1 = tir.mul %tx, %c4 : i32
              %column = tir.add %1, %v : i32
              %x = tir.load %S[%i, %column] : f32
              %y = tir.cast %x : f32 to f16
              tir.store %y, %O[%i, %column] : f16
            }
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @floats
// CHECK-NEXT:     %[[O:.*]] = tir.match_buffer "O" %{{.*}} : !tir.buffer<128x128xf16>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[C8:.*]] = tir.const 8 : i32
// CHECK-NEXT:     %[[C16:.*]] = tir.const 16 : i32
// CHECK-NEXT:     %[[C32:.*]] = tir.const 32 : i32
// CHECK-NEXT:     %[[C64:.*]] = tir.const 64 : i32
// CHECK-NEXT:     %[[C128:.*]] = tir.const 128 : i32
// CHECK-NEXT:     %[[C0I:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C4I:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[NO:.*]] = tir.const false
// CHECK-NEXT:     %[[YES:.*]] = tir.const true
// CHECK-NEXT:     %[[KIND:.*]] = tir.string ".b16"
// CHECK-NEXT:     %[[SCOPE:.*]] = tir.string "shared"
// CHECK-NEXT:     tir.for "ty" %[[TY:.*]] = %[[C0]] to %[[C4]] thread_binding "threadIdx.y" {
// CHECK-NEXT:       tir.for "tx" %[[TX:.*]] = %[[C0]] to %[[C32]] thread_binding "threadIdx.x" {
// CHECK-NEXT:         tir.block "root" {
// CHECK-NEXT:           %[[S:.*]] = tir.alloc_buffer "O_shared" : !tir.buffer<128x128xf32, "shared">
// CHECK-NEXT:           %[[W:.*]] = tir.alloc_buffer "O_warp" : !tir.buffer<4xf32, "local">
// CHECK-NEXT:           tir.block "store" {
// CHECK-NEXT:             tir.for "r" %[[R:.*]] = %[[C0]] to %[[C32]] {
// CHECK-NEXT:               tir.for "j" %[[J:.*]] = %[[C0]] to %[[C4]] {
// CHECK-NEXT:                 %[[V0:.*]] = tir.mul %[[TY]], %[[C32]] : i32
// CHECK-NEXT:                 %[[I:.*]] = tir.add %[[V0]], %[[R]] : i32
// CHECK-NEXT:                 %[[V1:.*]] = tir.mul %[[TX]], %[[C4]] : i32
// CHECK-NEXT:                 %[[COLUMN:.*]] = tir.add %[[V1]], %[[J]] : i32
// CHECK-NEXT:                 %[[X:.*]] = tir.cast %[[COLUMN]] : i32 to f32
// CHECK-NEXT:                 tir.store %[[X]], %[[W]][%[[J]]] : f32
// CHECK-NEXT:                 %[[Y:.*]] = tir.load %[[W]][%[[J]]] : f32
// CHECK-NEXT:                 %[[V2:.*]] = tir.floordiv %[[TX]], %[[C2]] : i32
// CHECK-NEXT:                 %[[V3:.*]] = tir.floormod %[[R]], %[[C8]] : i32
// CHECK-NEXT:                 %[[V4:.*]] = tir.call "bitwise_xor"(%[[V2]], %[[V3]]) : (i32, i32) -> i32
// CHECK-NEXT:                 %[[V5:.*]] = tir.mul %[[V4]], %[[C8]] : i32
// CHECK-NEXT:                 %[[V6:.*]] = tir.floormod %[[TX]], %[[C2]] : i32
// CHECK-NEXT:                 %[[V7:.*]] = tir.mul %[[V6]], %[[C4]] : i32
// CHECK-NEXT:                 %[[V8:.*]] = tir.add %[[V5]], %[[V7]] : i32
// CHECK-NEXT:                 %[[V9:.*]] = tir.add %[[V8]], %[[J]] : i32
// CHECK-NEXT:                 tir.store %[[Y]], %[[S]][%[[I]], %[[V9]]] : f32
// CHECK-NEXT:               }
// CHECK-NEXT:             }
// CHECK-NEXT:           }
// CHECK-NEXT:           tir.call "tvm_storage_sync"(%[[SCOPE]]) : (!tir.handle) -> ()
// CHECK-NEXT:           tir.for "r" %[[R_1:.*]] = %[[C0]] to %[[C32]] {
// CHECK-NEXT:             tir.for "v" %[[V:.*]] = %[[C0]] to %[[C4]] vectorized {
// CHECK-NEXT:               tir.block "read" {
// CHECK-NEXT:                 %[[V10:.*]] = tir.mul %[[R_1]], %[[C4]] : i32
// CHECK-NEXT:                 %[[I_1:.*]] = tir.add %[[V10]], %[[TY]] : i32
// CHECK-NEXT:                 %[[V11:.*]] = tir.mul %[[TX]], %[[C4]] : i32
// CHECK-NEXT:                 %[[COLUMN_1:.*]] = tir.add %[[V11]], %[[V]] : i32
// CHECK-NEXT:                 %[[V12:.*]] = tir.floordiv %[[TX]], %[[C2]] : i32
// CHECK-NEXT:                 %[[V13:.*]] = tir.floormod %[[R_1]], %[[C2]] : i32
// CHECK-NEXT:                 %[[V14:.*]] = tir.mul %[[V13]], %[[C4]] : i32
// CHECK-NEXT:                 %[[V15:.*]] = tir.add %[[V14]], %[[TY]] : i32
// CHECK-NEXT:                 %[[V16:.*]] = tir.call "bitwise_xor"(%[[V12]], %[[V15]]) : (i32, i32) -> i32
// CHECK-NEXT:                 %[[V17:.*]] = tir.mul %[[V16]], %[[C8]] : i32
// CHECK-NEXT:                 %[[V18:.*]] = tir.floormod %[[TX]], %[[C2]] : i32
// CHECK-NEXT:                 %[[V19:.*]] = tir.mul %[[V18]], %[[C4]] : i32
// CHECK-NEXT:                 %[[V20:.*]] = tir.add %[[V17]], %[[V19]] : i32
// CHECK-NEXT:                 %[[V21:.*]] = tir.add %[[V20]], %[[V]] : i32
// CHECK-NEXT:                 %[[X_1:.*]] = tir.load %[[S]][%[[I_1]], %[[V21]]] : f32
// CHECK-NEXT:                 %[[Y_1:.*]] = tir.cast %[[X_1]] : f32 to f16
// CHECK-NEXT:                 tir.store %[[Y_1]], %[[O]][%[[I_1]], %[[COLUMN_1]]] : f16
// CHECK-NEXT:               }
// CHECK-NEXT:             }
// CHECK-NEXT:           }
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }

// -----

// CASE: InjectPermutedLayout.6
tir.func @not_marked(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<32x64xf32>
  %c0 = tir.const 0 : i32
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  %one = tir.const 1.0 : f32
  tir.for %t = %c0 to %c32 thread_binding "threadIdx.x" {
    tir.block "root" {
      %S = tir.alloc_buffer "S" : !tir.buffer<32x64xf32, "shared">
      %T = tir.alloc_buffer "T" : !tir.buffer<32xf32, "shared">
      tir.for %i = %c0 to %c64 {
        tir.block "empty" annotations {"permuted_layout" = ""} {
          tir.store %one, %S[%t, %i] : f32
        }
        tir.block "zero" annotations {"permuted_layout" = 0 : i32} {
          tir.store %one, %S[%t, %i] : f32
        }
        tir.block "none" {
          %x = tir.load %S[%t, %i] : f32
          tir.store %x, %A[%t, %i] : f32
        }
        tir.block "others" annotations {"permuted_layout" = "x"} {
          tir.store %one, %A[%t, %i] : f32
          tir.store %one, %T[%t] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @not_marked
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<32x64xf32>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C32:.*]] = tir.const 32 : i32
// CHECK-NEXT:     %[[C64:.*]] = tir.const 64 : i32
// CHECK-NEXT:     %[[ONE:.*]] = tir.const 1.000000e+00 : f32
// CHECK-NEXT:     tir.for %[[T:.*]] = %[[C0]] to %[[C32]] thread_binding "threadIdx.x" {
// CHECK-NEXT:       tir.block "root" {
// CHECK-NEXT:         %[[S:.*]] = tir.alloc_buffer "S" : !tir.buffer<32x64xf32, "shared">
// CHECK-NEXT:         %[[T_:.*]] = tir.alloc_buffer "T" : !tir.buffer<32xf32, "shared">
// CHECK-NEXT:         tir.for %[[I:.*]] = %[[C0]] to %[[C64]] {
// CHECK-NEXT:           tir.block "empty" annotations {permuted_layout = ""} {
// CHECK-NEXT:             tir.store %[[ONE]], %[[S]][%[[T]], %[[I]]] : f32
// CHECK-NEXT:           }
// CHECK-NEXT:           tir.block "zero" annotations {permuted_layout = 0 : i32} {
// CHECK-NEXT:             tir.store %[[ONE]], %[[S]][%[[T]], %[[I]]] : f32
// CHECK-NEXT:           }
// CHECK-NEXT:           tir.block "none" {
// CHECK-NEXT:             %[[X:.*]] = tir.load %[[S]][%[[T]], %[[I]]] : f32
// CHECK-NEXT:             tir.store %[[X]], %[[A]][%[[T]], %[[I]]] : f32
// CHECK-NEXT:           }
// CHECK-NEXT:           tir.block "others" {
// CHECK-NEXT:             tir.store %[[ONE]], %[[A]][%[[T]], %[[I]]] : f32
// CHECK-NEXT:             tir.store %[[ONE]], %[[T_]][%[[T]]] : f32
// CHECK-NEXT:           }
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }

// -----

// Rows of the last two of three dimensions, which are no multiple of 8 of them.
tir.func @versions(%a: !tir.handle, %o: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<2x12x64xf16>
  %O = tir.match_buffer %o : !tir.buffer<32x4xf16>
  %no = tir.const false
  %kind = tir.string ".b16"
  %scope = tir.string "shared"
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c12 = tir.const 12 : i32
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  tir.for "t" %t = %c0 to %c32 thread_binding "threadIdx.x" {
    tir.block "root" annotations {"permuted_layout" = "all"} {
      %S = tir.alloc_buffer "S" : !tir.buffer<2x12x64xf16, "shared">
      %W = tir.alloc_buffer "W" : !tir.buffer<4xf16, "local">
      tir.for "n" %n = %c0 to %c2 {
        tir.for "r" %r = %c0 to %c12 {
          tir.for "h" %h = %c0 to %c2 {
            %0 = tir.mul %h, %c32 : i32
            %k = tir.add %0, %t : i32
            %x = tir.load %A[%n, %r, %k] : f16
            tir.store %x, %S[%n, %r, %k] : f16
          }
        }
      }
      tir.call "tvm_storage_sync"(%scope) : (!tir.handle) -> ()
      %data = tir.data %S : !tir.ptr<f16, "shared">
      %row = tir.floormod %t, %c8 : i32
      %1 = tir.add %row, %c12 : i32
      %2 = tir.mul %1, %c64 : i32
      %3 = tir.floordiv %t, %c8 : i32
      %4 = tir.mul %3, %c8 : i32
      %p = tir.access_ptr r %data[%2 to %2 + %c64] : !tir.ptr<f16, "shared">
      %w = tir.data %W : !tir.ptr<f16, "local">
      %d = tir.call "ptx_ldmatrix"(%no, %c2, %kind, %w, %c0, %p, %4) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "shared">, i32) -> f16
      tir.evaluate %d : f16
      tir.for "k" %k = %c0 to %c4 {
        %y = tir.load %W[%k] : f16
        tir.store %y, %O[%t, %k] : f16
      }
    }
  }
}
// CHECK-LABEL: tir.func @versions
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<2x12x64xf16>
// CHECK-NEXT:     %[[O:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<32x4xf16>
// CHECK-NEXT:     %[[NO:.*]] = tir.const false
// CHECK-NEXT:     %[[KIND:.*]] = tir.string ".b16"
// CHECK-NEXT:     %[[SCOPE:.*]] = tir.string "shared"
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[C8:.*]] = tir.const 8 : i32
// CHECK-NEXT:     %[[C12:.*]] = tir.const 12 : i32
// CHECK-NEXT:     %[[C32:.*]] = tir.const 32 : i32
// CHECK-NEXT:     %[[C64:.*]] = tir.const 64 : i32
// CHECK-NEXT:     tir.for "t" %[[T:.*]] = %[[C0]] to %[[C32]] thread_binding "threadIdx.x" {
// CHECK-NEXT:       tir.block "root" {
// CHECK-NEXT:         %[[S:.*]] = tir.alloc_buffer "S" : !tir.buffer<2x12x64xf16, "shared">
// CHECK-NEXT:         %[[W:.*]] = tir.alloc_buffer "W" : !tir.buffer<4xf16, "local">
// CHECK-NEXT:         tir.for "n" %[[N:.*]] = %[[C0]] to %[[C2]] {
// CHECK-NEXT:           tir.for "r" %[[R:.*]] = %[[C0]] to %[[C12]] {
// CHECK-NEXT:             tir.for "h" %[[H:.*]] = %[[C0]] to %[[C2]] {
// CHECK-NEXT:               %[[V0:.*]] = tir.mul %[[H]], %[[C32]] : i32
// CHECK-NEXT:               %[[K:.*]] = tir.add %[[V0]], %[[T]] : i32
// CHECK-NEXT:               %[[X:.*]] = tir.load %[[A]][%[[N]], %[[R]], %[[K]]] : f16
// CHECK-NEXT:               %[[V1:.*]] = tir.mul %[[H]], %[[C4]] : i32
// CHECK-NEXT:               %[[V2:.*]] = tir.floordiv %[[T]], %[[C8]] : i32
// CHECK-NEXT:               %[[V3:.*]] = tir.add %[[V1]], %[[V2]] : i32
// CHECK-NEXT:               %[[V4:.*]] = tir.floormod %[[R]], %[[C8]] : i32
// CHECK-NEXT:               %[[V5:.*]] = tir.call "bitwise_xor"(%[[V3]], %[[V4]]) : (i32, i32) -> i32
// CHECK-NEXT:               %[[V6:.*]] = tir.mul %[[V5]], %[[C8]] : i32
// CHECK-NEXT:               %[[V7:.*]] = tir.floormod %[[T]], %[[C8]] : i32
// CHECK-NEXT:               %[[V8:.*]] = tir.add %[[V6]], %[[V7]] : i32
// CHECK-NEXT:               tir.store %[[X]], %[[S]][%[[N]], %[[R]], %[[V8]]] : f16
// CHECK-NEXT:             }
// CHECK-NEXT:           }
// CHECK-NEXT:         }
// CHECK-NEXT:         tir.call "tvm_storage_sync"(%[[SCOPE]]) : (!tir.handle) -> ()
// CHECK-NEXT:         %[[DATA:.*]] = tir.data %[[S]] : !tir.ptr<f16, "shared">
// CHECK-NEXT:         %[[ROW:.*]] = tir.floormod %[[T]], %[[C8]] : i32
// CHECK-NEXT:         %[[V9:.*]] = tir.floordiv %[[T]], %[[C8]] : i32
// CHECK-NEXT:         %[[W_:.*]] = tir.data %[[W]] : !tir.ptr<f16, "local">
// CHECK-NEXT:         %[[V10:.*]] = tir.mul %[[ROW]], %[[C64]] : i32
// CHECK-NEXT:         %[[V11:.*]] = tir.call "bitwise_xor"(%[[V9]], %[[ROW]]) : (i32, i32) -> i32
// CHECK-NEXT:         %[[V12:.*]] = tir.mul %[[V11]], %[[C8]] : i32
// CHECK-NEXT:         %[[V13:.*]] = tir.add %[[V10]], %[[V12]] : i32
// CHECK-NEXT:         %[[V14:.*]] = tir.const 768 : i32
// CHECK-NEXT:         %[[V15:.*]] = tir.add %[[V13]], %[[V14]] : i32
// CHECK-NEXT:         %[[P:.*]] = tir.access_ptr r %[[DATA]][%[[V15]] to %[[V15]] + %[[C64]]] : !tir.ptr<f16, "shared">
// CHECK-NEXT:         %[[D:.*]] = tir.call "ptx_ldmatrix"(%[[NO]], %[[C2]], %[[KIND]], %[[W_]], %[[C0]], %[[P]], %[[C0]]) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "shared">, i32) -> f16
// CHECK-NEXT:         tir.evaluate %[[D]] : f16
// CHECK-NEXT:         tir.for "k" %[[K_1:.*]] = %[[C0]] to %[[C4]] {
// CHECK-NEXT:           %[[Y:.*]] = tir.load %[[W]][%[[K_1]]] : f16
// CHECK-NEXT:           tir.store %[[Y]], %[[O]][%[[T]], %[[K_1]]] : f16
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }
