// RUN: xdsl-opt %s -p tir-inject-software-pipeline,tir-simplify --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p tir-inject-software-pipeline,tir-lower-opaque-block --split-input-file | filecheck %s --check-prefix LOWERED
// RUN: xdsl-opt %s -p tir-inject-software-pipeline --split-input-file | filecheck %s --check-prefix PIPE

// What the cases compute is compared before and after the passes, too.

// CASE: InjectSoftwarePipeline.1
tir.func @two_stages(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "two_stages"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x16xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %two = tir.const 2.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c16 {
    tir.for "i" %i = %c0 to %c16 annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
      tir.block {
        %B = tir.alloc_buffer "B" : !tir.buffer<16xf32, "shared">
        tir.block "first" {
          tir.reads %A[%tx, %i]
          tir.writes %B[%tx]
          %x = tir.load %A[%tx, %i] : f32
          %y = tir.mul %x, %two : f32
          tir.store %y, %B[%tx] : f32
        }
        tir.block "second" {
          tir.reads %B[%tx]
          tir.writes %C[%tx, %i]
          %x = tir.load %B[%tx] : f32
          %y = tir.add %x, %two : f32
          tir.store %y, %C[%tx, %i] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @two_stages
// CHECK:        tir.block {
// CHECK-NEXT:     %[[V0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     tir.reads %{{.*}}[%{{.*}}, %[[V0]] to 16]
// CHECK-NEXT:     tir.writes %{{.*}}[%{{.*}}, %[[V0]] to 16]
// CHECK-NEXT:     %[[B:.*]] = tir.alloc_buffer "B" : !tir.buffer<2x16xf32, "shared">
// CHECK-NEXT:     tir.block "first" {
// CHECK-NEXT:       tir.reads %{{.*}}[%{{.*}}, %{{.*}}]
// CHECK-NEXT:       tir.writes %[[B]][%{{.*}}, %{{.*}}]
// CHECK-NEXT:       %[[X:.*]] = tir.load %{{.*}}[%{{.*}}, %{{.*}}] : f32
// CHECK-NEXT:       %[[Y:.*]] = tir.mul %[[X]], %{{.*}} : f32
// CHECK-NEXT:       tir.store %[[Y]], %[[B]][%{{.*}}, %{{.*}}] : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     tir.block {
// CHECK-NEXT:       %[[V1:.*]] = tir.const 1 : i32
// CHECK-NEXT:       %[[V2:.*]] = tir.const 0 : i32
// CHECK-NEXT:       tir.reads %{{.*}}[%{{.*}}, %[[V1]] to %[[V1]] + 15], %[[B]][%[[V2]] to 2, %{{.*}}]
// CHECK-NEXT:       tir.writes %[[B]][%[[V2]] to 2, %{{.*}}], %{{.*}}[%{{.*}}, %[[V2]] to 15]
// CHECK-NEXT:       %[[V3:.*]] = tir.const 15 : i32
// CHECK-NEXT:       tir.for "i" %[[I:.*]] = %{{.*}} to %[[V3]] {
// CHECK-NEXT:         tir.block "first" {
// CHECK-NEXT:           %[[V4:.*]] = tir.const 1 : i32
// CHECK-NEXT:           %[[V5:.*]] = tir.add %[[I]], %[[V4]] : i32
// CHECK-NEXT:           %[[V6:.*]] = tir.const 2 : i32
// CHECK-NEXT:           %[[V7:.*]] = tir.floormod %[[V5]], %[[V6]] : i32
// CHECK-NEXT:           tir.reads %{{.*}}[%{{.*}}, %[[V5]]]
// CHECK-NEXT:           tir.writes %[[B]][%[[V7]], %{{.*}}]
// CHECK-NEXT:           %[[X_1:.*]] = tir.load %{{.*}}[%{{.*}}, %[[V5]]] : f32
// CHECK-NEXT:           %[[Y_1:.*]] = tir.mul %[[X_1]], %{{.*}} : f32
// CHECK-NEXT:           tir.store %[[Y_1]], %[[B]][%[[V7]], %{{.*}}] : f32
// CHECK-NEXT:         }
// CHECK-NEXT:         tir.block "second" {
// CHECK-NEXT:           %[[V8:.*]] = tir.const 2 : i32
// CHECK-NEXT:           %[[V9:.*]] = tir.floormod %[[I]], %[[V8]] : i32
// CHECK-NEXT:           tir.reads %[[B]][%[[V9]], %{{.*}}]
// CHECK-NEXT:           tir.writes %{{.*}}[%{{.*}}, %[[I]]]
// CHECK-NEXT:           %[[X_2:.*]] = tir.load %[[B]][%[[V9]], %{{.*}}] : f32
// CHECK-NEXT:           %[[Y_2:.*]] = tir.add %[[X_2]], %{{.*}} : f32
// CHECK-NEXT:           tir.store %[[Y_2]], %{{.*}}[%{{.*}}, %[[I]]] : f32
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     tir.block "second" {
// CHECK-NEXT:       %[[V10:.*]] = tir.const 15 : i32
// CHECK-NEXT:       %[[V11:.*]] = tir.const 1 : i32
// CHECK-NEXT:       tir.reads %[[B]][%[[V11]], %{{.*}}]
// CHECK-NEXT:       tir.writes %{{.*}}[%{{.*}}, %[[V10]]]
// CHECK-NEXT:       %[[X_3:.*]] = tir.load %[[B]][%[[V11]], %{{.*}}] : f32
// CHECK-NEXT:       %[[Y_3:.*]] = tir.add %[[X_3]], %{{.*}} : f32
// CHECK-NEXT:       tir.store %[[Y_3]], %{{.*}}[%{{.*}}, %[[V10]]] : f32
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
// LOWERED-LABEL: tir.func @two_stages
// LOWERED-NOT: tir.block

// -----

// CASE: InjectSoftwarePipeline.2
tir.func @one_iteration(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "one_iteration"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x1xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<16x1xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %n = tir.const 1 : i32
  %two = tir.const 2.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c16 {
    tir.for "i" %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
      tir.block {
        %B = tir.alloc_buffer "B" : !tir.buffer<16xf32, "shared">
        tir.block "first" {
          tir.reads %A[%tx, %i]
          tir.writes %B[%tx]
          %x = tir.load %A[%tx, %i] : f32
          %y = tir.mul %x, %two : f32
          tir.store %y, %B[%tx] : f32
        }
        tir.block "second" {
          tir.reads %B[%tx]
          tir.writes %C[%tx, %i]
          %x = tir.load %B[%tx] : f32
          %y = tir.add %x, %two : f32
          tir.store %y, %C[%tx, %i] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @one_iteration
// CHECK:        tir.block {
// CHECK-NEXT:     %[[V0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     tir.reads %{{.*}}[%{{.*}}, %[[V0]]]
// CHECK-NEXT:     tir.writes %{{.*}}[%{{.*}}, %[[V0]]]
// CHECK-NEXT:     %[[B:.*]] = tir.alloc_buffer "B" : !tir.buffer<2x16xf32, "shared">
// CHECK-NEXT:     tir.block "first" {
// CHECK-NEXT:       tir.reads %{{.*}}[%{{.*}}, %{{.*}}]
// CHECK-NEXT:       tir.writes %[[B]][%{{.*}}, %{{.*}}]
// CHECK-NEXT:       %[[X:.*]] = tir.load %{{.*}}[%{{.*}}, %{{.*}}] : f32
// CHECK-NEXT:       %[[Y:.*]] = tir.mul %[[X]], %{{.*}} : f32
// CHECK-NEXT:       tir.store %[[Y]], %[[B]][%{{.*}}, %{{.*}}] : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     tir.block {
// CHECK-NEXT:       tir.reads
// CHECK-NEXT:       tir.writes
// CHECK-NEXT:       tir.evaluate
// CHECK-NEXT:     }
// CHECK-NEXT:     tir.block "second" {
// CHECK-NEXT:       tir.reads %[[B]][%{{.*}}, %{{.*}}]
// CHECK-NEXT:       tir.writes %{{.*}}[%{{.*}}, %{{.*}}]
// CHECK-NEXT:       %[[X_1:.*]] = tir.load %[[B]][%{{.*}}, %{{.*}}] : f32
// CHECK-NEXT:       %[[Y_1:.*]] = tir.add %[[X_1]], %{{.*}} : f32
// CHECK-NEXT:       tir.store %[[Y_1]], %{{.*}}[%{{.*}}, %{{.*}}] : f32
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
// LOWERED-LABEL: tir.func @one_iteration
// LOWERED-NOT: tir.block

// -----

// CASE: InjectSoftwarePipeline.3
tir.func @symbolic(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "symbolic"} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<16x?xf32>
  %C = tir.match_buffer "C" %c [%n] : !tir.buffer<16x?xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %two = tir.const 2.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c16 {
    tir.for "i" %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
      tir.block {
        %B = tir.alloc_buffer "B" : !tir.buffer<16xf32, "shared">
        tir.block "first" {
          tir.reads %A[%tx, %i]
          tir.writes %B[%tx]
          %x = tir.load %A[%tx, %i] : f32
          %y = tir.mul %x, %two : f32
          tir.store %y, %B[%tx] : f32
        }
        tir.block "second" {
          tir.reads %B[%tx]
          tir.writes %C[%tx, %i]
          %x = tir.load %B[%tx] : f32
          %y = tir.add %x, %two : f32
          tir.store %y, %C[%tx, %i] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @symbolic
// CHECK:        tir.block {
// CHECK:          %{{.*}} = tir.alloc_buffer "B" : !tir.buffer<2x16xf32, "shared">
// CHECK:          tir.block {
// CHECK:            %[[V6:.*]] = tir.cmp lt %{{.*}}, %{{.*}} : i32
// CHECK:            tir.block "first" where %[[V6]] {
// CHECK:          tir.block {
// CHECK:            tir.for "i" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:              tir.block "first" {
// CHECK:              tir.block "second" {
// CHECK:          tir.block {
// CHECK:            %[[V29:.*]] = tir.cmp le %{{.*}}, %{{.*}} : i32
// CHECK:            tir.block "second" where %[[V29]] {
// The extents that the block declares: max(1, n) of A, max(n, 1) of C.
// PIPE-LABEL: tir.func @symbolic
// PIPE:         %[[N:.*]] = tir.shape_var
// PIPE:         tir.block {
// PIPE:           %[[ONE:.*]] = tir.const 1 : i32
// PIPE-NEXT:      %[[A:.*]] = tir.max %[[ONE]], %[[N]] : i32
// PIPE:           %[[LOW:.*]] = tir.min
// PIPE-NEXT:      %[[C:.*]] = tir.max %[[N]], %[[ONE]] : i32
// PIPE-NEXT:      tir.reads %{{.*}}[%{{.*}}, %{{.*}} to %[[A]]]
// PIPE-NEXT:      tir.writes %{{.*}}[%{{.*}}, %[[LOW]] to %[[LOW]] + %[[C]]]
// PIPE:           %[[B:.*]] = tir.alloc_buffer "B" : !tir.buffer<2x16xf32, "shared">
// PIPE:             tir.block "first" where
// PIPE:           tir.reads %{{.*}}, %[[B]][%[[ZERO:.*]] to 2, %{{.*}}]
// PIPE-NEXT:      tir.writes %[[B]][%[[ZERO]] to 2, %{{.*}}], %{{.*}}
// LOWERED-LABEL: tir.func @symbolic
// LOWERED-NOT: tir.block

// -----

// CASE: InjectSoftwarePipeline.4
tir.func @other_annotations(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "other_annotations"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x16xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %two = tir.const 2.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c16 {
    tir.for "i" %i = %c0 to %c16 annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32], pragma_loop_partition_hint = true} {
      tir.block {
        %B = tir.alloc_buffer "B" : !tir.buffer<16xf32, "shared">
        tir.block "first" {
          tir.reads %A[%tx, %i]
          tir.writes %B[%tx]
          %x = tir.load %A[%tx, %i] : f32
          %y = tir.mul %x, %two : f32
          tir.store %y, %B[%tx] : f32
        }
        tir.block "second" {
          tir.reads %B[%tx]
          tir.writes %C[%tx, %i]
          %x = tir.load %B[%tx] : f32
          %y = tir.add %x, %two : f32
          tir.store %y, %C[%tx, %i] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @other_annotations
// CHECK:        tir.block {
// CHECK:          %{{.*}} = tir.alloc_buffer "B" : !tir.buffer<2x16xf32, "shared">
// CHECK:          tir.block "first" {
// CHECK:          tir.block {
// CHECK:            tir.for "i" %{{.*}} = %{{.*}} to %{{.*}} annotations {pragma_loop_partition_hint = true} {
// CHECK:              tir.block "first" {
// CHECK:              tir.block "second" {
// CHECK:          tir.block "second" {
// LOWERED-LABEL: tir.func @other_annotations
// LOWERED-NOT: tir.block

// -----

// CASE: InjectSoftwarePipeline.5
tir.func @three_stages(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "three_stages"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x16xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %two = tir.const 2.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c16 {
    tir.for "i" %i = %c0 to %c16 annotations {software_pipeline_stage = [0 : i32, 1 : i32, 2 : i32], software_pipeline_order = [0 : i32, 1 : i32, 2 : i32]} {
      tir.block {
        %B = tir.alloc_buffer "B" : !tir.buffer<16xf32, "shared">
        %D = tir.alloc_buffer "D" : !tir.buffer<16xf32, "shared">
        tir.block "first" {
          tir.reads %A[%tx, %i]
          tir.writes %B[%tx]
          %x = tir.load %A[%tx, %i] : f32
          %y = tir.mul %x, %two : f32
          tir.store %y, %B[%tx] : f32
        }
        tir.block "second" {
          tir.reads %B[%tx]
          tir.writes %D[%tx]
          %x = tir.load %B[%tx] : f32
          %y = tir.add %x, %two : f32
          tir.store %y, %D[%tx] : f32
        }
        tir.block "third" {
          tir.reads %D[%tx]
          tir.writes %C[%tx, %i]
          %x = tir.load %D[%tx] : f32
          %y = tir.mul %x, %two : f32
          tir.store %y, %C[%tx, %i] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @three_stages
// CHECK:        tir.block {
// CHECK-NEXT:     %[[V0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     tir.reads %{{.*}}[%{{.*}}, %[[V0]] to 16]
// CHECK-NEXT:     tir.writes %{{.*}}[%{{.*}}, %[[V0]] to 16]
// CHECK-NEXT:     %[[B:.*]] = tir.alloc_buffer "B" : !tir.buffer<2x16xf32, "shared">
// CHECK-NEXT:     %[[D:.*]] = tir.alloc_buffer "D" : !tir.buffer<2x16xf32, "shared">
// CHECK-NEXT:     tir.block {
// CHECK-NEXT:       %[[V1:.*]] = tir.const 0 : i32
// CHECK-NEXT:       tir.reads %{{.*}}[%{{.*}}, %[[V1]] to 2], %[[B]][%[[V1]] to 2, %{{.*}}]
// CHECK-NEXT:       tir.writes %[[B]][%[[V1]] to 2, %{{.*}}], %[[D]][%[[V1]] to 2, %{{.*}}]
// CHECK-NEXT:       %[[V2:.*]] = tir.const 2 : i32
// CHECK-NEXT:       tir.for "i" %[[I:.*]] = %{{.*}} to %[[V2]] unrolled {
// CHECK-NEXT:         tir.block "first" {
// CHECK-NEXT:           tir.reads %{{.*}}[%{{.*}}, %[[I]]]
// CHECK-NEXT:           %[[V3:.*]] = tir.const 0 : i32
// CHECK-NEXT:           tir.writes %[[B]][%[[V3]] to 2, %{{.*}}]
// CHECK-NEXT:           %[[X:.*]] = tir.load %{{.*}}[%{{.*}}, %[[I]]] : f32
// CHECK-NEXT:           %[[Y:.*]] = tir.mul %[[X]], %{{.*}} : f32
// CHECK-NEXT:           tir.store %[[Y]], %[[B]][%[[I]], %{{.*}}] : f32
// CHECK-NEXT:         }
// CHECK-NEXT:         %[[V4:.*]] = tir.const 1 : i32
// CHECK-NEXT:         %[[V5:.*]] = tir.cmp eq %[[I]], %[[V4]] : i32
// CHECK-NEXT:         tir.block "second" where %[[V5]] {
// CHECK-NEXT:           %[[V8:.*]] = tir.const 0 : i32
// CHECK-NEXT:           tir.reads %[[B]][%[[V8]] to 2, %{{.*}}]
// CHECK-NEXT:           %[[V9:.*]] = tir.const 0 : i32
// CHECK-NEXT:           tir.writes %[[D]][%[[V9]] to 2, %{{.*}}]
// CHECK-NEXT:           %[[V7:.*]] = tir.sub %[[I]], %[[V4]] : i32
// CHECK-NEXT:           %[[X_1:.*]] = tir.load %[[B]][%[[V7]], %{{.*}}] : f32
// CHECK-NEXT:           %[[Y_1:.*]] = tir.add %[[X_1]], %{{.*}} : f32
// CHECK-NEXT:           tir.store %[[Y_1]], %[[D]][%[[V7]], %{{.*}}] : f32
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     tir.block {
// CHECK-NEXT:       %[[V10:.*]] = tir.const 2 : i32
// CHECK-NEXT:       %[[V11:.*]] = tir.const 0 : i32
// CHECK-NEXT:       tir.reads %{{.*}}[%{{.*}}, %[[V10]] to %[[V10]] + 14], %[[B]][%[[V11]] to 2, %{{.*}}], %[[D]][%[[V11]] to 2, %{{.*}}]
// CHECK-NEXT:       tir.writes %[[B]][%[[V11]] to 2, %{{.*}}], %[[D]][%[[V11]] to 2, %{{.*}}], %{{.*}}[%{{.*}}, %[[V11]] to 14]
// CHECK-NEXT:       %[[V12:.*]] = tir.const 14 : i32
// CHECK-NEXT:       tir.for "i" %[[I_1:.*]] = %{{.*}} to %[[V12]] {
// CHECK-NEXT:         tir.block "first" {
// CHECK-NEXT:           %[[V13:.*]] = tir.const 2 : i32
// CHECK-NEXT:           %[[V14:.*]] = tir.add %[[I_1]], %[[V13]] : i32
// CHECK-NEXT:           %[[V15:.*]] = tir.floormod %[[I_1]], %[[V13]] : i32
// CHECK-NEXT:           tir.reads %{{.*}}[%{{.*}}, %[[V14]]]
// CHECK-NEXT:           %[[V16:.*]] = tir.const 0 : i32
// CHECK-NEXT:           tir.writes %[[B]][%[[V16]] to 2, %{{.*}}]
// CHECK-NEXT:           %[[X_2:.*]] = tir.load %{{.*}}[%{{.*}}, %[[V14]]] : f32
// CHECK-NEXT:           %[[Y_2:.*]] = tir.mul %[[X_2]], %{{.*}} : f32
// CHECK-NEXT:           tir.store %[[Y_2]], %[[B]][%[[V15]], %{{.*}}] : f32
// CHECK-NEXT:         }
// CHECK-NEXT:         tir.block "second" {
// CHECK-NEXT:           %[[V17:.*]] = tir.const 1 : i32
// CHECK-NEXT:           %[[V18:.*]] = tir.add %[[I_1]], %[[V17]] : i32
// CHECK-NEXT:           %[[V19:.*]] = tir.const 2 : i32
// CHECK-NEXT:           %[[V20:.*]] = tir.floormod %[[V18]], %[[V19]] : i32
// CHECK-NEXT:           %[[V21:.*]] = tir.const 0 : i32
// CHECK-NEXT:           tir.reads %[[B]][%[[V21]] to 2, %{{.*}}]
// CHECK-NEXT:           %[[V22:.*]] = tir.const 0 : i32
// CHECK-NEXT:           tir.writes %[[D]][%[[V22]] to 2, %{{.*}}]
// CHECK-NEXT:           %[[X_3:.*]] = tir.load %[[B]][%[[V20]], %{{.*}}] : f32
// CHECK-NEXT:           %[[Y_3:.*]] = tir.add %[[X_3]], %{{.*}} : f32
// CHECK-NEXT:           tir.store %[[Y_3]], %[[D]][%[[V20]], %{{.*}}] : f32
// CHECK-NEXT:         }
// CHECK-NEXT:         tir.block "third" {
// CHECK-NEXT:           %[[V23:.*]] = tir.const 2 : i32
// CHECK-NEXT:           %[[V24:.*]] = tir.floormod %[[I_1]], %[[V23]] : i32
// CHECK-NEXT:           %[[V25:.*]] = tir.const 0 : i32
// CHECK-NEXT:           tir.reads %[[D]][%[[V25]] to 2, %{{.*}}]
// CHECK-NEXT:           tir.writes %{{.*}}[%{{.*}}, %[[I_1]]]
// CHECK-NEXT:           %[[X_4:.*]] = tir.load %[[D]][%[[V24]], %{{.*}}] : f32
// CHECK-NEXT:           %[[Y_4:.*]] = tir.mul %[[X_4]], %{{.*}} : f32
// CHECK-NEXT:           tir.store %[[Y_4]], %{{.*}}[%{{.*}}, %[[I_1]]] : f32
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     tir.block {
// CHECK-NEXT:       %[[V26:.*]] = tir.const 0 : i32
// CHECK-NEXT:       %[[V27:.*]] = tir.const 14 : i32
// CHECK-NEXT:       tir.reads %[[B]][%[[V26]] to 2, %{{.*}}], %[[D]][%[[V26]] to 2, %{{.*}}]
// CHECK-NEXT:       tir.writes %[[D]][%[[V26]] to 2, %{{.*}}], %{{.*}}[%{{.*}}, %[[V27]] to %[[V27]] + 2]
// CHECK-NEXT:       %[[V28:.*]] = tir.const 2 : i32
// CHECK-NEXT:       tir.for "i" %[[I_2:.*]] = %{{.*}} to %[[V28]] unrolled {
// CHECK-NEXT:         %[[V29:.*]] = tir.const 1 : i32
// CHECK-NEXT:         %[[V30:.*]] = tir.cmp lt %[[I_2]], %[[V29]] : i32
// CHECK-NEXT:         tir.block "second" where %[[V30]] {
// CHECK-NEXT:           %[[V31:.*]] = tir.const 1 : i32
// CHECK-NEXT:           %[[V32:.*]] = tir.add %[[I_2]], %[[V31]] : i32
// CHECK-NEXT:           %[[V33:.*]] = tir.const 0 : i32
// CHECK-NEXT:           tir.reads %[[B]][%[[V33]] to 2, %{{.*}}]
// CHECK-NEXT:           %[[V34:.*]] = tir.const 0 : i32
// CHECK-NEXT:           tir.writes %[[D]][%[[V34]] to 2, %{{.*}}]
// CHECK-NEXT:           %[[X_5:.*]] = tir.load %[[B]][%[[V32]], %{{.*}}] : f32
// CHECK-NEXT:           %[[Y_5:.*]] = tir.add %[[X_5]], %{{.*}} : f32
// CHECK-NEXT:           tir.store %[[Y_5]], %[[D]][%[[V32]], %{{.*}}] : f32
// CHECK-NEXT:         }
// CHECK-NEXT:         tir.block "third" {
// CHECK-NEXT:           %[[V35:.*]] = tir.const 14 : i32
// CHECK-NEXT:           %[[V36:.*]] = tir.add %[[I_2]], %[[V35]] : i32
// CHECK-NEXT:           %[[V37:.*]] = tir.const 0 : i32
// CHECK-NEXT:           tir.reads %[[D]][%[[V37]] to 2, %{{.*}}]
// CHECK-NEXT:           tir.writes %{{.*}}[%{{.*}}, %[[V36]]]
// CHECK-NEXT:           %[[X_6:.*]] = tir.load %[[D]][%[[I_2]], %{{.*}}] : f32
// CHECK-NEXT:           %[[Y_6:.*]] = tir.mul %[[X_6]], %{{.*}} : f32
// CHECK-NEXT:           tir.store %[[Y_6]], %{{.*}}[%{{.*}}, %[[V36]]] : f32
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
// A predicate is not used for the indices of what it is of.
// PIPE-LABEL: tir.func @three_stages
// PIPE:         tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} unrolled {
// PIPE:           tir.block "first" {
// PIPE:             tir.store %{{.*}}, %{{.*}}[%[[I]], %{{.*}}] : f32
// PIPE:           tir.block "second" where %{{.*}} {
// PIPE:             %[[NEXT:.*]] = tir.add %[[I]], %{{.*}} : i32
// PIPE:             %[[V:.*]] = tir.floormod %[[NEXT]], %{{.*}} : i32
// PIPE:             tir.load %{{.*}}[%[[V]], %{{.*}}] : f32
// PIPE:             tir.store %{{.*}}, %{{.*}}[%[[V]], %{{.*}}] : f32
// PIPE:         tir.for "i" %{{.*}} = %{{.*}} to %{{.*}} {
// PIPE:         tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} unrolled {
// PIPE:           tir.block "second" where %{{.*}} {
// PIPE:             %[[NEXT:.*]] = tir.add %[[I]], %{{.*}} : i32
// PIPE:             %[[V:.*]] = tir.floormod %[[NEXT]], %{{.*}} : i32
// PIPE:             tir.load %{{.*}}[%[[V]], %{{.*}}] : f32
// PIPE:             tir.store %{{.*}}, %{{.*}}[%[[V]], %{{.*}}] : f32
// PIPE:           tir.block "third" {
// PIPE:             tir.load %{{.*}}[%[[I]], %{{.*}}] : f32
// LOWERED-LABEL: tir.func @three_stages
// LOWERED-NOT: tir.block

// -----

// CASE: InjectSoftwarePipeline.6
tir.func @orders(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "orders"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x16xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %two = tir.const 2.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c16 {
    tir.for "i" %i = %c0 to %c16 annotations {software_pipeline_stage = [0 : i32, 0 : i32, 0 : i32, 0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 2 : i32, 1 : i32, 3 : i32, 4 : i32]} {
      tir.block {
        %AS = tir.alloc_buffer "AS" : !tir.buffer<16xf32, "shared">
        %BS = tir.alloc_buffer "BS" : !tir.buffer<16xf32, "shared">
        %AL = tir.alloc_buffer "AL" : !tir.buffer<16xf32, "shared">
        %BL = tir.alloc_buffer "BL" : !tir.buffer<16xf32, "shared">
        tir.block "load_a" {
          tir.reads %A[%tx, %i]
          tir.writes %AS[%tx]
          %x = tir.load %A[%tx, %i] : f32
          tir.store %x, %AS[%tx] : f32
        }
        tir.block "load_b" {
          tir.reads %A[%i, %tx]
          tir.writes %BS[%tx]
          %x = tir.load %A[%i, %tx] : f32
          tir.store %x, %BS[%tx] : f32
        }
        tir.block "local_a" {
          tir.reads %AS[%tx]
          tir.writes %AL[%tx]
          %x = tir.load %AS[%tx] : f32
          %y = tir.mul %x, %two : f32
          tir.store %y, %AL[%tx] : f32
        }
        tir.block "local_b" {
          tir.reads %BS[%tx]
          tir.writes %BL[%tx]
          %x = tir.load %BS[%tx] : f32
          %y = tir.mul %x, %two : f32
          tir.store %y, %BL[%tx] : f32
        }
        tir.block "compute" {
          tir.reads %AL[%tx], %BL[%tx]
          tir.writes %C[%tx, %i]
          %x = tir.load %AL[%tx] : f32
          %y = tir.load %BL[%tx] : f32
          %z = tir.add %x, %y : f32
          tir.store %z, %C[%tx, %i] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @orders
// CHECK:        tir.block {
// CHECK:          %{{.*}} = tir.alloc_buffer "AS" : !tir.buffer<16xf32, "shared">
// CHECK:          %{{.*}} = tir.alloc_buffer "BS" : !tir.buffer<16xf32, "shared">
// CHECK:          %{{.*}} = tir.alloc_buffer "AL" : !tir.buffer<2x16xf32, "shared">
// CHECK:          %{{.*}} = tir.alloc_buffer "BL" : !tir.buffer<2x16xf32, "shared">
// CHECK:          tir.block {
// CHECK:            tir.block "load_a" {
// CHECK:            tir.block "local_a" {
// CHECK:            tir.block "load_b" {
// CHECK:            tir.block "local_b" {
// CHECK:          tir.block {
// CHECK:            tir.for "i" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:              tir.block "load_a" {
// CHECK:              tir.block "local_a" {
// CHECK:              tir.block "load_b" {
// CHECK:              tir.block "local_b" {
// CHECK:              tir.block "compute" {
// CHECK:          tir.block "compute" {
// LOWERED-LABEL: tir.func @orders
// LOWERED-NOT: tir.block

// -----

// CASE: InjectSoftwarePipeline.7
tir.func @nested(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "nested"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x16x4xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<16x16x4xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %c4 = tir.const 4 : i32
  %two = tir.const 2.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c16 {
    tir.for "i" %i = %c0 to %c16 annotations {software_pipeline_stage = [0 : i32, 1 : i32, 1 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32, 2 : i32, 3 : i32]} {
      tir.block {
        %S = tir.alloc_buffer "S" : !tir.buffer<16x4xf32, "shared">
        tir.block "shared" {
          tir.reads %A[%tx, %i, %c0 to 4]
          tir.writes %S[%tx, %c0 to 4]
          tir.for %j = %c0 to %c4 {
            %x = tir.load %A[%tx, %i, %j] : f32
            tir.store %x, %S[%tx, %j] : f32
          }
        }
        tir.for "j" %j = %c0 to %c4 annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
          tir.block {
            %B = tir.alloc_buffer "B" : !tir.buffer<16xf32, "local">
            tir.block "scale" {
              tir.reads %S[%tx, %j]
              tir.writes %B[%tx]
              %x = tir.load %S[%tx, %j] : f32
              %y = tir.mul %x, %two : f32
              tir.store %y, %B[%tx] : f32
            }
            tir.block "store" {
              tir.reads %B[%tx]
              tir.writes %C[%tx, %i, %j]
              %x = tir.load %B[%tx] : f32
              %y = tir.add %x, %two : f32
              tir.store %y, %C[%tx, %i, %j] : f32
            }
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @nested
// CHECK:        tir.block {
// CHECK:          %{{.*}} = tir.alloc_buffer "S" : !tir.buffer<2x16x4xf32, "shared">
// CHECK:          %{{.*}} = tir.alloc_buffer "B" : !tir.buffer<2x16xf32, "local">
// CHECK:          tir.block "shared" {
// CHECK:            tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:          tir.block {
// CHECK:            tir.for "i" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:              tir.block "shared" {
// CHECK:                tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:              tir.block "scale" {
// CHECK:              tir.block {
// CHECK:                tir.for "j" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:                  tir.block "scale" {
// CHECK:                  tir.block "store" {
// CHECK:              tir.block "store" {
// CHECK:          tir.block {
// CHECK:            tir.block "scale" {
// CHECK:            tir.block {
// CHECK:              tir.for "j" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:                tir.block "scale" {
// CHECK:                tir.block "store" {
// CHECK:            tir.block "store" {
// LOWERED-LABEL: tir.func @nested
// LOWERED-NOT: tir.block

// -----

// CASE: InjectSoftwarePipeline.8
tir.func @prefetch_inner(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "prefetch_inner"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x16x4xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<16x16x4xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %c4 = tir.const 4 : i32
  %two = tir.const 2.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c16 {
    tir.for "i" %i = %c0 to %c16 annotations {software_pipeline_stage = [0 : i32, 0 : i32, 1 : i32, 1 : i32], software_pipeline_order = [0 : i32, 2 : i32, 1 : i32, 3 : i32]} {
      tir.block {
        %S = tir.alloc_buffer "S" : !tir.buffer<16x4xf32, "shared">
        tir.block "shared" {
          tir.reads %A[%tx, %i, %c0 to 4]
          tir.writes %S[%tx, %c0 to 4]
          tir.for %j = %c0 to %c4 {
            %x = tir.load %A[%tx, %i, %j] : f32
            tir.store %x, %S[%tx, %j] : f32
          }
        }
        tir.for "j" %j = %c0 to %c4 annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
          tir.block {
            %B = tir.alloc_buffer "B" : !tir.buffer<16xf32, "local">
            tir.block "scale" {
              tir.reads %S[%tx, %j]
              tir.writes %B[%tx]
              %x = tir.load %S[%tx, %j] : f32
              %y = tir.mul %x, %two : f32
              tir.store %y, %B[%tx] : f32
            }
            tir.block "store" {
              tir.reads %B[%tx]
              tir.writes %C[%tx, %i, %j]
              %x = tir.load %B[%tx] : f32
              %y = tir.add %x, %two : f32
              tir.store %y, %C[%tx, %i, %j] : f32
            }
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @prefetch_inner
// CHECK:        tir.block {
// CHECK:          %{{.*}} = tir.alloc_buffer "S" : !tir.buffer<2x16x4xf32, "shared">
// CHECK:          %{{.*}} = tir.alloc_buffer "B" : !tir.buffer<2x16xf32, "local">
// CHECK:          tir.block {
// CHECK:            tir.block "shared" {
// CHECK:              tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:            tir.block "scale" {
// CHECK:          tir.block {
// CHECK:            tir.for "i" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:              tir.block "shared" {
// CHECK:                tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:              tir.block {
// CHECK:                tir.for "j" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:                  tir.block "scale" {
// CHECK:                  tir.block "store" {
// CHECK:              tir.block "scale" {
// CHECK:              tir.block "store" {
// CHECK:          tir.block {
// CHECK:            tir.block {
// CHECK:              tir.for "j" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:                tir.block "scale" {
// CHECK:                tir.block "store" {
// CHECK:            tir.block "store" {
// LOWERED-LABEL: tir.func @prefetch_inner
// LOWERED-NOT: tir.block

// -----

// CASE: InjectSoftwarePipeline.9
tir.func @interleaved(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "interleaved"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x16x4xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<16x16x4xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %c4 = tir.const 4 : i32
  %two = tir.const 2.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c16 {
    tir.for "i" %i = %c0 to %c16 annotations {software_pipeline_stage = [0 : i32, 0 : i32, 0 : i32, 1 : i32, 1 : i32], software_pipeline_order = [0 : i32, 2 : i32, 3 : i32, 1 : i32, 4 : i32]} {
      tir.block {
        %S = tir.alloc_buffer "S" : !tir.buffer<16x4xf32, "shared">
        %AL = tir.alloc_buffer "AL" : !tir.buffer<16x4xf32, "local">
        tir.block "shared" {
          tir.reads %A[%tx, %i, %c0 to 4]
          tir.writes %S[%tx, %c0 to 4]
          tir.for %j = %c0 to %c4 {
            %x = tir.load %A[%tx, %i, %j] : f32
            tir.store %x, %S[%tx, %j] : f32
          }
        }
        tir.block "local" {
          tir.reads %S[%tx, %c0 to 4]
          tir.writes %AL[%tx, %c0 to 4]
          tir.for %j = %c0 to %c4 {
            %x = tir.load %S[%tx, %j] : f32
            tir.store %x, %AL[%tx, %j] : f32
          }
        }
        tir.for "j" %j = %c0 to %c4 annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
          tir.block {
            %B = tir.alloc_buffer "B" : !tir.buffer<16xf32, "local">
            tir.block "scale" {
              tir.reads %AL[%tx, %j]
              tir.writes %B[%tx]
              %x = tir.load %AL[%tx, %j] : f32
              %y = tir.mul %x, %two : f32
              tir.store %y, %B[%tx] : f32
            }
            tir.block "store" {
              tir.reads %B[%tx]
              tir.writes %C[%tx, %i, %j]
              %x = tir.load %B[%tx] : f32
              %y = tir.add %x, %two : f32
              tir.store %y, %C[%tx, %i, %j] : f32
            }
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @interleaved
// CHECK:        tir.block {
// CHECK:          %{{.*}} = tir.alloc_buffer "S" : !tir.buffer<16x4xf32, "shared">
// CHECK:          %{{.*}} = tir.alloc_buffer "AL" : !tir.buffer<16x4xf32, "local">
// CHECK:          %{{.*}} = tir.alloc_buffer "B" : !tir.buffer<2x16xf32, "local">
// CHECK:          tir.block {
// CHECK:            tir.block "shared" {
// CHECK:              tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:            tir.block "local" {
// CHECK:              tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:            tir.block "scale" {
// CHECK:          tir.block {
// CHECK:            tir.for "i" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:              tir.block "shared" {
// CHECK:                tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:              tir.block {
// CHECK:                tir.for "j" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:                  tir.block "scale" {
// CHECK:                  tir.block "store" {
// CHECK:              tir.block "local" {
// CHECK:                tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:              tir.block "scale" {
// CHECK:              tir.block "store" {
// CHECK:          tir.block {
// CHECK:            tir.block {
// CHECK:              tir.for "j" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:                tir.block "scale" {
// CHECK:                tir.block "store" {
// CHECK:            tir.block "store" {
// LOWERED-LABEL: tir.func @interleaved
// LOWERED-NOT: tir.block

// -----

// CASE: InjectSoftwarePipeline.10
tir.func @doubled(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "doubled"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x16x4xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<16x16x4xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %c4 = tir.const 4 : i32
  %two = tir.const 2.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c16 {
    tir.for "i" %i = %c0 to %c16 annotations {software_pipeline_stage = [0 : i32, 0 : i32, 0 : i32, 1 : i32, 1 : i32], software_pipeline_order = [0 : i32, 2 : i32, 3 : i32, 1 : i32, 4 : i32]} {
      tir.block {
        %S = tir.alloc_buffer "S" : !tir.buffer<16x4xf32, "shared">
        %AL = tir.alloc_buffer "AL" : !tir.buffer<16x4xf32, "local">
        tir.block "shared" {
          tir.reads %A[%tx, %i, %c0 to 4]
          tir.writes %S[%tx, %c0 to 4]
          tir.for %j = %c0 to %c4 {
            %x = tir.load %A[%tx, %i, %j] : f32
            tir.store %x, %S[%tx, %j] : f32
          }
        }
        tir.block "local" annotations {double_buffer_scope = 0 : i32} {
          tir.reads %S[%tx, %c0 to 4]
          tir.writes %AL[%tx, %c0 to 4]
          tir.for %j = %c0 to %c4 {
            %x = tir.load %S[%tx, %j] : f32
            tir.store %x, %AL[%tx, %j] : f32
          }
        }
        tir.for "j" %j = %c0 to %c4 annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
          tir.block {
            %B = tir.alloc_buffer "B" : !tir.buffer<16xf32, "local">
            tir.block "scale" {
              tir.reads %AL[%tx, %j]
              tir.writes %B[%tx]
              %x = tir.load %AL[%tx, %j] : f32
              %y = tir.mul %x, %two : f32
              tir.store %y, %B[%tx] : f32
            }
            tir.block "store" {
              tir.reads %B[%tx]
              tir.writes %C[%tx, %i, %j]
              %x = tir.load %B[%tx] : f32
              %y = tir.add %x, %two : f32
              tir.store %y, %C[%tx, %i, %j] : f32
            }
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @doubled
// CHECK:        tir.block {
// CHECK:          %{{.*}} = tir.alloc_buffer "S" : !tir.buffer<16x4xf32, "shared">
// CHECK:          %{{.*}} = tir.alloc_buffer "AL" : !tir.buffer<2x16x4xf32, "local">
// CHECK:          %{{.*}} = tir.alloc_buffer "B" : !tir.buffer<2x16xf32, "local">
// CHECK:          tir.block {
// CHECK:            tir.block "shared" {
// CHECK:              tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:            tir.block "local" annotations {double_buffer_scope = 0 : i32} {
// CHECK:              tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:            tir.block "scale" {
// CHECK:          tir.block {
// CHECK:            tir.for "i" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:              tir.block "shared" {
// CHECK:                tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:              tir.block {
// CHECK:                tir.for "j" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:                  tir.block "scale" {
// CHECK:                  tir.block "store" {
// CHECK:              tir.block "local" annotations {double_buffer_scope = 0 : i32} {
// CHECK:                tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:              tir.block "scale" {
// CHECK:              tir.block "store" {
// CHECK:          tir.block {
// CHECK:            tir.block {
// CHECK:              tir.for "j" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:                tir.block "scale" {
// CHECK:                tir.block "store" {
// CHECK:            tir.block "store" {
// LOWERED-LABEL: tir.func @doubled
// LOWERED-NOT: tir.block

// -----

// CASE: InjectSoftwarePipeline.11
tir.func @async_one(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "async_one"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x16xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %two = tir.const 2.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c16 {
    tir.for "i" %i = %c0 to %c16 annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32], software_pipeline_async_stages = [0 : i32]} {
      tir.block {
        %B = tir.alloc_buffer "B" : !tir.buffer<16xf32, "shared">
        tir.block "first" {
          tir.reads %A[%tx, %i]
          tir.writes %B[%tx]
          %x = tir.load %A[%tx, %i] : f32
          %y = tir.mul %x, %two : f32
          tir.store %y, %B[%tx] : f32
        }
        tir.block "second" {
          tir.reads %B[%tx]
          tir.writes %C[%tx, %i]
          %x = tir.load %B[%tx] : f32
          %y = tir.add %x, %two : f32
          tir.store %y, %C[%tx, %i] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @async_one
// CHECK:        tir.block {
// CHECK-NEXT:     %[[V0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     tir.reads %{{.*}}[%{{.*}}, %[[V0]] to 16]
// CHECK-NEXT:     tir.writes %{{.*}}[%{{.*}}, %[[V0]] to 16]
// CHECK-NEXT:     %[[B:.*]] = tir.alloc_buffer "B" : !tir.buffer<2x16xf32, "shared">
// CHECK-NEXT:     tir.block "first" {
// CHECK-NEXT:       %[[V1:.*]] = tir.const 0 : i32
// CHECK-NEXT:       tir.reads %{{.*}}[%{{.*}}, %[[V1]]]
// CHECK-NEXT:       tir.writes %[[B]][%[[V1]], %{{.*}}]
// CHECK-NEXT:       tir.attr "async_commit_queue_scope" (0 : i32) = 0 : i32 {
// CHECK-NEXT:         tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK-NEXT:           %[[X:.*]] = tir.load %{{.*}}[%{{.*}}, %{{.*}}] : f32
// CHECK-NEXT:           %[[Y:.*]] = tir.mul %[[X]], %{{.*}} : f32
// CHECK-NEXT:           tir.store %[[Y]], %[[B]][%{{.*}}, %{{.*}}] : f32
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     tir.block {
// CHECK-NEXT:       %[[V2:.*]] = tir.const 1 : i32
// CHECK-NEXT:       %[[V3:.*]] = tir.const 0 : i32
// CHECK-NEXT:       tir.reads %{{.*}}[%{{.*}}, %[[V2]] to %[[V2]] + 15], %[[B]][%[[V3]] to 2, %{{.*}}]
// CHECK-NEXT:       tir.writes %[[B]][%[[V3]] to 2, %{{.*}}], %{{.*}}[%{{.*}}, %[[V3]] to 15]
// CHECK-NEXT:       %[[V4:.*]] = tir.const 15 : i32
// CHECK-NEXT:       tir.for "i" %[[I:.*]] = %{{.*}} to %[[V4]] {
// CHECK-NEXT:         tir.block "first" {
// CHECK-NEXT:           %[[V5:.*]] = tir.const 1 : i32
// CHECK-NEXT:           %[[V6:.*]] = tir.add %[[I]], %[[V5]] : i32
// CHECK-NEXT:           %[[V7:.*]] = tir.const 2 : i32
// CHECK-NEXT:           %[[V8:.*]] = tir.floormod %[[V6]], %[[V7]] : i32
// CHECK-NEXT:           tir.reads %{{.*}}[%{{.*}}, %[[V6]]]
// CHECK-NEXT:           tir.writes %[[B]][%[[V8]], %{{.*}}]
// CHECK-NEXT:           tir.attr "async_commit_queue_scope" (0 : i32) = 0 : i32 {
// CHECK-NEXT:             tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK-NEXT:               %[[V9:.*]] = tir.const 1 : i32
// CHECK-NEXT:               %[[V10:.*]] = tir.add %[[I]], %[[V9]] : i32
// CHECK-NEXT:               %[[V11:.*]] = tir.const 2 : i32
// CHECK-NEXT:               %[[V12:.*]] = tir.floormod %[[V10]], %[[V11]] : i32
// CHECK-NEXT:               %[[X_1:.*]] = tir.load %{{.*}}[%{{.*}}, %[[V10]]] : f32
// CHECK-NEXT:               %[[Y_1:.*]] = tir.mul %[[X_1]], %{{.*}} : f32
// CHECK-NEXT:               tir.store %[[Y_1]], %[[B]][%[[V12]], %{{.*}}] : f32
// CHECK-NEXT:             }
// CHECK-NEXT:           }
// CHECK-NEXT:         }
// CHECK-NEXT:         tir.block "second" {
// CHECK-NEXT:           %[[V13:.*]] = tir.const 2 : i32
// CHECK-NEXT:           %[[V14:.*]] = tir.floormod %[[I]], %[[V13]] : i32
// CHECK-NEXT:           tir.reads %[[B]][%[[V14]], %{{.*}}]
// CHECK-NEXT:           tir.writes %{{.*}}[%{{.*}}, %[[I]]]
// CHECK-NEXT:           tir.attr "async_wait_queue_scope" (0 : i32) = 0 : i32 {
// CHECK-NEXT:             tir.attr "async_wait_inflight_count" (0 : i32) = 1 : i32 {
// CHECK-NEXT:               %[[V15:.*]] = tir.const 2 : i32
// CHECK-NEXT:               %[[V16:.*]] = tir.floormod %[[I]], %[[V15]] : i32
// CHECK-NEXT:               %[[X_2:.*]] = tir.load %[[B]][%[[V16]], %{{.*}}] : f32
// CHECK-NEXT:               %[[Y_2:.*]] = tir.add %[[X_2]], %{{.*}} : f32
// CHECK-NEXT:               tir.store %[[Y_2]], %{{.*}}[%{{.*}}, %[[I]]] : f32
// CHECK-NEXT:             }
// CHECK-NEXT:           }
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     tir.block "second" {
// CHECK-NEXT:       %[[V17:.*]] = tir.const 1 : i32
// CHECK-NEXT:       %[[V18:.*]] = tir.const 15 : i32
// CHECK-NEXT:       tir.reads %[[B]][%[[V17]], %{{.*}}]
// CHECK-NEXT:       tir.writes %{{.*}}[%{{.*}}, %[[V18]]]
// CHECK-NEXT:       tir.attr "async_wait_queue_scope" (0 : i32) = 0 : i32 {
// CHECK-NEXT:         tir.attr "async_wait_inflight_count" (0 : i32) = 0 : i32 {
// CHECK-NEXT:           %[[V19:.*]] = tir.const 15 : i32
// CHECK-NEXT:           %[[V20:.*]] = tir.const 1 : i32
// CHECK-NEXT:           %[[X_3:.*]] = tir.load %[[B]][%[[V20]], %{{.*}}] : f32
// CHECK-NEXT:           %[[Y_3:.*]] = tir.add %[[X_3]], %{{.*}} : f32
// CHECK-NEXT:           tir.store %[[Y_3]], %{{.*}}[%{{.*}}, %[[V19]]] : f32
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
// LOWERED-LABEL: tir.func @async_one
// LOWERED-NOT: tir.block

// -----

// CASE: InjectSoftwarePipeline.11
tir.func @async_three(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "async_three"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x16xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %two = tir.const 2.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c16 {
    tir.for "i" %i = %c0 to %c16 annotations {software_pipeline_stage = [0 : i32, 3 : i32], software_pipeline_order = [0 : i32, 1 : i32], software_pipeline_async_stages = [0 : i32]} {
      tir.block {
        %B = tir.alloc_buffer "B" : !tir.buffer<16xf32, "shared">
        tir.block "first" {
          tir.reads %A[%tx, %i]
          tir.writes %B[%tx]
          %x = tir.load %A[%tx, %i] : f32
          %y = tir.mul %x, %two : f32
          tir.store %y, %B[%tx] : f32
        }
        tir.block "second" {
          tir.reads %B[%tx]
          tir.writes %C[%tx, %i]
          %x = tir.load %B[%tx] : f32
          %y = tir.add %x, %two : f32
          tir.store %y, %C[%tx, %i] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @async_three
// CHECK:        tir.block {
// CHECK:          %{{.*}} = tir.alloc_buffer "B" : !tir.buffer<4x16xf32, "shared">
// CHECK:          tir.block {
// CHECK:            tir.for "i" %{{.*}} = %{{.*}} to %{{.*}} unrolled {
// CHECK:              tir.block "first" {
// CHECK:                tir.attr "async_commit_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                  tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK:          tir.block {
// CHECK:            tir.for "i" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:              tir.block "first" {
// CHECK:                tir.attr "async_commit_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                  tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK:              tir.block "second" {
// CHECK:                tir.attr "async_wait_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                  tir.attr "async_wait_inflight_count" (0 : i32) = 3 : i32 {
// CHECK:          tir.block {
// CHECK:            tir.for "i" %[[I_2:.*]] = %{{.*}} to %{{.*}} unrolled {
// CHECK:              tir.block "second" {
// CHECK:                %[[V26:.*]] = tir.sub %{{.*}}, %[[I_2]] : i32
// CHECK:                tir.attr "async_wait_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                  tir.attr "async_wait_inflight_count" (0 : i32) = %[[V26]] {
// LOWERED-LABEL: tir.func @async_three
// LOWERED-NOT: tir.block

// -----

// CASE: InjectSoftwarePipeline.12
tir.func @async_around(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "async_around"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x16xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %two = tir.const 2.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c16 {
    tir.for "i" %i = %c0 to %c16 annotations {software_pipeline_stage = [0 : i32, 0 : i32, 3 : i32], software_pipeline_order = [0 : i32, 2 : i32, 1 : i32], software_pipeline_async_stages = [0 : i32]} {
      tir.block {
        %B = tir.alloc_buffer "B" : !tir.buffer<16xf32, "shared">
        %D = tir.alloc_buffer "D" : !tir.buffer<16xf32, "shared">
        tir.block "copy_a" {
          tir.reads %A[%tx, %i]
          tir.writes %B[%tx]
          %x = tir.load %A[%tx, %i] : f32
          tir.store %x, %B[%tx] : f32
        }
        tir.block "copy_b" {
          tir.reads %A[%i, %tx]
          tir.writes %D[%tx]
          %x = tir.load %A[%i, %tx] : f32
          tir.store %x, %D[%tx] : f32
        }
        tir.block "compute" {
          tir.reads %B[%tx], %D[%tx]
          tir.writes %C[%tx, %i]
          %x = tir.load %B[%tx] : f32
          %y = tir.load %D[%tx] : f32
          %z = tir.add %x, %y : f32
          tir.store %z, %C[%tx, %i] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @async_around
// CHECK:        tir.block {
// CHECK:          %{{.*}} = tir.alloc_buffer "B" : !tir.buffer<4x16xf32, "shared">
// CHECK:          %{{.*}} = tir.alloc_buffer "D" : !tir.buffer<4x16xf32, "shared">
// CHECK:          tir.block {
// CHECK:            tir.for "i" %{{.*}} = %{{.*}} to %{{.*}} unrolled {
// CHECK:              tir.block "copy_a" {
// CHECK:                tir.attr "async_commit_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                  tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK:              tir.block "copy_b" {
// CHECK:                tir.attr "async_commit_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                  tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK:          tir.block {
// CHECK:            tir.for "i" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:              tir.block "copy_a" {
// CHECK:                tir.attr "async_commit_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                  tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK:              tir.block "compute" {
// CHECK:                tir.attr "async_wait_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                  tir.attr "async_wait_inflight_count" (0 : i32) = 5 : i32 {
// CHECK:              tir.block "copy_b" {
// CHECK:                tir.attr "async_commit_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                  tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK:          tir.block {
// CHECK:            tir.for "i" %[[I_2:.*]] = %{{.*}} to %{{.*}} unrolled {
// CHECK:              tir.block "compute" {
// CHECK:                %[[V45:.*]] = tir.mul %[[I_2]], %{{.*}} : i32
// CHECK:                %[[V46:.*]] = tir.sub %{{.*}}, %[[V45]] : i32
// CHECK:                tir.attr "async_wait_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                  tir.attr "async_wait_inflight_count" (0 : i32) = %[[V46]] {
// LOWERED-LABEL: tir.func @async_around
// LOWERED-NOT: tir.block

// -----

// CASE: InjectSoftwarePipeline.13
tir.func @async_two(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "async_two"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x16xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<16x16xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %two = tir.const 2.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c16 {
    tir.for "i" %i = %c0 to %c16 annotations {software_pipeline_stage = [0 : i32, 1 : i32, 2 : i32], software_pipeline_order = [0 : i32, 1 : i32, 2 : i32], software_pipeline_async_stages = [0 : i32, 1 : i32]} {
      tir.block {
        %B = tir.alloc_buffer "B" : !tir.buffer<16xf32, "shared">
        %D = tir.alloc_buffer "D" : !tir.buffer<16xf32, "shared">
        tir.block "first" {
          tir.reads %A[%tx, %i]
          tir.writes %B[%tx]
          %x = tir.load %A[%tx, %i] : f32
          %y = tir.mul %x, %two : f32
          tir.store %y, %B[%tx] : f32
        }
        tir.block "second" {
          tir.reads %B[%tx]
          tir.writes %D[%tx]
          %x = tir.load %B[%tx] : f32
          %y = tir.add %x, %two : f32
          tir.store %y, %D[%tx] : f32
        }
        tir.block "third" {
          tir.reads %D[%tx]
          tir.writes %C[%tx, %i]
          %x = tir.load %D[%tx] : f32
          %y = tir.mul %x, %two : f32
          tir.store %y, %C[%tx, %i] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @async_two
// CHECK:        tir.block {
// CHECK:          %{{.*}} = tir.alloc_buffer "B" : !tir.buffer<2x16xf32, "shared">
// CHECK:          %{{.*}} = tir.alloc_buffer "D" : !tir.buffer<2x16xf32, "shared">
// CHECK:          tir.block {
// CHECK:            tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} unrolled {
// CHECK:              tir.block "first" {
// CHECK:                tir.attr "async_commit_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                  tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK:              %[[V5:.*]] = tir.cmp eq %[[I]], %{{.*}} : i32
// CHECK:              tir.block "second" where %[[V5]] {
// CHECK:                tir.attr "async_commit_queue_scope" (0 : i32) = 1 : i32 {
// CHECK:                  tir.attr "async_wait_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                    tir.attr "async_wait_inflight_count" (0 : i32) = 1 : i32 {
// CHECK:                      tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK:          tir.block {
// CHECK:            tir.for "i" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:              tir.block "first" {
// CHECK:                tir.attr "async_commit_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                  tir.attr "async_wait_queue_scope" (0 : i32) = 1 : i32 {
// CHECK:                    tir.attr "async_wait_inflight_count" (0 : i32) = 0 : i32 {
// CHECK:                      tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK:              tir.block "second" {
// CHECK:                tir.attr "async_commit_queue_scope" (0 : i32) = 1 : i32 {
// CHECK:                  tir.attr "async_wait_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                    tir.attr "async_wait_inflight_count" (0 : i32) = 1 : i32 {
// CHECK:                      tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK:              tir.block "third" {
// CHECK:                tir.attr "async_wait_queue_scope" (0 : i32) = 1 : i32 {
// CHECK:                  tir.attr "async_wait_inflight_count" (0 : i32) = 1 : i32 {
// CHECK:          tir.block {
// CHECK:            tir.for "i" %[[I_2:.*]] = %{{.*}} to %{{.*}} unrolled {
// CHECK:              %[[V36:.*]] = tir.cmp lt %[[I_2]], %{{.*}} : i32
// CHECK:              tir.block "second" where %[[V36]] {
// CHECK:                tir.attr "async_commit_queue_scope" (0 : i32) = 1 : i32 {
// CHECK:                  tir.attr "async_wait_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                    tir.attr "async_wait_inflight_count" (0 : i32) = 0 : i32 {
// CHECK:                      tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK:              tir.block "third" {
// CHECK:                %[[V43:.*]] = tir.cmp eq %[[I_2]], %{{.*}} : i32
// CHECK:                %[[V45:.*]] = tir.select %[[V43]], %{{.*}}, %{{.*}} : i1, i32
// CHECK:                tir.attr "async_wait_queue_scope" (0 : i32) = 1 : i32 {
// CHECK:                  tir.attr "async_wait_inflight_count" (0 : i32) = %[[V45]] {
// LOWERED-LABEL: tir.func @async_two
// LOWERED-NOT: tir.block

// -----

// CASE: InjectSoftwarePipeline.14
tir.func @tensor_cores(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {global_symbol = "tensor_cores"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x256xf16>
  %B = tir.match_buffer "B" %b : !tir.buffer<256x8xf16>
  %C = tir.match_buffer "C" %c : !tir.buffer<32x4xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %c128 = tir.const 128 : i32
  %c256 = tir.const 256 : i32
  %no = tir.const false
  %zero = tir.const 0.0 : f32
  %kind = tir.string ".b16"
  %shape = tir.string "m16n8k16"
  %row_ = tir.string "row"
  %col_ = tir.string "col"
  %fp16 = tir.string "fp16"
  %fp32 = tir.string "fp32"
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %laneAS = tir.mul %tx, %c8 : i32
    %laneBS = tir.mul %tx, %c4 : i32
    tir.block {
      %acc = tir.alloc_buffer "acc" : !tir.buffer<4xf32, "local">
      %AL = tir.alloc_buffer "AL" : !tir.buffer<8xf16, "local">
      %BL = tir.alloc_buffer "BL" : !tir.buffer<4xf16, "local">
      tir.for %j = %c0 to %c4 {
        tir.store %zero, %acc[%j] : f32
      }
      tir.for "k" %k = %c0 to %c8 annotations {software_pipeline_stage = [0 : i32, 0 : i32, 3 : i32], software_pipeline_order = [0 : i32, 1 : i32, 2 : i32], software_pipeline_async_stages = [0 : i32]} {
        tir.block {
          %AS = tir.alloc_buffer "AS" : !tir.buffer<32x16xf16, "shared">
          %BS = tir.alloc_buffer "BS" : !tir.buffer<32x8xf16, "shared">
          %base = tir.mul %k, %c32 : i32
          tir.block "copy_a" {
            tir.reads %A[%c0 to 16, %base to %base + 32]
            tir.writes %AS[%c0 to 32, %c0 to 16]
            tir.for %j = %c0 to %c16 {
              %half = tir.floordiv %tx, %c16 : i32
              %r = tir.floormod %tx, %c16 : i32
              %shift = tir.mul %half, %c16 : i32
              %at = tir.add %base, %shift : i32
              %col = tir.add %at, %j : i32
              %x = tir.load %A[%r, %col] : f16
              tir.store %x, %AS[%tx, %j] : f16
            }
          }
          tir.block "copy_b" {
            tir.reads %B[%base to %base + 32, %c0 to 8]
            tir.writes %BS[%c0 to 32, %c0 to 8]
            tir.for %j = %c0 to %c8 {
              %at = tir.add %base, %tx : i32
              %x = tir.load %B[%at, %j] : f16
              tir.store %x, %BS[%tx, %j] : f16
            }
          }
          tir.for "h" %h = %c0 to %c2 {
            tir.block "load_a" {
              tir.reads %AS[%c0 to 32, %c0 to 16]
              tir.writes %AL[%c0 to 8]
              %from = tir.data %AS : !tir.ptr<f16, "shared">
              %to = tir.data %AL : !tir.ptr<f16, "local">
              %off = tir.mul %h, %c256 : i32
              %tile = tir.access_ptr r %from[%off to %off + %c256] : !tir.ptr<f16, "shared">
              %done = tir.call "ptx_ldmatrix"(%no, %c4, %kind, %to, %c0, %tile, %laneAS) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "shared">, i32) -> f16
            }
            tir.block "load_b" {
              tir.reads %BS[%c0 to 32, %c0 to 8]
              tir.writes %BL[%c0 to 4]
              %from = tir.data %BS : !tir.ptr<f16, "shared">
              %to = tir.data %BL : !tir.ptr<f16, "local">
              %off = tir.mul %h, %c128 : i32
              %tile = tir.access_ptr r %from[%off to %off + %c128] : !tir.ptr<f16, "shared">
              %done = tir.call "ptx_ldmatrix"(%no, %c2, %kind, %to, %c0, %tile, %laneBS) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "shared">, i32) -> f16
            }
            tir.block "mma" {
              tir.reads %AL[%c0 to 8], %BL[%c0 to 4], %acc[%c0 to 4]
              tir.writes %acc[%c0 to 4]
              %ma = tir.data %AL : !tir.ptr<f16, "local">
              %mb = tir.data %BL : !tir.ptr<f16, "local">
              %mc = tir.data %acc : !tir.ptr<f32, "local">
              %done = tir.call "ptx_mma"(%shape, %row_, %col_, %fp16, %fp16, %fp32, %ma, %c0, %mb, %c0, %mc, %c0, %no) : (!tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "local">, i32, !tir.ptr<f32, "local">, i32, i1) -> f32
            }
          }
        }
      }
      tir.for %j = %c0 to %c4 {
        %x = tir.load %acc[%j] : f32
        tir.store %x, %C[%tx, %j] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @tensor_cores
// CHECK:        tir.block {
// CHECK:          %{{.*}} = tir.alloc_buffer "acc" : !tir.buffer<4xf32, "local">
// CHECK:          %{{.*}} = tir.alloc_buffer "AL" : !tir.buffer<8xf16, "local">
// CHECK:          %{{.*}} = tir.alloc_buffer "BL" : !tir.buffer<4xf16, "local">
// CHECK:          tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:          tir.block {
// CHECK:            %{{.*}} = tir.alloc_buffer "AS" : !tir.buffer<4x32x16xf16, "shared">
// CHECK:            %{{.*}} = tir.alloc_buffer "BS" : !tir.buffer<4x32x8xf16, "shared">
// CHECK:            tir.block {
// CHECK:              tir.for "k" %{{.*}} = %{{.*}} to %{{.*}} unrolled {
// CHECK:                tir.block {
// CHECK:                  tir.attr "async_commit_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                    tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK:                      tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:                    tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK:                      tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:            tir.block {
// CHECK:              tir.for "k" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:                tir.block {
// CHECK:                  tir.attr "async_commit_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                    tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK:                      tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:                    tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK:                      tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:                tir.block {
// CHECK:                  tir.attr "async_wait_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                    tir.attr "async_wait_inflight_count" (0 : i32) = 3 : i32 {
// CHECK:                      tir.for "h" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:                        tir.block "load_a" {
// CHECK:                          %{{.*}} = tir.call "ptx_ldmatrix"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:                        tir.block "load_b" {
// CHECK:                          %{{.*}} = tir.call "ptx_ldmatrix"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:                        tir.block "mma" {
// CHECK:                          %{{.*}} = tir.call "ptx_mma"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:            tir.block {
// CHECK:              tir.for "k" %[[K_2:.*]] = %{{.*}} to %{{.*}} unrolled {
// CHECK:                tir.block {
// CHECK:                  %[[V72:.*]] = tir.sub %{{.*}}, %[[K_2]] : i32
// CHECK:                  tir.attr "async_wait_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                    tir.attr "async_wait_inflight_count" (0 : i32) = %[[V72]] {
// CHECK:                      tir.for "h" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:                        tir.block "load_a" {
// CHECK:                          %{{.*}} = tir.call "ptx_ldmatrix"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:                        tir.block "load_b" {
// CHECK:                          %{{.*}} = tir.call "ptx_ldmatrix"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:                        tir.block "mma" {
// CHECK:                          %{{.*}} = tir.call "ptx_mma"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:          tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// LOWERED-LABEL: tir.func @tensor_cores
// LOWERED-NOT: tir.block

// -----

// CASE: InjectSoftwarePipeline.15
tir.func @nested_tensor_cores(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {global_symbol = "nested_tensor_cores"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x256xf16>
  %B = tir.match_buffer "B" %b : !tir.buffer<256x8xf16>
  %C = tir.match_buffer "C" %c : !tir.buffer<32x4xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %c128 = tir.const 128 : i32
  %c256 = tir.const 256 : i32
  %no = tir.const false
  %zero = tir.const 0.0 : f32
  %kind = tir.string ".b16"
  %shape = tir.string "m16n8k16"
  %row_ = tir.string "row"
  %col_ = tir.string "col"
  %fp16 = tir.string "fp16"
  %fp32 = tir.string "fp32"
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    %laneAS = tir.mul %tx, %c8 : i32
    %laneBS = tir.mul %tx, %c4 : i32
    tir.block {
      %acc = tir.alloc_buffer "acc" : !tir.buffer<4xf32, "local">
      tir.for %j = %c0 to %c4 {
        tir.store %zero, %acc[%j] : f32
      }
      tir.for "k" %k = %c0 to %c8 annotations {software_pipeline_stage = [0 : i32, 0 : i32, 2 : i32, 3 : i32, 3 : i32], software_pipeline_order = [0 : i32, 1 : i32, 3 : i32, 2 : i32, 4 : i32], software_pipeline_async_stages = [0 : i32]} {
        tir.block {
          %AS = tir.alloc_buffer "AS" : !tir.buffer<32x16xf16, "shared">
          %BS = tir.alloc_buffer "BS" : !tir.buffer<32x8xf16, "shared">
          %base = tir.mul %k, %c32 : i32
          tir.block "copy_a" {
            tir.reads %A[%c0 to 16, %base to %base + 32]
            tir.writes %AS[%c0 to 32, %c0 to 16]
            tir.for %j = %c0 to %c16 {
              %half = tir.floordiv %tx, %c16 : i32
              %r = tir.floormod %tx, %c16 : i32
              %shift = tir.mul %half, %c16 : i32
              %at = tir.add %base, %shift : i32
              %col = tir.add %at, %j : i32
              %x = tir.load %A[%r, %col] : f16
              tir.store %x, %AS[%tx, %j] : f16
            }
          }
          tir.block "copy_b" {
            tir.reads %B[%base to %base + 32, %c0 to 8]
            tir.writes %BS[%c0 to 32, %c0 to 8]
            tir.for %j = %c0 to %c8 {
              %at = tir.add %base, %tx : i32
              %x = tir.load %B[%at, %j] : f16
              tir.store %x, %BS[%tx, %j] : f16
            }
          }
          tir.for "h" %h = %c0 to %c2 annotations {software_pipeline_stage = [0 : i32, 0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32, 2 : i32]} {
            tir.block {
              %AL = tir.alloc_buffer "AL" : !tir.buffer<8xf16, "local">
              %BL = tir.alloc_buffer "BL" : !tir.buffer<4xf16, "local">
              tir.block "load_a" {
                tir.reads %AS[%c0 to 32, %c0 to 16]
                tir.writes %AL[%c0 to 8]
                %from = tir.data %AS : !tir.ptr<f16, "shared">
                %to = tir.data %AL : !tir.ptr<f16, "local">
                %off = tir.mul %h, %c256 : i32
                %tile = tir.access_ptr r %from[%off to %off + %c256] : !tir.ptr<f16, "shared">
                %done = tir.call "ptx_ldmatrix"(%no, %c4, %kind, %to, %c0, %tile, %laneAS) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "shared">, i32) -> f16
              }
              tir.block "load_b" {
                tir.reads %BS[%c0 to 32, %c0 to 8]
                tir.writes %BL[%c0 to 4]
                %from = tir.data %BS : !tir.ptr<f16, "shared">
                %to = tir.data %BL : !tir.ptr<f16, "local">
                %off = tir.mul %h, %c128 : i32
                %tile = tir.access_ptr r %from[%off to %off + %c128] : !tir.ptr<f16, "shared">
                %done = tir.call "ptx_ldmatrix"(%no, %c2, %kind, %to, %c0, %tile, %laneBS) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "shared">, i32) -> f16
              }
              tir.block "mma" {
                tir.reads %AL[%c0 to 8], %BL[%c0 to 4], %acc[%c0 to 4]
                tir.writes %acc[%c0 to 4]
                %ma = tir.data %AL : !tir.ptr<f16, "local">
                %mb = tir.data %BL : !tir.ptr<f16, "local">
                %mc = tir.data %acc : !tir.ptr<f32, "local">
                %done = tir.call "ptx_mma"(%shape, %row_, %col_, %fp16, %fp16, %fp32, %ma, %c0, %mb, %c0, %mc, %c0, %no) : (!tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "local">, i32, !tir.ptr<f32, "local">, i32, i1) -> f32
              }
            }
          }
        }
      }
      tir.for %j = %c0 to %c4 {
        %x = tir.load %acc[%j] : f32
        tir.store %x, %C[%tx, %j] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @nested_tensor_cores
// CHECK:        tir.block {
// CHECK:          %{{.*}} = tir.alloc_buffer "acc" : !tir.buffer<4xf32, "local">
// CHECK:          tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:          tir.block {
// CHECK:            %{{.*}} = tir.alloc_buffer "AS" : !tir.buffer<4x32x16xf16, "shared">
// CHECK:            %{{.*}} = tir.alloc_buffer "BS" : !tir.buffer<4x32x8xf16, "shared">
// CHECK:            %{{.*}} = tir.alloc_buffer "AL" : !tir.buffer<2x8xf16, "local">
// CHECK:            %{{.*}} = tir.alloc_buffer "BL" : !tir.buffer<2x4xf16, "local">
// CHECK:            tir.block {
// CHECK:              tir.for "k" %[[K:.*]] = %{{.*}} to %{{.*}} unrolled {
// CHECK:                tir.block {
// CHECK:                  tir.attr "async_commit_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                    tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK:                      tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:                    tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK:                      tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:                %[[V21:.*]] = tir.cmp eq %[[K]], %{{.*}} : i32
// CHECK:                tir.block where %[[V21]] {
// CHECK:                  tir.attr "async_wait_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                    tir.attr "async_wait_inflight_count" (0 : i32) = 2 : i32 {
// CHECK:                      tir.block "load_a" {
// CHECK:                        %{{.*}} = tir.call "ptx_ldmatrix"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:                      tir.block "load_b" {
// CHECK:                        %{{.*}} = tir.call "ptx_ldmatrix"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:            tir.block {
// CHECK:              tir.for "k" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:                tir.block {
// CHECK:                  tir.attr "async_commit_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                    tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK:                      tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:                    tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK:                      tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:                tir.block {
// CHECK:                  tir.block "load_a" {
// CHECK:                    %{{.*}} = tir.call "ptx_ldmatrix"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:                  tir.block "load_b" {
// CHECK:                    %{{.*}} = tir.call "ptx_ldmatrix"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:                  tir.block "mma" {
// CHECK:                    %{{.*}} = tir.call "ptx_mma"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:                tir.block {
// CHECK:                  tir.attr "async_wait_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                    tir.attr "async_wait_inflight_count" (0 : i32) = 2 : i32 {
// CHECK:                      tir.block "load_a" {
// CHECK:                        %{{.*}} = tir.call "ptx_ldmatrix"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:                      tir.block "load_b" {
// CHECK:                        %{{.*}} = tir.call "ptx_ldmatrix"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:                tir.block "mma" {
// CHECK:                  %{{.*}} = tir.call "ptx_mma"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:            tir.block {
// CHECK:              tir.for "k" %[[K_2:.*]] = %{{.*}} to %{{.*}} unrolled {
// CHECK:                tir.block {
// CHECK:                  tir.block "load_a" {
// CHECK:                    %{{.*}} = tir.call "ptx_ldmatrix"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:                  tir.block "load_b" {
// CHECK:                    %{{.*}} = tir.call "ptx_ldmatrix"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:                  tir.block "mma" {
// CHECK:                    %{{.*}} = tir.call "ptx_mma"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:                %[[V135:.*]] = tir.cmp lt %[[K_2]], %{{.*}} : i32
// CHECK:                tir.block where %[[V135]] {
// CHECK:                  %[[V138:.*]] = tir.sub %{{.*}}, %[[K_2]] : i32
// CHECK:                  tir.attr "async_wait_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                    tir.attr "async_wait_inflight_count" (0 : i32) = %[[V138]] {
// CHECK:                      tir.block "load_a" {
// CHECK:                        %{{.*}} = tir.call "ptx_ldmatrix"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:                      tir.block "load_b" {
// CHECK:                        %{{.*}} = tir.call "ptx_ldmatrix"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:                tir.block "mma" {
// CHECK:                  %{{.*}} = tir.call "ptx_mma"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:          tir.for %{{.*}} = %{{.*}} to %{{.*}} {
// LOWERED-LABEL: tir.func @nested_tensor_cores
// LOWERED-NOT: tir.block

// -----

// CASE: InjectSoftwarePipeline.16
tir.func @short(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "short"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x2xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<16x2xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %n = tir.const 2 : i32
  %two = tir.const 2.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c16 {
    tir.for "i" %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32, 1 : i32, 3 : i32], software_pipeline_order = [0 : i32, 1 : i32, 2 : i32]} {
      tir.block {
        %B = tir.alloc_buffer "B" : !tir.buffer<16xf32, "shared">
        %D = tir.alloc_buffer "D" : !tir.buffer<16xf32, "shared">
        tir.block "first" {
          tir.reads %A[%tx, %i]
          tir.writes %B[%tx]
          %x = tir.load %A[%tx, %i] : f32
          %y = tir.mul %x, %two : f32
          tir.store %y, %B[%tx] : f32
        }
        tir.block "second" {
          tir.reads %B[%tx]
          tir.writes %D[%tx]
          %x = tir.load %B[%tx] : f32
          %y = tir.add %x, %two : f32
          tir.store %y, %D[%tx] : f32
        }
        tir.block "third" {
          tir.reads %D[%tx]
          tir.writes %C[%tx, %i]
          %x = tir.load %D[%tx] : f32
          %y = tir.mul %x, %two : f32
          tir.store %y, %C[%tx, %i] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @short
// CHECK:        tir.block {
// CHECK:          %{{.*}} = tir.alloc_buffer "B" : !tir.buffer<2x16xf32, "shared">
// CHECK:          %{{.*}} = tir.alloc_buffer "D" : !tir.buffer<3x16xf32, "shared">
// CHECK:          tir.block {
// CHECK:            tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} unrolled {
// CHECK:              %[[V3:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK:              tir.block "first" where %[[V3]] {
// CHECK:              %[[V6:.*]] = tir.cmp le %{{.*}}, %[[I]] : i32
// CHECK:              tir.block "second" where %[[V6]] {
// CHECK:          tir.block {
// CHECK:            tir.evaluate
// CHECK:          tir.block {
// CHECK:            tir.for "i" %{{.*}} = %{{.*}} to %{{.*}} unrolled {
// CHECK:              tir.block "third" {
// LOWERED-LABEL: tir.func @short
// LOWERED-NOT: tir.block

// -----

// CASE: InjectSoftwarePipeline.17
tir.func @short_symbolic(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "short_symbolic"} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<16x?xf32>
  %C = tir.match_buffer "C" %c [%n] : !tir.buffer<16x?xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %two = tir.const 2.0 : f32
  tir.launch_thread %tx = "threadIdx.x" to %c16 {
    tir.for "i" %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32, 3 : i32], software_pipeline_order = [0 : i32, 1 : i32], software_pipeline_async_stages = [0 : i32]} {
      tir.block {
        %B = tir.alloc_buffer "B" : !tir.buffer<16xf32, "shared">
        tir.block "first" {
          tir.reads %A[%tx, %i]
          tir.writes %B[%tx]
          %x = tir.load %A[%tx, %i] : f32
          %y = tir.mul %x, %two : f32
          tir.store %y, %B[%tx] : f32
        }
        tir.block "second" {
          tir.reads %B[%tx]
          tir.writes %C[%tx, %i]
          %x = tir.load %B[%tx] : f32
          %y = tir.add %x, %two : f32
          tir.store %y, %C[%tx, %i] : f32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @short_symbolic
// CHECK:        tir.block {
// CHECK:          %{{.*}} = tir.alloc_buffer "B" : !tir.buffer<4x16xf32, "shared">
// CHECK:          tir.block {
// CHECK:            tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} unrolled {
// CHECK:              %[[V7:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK:              tir.block "first" where %[[V7]] {
// CHECK:                tir.attr "async_commit_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                  tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK:          tir.block {
// CHECK:            tir.for "i" %{{.*}} = %{{.*}} to %{{.*}} {
// CHECK:              tir.block "first" {
// CHECK:                tir.attr "async_commit_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                  tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK:              tir.block "second" {
// CHECK:                tir.attr "async_wait_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                  tir.attr "async_wait_inflight_count" (0 : i32) = 3 : i32 {
// CHECK:          tir.block {
// CHECK:            tir.for "i" %[[I_2:.*]] = %{{.*}} to %{{.*}} unrolled {
// CHECK:              %[[V37:.*]] = tir.cmp le %{{.*}}, %{{.*}} : i32
// CHECK:              tir.block "second" where %[[V37]] {
// CHECK:                %[[V46:.*]] = tir.sub %{{.*}}, %[[I_2]] : i32
// CHECK:                tir.attr "async_wait_queue_scope" (0 : i32) = 0 : i32 {
// CHECK:                  tir.attr "async_wait_inflight_count" (0 : i32) = %[[V46]] {
// LOWERED-LABEL: tir.func @short_symbolic
// LOWERED-NOT: tir.block

// -----

// CASE: InjectSoftwarePipeline.19
// A loop without annotations stays, and what is in it is a pipeline. The predicate of its
// block is that of every statement, and both get their own copy of what they share.
tir.func @predicate(%a: !tir.handle, %c: !tir.handle, %m: i32) attributes {global_symbol = "predicate"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x16xi32>
  %C = tir.match_buffer "C" %c : !tir.buffer<4x16xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for "o" %o = %c0 to %c4 {
    tir.for "i" %i = %c4 to %c4 + %c4 annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [1 : i32, 0 : i32]} {
      %p = tir.cmp ne %i, %m : i32
      %x = tir.load %A[%o, %i] : i32
      %y = tir.mul %x, %i : i32
      tir.block "gone" where %p {
        %B = tir.alloc_buffer "B" : !tir.buffer<1xi32>
        tir.store %y, %B[%c0] : i32
        %z = tir.load %B[%c0] : i32
        %w = tir.add %z, %y : i32
        tir.store %w, %C[%o, %i] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @predicate
// CHECK:        tir.block {
// CHECK-NEXT:     %[[V0:.*]] = tir.const 4 : i32
// CHECK-NEXT:     tir.reads %{{.*}}[%{{.*}}, %[[V0]] to %[[V0]] + 4]
// CHECK-NEXT:     tir.writes %{{.*}}[%{{.*}}, %[[V0]] to %[[V0]] + 4]
// CHECK-NEXT:     %[[B:.*]] = tir.alloc_buffer "B" : !tir.buffer<1xi32>
// CHECK-NEXT:     tir.block {
// CHECK-NEXT:       %[[V1:.*]] = tir.const 0 : i32
// CHECK-NEXT:       tir.reads %{{.*}}[%{{.*}}, %{{.*}}]
// CHECK-NEXT:       tir.writes %[[B]][%[[V1]]]
// CHECK-NEXT:       %[[V2:.*]] = tir.cmp ne %{{.*}}, %{{.*}} : i32
// CHECK-NEXT:       tir.block where %[[V2]] {
// CHECK-NEXT:         %[[X:.*]] = tir.load %{{.*}}[%{{.*}}, %{{.*}}] : i32
// CHECK-NEXT:         %[[Y:.*]] = tir.mul %[[X]], %{{.*}} : i32
// CHECK-NEXT:         tir.store %[[Y]], %[[B]][%{{.*}}] : i32
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     tir.block {
// CHECK-NEXT:       %[[V3:.*]] = tir.const 4 : i32
// CHECK-NEXT:       %[[V4:.*]] = tir.const 0 : i32
// CHECK-NEXT:       tir.reads %{{.*}}[%{{.*}}, %[[V3]] to %[[V3]] + 4], %[[B]][%[[V4]]]
// CHECK-NEXT:       tir.writes %{{.*}}[%{{.*}}, %[[V3]] to %[[V3]] + 3], %[[B]][%[[V4]]]
// CHECK-NEXT:       %[[V5:.*]] = tir.const 3 : i32
// CHECK-NEXT:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} + %[[V5]] {
// CHECK-NEXT:         tir.block {
// CHECK-NEXT:           %[[V6:.*]] = tir.const 0 : i32
// CHECK-NEXT:           tir.reads %{{.*}}[%{{.*}}, %[[I]]], %[[B]][%[[V6]]]
// CHECK-NEXT:           tir.writes %{{.*}}[%{{.*}}, %[[I]]]
// CHECK-NEXT:           %[[P:.*]] = tir.cmp ne %[[I]], %{{.*}} : i32
// CHECK-NEXT:           tir.block where %[[P]] {
// CHECK-NEXT:             %[[X_1:.*]] = tir.load %{{.*}}[%{{.*}}, %[[I]]] : i32
// CHECK-NEXT:             %[[Y_1:.*]] = tir.mul %[[X_1]], %[[I]] : i32
// CHECK-NEXT:             %[[Z:.*]] = tir.load %[[B]][%{{.*}}] : i32
// CHECK-NEXT:             %[[W:.*]] = tir.add %[[Z]], %[[Y_1]] : i32
// CHECK-NEXT:             tir.store %[[W]], %{{.*}}[%{{.*}}, %[[I]]] : i32
// CHECK-NEXT:           }
// CHECK-NEXT:         }
// CHECK-NEXT:         tir.block {
// CHECK-NEXT:           %[[V7:.*]] = tir.const 1 : i32
// CHECK-NEXT:           %[[V8:.*]] = tir.add %[[I]], %[[V7]] : i32
// CHECK-NEXT:           %[[V9:.*]] = tir.const 0 : i32
// CHECK-NEXT:           tir.reads %{{.*}}[%{{.*}}, %[[V8]]]
// CHECK-NEXT:           tir.writes %[[B]][%[[V9]]]
// CHECK-NEXT:           %[[P_1:.*]] = tir.cmp ne %[[V8]], %{{.*}} : i32
// CHECK-NEXT:           tir.block where %[[P_1]] {
// CHECK-NEXT:             %[[X_2:.*]] = tir.load %{{.*}}[%{{.*}}, %[[V8]]] : i32
// CHECK-NEXT:             %[[Y_2:.*]] = tir.mul %[[X_2]], %[[V8]] : i32
// CHECK-NEXT:             tir.store %[[Y_2]], %[[B]][%{{.*}}] : i32
// CHECK-NEXT:           }
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     tir.block {
// CHECK-NEXT:       %[[V10:.*]] = tir.const 7 : i32
// CHECK-NEXT:       %[[V11:.*]] = tir.const 0 : i32
// CHECK-NEXT:       tir.reads %{{.*}}[%{{.*}}, %[[V10]]], %[[B]][%[[V11]]]
// CHECK-NEXT:       tir.writes %{{.*}}[%{{.*}}, %[[V10]]]
// CHECK-NEXT:       %[[V12:.*]] = tir.cmp ne %{{.*}}, %[[V10]] : i32
// CHECK-NEXT:       tir.block where %[[V12]] {
// CHECK-NEXT:         %[[X_3:.*]] = tir.load %{{.*}}[%{{.*}}, %[[V10]]] : i32
// CHECK-NEXT:         %[[Y_3:.*]] = tir.mul %[[X_3]], %[[V10]] : i32
// CHECK-NEXT:         %[[Z_1:.*]] = tir.load %[[B]][%{{.*}}] : i32
// CHECK-NEXT:         %[[V13:.*]] = tir.add %[[Y_3]], %[[Z_1]] : i32
// CHECK-NEXT:         tir.store %[[V13]], %{{.*}}[%{{.*}}, %[[V10]]] : i32
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
// LOWERED-LABEL: tir.func @predicate
// LOWERED-NOT: tir.block

// -----

// The memory of a version starts where the last one ends, alignments move with their
// dimension, and pointers with their version, which counts from the start of the loop.
tir.func @layout(%a: !tir.handle, %c: !tir.handle, %n: i32) attributes {global_symbol = "layout"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16x4xi32>
  %C = tir.match_buffer "C" %c : !tir.buffer<16x4xi32>
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c1 = tir.const 1 : i32
  tir.for "i" %i = %c3 to %c3 + %n unrolled annotations {software_pipeline_stage = [0 : i32, 1 : i32, 1 : i32], software_pipeline_order = [0 : i32, 2 : i32, 1 : i32]} {
    tir.block {
      %B = tir.alloc_buffer "B" strides [6, 1] {data_alignment = 128 : i32} : !tir.buffer<1x4xi32, "local">
      %D = tir.alloc_buffer "D" {axis_separators = array<i64: 1>} : !tir.buffer<1x4xi32>
      %unused = tir.alloc_buffer "unused" : !tir.buffer<4xi32>
      tir.block "fill" annotations {buffer_dim_align = [[0 : i32, 0 : i32, 8 : i32, 6 : i32]]} {
        tir.reads %A[%i, %c0 to 4]
        tir.writes %B[%c0, %c0 to 4], %D[%c0, %c0 to 4]
        tir.for %j = %c0 to %c4 {
          %x = tir.load %A[%i, %j] : i32
          tir.store %x, %B[%c0, %j] : i32
          tir.store %x, %D[%c0, %j] : i32
        }
      }
      tir.block "by_access_ptr" {
        tir.reads %B[%c0, %c0 to 4]
        tir.writes %C[%i, %c3]
        %p = tir.data %B : !tir.ptr<i32, "local">
        %q = tir.access_ptr r %p[%c3 to %c3 + %c1] : !tir.ptr<i32, "local">
        %V = tir.decl_buffer %q : !tir.buffer<1xi32, "local">
        %x = tir.load %V[%c0] : i32
        tir.store %x, %C[%i, %c3] : i32
      }
      tir.block "by_address" {
        tir.reads %D[%c0, %c0 to 4]
        tir.writes %C[%i, %c0]
        %p = tir.address_of %D[%c0, %c3] : !tir.ptr<i32>
        %V = tir.decl_buffer %p : !tir.buffer<1xi32>
        %x = tir.load %V[%c0] : i32
        tir.store %x, %C[%i, %c0] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @layout
// CHECK:      tir.block {
// CHECK-NEXT:   %[[V0:.*]] = tir.const 3 : i32
// CHECK-NEXT:   %[[V1:.*]] = tir.const 0 : i32
// CHECK-NEXT:   %[[V2:.*]] = tir.const 1 : i32
// CHECK-NEXT:   %[[V3:.*]] = tir.max %[[V2]], %{{.*}} : i32
// CHECK-NEXT:   %[[V4:.*]] = tir.const 2 : i32
// CHECK-NEXT:   %[[V5:.*]] = tir.add %{{.*}}, %[[V4]] : i32
// CHECK-NEXT:   %[[V6:.*]] = tir.min %[[V0]], %[[V5]] : i32
// CHECK-NEXT:   %[[V7:.*]] = tir.max %{{.*}}, %[[V2]] : i32
// CHECK-NEXT:   tir.reads %{{.*}}[%[[V0]] to %[[V0]] + %[[V3]], %[[V1]] to 4]
// CHECK-NEXT:   tir.writes %{{.*}}[%[[V6]] to %[[V6]] + %[[V7]], %[[V1]] to 4]
// CHECK-NEXT:   %[[B:.*]] = tir.alloc_buffer "B" strides [6, 6, 1] {data_alignment = 128 : i32} : !tir.buffer<2x1x4xi32, "local">
// CHECK-NEXT:   %[[D:.*]] = tir.alloc_buffer "D" {axis_separators = array<i64: 2>} : !tir.buffer<2x1x4xi32>
// CHECK-NEXT:   %{{.*}} = tir.alloc_buffer "unused" : !tir.buffer<4xi32>
// CHECK-NEXT:   tir.block {
// CHECK-NEXT:     %[[V8:.*]] = tir.const 3 : i32
// CHECK-NEXT:     %[[V9:.*]] = tir.const 0 : i32
// CHECK-NEXT:     tir.reads %{{.*}}[%[[V8]], %[[V9]] to 4]
// CHECK-NEXT:     tir.writes %[[B]][%[[V9]], %[[V9]], %[[V9]] to 4], %[[D]][%[[V9]], %[[V9]], %[[V9]] to 4]
// CHECK-NEXT:     %[[V10:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[V11:.*]] = tir.cmp lt %[[V10]], %{{.*}} : i32
// CHECK-NEXT:     tir.block "fill" where %[[V11]] annotations {buffer_dim_align = [[0 : i32, 1 : i32, 8 : i32, 6 : i32]]} {
// CHECK-NEXT:       %[[V12:.*]] = tir.const 0 : i32
// CHECK-NEXT:       tir.reads %{{.*}}[%{{.*}}, %{{.*}} to 4]
// CHECK-NEXT:       tir.writes %[[B]][%[[V12]], %{{.*}}, %{{.*}} to 4], %[[D]][%[[V12]], %{{.*}}, %{{.*}} to 4]
// CHECK-NEXT:       tir.for %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:         %[[X:.*]] = tir.load %{{.*}}[%{{.*}}, %[[J]]] : i32
// CHECK-NEXT:         tir.store %[[X]], %[[B]][%[[V12]], %{{.*}}, %[[J]]] : i32
// CHECK-NEXT:         tir.store %[[X]], %[[D]][%[[V12]], %{{.*}}, %[[J]]] : i32
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   tir.block {
// CHECK-NEXT:     %[[V13:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[V14:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[V15:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[V16:.*]] = tir.sub %{{.*}}, %[[V15]] : i32
// CHECK-NEXT:     %[[V24:.*]] = tir.const 3 : i32
// CHECK-NEXT:     tir.reads %{{.*}}[%[[V13]] to %[[V13]] + %[[V16]], %[[V14]] to 4], %[[D]][%[[V14]] to 2, %[[V14]], %[[V14]] to 4], %[[B]][%[[V14]] to 2, %[[V14]], %[[V14]] to 4]
// CHECK-NEXT:     tir.writes %[[B]][%[[V14]] to 2, %[[V14]], %[[V14]] to 4], %[[D]][%[[V14]] to 2, %[[V14]], %[[V14]] to 4], %{{.*}}[%[[V24]] to %[[V24]] + %[[V16]], %[[V14]] to 4]
// CHECK-NEXT:     %[[V25:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[V26:.*]] = tir.sub %{{.*}}, %[[V25]] : i32
// CHECK-NEXT:     tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} + %[[V26]] unrolled {
// CHECK-NEXT:       tir.block "fill" annotations {buffer_dim_align = [[0 : i32, 1 : i32, 8 : i32, 6 : i32]]} {
// CHECK-NEXT:         %[[V27:.*]] = tir.const 1 : i32
// CHECK-NEXT:         %[[V28:.*]] = tir.add %[[I]], %[[V27]] : i32
// CHECK-NEXT:         %[[V29:.*]] = tir.const 2 : i32
// CHECK-NEXT:         %[[V30:.*]] = tir.floormod %[[I]], %[[V29]] : i32
// CHECK-NEXT:         tir.reads %{{.*}}[%[[V28]], %{{.*}} to 4]
// CHECK-NEXT:         tir.writes %[[B]][%[[V30]], %{{.*}}, %{{.*}} to 4], %[[D]][%[[V30]], %{{.*}}, %{{.*}} to 4]
// CHECK-NEXT:         tir.for %[[J_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:           %[[X_1:.*]] = tir.load %{{.*}}[%[[V28]], %[[J_1]]] : i32
// CHECK-NEXT:           tir.store %[[X_1]], %[[B]][%[[V30]], %{{.*}}, %[[J_1]]] : i32
// CHECK-NEXT:           tir.store %[[X_1]], %[[D]][%[[V30]], %{{.*}}, %[[J_1]]] : i32
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:       tir.block "by_address" {
// CHECK-NEXT:         %[[V31:.*]] = tir.const 1 : i32
// CHECK-NEXT:         %[[V32:.*]] = tir.add %[[I]], %[[V31]] : i32
// CHECK-NEXT:         %[[V33:.*]] = tir.const 2 : i32
// CHECK-NEXT:         %[[V34:.*]] = tir.floormod %[[V32]], %[[V33]] : i32
// CHECK-NEXT:         tir.reads %[[D]][%[[V34]], %{{.*}}, %{{.*}} to 4]
// CHECK-NEXT:         tir.writes %{{.*}}[%[[I]], %{{.*}}]
// CHECK-NEXT:         %[[P:.*]] = tir.address_of %[[D]][%[[V34]], %{{.*}}, %{{.*}}] : !tir.ptr<i32>
// CHECK-NEXT:         %[[V:.*]] = tir.decl_buffer %[[P]] : !tir.buffer<1xi32>
// CHECK-NEXT:         %[[X_2:.*]] = tir.load %[[V]][%{{.*}}] : i32
// CHECK-NEXT:         tir.store %[[X_2]], %{{.*}}[%[[I]], %{{.*}}] : i32
// CHECK-NEXT:       }
// CHECK-NEXT:       tir.block "by_access_ptr" {
// CHECK-NEXT:         %[[V35:.*]] = tir.const 1 : i32
// CHECK-NEXT:         %[[V36:.*]] = tir.add %[[I]], %[[V35]] : i32
// CHECK-NEXT:         %[[V37:.*]] = tir.const 2 : i32
// CHECK-NEXT:         %[[V38:.*]] = tir.floormod %[[V36]], %[[V37]] : i32
// CHECK-NEXT:         tir.reads %[[B]][%[[V38]], %{{.*}}, %{{.*}} to 4]
// CHECK-NEXT:         tir.writes %{{.*}}[%[[I]], %{{.*}}]
// CHECK-NEXT:         %[[V39:.*]] = tir.data %[[B]] : !tir.ptr<i32, "local">
// CHECK-NEXT:         %[[V40:.*]] = tir.const 6 : i32
// CHECK-NEXT:         %[[V41:.*]] = tir.mul %[[V38]], %[[V40]] : i32
// CHECK-NEXT:         %[[V42:.*]] = tir.add %[[V41]], %{{.*}} : i32
// CHECK-NEXT:         %[[Q:.*]] = tir.access_ptr r %[[V39]][%[[V42]] to %[[V42]] + %{{.*}}] : !tir.ptr<i32, "local">
// CHECK-NEXT:         %[[V_1:.*]] = tir.decl_buffer %[[Q]] : !tir.buffer<1xi32, "local">
// CHECK-NEXT:         %[[X_3:.*]] = tir.load %[[V_1]][%{{.*}}] : i32
// CHECK-NEXT:         tir.store %[[X_3]], %{{.*}}[%[[I]], %{{.*}}] : i32
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   tir.block {
// CHECK-NEXT:     %[[V43:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[V44:.*]] = tir.add %{{.*}}, %[[V43]] : i32
// CHECK-NEXT:     %[[V45:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[V46:.*]] = tir.floormod %[[V44]], %[[V45]] : i32
// CHECK-NEXT:     %[[V47:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[V48:.*]] = tir.add %{{.*}}, %[[V45]] : i32
// CHECK-NEXT:     tir.reads %[[D]][%[[V46]], %[[V47]], %[[V47]] to 4], %[[B]][%[[V46]], %[[V47]], %[[V47]] to 4]
// CHECK-NEXT:     tir.writes %{{.*}}[%[[V48]], %[[V47]] to 4]
// CHECK-NEXT:     %[[V49:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[V50:.*]] = tir.cmp le %[[V49]], %{{.*}} : i32
// CHECK-NEXT:     tir.block "by_address" where %[[V50]] {
// CHECK-NEXT:       %[[V51:.*]] = tir.const 2 : i32
// CHECK-NEXT:       %[[V52:.*]] = tir.add %{{.*}}, %[[V51]] : i32
// CHECK-NEXT:       %[[V53:.*]] = tir.const 1 : i32
// CHECK-NEXT:       %[[V54:.*]] = tir.add %{{.*}}, %[[V53]] : i32
// CHECK-NEXT:       %[[V55:.*]] = tir.floormod %[[V54]], %[[V51]] : i32
// CHECK-NEXT:       tir.reads %[[D]][%[[V55]], %{{.*}}, %{{.*}} to 4]
// CHECK-NEXT:       tir.writes %{{.*}}[%[[V52]], %{{.*}}]
// CHECK-NEXT:       %[[P_1:.*]] = tir.address_of %[[D]][%[[V55]], %{{.*}}, %{{.*}}] : !tir.ptr<i32>
// CHECK-NEXT:       %[[V_2:.*]] = tir.decl_buffer %[[P_1]] : !tir.buffer<1xi32>
// CHECK-NEXT:       %[[X_4:.*]] = tir.load %[[V_2]][%{{.*}}] : i32
// CHECK-NEXT:       tir.store %[[X_4]], %{{.*}}[%[[V52]], %{{.*}}] : i32
// CHECK-NEXT:     }
// CHECK-NEXT:     tir.block "by_access_ptr" where %[[V50]] {
// CHECK-NEXT:       %[[V56:.*]] = tir.const 2 : i32
// CHECK-NEXT:       %[[V57:.*]] = tir.add %{{.*}}, %[[V56]] : i32
// CHECK-NEXT:       %[[V58:.*]] = tir.const 1 : i32
// CHECK-NEXT:       %[[V59:.*]] = tir.add %{{.*}}, %[[V58]] : i32
// CHECK-NEXT:       %[[V60:.*]] = tir.floormod %[[V59]], %[[V56]] : i32
// CHECK-NEXT:       tir.reads %[[B]][%[[V60]], %{{.*}}, %{{.*}} to 4]
// CHECK-NEXT:       tir.writes %{{.*}}[%[[V57]], %{{.*}}]
// CHECK-NEXT:       %[[V61:.*]] = tir.data %[[B]] : !tir.ptr<i32, "local">
// CHECK-NEXT:       %[[V62:.*]] = tir.const 6 : i32
// CHECK-NEXT:       %[[V63:.*]] = tir.mul %[[V60]], %[[V62]] : i32
// CHECK-NEXT:       %[[V64:.*]] = tir.add %[[V63]], %{{.*}} : i32
// CHECK-NEXT:       %[[Q_1:.*]] = tir.access_ptr r %[[V61]][%[[V64]] to %[[V64]] + %{{.*}}] : !tir.ptr<i32, "local">
// CHECK-NEXT:       %[[V_3:.*]] = tir.decl_buffer %[[Q_1]] : !tir.buffer<1xi32, "local">
// CHECK-NEXT:       %[[X_5:.*]] = tir.load %[[V_3]][%{{.*}}] : i32
// CHECK-NEXT:       tir.store %[[X_5]], %{{.*}}[%[[V57]], %{{.*}}] : i32
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
// LOWERED-LABEL: tir.func @layout
// LOWERED-NOT: tir.block

// -----

// Fragments of a matrix have a number. A fill is one of the version, too.
tir.func @fragments(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {global_symbol = "fragments"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x16x16xf16>
  %B = tir.match_buffer "B" %b : !tir.buffer<16x16xf16>
  %C = tir.match_buffer "C" %c : !tir.buffer<4x16x16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %c256 = tir.const 256 : i32
  %zero = tir.const 0.0 : f32
  %row_major = tir.string "row_major"
  tir.launch_thread %tx = "threadIdx.x" to %c32 {
    tir.for "i" %i = %c0 to %c4 annotations {software_pipeline_stage = [0 : i32, 0 : i32, 1 : i32, 2 : i32], software_pipeline_order = [1 : i32, 0 : i32, 3 : i32, 2 : i32]} {
      tir.block {
        %FA = tir.alloc_buffer "FA" : !tir.buffer<16x16xf16, "wmma.matrix_a">
        %FB = tir.alloc_buffer "FB" : !tir.buffer<16x16xf16, "wmma.matrix_b">
        %FC = tir.alloc_buffer "FC" : !tir.buffer<16x16xf32, "wmma.accumulator">
        %fa = tir.data %FA : !tir.ptr<f16, "wmma.matrix_a">
        %fb = tir.data %FB : !tir.ptr<f16, "wmma.matrix_b">
        %fc = tir.data %FC : !tir.ptr<f32, "wmma.accumulator">
        tir.block "load" {
          tir.reads %A[%i, %c0 to 16, %c0 to 16], %B[%c0 to 16, %c0 to 16]
          tir.writes %FA[%c0 to 16, %c0 to 16], %FB[%c0 to 16, %c0 to 16]
          tir.scope {
            %pa = tir.data %A : !tir.ptr<f16>
            %from = tir.mul %i, %c256 : i32
            %tile = tir.access_ptr r %pa[%from to %from + %c256] : !tir.ptr<f16>
            %da = tir.call "tvm_load_matrix_sync"(%fa, %c16, %c16, %c16, %c0, %tile, %c16, %row_major) : (!tir.ptr<f16, "wmma.matrix_a">, i32, i32, i32, i32, !tir.ptr<f16>, i32, !tir.handle) -> !tir.handle
            %pb = tir.data %B : !tir.ptr<f16>
            %db = tir.call "tvm_load_matrix_sync"(%fb, %c16, %c16, %c16, %c0, %pb, %c16, %row_major) : (!tir.ptr<f16, "wmma.matrix_b">, i32, i32, i32, i32, !tir.ptr<f16>, i32, !tir.handle) -> !tir.handle
          }
        }
        tir.block "fill" {
          tir.reads
          tir.writes %FC[%c0 to 16, %c0 to 16]
          %df = tir.call "tvm_fill_fragment"(%fc, %c16, %c16, %c16, %c0, %zero) : (!tir.ptr<f32, "wmma.accumulator">, i32, i32, i32, i32, f32) -> !tir.handle
        }
        tir.block "mma" {
          tir.reads %FA[%c0 to 16, %c0 to 16], %FB[%c0 to 16, %c0 to 16], %FC[%c0 to 16, %c0 to 16]
          tir.writes %FC[%c0 to 16, %c0 to 16]
          %dm = tir.call "tvm_mma_sync"(%fc, %c0, %fa, %c0, %fb, %c0, %fc, %c0) : (!tir.ptr<f32, "wmma.accumulator">, i32, !tir.ptr<f16, "wmma.matrix_a">, i32, !tir.ptr<f16, "wmma.matrix_b">, i32, !tir.ptr<f32, "wmma.accumulator">, i32) -> !tir.handle
        }
        tir.block "store" {
          tir.reads %FC[%c0 to 16, %c0 to 16]
          tir.writes %C[%i, %c0 to 16, %c0 to 16]
          %pc = tir.data %C : !tir.ptr<f32>
          %to = tir.mul %i, %c256 : i32
          %tile = tir.access_ptr w %pc[%to to %to + %c256] : !tir.ptr<f32>
          %ds = tir.call "tvm_store_matrix_sync"(%fc, %c16, %c16, %c16, %c0, %tile, %c16, %row_major) : (!tir.ptr<f32, "wmma.accumulator">, i32, i32, i32, i32, !tir.ptr<f32>, i32, !tir.handle) -> !tir.handle
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @fragments
// CHECK:        tir.block {
// CHECK:          %{{.*}} = tir.alloc_buffer "FA" : !tir.buffer<2x16x16xf16, "wmma.matrix_a">
// CHECK:          %{{.*}} = tir.alloc_buffer "FB" : !tir.buffer<2x16x16xf16, "wmma.matrix_b">
// CHECK:          %{{.*}} = tir.alloc_buffer "FC" : !tir.buffer<3x16x16xf32, "wmma.accumulator">
// CHECK:          tir.block {
// CHECK:            tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} unrolled {
// CHECK:              tir.block "fill" {
// CHECK:                %{{.*}} = tir.call "tvm_fill_fragment"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[I]], %{{.*}})
// CHECK:              tir.block "load" {
// CHECK:                  %[[TILE:.*]] = tir.access_ptr r %{{.*}}[%{{.*}} to %{{.*}} + %{{.*}}] : !tir.ptr<f16>
// CHECK:                  %{{.*}} = tir.call "tvm_load_matrix_sync"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[I]], %[[TILE]], %{{.*}}, %{{.*}})
// CHECK:                  %{{.*}} = tir.call "tvm_load_matrix_sync"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[I]], %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:              %[[V10:.*]] = tir.cmp eq %[[I]], %{{.*}} : i32
// CHECK:              tir.block "mma" where %[[V10]] {
// CHECK:                %{{.*}} = tir.call "tvm_mma_sync"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:          tir.block {
// CHECK:            tir.for "i" %[[I_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK:              tir.block "fill" {
// CHECK:                %{{.*}} = tir.call "tvm_fill_fragment"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:              tir.block "load" {
// CHECK:                  %[[TILE_1:.*]] = tir.access_ptr r %{{.*}}[%{{.*}} to %{{.*}} + %{{.*}}] : !tir.ptr<f16>
// CHECK:                  %{{.*}} = tir.call "tvm_load_matrix_sync"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[I_1]], %[[TILE_1]], %{{.*}}, %{{.*}})
// CHECK:                  %{{.*}} = tir.call "tvm_load_matrix_sync"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[I_1]], %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:              tir.block "store" {
// CHECK:                %[[TILE_2:.*]] = tir.access_ptr w %{{.*}}[%{{.*}} to %{{.*}} + %{{.*}}] : !tir.ptr<f32>
// CHECK:                %{{.*}} = tir.call "tvm_store_matrix_sync"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[I_1]], %[[TILE_2]], %{{.*}}, %{{.*}})
// CHECK:              tir.block "mma" {
// CHECK:                %{{.*}} = tir.call "tvm_mma_sync"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK:          tir.block {
// CHECK:            tir.for "i" %[[I_2:.*]] = %{{.*}} to %{{.*}} unrolled {
// CHECK:              tir.block "store" {
// CHECK:                %[[TILE_3:.*]] = tir.access_ptr w %{{.*}}[%{{.*}} to %{{.*}} + %{{.*}}] : !tir.ptr<f32>
// CHECK:                %{{.*}} = tir.call "tvm_store_matrix_sync"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[TILE_3]], %{{.*}}, %{{.*}})
// CHECK:              %[[V64:.*]] = tir.cmp lt %[[I_2]], %{{.*}} : i32
// CHECK:              tir.block "mma" where %[[V64]] {
// CHECK:                %{{.*}} = tir.call "tvm_mma_sync"(%{{.*}}, %[[I_2]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[I_2]])
// LOWERED-LABEL: tir.func @fragments
// LOWERED-NOT: tir.block

// -----

// Nothing in the loop waits for the copies to C, so the epilogue does; those in the scope
// of one statement stay in a block with its buffer.
tir.func @drained(%a: !tir.handle, %c: !tir.handle) attributes {global_symbol = "drained"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %C = tir.match_buffer "C" %c : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.for "i" %i = %c0 to %c8 annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32], software_pipeline_async_stages = [1 : i32]} {
    tir.block {
      %B = tir.alloc_buffer "B" : !tir.buffer<1xi32>
      tir.block "fill" {
        tir.reads %A[%i]
        tir.writes %B[%c0]
        %x = tir.load %A[%i] : i32
        tir.store %x, %B[%c0] : i32
      }
      tir.block "copy" {
        tir.reads %B[%c0]
        tir.writes %C[%i]
        %own = tir.alloc_buffer "own" : !tir.buffer<1xi32>
        %x = tir.load %B[%c0] : i32
        tir.store %x, %C[%i] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @drained
// CHECK:      tir.block {
// CHECK-NEXT:   %[[V0:.*]] = tir.const 0 : i32
// CHECK-NEXT:   tir.reads %{{.*}}[%[[V0]] to 8]
// CHECK-NEXT:   tir.writes %{{.*}}[%[[V0]] to 8]
// CHECK-NEXT:   %[[B:.*]] = tir.alloc_buffer "B" : !tir.buffer<2x1xi32>
// CHECK-NEXT:   tir.block "fill" {
// CHECK-NEXT:     %[[V1:.*]] = tir.const 0 : i32
// CHECK-NEXT:     tir.reads %{{.*}}[%[[V1]]]
// CHECK-NEXT:     tir.writes %[[B]][%[[V1]], %[[V1]]]
// CHECK-NEXT:     %[[X:.*]] = tir.load %{{.*}}[%{{.*}}] : i32
// CHECK-NEXT:     tir.store %[[X]], %[[B]][%{{.*}}, %{{.*}}] : i32
// CHECK-NEXT:   }
// CHECK-NEXT:   tir.block {
// CHECK-NEXT:     %[[V2:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[V3:.*]] = tir.const 0 : i32
// CHECK-NEXT:     tir.reads %{{.*}}[%[[V2]] to %[[V2]] + 7], %[[B]][%[[V3]] to 2, %[[V3]]]
// CHECK-NEXT:     tir.writes %[[B]][%[[V3]] to 2, %[[V3]]], %{{.*}}[%[[V3]] to 7]
// CHECK-NEXT:     %[[V4:.*]] = tir.const 7 : i32
// CHECK-NEXT:     tir.for "i" %[[I:.*]] = %{{.*}} to %[[V4]] {
// CHECK-NEXT:       tir.block "fill" {
// CHECK-NEXT:         %[[V5:.*]] = tir.const 1 : i32
// CHECK-NEXT:         %[[V6:.*]] = tir.add %[[I]], %[[V5]] : i32
// CHECK-NEXT:         %[[V7:.*]] = tir.const 2 : i32
// CHECK-NEXT:         %[[V8:.*]] = tir.floormod %[[V6]], %[[V7]] : i32
// CHECK-NEXT:         %[[V9:.*]] = tir.const 0 : i32
// CHECK-NEXT:         tir.reads %{{.*}}[%[[V6]]]
// CHECK-NEXT:         tir.writes %[[B]][%[[V8]], %[[V9]]]
// CHECK-NEXT:         tir.attr "async_wait_queue_scope" (0 : i32) = 1 : i32 {
// CHECK-NEXT:           tir.attr "async_wait_inflight_count" (0 : i32) = 0 : i32 {
// CHECK-NEXT:             %[[V10:.*]] = tir.const 1 : i32
// CHECK-NEXT:             %[[V11:.*]] = tir.add %[[I]], %[[V10]] : i32
// CHECK-NEXT:             %[[V12:.*]] = tir.const 2 : i32
// CHECK-NEXT:             %[[V13:.*]] = tir.floormod %[[V11]], %[[V12]] : i32
// CHECK-NEXT:             %[[X_1:.*]] = tir.load %{{.*}}[%[[V11]]] : i32
// CHECK-NEXT:             tir.store %[[X_1]], %[[B]][%[[V13]], %{{.*}}] : i32
// CHECK-NEXT:           }
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:       tir.block {
// CHECK-NEXT:         %[[V14:.*]] = tir.const 2 : i32
// CHECK-NEXT:         %[[V15:.*]] = tir.floormod %[[I]], %[[V14]] : i32
// CHECK-NEXT:         %[[V16:.*]] = tir.const 0 : i32
// CHECK-NEXT:         tir.reads %[[B]][%[[V15]], %[[V16]]]
// CHECK-NEXT:         tir.writes %{{.*}}[%[[I]]]
// CHECK-NEXT:         tir.attr "async_commit_queue_scope" (0 : i32) = 1 : i32 {
// CHECK-NEXT:           tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK-NEXT:             tir.block "copy" {
// CHECK-NEXT:               %[[V17:.*]] = tir.const 2 : i32
// CHECK-NEXT:               %[[V18:.*]] = tir.floormod %[[I]], %[[V17]] : i32
// CHECK-NEXT:               tir.reads %[[B]][%[[V18]], %{{.*}}]
// CHECK-NEXT:               tir.writes %{{.*}}[%[[I]]]
// CHECK-NEXT:               %{{.*}} = tir.alloc_buffer "own" : !tir.buffer<1xi32>
// CHECK-NEXT:               %[[X_2:.*]] = tir.load %[[B]][%[[V18]], %{{.*}}] : i32
// CHECK-NEXT:               tir.store %[[X_2]], %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:             }
// CHECK-NEXT:           }
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   tir.block {
// CHECK-NEXT:     %[[V19:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[V20:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[V21:.*]] = tir.const 7 : i32
// CHECK-NEXT:     tir.reads %[[B]][%[[V19]], %[[V20]]]
// CHECK-NEXT:     tir.writes %{{.*}}[%[[V21]]]
// CHECK-NEXT:     tir.block {
// CHECK-NEXT:       %[[V22:.*]] = tir.const 1 : i32
// CHECK-NEXT:       %[[V23:.*]] = tir.const 0 : i32
// CHECK-NEXT:       %[[V24:.*]] = tir.const 7 : i32
// CHECK-NEXT:       tir.reads %[[B]][%[[V22]], %[[V23]]]
// CHECK-NEXT:       tir.writes %{{.*}}[%[[V24]]]
// CHECK-NEXT:       tir.attr "async_commit_queue_scope" (0 : i32) = 1 : i32 {
// CHECK-NEXT:         tir.attr "async_scope" (0 : i32) = 1 : i32 {
// CHECK-NEXT:           tir.block "copy" {
// CHECK-NEXT:             %[[V25:.*]] = tir.const 7 : i32
// CHECK-NEXT:             %[[V26:.*]] = tir.const 1 : i32
// CHECK-NEXT:             tir.reads %[[B]][%[[V26]], %{{.*}}]
// CHECK-NEXT:             tir.writes %{{.*}}[%[[V25]]]
// CHECK-NEXT:             %{{.*}} = tir.alloc_buffer "own" : !tir.buffer<1xi32>
// CHECK-NEXT:             %[[X_3:.*]] = tir.load %[[B]][%[[V26]], %{{.*}}] : i32
// CHECK-NEXT:             tir.store %[[X_3]], %{{.*}}[%[[V25]]] : i32
// CHECK-NEXT:           }
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     tir.attr "async_wait_queue_scope" (0 : i32) = 1 : i32 {
// CHECK-NEXT:       tir.attr "async_wait_inflight_count" (0 : i32) = 0 : i32 {
// CHECK-NEXT:         tir.evaluate
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
// LOWERED-LABEL: tir.func @drained
// LOWERED-NOT: tir.block
