// RUN: xdsl-opt %s -p tir-transform-mma-buffer-layout --split-input-file | filecheck %s

// Each lane accesses the elements of C that it holds.
// CASE: TransformMmaBufferLayout.1
tir.func @elements(%o: !tir.handle) {
  %O = tir.match_buffer %o : !tir.buffer<128x128xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  tir.for %t = %c0 to %c32 thread_binding "threadIdx.x" {
    tir.block "root" {
      %C = tir.alloc_buffer "C" : !tir.buffer<128x128xf32, "m16n8k8.matrixC">
      %g = tir.floordiv %t, %c4 : i32
      %q = tir.floormod %t, %c4 : i32
      %column = tir.mul %q, %c2 : i32
      tir.for %u = %c0 to %c16 {
        tir.for %v = %c0 to %c4 {
          %h = tir.mul %u, %c8 : i32
          %i = tir.add %h, %g : i32
          %w = tir.mul %v, %c32 : i32
          %j = tir.add %w, %column : i32
          tir.block "C" {
            tir.writes %C[%h to %h + 8, %w to %w + 8]
            %x = tir.cast %i : i32 to f32
            tir.store %x, %C[%i, %j] : f32
          }
          tir.block "O" {
            tir.reads %C[%i, %j]
            tir.writes %O[%i, %j]
            %y = tir.load %C[%i, %j] : f32
            tir.store %y, %O[%i, %j] : f32
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @elements
// CHECK-NEXT:     %[[O:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<128x128xf32>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[C8:.*]] = tir.const 8 : i32
// CHECK-NEXT:     %[[C16:.*]] = tir.const 16 : i32
// CHECK-NEXT:     %[[C32:.*]] = tir.const 32 : i32
// CHECK-NEXT:     tir.for %[[T:.*]] = %[[C0]] to %[[C32]] thread_binding "threadIdx.x" {
// CHECK-NEXT:       tir.block "root" {
// CHECK-NEXT:         %[[C:.*]] = tir.alloc_buffer "C" : !tir.buffer<8x16x2x2xf32, "local">
// CHECK-NEXT:         %[[G:.*]] = tir.floordiv %[[T]], %[[C4]] : i32
// CHECK-NEXT:         %[[Q:.*]] = tir.floormod %[[T]], %[[C4]] : i32
// CHECK-NEXT:         %[[COLUMN:.*]] = tir.mul %[[Q]], %[[C2]] : i32
// CHECK-NEXT:         tir.for %[[U:.*]] = %[[C0]] to %[[C16]] {
// CHECK-NEXT:           tir.for %[[V:.*]] = %[[C0]] to %[[C4]] {
// CHECK-NEXT:             %[[H:.*]] = tir.mul %[[U]], %[[C8]] : i32
// CHECK-NEXT:             %[[I:.*]] = tir.add %[[H]], %[[G]] : i32
// CHECK-NEXT:             %[[W:.*]] = tir.mul %[[V]], %[[C32]] : i32
// CHECK-NEXT:             %[[J:.*]] = tir.add %[[W]], %[[COLUMN]] : i32
// CHECK-NEXT:             tir.block "C" {
// CHECK-NEXT:               %[[V0:.*]] = tir.const 2 : i32
// CHECK-NEXT:               %[[V1:.*]] = tir.floordiv %[[U]], %[[V0]] : i32
// CHECK-NEXT:               %[[V2:.*]] = tir.const 4 : i32
// CHECK-NEXT:               %[[V3:.*]] = tir.mul %[[V]], %[[V2]] : i32
// CHECK-NEXT:               %[[V4:.*]] = tir.const 0 : i32
// CHECK-NEXT:               %[[V5:.*]] = tir.const 0 : i32
// CHECK-NEXT:               tir.writes %[[C]][%[[V1]], %[[V3]], %[[V4]] to 2, %[[V5]] to 2]
// CHECK-NEXT:               %[[X:.*]] = tir.cast %[[I]] : i32 to f32
// CHECK-NEXT:               %[[V6:.*]] = tir.const 32 : i32
// CHECK-NEXT:               %[[V7:.*]] = tir.floordiv %[[T]], %[[V6]] : i32
// CHECK-NEXT:               %[[V8:.*]] = tir.add %[[V7]], %[[U]] : i32
// CHECK-NEXT:               %[[V9:.*]] = tir.const 2 : i32
// CHECK-NEXT:               %[[V10:.*]] = tir.floordiv %[[V8]], %[[V9]] : i32
// CHECK-NEXT:               %[[V11:.*]] = tir.const 4 : i32
// CHECK-NEXT:               %[[V12:.*]] = tir.mul %[[V]], %[[V11]] : i32
// CHECK-NEXT:               %[[V13:.*]] = tir.floormod %[[V8]], %[[V9]] : i32
// CHECK-NEXT:               %[[V14:.*]] = tir.const 0 : i32
// CHECK-NEXT:               tir.store %[[X]], %[[C]][%[[V10]], %[[V12]], %[[V13]], %[[V14]]] : f32
// CHECK-NEXT:             }
// CHECK-NEXT:             tir.block "O" {
// CHECK-NEXT:               %[[V15:.*]] = tir.const 8 : i32
// CHECK-NEXT:               %[[V16:.*]] = tir.mul %[[U]], %[[V15]] : i32
// CHECK-NEXT:               %[[V17:.*]] = tir.const 4 : i32
// CHECK-NEXT:               %[[V18:.*]] = tir.floordiv %[[T]], %[[V17]] : i32
// CHECK-NEXT:               %[[V19:.*]] = tir.add %[[V16]], %[[V18]] : i32
// CHECK-NEXT:               %[[V20:.*]] = tir.const 16 : i32
// CHECK-NEXT:               %[[V21:.*]] = tir.floordiv %[[V19]], %[[V20]] : i32
// CHECK-NEXT:               %[[V22:.*]] = tir.const 4 : i32
// CHECK-NEXT:               %[[V23:.*]] = tir.mul %[[V]], %[[V22]] : i32
// CHECK-NEXT:               %[[V24:.*]] = tir.const 0 : i32
// CHECK-NEXT:               %[[V25:.*]] = tir.const 0 : i32
// CHECK-NEXT:               tir.reads %[[C]][%[[V21]], %[[V23]], %[[V24]] to 2, %[[V25]] to 2]
// CHECK-NEXT:               tir.writes %[[O]][%[[I]], %[[J]]]
// CHECK-NEXT:               %[[V26:.*]] = tir.const 32 : i32
// CHECK-NEXT:               %[[V27:.*]] = tir.floordiv %[[T]], %[[V26]] : i32
// CHECK-NEXT:               %[[V28:.*]] = tir.add %[[V27]], %[[U]] : i32
// CHECK-NEXT:               %[[V29:.*]] = tir.const 2 : i32
// CHECK-NEXT:               %[[V30:.*]] = tir.floordiv %[[V28]], %[[V29]] : i32
// CHECK-NEXT:               %[[V31:.*]] = tir.const 4 : i32
// CHECK-NEXT:               %[[V32:.*]] = tir.mul %[[V]], %[[V31]] : i32
// CHECK-NEXT:               %[[V33:.*]] = tir.floormod %[[V28]], %[[V29]] : i32
// CHECK-NEXT:               %[[V34:.*]] = tir.const 0 : i32
// CHECK-NEXT:               %[[Y:.*]] = tir.load %[[C]][%[[V30]], %[[V32]], %[[V33]], %[[V34]]] : f32
// CHECK-NEXT:               tir.store %[[Y]], %[[O]][%[[I]], %[[J]]] : f32
// CHECK-NEXT:             }
// CHECK-NEXT:           }
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }

// -----

// Intrinsics go by registers, in one matrix or in one of several versions.
// CASE: TransformMmaBufferLayout.2
// CASE: TransformMmaBufferLayout.3
// CASE: TransformMmaBufferLayout.4
tir.func @pointers(%a: !tir.handle, %b: !tir.handle, %o: !tir.handle) {
  %I = tir.match_buffer "A" %a : !tir.buffer<512xf16>
  %J = tir.match_buffer "B" %b : !tir.buffer<512xf16>
  %O = tir.match_buffer "O" %o : !tir.buffer<32x4xf32>
  %no = tir.const false
  %yes = tir.const true
  %shape = tir.string "m16n8k8"
  %row = tir.string "row"
  %col = tir.string "col"
  %half = tir.string "fp16"
  %single = tir.string "fp32"
  %kind = tir.string ".b16"
  %shared = tir.string "shared"
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  tir.for %t = %c0 to %c32 thread_binding "threadIdx.x" {
    tir.block "root" {
      %S = tir.alloc_buffer "S" : !tir.buffer<512xf16, "shared">
      %R = tir.alloc_buffer "R" : !tir.buffer<512xf16, "shared">
      %A = tir.alloc_buffer "A" : !tir.buffer<64x8xf16, "m16n8k8.matrixA">
      %V = tir.alloc_buffer "V" : !tir.buffer<2x64x8xf16, "m16n8k8.matrixA">
      %B = tir.alloc_buffer "B" : !tir.buffer<8x64xf16, "m16n8k8.matrixB">
      %C = tir.alloc_buffer "C" : !tir.buffer<16x8xf32, "m16n8k8.matrixC">
      tir.for %i = %c0 to %c16 {
        %0 = tir.mul %i, %c32 : i32
        %at = tir.add %0, %t : i32
        %x = tir.load %I[%at] : f16
        tir.store %x, %S[%at] : f16
        %y = tir.load %J[%at] : f16
        tir.store %y, %R[%at] : f16
      }
      tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
      %s = tir.data %S : !tir.ptr<f16, "shared">
      %r = tir.data %R : !tir.ptr<f16, "shared">
      %pa = tir.data %A : !tir.ptr<f16, "m16n8k8.matrixA">
      %pv = tir.data %V : !tir.ptr<f16, "m16n8k8.matrixA">
      %pb = tir.data %B : !tir.ptr<f16, "m16n8k8.matrixB">
      %pc = tir.data %C : !tir.ptr<f32, "m16n8k8.matrixC">
      %eight = tir.mul %t, %c8 : i32
      tir.block "load" {
        tir.reads %S[%c0 to 256]
        tir.writes %A[%c0 to 32, %c0 to 8], %B[%c0 to 8, %c0 to 32]
        %la = tir.call "ptx_ldmatrix"(%no, %c4, %kind, %pa, %c0, %s, %eight) : (i1, i32, !tir.handle, !tir.ptr<f16, "m16n8k8.matrixA">, i32, !tir.ptr<f16, "shared">, i32) -> f16
        tir.evaluate %la : f16
        %lb = tir.call "ptx_ldmatrix"(%yes, %c4, %kind, %pb, %c0, %r, %eight) : (i1, i32, !tir.handle, !tir.ptr<f16, "m16n8k8.matrixB">, i32, !tir.ptr<f16, "shared">, i32) -> f16
        tir.evaluate %lb : f16
        %lv = tir.call "ptx_ldmatrix"(%no, %c4, %kind, %pv, %c16, %s, %eight) : (i1, i32, !tir.handle, !tir.ptr<f16, "m16n8k8.matrixA">, i32, !tir.ptr<f16, "shared">, i32) -> f16
        tir.evaluate %lv : f16
      }
      %fill = tir.call "mma_fill"(%c4, %pc, %c0) : (i32, !tir.ptr<f32, "m16n8k8.matrixC">, i32) -> f32
      tir.evaluate %fill : f32
      %product = tir.call "ptx_mma"(%shape, %row, %col, %half, %half, %single, %pa, %c0, %pb, %c0, %pc, %c0, %no) : (!tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.ptr<f16, "m16n8k8.matrixA">, i32, !tir.ptr<f16, "m16n8k8.matrixB">, i32, !tir.ptr<f32, "m16n8k8.matrixC">, i32, i1) -> f32
      tir.evaluate %product : f32
      %again = tir.call "ptx_mma"(%shape, %row, %col, %half, %half, %single, %pv, %c16, %pb, %c4, %pc, %c0, %no) : (!tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.ptr<f16, "m16n8k8.matrixA">, i32, !tir.ptr<f16, "m16n8k8.matrixB">, i32, !tir.ptr<f32, "m16n8k8.matrixC">, i32, i1) -> f32
      tir.evaluate %again : f32
      %pl = tir.let "p" %pc : !tir.ptr<f32, "m16n8k8.matrixC">
      %q = tir.access_ptr r %pl[%c0 to %c0 + %c4] : !tir.ptr<f32, "m16n8k8.matrixC">
      %L = tir.decl_buffer "L" %q : !tir.buffer<4xf32, "m16n8k8.matrixC">
      tir.for %k = %c0 to %c4 {
        %x = tir.load %L[%k] : f32
        tir.store %x, %O[%t, %k] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @pointers
// CHECK-NEXT:     %[[I:.*]] = tir.match_buffer "A" %{{.*}} : !tir.buffer<512xf16>
// CHECK-NEXT:     %[[J:.*]] = tir.match_buffer "B" %{{.*}} : !tir.buffer<512xf16>
// CHECK-NEXT:     %[[O:.*]] = tir.match_buffer "O" %{{.*}} : !tir.buffer<32x4xf32>
// CHECK-NEXT:     %[[NO:.*]] = tir.const false
// CHECK-NEXT:     %[[YES:.*]] = tir.const true
// CHECK-NEXT:     %[[SHAPE:.*]] = tir.string "m16n8k8"
// CHECK-NEXT:     %[[ROW:.*]] = tir.string "row"
// CHECK-NEXT:     %[[COL:.*]] = tir.string "col"
// CHECK-NEXT:     %[[HALF:.*]] = tir.string "fp16"
// CHECK-NEXT:     %[[SINGLE:.*]] = tir.string "fp32"
// CHECK-NEXT:     %[[KIND:.*]] = tir.string ".b16"
// CHECK-NEXT:     %[[SHARED:.*]] = tir.string "shared"
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[C8:.*]] = tir.const 8 : i32
// CHECK-NEXT:     %[[C16:.*]] = tir.const 16 : i32
// CHECK-NEXT:     %[[C32:.*]] = tir.const 32 : i32
// CHECK-NEXT:     tir.for %[[T:.*]] = %[[C0]] to %[[C32]] thread_binding "threadIdx.x" {
// CHECK-NEXT:       tir.block "root" {
// CHECK-NEXT:         %[[S:.*]] = tir.alloc_buffer "S" : !tir.buffer<512xf16, "shared">
// CHECK-NEXT:         %[[R:.*]] = tir.alloc_buffer "R" : !tir.buffer<512xf16, "shared">
// CHECK-NEXT:         %[[A:.*]] = tir.alloc_buffer "A" : !tir.buffer<2x1x4x2xf16, "local">
// CHECK-NEXT:         %[[V:.*]] = tir.alloc_buffer "V" : !tir.buffer<2x2x1x4x2xf16, "local">
// CHECK-NEXT:         %[[B:.*]] = tir.alloc_buffer "B" : !tir.buffer<1x2x1x8xf16, "local">
// CHECK-NEXT:         %[[C:.*]] = tir.alloc_buffer "C" : !tir.buffer<1x1x2x2xf32, "local">
// CHECK-NEXT:         tir.for %[[I_:.*]] = %[[C0]] to %[[C16]] {
// CHECK-NEXT:           %[[V0:.*]] = tir.mul %[[I_]], %[[C32]] : i32
// CHECK-NEXT:           %[[AT:.*]] = tir.add %[[V0]], %[[T]] : i32
// CHECK-NEXT:           %[[X:.*]] = tir.load %[[I]][%[[AT]]] : f16
// CHECK-NEXT:           tir.store %[[X]], %[[S]][%[[AT]]] : f16
// CHECK-NEXT:           %[[Y:.*]] = tir.load %[[J]][%[[AT]]] : f16
// CHECK-NEXT:           tir.store %[[Y]], %[[R]][%[[AT]]] : f16
// CHECK-NEXT:         }
// CHECK-NEXT:         tir.call "tvm_storage_sync"(%[[SHARED]]) : (!tir.handle) -> ()
// CHECK-NEXT:         %[[S_:.*]] = tir.data %[[S]] : !tir.ptr<f16, "shared">
// CHECK-NEXT:         %[[R_:.*]] = tir.data %[[R]] : !tir.ptr<f16, "shared">
// CHECK-NEXT:         %[[PA:.*]] = tir.data %[[A]] : !tir.ptr<f16, "local">
// CHECK-NEXT:         %[[PV:.*]] = tir.data %[[V]] : !tir.ptr<f16, "local">
// CHECK-NEXT:         %[[PB:.*]] = tir.data %[[B]] : !tir.ptr<f16, "local">
// CHECK-NEXT:         %[[PC:.*]] = tir.data %[[C]] : !tir.ptr<f32, "local">
// CHECK-NEXT:         %[[EIGHT:.*]] = tir.mul %[[T]], %[[C8]] : i32
// CHECK-NEXT:         tir.block "load" {
// CHECK-NEXT:           tir.reads %[[S]][%[[C0]] to 256]
// CHECK-NEXT:           %[[V1:.*]] = tir.const 0 : i32
// CHECK-NEXT:           %[[V2:.*]] = tir.const 0 : i32
// CHECK-NEXT:           %[[V3:.*]] = tir.const 0 : i32
// CHECK-NEXT:           %[[V4:.*]] = tir.const 0 : i32
// CHECK-NEXT:           %[[V5:.*]] = tir.const 0 : i32
// CHECK-NEXT:           %[[V6:.*]] = tir.const 0 : i32
// CHECK-NEXT:           %[[V7:.*]] = tir.const 0 : i32
// CHECK-NEXT:           %[[V8:.*]] = tir.const 0 : i32
// CHECK-NEXT:           tir.writes %[[A]][%[[V1]], %[[V2]], %[[V3]] to 4, %[[V4]] to 2], %[[B]][%[[V5]], %[[V6]], %[[V7]], %[[V8]] to 8]
// CHECK-NEXT:           %[[LA:.*]] = tir.call "ptx_ldmatrix"(%[[NO]], %[[C4]], %[[KIND]], %[[PA]], %[[C0]], %[[S_]], %[[EIGHT]]) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "shared">, i32) -> f16
// CHECK-NEXT:           tir.evaluate %[[LA]] : f16
// CHECK-NEXT:           %[[LB:.*]] = tir.call "ptx_ldmatrix"(%[[YES]], %[[C4]], %[[KIND]], %[[PB]], %[[C0]], %[[R_]], %[[EIGHT]]) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "shared">, i32) -> f16
// CHECK-NEXT:           tir.evaluate %[[LB]] : f16
// CHECK-NEXT:           %[[LV:.*]] = tir.call "ptx_ldmatrix"(%[[NO]], %[[C4]], %[[KIND]], %[[PV]], %[[C16]], %[[S_]], %[[EIGHT]]) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "shared">, i32) -> f16
// CHECK-NEXT:           tir.evaluate %[[LV]] : f16
// CHECK-NEXT:         }
// CHECK-NEXT:         %[[FILL:.*]] = tir.call "mma_fill"(%[[C4]], %[[PC]], %[[C0]]) : (i32, !tir.ptr<f32, "local">, i32) -> f32
// CHECK-NEXT:         tir.evaluate %[[FILL]] : f32
// CHECK-NEXT:         %[[PRODUCT:.*]] = tir.call "ptx_mma"(%[[SHAPE]], %[[ROW]], %[[COL]], %[[HALF]], %[[HALF]], %[[SINGLE]], %[[PA]], %[[C0]], %[[PB]], %[[C0]], %[[PC]], %[[C0]], %[[NO]]) : (!tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "local">, i32, !tir.ptr<f32, "local">, i32, i1) -> f32
// CHECK-NEXT:         tir.evaluate %[[PRODUCT]] : f32
// CHECK-NEXT:         %[[AGAIN:.*]] = tir.call "ptx_mma"(%[[SHAPE]], %[[ROW]], %[[COL]], %[[HALF]], %[[HALF]], %[[SINGLE]], %[[PV]], %[[C16]], %[[PB]], %[[C4]], %[[PC]], %[[C0]], %[[NO]]) : (!tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "local">, i32, !tir.ptr<f32, "local">, i32, i1) -> f32
// CHECK-NEXT:         tir.evaluate %[[AGAIN]] : f32
// CHECK-NEXT:         %[[PL:.*]] = tir.let "p" %[[PC]] : !tir.ptr<f32, "local">
// CHECK-NEXT:         %[[Q:.*]] = tir.access_ptr r %[[PL]][%[[C0]] to %[[C4]]] : !tir.ptr<f32, "local">
// CHECK-NEXT:         %[[L:.*]] = tir.decl_buffer "L" %[[Q]] : !tir.buffer<4xf32, "local">
// CHECK-NEXT:         tir.for %[[K:.*]] = %[[C0]] to %[[C4]] {
// CHECK-NEXT:           %[[X_1:.*]] = tir.load %[[L]][%[[K]]] : f32
// CHECK-NEXT:           tir.store %[[X_1]], %[[O]][%[[T]], %[[K]]] : f32
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }

// -----

// Versions of C, and addresses of its elements.
// CASE: TransformMmaBufferLayout.6
tir.func @versions(%i: i32, %j: i32, %n: i32) -> f32 {
  %c1 = tir.const 1 : i32
  %f = tir.string "f"
  %one = tir.const 1.0 : f32
  tir.block "root" {
    %C = tir.alloc_buffer "C" [%n] strides [256, 8, 1] : !tir.buffer<?x32x8xf32, "m16n8k8.matrixC">
    tir.writes %C[%c1, %i, %j]
    tir.store %one, %C[%c1, %i, %j] : f32
    %p = tir.address_of %C[%c1, %i, %j] : !tir.ptr<f32, "m16n8k8.matrixC">
    tir.call "call_extern"(%f, %p) : (!tir.handle, !tir.ptr<f32, "m16n8k8.matrixC">) -> ()
  }
  tir.ret %one : f32
}
// CHECK-LABEL: tir.func @versions
// CHECK-NEXT:     %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[F:.*]] = tir.string "f"
// CHECK-NEXT:     %[[ONE:.*]] = tir.const 1.000000e+00 : f32
// CHECK-NEXT:     tir.block "root" {
// CHECK-NEXT:       %[[C:.*]] = tir.alloc_buffer "C" [%{{.*}}] : !tir.buffer<?x2x1x2x2xf32, "local">
// CHECK-NEXT:       %[[V0:.*]] = tir.const 16 : i32
// CHECK-NEXT:       %[[V1:.*]] = tir.floordiv %{{.*}}, %[[V0]] : i32
// CHECK-NEXT:       %[[V2:.*]] = tir.const 8 : i32
// CHECK-NEXT:       %[[V3:.*]] = tir.floordiv %{{.*}}, %[[V2]] : i32
// CHECK-NEXT:       %[[V4:.*]] = tir.const 0 : i32
// CHECK-NEXT:       %[[V5:.*]] = tir.const 0 : i32
// CHECK-NEXT:       tir.writes %[[C]][%[[C1]], %[[V1]], %[[V3]], %[[V4]] to 2, %[[V5]] to 2]
// CHECK-NEXT:       %[[V6:.*]] = tir.const 16 : i32
// CHECK-NEXT:       %[[V7:.*]] = tir.floordiv %{{.*}}, %[[V6]] : i32
// CHECK-NEXT:       %[[V8:.*]] = tir.const 8 : i32
// CHECK-NEXT:       %[[V9:.*]] = tir.floordiv %{{.*}}, %[[V8]] : i32
// CHECK-NEXT:       %[[V10:.*]] = tir.floormod %{{.*}}, %[[V6]] : i32
// CHECK-NEXT:       %[[V11:.*]] = tir.floordiv %[[V10]], %[[V8]] : i32
// CHECK-NEXT:       %[[V12:.*]] = tir.const 2 : i32
// CHECK-NEXT:       %[[V13:.*]] = tir.floormod %{{.*}}, %[[V12]] : i32
// CHECK-NEXT:       tir.store %[[ONE]], %[[C]][%[[C1]], %[[V7]], %[[V9]], %[[V11]], %[[V13]]] : f32
// CHECK-NEXT:       %[[V14:.*]] = tir.const 16 : i32
// CHECK-NEXT:       %[[V15:.*]] = tir.floordiv %{{.*}}, %[[V14]] : i32
// CHECK-NEXT:       %[[V16:.*]] = tir.const 8 : i32
// CHECK-NEXT:       %[[V17:.*]] = tir.floordiv %{{.*}}, %[[V16]] : i32
// CHECK-NEXT:       %[[V18:.*]] = tir.floormod %{{.*}}, %[[V14]] : i32
// CHECK-NEXT:       %[[V19:.*]] = tir.floordiv %[[V18]], %[[V16]] : i32
// CHECK-NEXT:       %[[V20:.*]] = tir.const 2 : i32
// CHECK-NEXT:       %[[V21:.*]] = tir.floormod %{{.*}}, %[[V20]] : i32
// CHECK-NEXT:       %[[P:.*]] = tir.address_of %[[C]][%[[C1]], %[[V15]], %[[V17]], %[[V19]], %[[V21]]] : !tir.ptr<f32, "local">
// CHECK-NEXT:       tir.call "call_extern"(%[[F]], %[[P]]) : (!tir.handle, !tir.ptr<f32, "local">) -> ()
// CHECK-NEXT:     }
// CHECK-NEXT:     tir.ret %[[ONE]] : f32

// -----

// CASE: TransformMmaBufferLayout.5
tir.func @other_scopes() {
  %c0 = tir.const 0 : i32
  %one = tir.const 1.0 : f32
  tir.block "root" {
    %C = tir.alloc_buffer "C" : !tir.buffer<16x8xf32, "local">
    %W = tir.alloc_buffer "W" : !tir.buffer<16x16xf32, "wmma.accumulator">
    %p = tir.allocate [128] : !tir.ptr<f32, "m16n8k8.matrixC">
    tir.store %one, %C[%c0, %c0] : f32
  }
}
// CHECK-LABEL: tir.func @other_scopes
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[ONE:.*]] = tir.const 1.000000e+00 : f32
// CHECK-NEXT:     tir.block "root" {
// CHECK-NEXT:       %[[C:.*]] = tir.alloc_buffer "C" : !tir.buffer<16x8xf32, "local">
// CHECK-NEXT:       %[[W:.*]] = tir.alloc_buffer "W" : !tir.buffer<16x16xf32, "wmma.accumulator">
// CHECK-NEXT:       %[[P:.*]] = tir.allocate [128] : !tir.ptr<f32, "m16n8k8.matrixC">
// CHECK-NEXT:       tir.store %[[ONE]], %[[C]][%[[C0]], %[[C0]]] : f32
// CHECK-NEXT:     }
