// RUN: xdsl-opt %s -p tir-inject-virtual-thread --split-input-file | filecheck %s

// A statement for each thread, in memory that has room for those that write it.
// CASE: InjectVirtualThread.1
// CASE: InjectVirtualThread.8
tir.func @shared(%a: !tir.handle, %c: !tir.handle, %d: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<32xi32>
  %C = tir.match_buffer %c : !tir.buffer<32xi32>
  %D = tir.match_buffer %d : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  tir.launch_thread %tx = "vthread.x" to %c2 virtual {
    tir.launch_thread %ty = "vthread.y" to %c2 virtual {
      tir.for "i" %i = %c0 to %c4 {
        %p = tir.allocate "B" [4] annotations {"a" = 1 : i32} : !tir.ptr<i32, "shared">
        %B = tir.decl_buffer "B" %p : !tir.buffer<4xi32, "shared">
        %0 = tir.mul %i, %c2 : i32
        %1 = tir.add %0, %tx : i32
        %2 = tir.load %A[%1] : i32
        tir.store %2, %B[%i] : i32
        tir.store %i, %D[%i] : i32
        %3 = tir.load %B[%i] : i32
        %4 = tir.add %3, %c1 : i32
        tir.store %4, %C[%1] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @shared
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<32xi32>
// CHECK-NEXT:     %[[C:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<32xi32>
// CHECK-NEXT:     %[[D:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<8xi32>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[V0:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[V1:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[V2:.*]] = tir.const 1 : i32
// CHECK-NEXT:     tir.for "i" %[[I:.*]] = %[[C0]] to %[[C4]] {
// CHECK-NEXT:       %[[P:.*]] = tir.allocate "B" [8] annotations {a = 1 : i32} : !tir.ptr<i32, "shared">
// CHECK-NEXT:       %[[B:.*]] = tir.decl_buffer "B" %[[P]] : !tir.buffer<8xi32, "shared">
// CHECK-NEXT:       %[[V3:.*]] = tir.mul %[[I]], %[[C2]] : i32
// CHECK-NEXT:       %[[V4:.*]] = tir.add %[[V3]], %[[V1]] : i32
// CHECK-NEXT:       %[[V5:.*]] = tir.load %[[A]][%[[V4]]] : i32
// CHECK-NEXT:       %[[V6:.*]] = tir.mul %[[V1]], %[[V0]] : i32
// CHECK-NEXT:       %[[V7:.*]] = tir.add %[[V6]], %[[I]] : i32
// CHECK-NEXT:       tir.store %[[V5]], %[[B]][%[[V7]]] : i32
// CHECK-NEXT:       %[[V8:.*]] = tir.add %[[V3]], %[[V2]] : i32
// CHECK-NEXT:       %[[V9:.*]] = tir.load %[[A]][%[[V8]]] : i32
// CHECK-NEXT:       %[[V10:.*]] = tir.mul %[[V2]], %[[V0]] : i32
// CHECK-NEXT:       %[[V11:.*]] = tir.add %[[V10]], %[[I]] : i32
// CHECK-NEXT:       tir.store %[[V9]], %[[B]][%[[V11]]] : i32
// CHECK-NEXT:       tir.store %[[I]], %[[D]][%[[I]]] : i32
// CHECK-NEXT:       %[[V12:.*]] = tir.mul %[[V1]], %[[V0]] : i32
// CHECK-NEXT:       %[[V13:.*]] = tir.add %[[V12]], %[[I]] : i32
// CHECK-NEXT:       %[[V14:.*]] = tir.load %[[B]][%[[V13]]] : i32
// CHECK-NEXT:       %[[V15:.*]] = tir.add %[[V14]], %[[C1]] : i32
// CHECK-NEXT:       %[[V16:.*]] = tir.add %[[V3]], %[[V1]] : i32
// CHECK-NEXT:       tir.store %[[V15]], %[[C]][%[[V16]]] : i32
// CHECK-NEXT:       %[[V17:.*]] = tir.mul %[[V2]], %[[V0]] : i32
// CHECK-NEXT:       %[[V18:.*]] = tir.add %[[V17]], %[[I]] : i32
// CHECK-NEXT:       %[[V19:.*]] = tir.load %[[B]][%[[V18]]] : i32
// CHECK-NEXT:       %[[V20:.*]] = tir.add %[[V19]], %[[C1]] : i32
// CHECK-NEXT:       %[[V21:.*]] = tir.add %[[V3]], %[[V2]] : i32
// CHECK-NEXT:       tir.store %[[V20]], %[[C]][%[[V21]]] : i32
// CHECK-NEXT:     }

// -----

// CASE: InjectVirtualThread.1
tir.func @run_shared(%a: !tir.handle, %c: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<16xf32>
  %C = tir.match_buffer %c : !tir.buffer<16xf32>
  %run = tir.string "Run"
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %one = tir.const 1.0 : f32
  tir.for "i" %i = %c0 to %c4 {
    tir.launch_thread %tx = "vthread.x" to %c2 virtual {
      tir.launch_thread %ty = "vthread.y" to %c2 virtual {
        %p = tir.allocate "B" [4] : !tir.ptr<f32, "shared">
        %B = tir.decl_buffer "B" %p : !tir.buffer<4xf32, "shared">
        %0 = tir.mul %i, %c2 : i32
        %1 = tir.add %0, %tx : i32
        %2 = tir.load %A[%1] : f32
        tir.store %2, %B[%i] : f32
        %q = tir.access_ptr r %p[%c0 to %c0 + %c4] : !tir.ptr<f32, "shared">
        %id = tir.call "tvm_context_id"() : () -> i32
        %r = tir.call "call_extern"(%run, %q, %id) : (!tir.handle, !tir.ptr<f32, "shared">, i32) -> i32
        tir.evaluate %r : i32
        %3 = tir.load %B[%i] : f32
        %4 = tir.add %3, %one : f32
        tir.store %4, %C[%1] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @run_shared
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<16xf32>
// CHECK-NEXT:     %[[C:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<16xf32>
// CHECK-NEXT:     %[[CALLEE:.*]] = tir.string "Run"
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[ONE:.*]] = tir.const 1.000000e+00 : f32
// CHECK-NEXT:     tir.for "i" %[[I:.*]] = %[[C0]] to %[[C4]] {
// CHECK-NEXT:       %[[V0:.*]] = tir.const 4 : i32
// CHECK-NEXT:       %[[V1:.*]] = tir.const 0 : i32
// CHECK-NEXT:       %[[V2:.*]] = tir.const 1 : i32
// CHECK-NEXT:       %[[P:.*]] = tir.allocate "B" [8] : !tir.ptr<f32, "shared">
// CHECK-NEXT:       %[[B:.*]] = tir.decl_buffer "B" %[[P]] : !tir.buffer<8xf32, "shared">
// CHECK-NEXT:       %[[V3:.*]] = tir.mul %[[I]], %[[C2]] : i32
// CHECK-NEXT:       %[[V4:.*]] = tir.add %[[V3]], %[[V1]] : i32
// CHECK-NEXT:       %[[V5:.*]] = tir.load %[[A]][%[[V4]]] : f32
// CHECK-NEXT:       %[[V6:.*]] = tir.mul %[[V1]], %[[V0]] : i32
// CHECK-NEXT:       %[[V7:.*]] = tir.add %[[V6]], %[[I]] : i32
// CHECK-NEXT:       tir.store %[[V5]], %[[B]][%[[V7]]] : f32
// CHECK-NEXT:       %[[V8:.*]] = tir.add %[[V3]], %[[V2]] : i32
// CHECK-NEXT:       %[[V9:.*]] = tir.load %[[A]][%[[V8]]] : f32
// CHECK-NEXT:       %[[V10:.*]] = tir.mul %[[V2]], %[[V0]] : i32
// CHECK-NEXT:       %[[V11:.*]] = tir.add %[[V10]], %[[I]] : i32
// CHECK-NEXT:       tir.store %[[V9]], %[[B]][%[[V11]]] : f32
// CHECK-NEXT:       %[[ID:.*]] = tir.call "tvm_context_id"() : () -> i32
// CHECK-NEXT:       %[[V12:.*]] = tir.mul %[[V1]], %[[V0]] : i32
// CHECK-NEXT:       %[[Q:.*]] = tir.access_ptr r %[[P]][%[[V12]] to %[[V12]] + %[[C4]]] : !tir.ptr<f32, "shared">
// CHECK-NEXT:       %[[R:.*]] = tir.call "call_extern"(%[[CALLEE]], %[[Q]], %[[ID]]) : (!tir.handle, !tir.ptr<f32, "shared">, i32) -> i32
// CHECK-NEXT:       tir.evaluate %[[R]] : i32
// CHECK-NEXT:       %[[V13:.*]] = tir.mul %[[V2]], %[[V0]] : i32
// CHECK-NEXT:       %[[Q_1:.*]] = tir.access_ptr r %[[P]][%[[V13]] to %[[V13]] + %[[C4]]] : !tir.ptr<f32, "shared">
// CHECK-NEXT:       %[[R_1:.*]] = tir.call "call_extern"(%[[CALLEE]], %[[Q_1]], %[[ID]]) : (!tir.handle, !tir.ptr<f32, "shared">, i32) -> i32
// CHECK-NEXT:       tir.evaluate %[[R_1]] : i32
// CHECK-NEXT:       %[[V14:.*]] = tir.mul %[[V1]], %[[V0]] : i32
// CHECK-NEXT:       %[[V15:.*]] = tir.add %[[V14]], %[[I]] : i32
// CHECK-NEXT:       %[[V16:.*]] = tir.load %[[B]][%[[V15]]] : f32
// CHECK-NEXT:       %[[V17:.*]] = tir.add %[[V16]], %[[ONE]] : f32
// CHECK-NEXT:       %[[V18:.*]] = tir.add %[[V3]], %[[V1]] : i32
// CHECK-NEXT:       tir.store %[[V17]], %[[C]][%[[V18]]] : f32
// CHECK-NEXT:       %[[V19:.*]] = tir.mul %[[V2]], %[[V0]] : i32
// CHECK-NEXT:       %[[V20:.*]] = tir.add %[[V19]], %[[I]] : i32
// CHECK-NEXT:       %[[V21:.*]] = tir.load %[[B]][%[[V20]]] : f32
// CHECK-NEXT:       %[[V22:.*]] = tir.add %[[V21]], %[[ONE]] : f32
// CHECK-NEXT:       %[[V23:.*]] = tir.add %[[V3]], %[[V2]] : i32
// CHECK-NEXT:       tir.store %[[V22]], %[[C]][%[[V23]]] : f32
// CHECK-NEXT:     }

// -----

// CASE: InjectVirtualThread.1
tir.func @run_exclusive(%a: !tir.handle, %c: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<16xf32>
  %C = tir.match_buffer %c : !tir.buffer<16xf32>
  %run = tir.string "Run"
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  tir.for "i" %i = %c0 to %c4 {
    tir.launch_thread %tx = "cthread" to %c2 virtual {
      tir.launch_thread %ty = "cthread" to %c2 virtual {
        %p = tir.allocate "B" [4] : !tir.ptr<f32, "shared">
        %B = tir.decl_buffer "B" %p : !tir.buffer<4xf32, "shared">
        %0 = tir.mul %i, %c2 : i32
        %1 = tir.add %0, %tx : i32
        %2 = tir.load %A[%1] : f32
        tir.store %2, %B[%i] : f32
        %q = tir.access_ptr r %p[%c0 to %c0 + %c4] : !tir.ptr<f32, "shared">
        %id = tir.call "tvm_context_id"() : () -> i32
        %r = tir.call "call_extern"(%run, %q, %id) : (!tir.handle, !tir.ptr<f32, "shared">, i32) -> i32
        tir.evaluate %r : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @run_exclusive
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<16xf32>
// CHECK-NEXT:     %[[C:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<16xf32>
// CHECK-NEXT:     %[[CALLEE:.*]] = tir.string "Run"
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     tir.for "i" %[[I:.*]] = %[[C0]] to %[[C4]] {
// CHECK-NEXT:       %[[V0:.*]] = tir.const 8 : i32
// CHECK-NEXT:       %[[V1:.*]] = tir.const 0 : i32
// CHECK-NEXT:       %[[V2:.*]] = tir.const 1 : i32
// CHECK-NEXT:       %[[V3:.*]] = tir.const 0 : i32
// CHECK-NEXT:       %[[V4:.*]] = tir.const 1 : i32
// CHECK-NEXT:       %[[P:.*]] = tir.allocate "B" [16] : !tir.ptr<f32, "shared">
// CHECK-NEXT:       %[[B:.*]] = tir.decl_buffer "B" %[[P]] : !tir.buffer<16xf32, "shared">
// CHECK-NEXT:       %[[V5:.*]] = tir.mul %[[I]], %[[C2]] : i32
// CHECK-NEXT:       %[[V6:.*]] = tir.add %[[V5]], %[[V1]] : i32
// CHECK-NEXT:       %[[V7:.*]] = tir.load %[[A]][%[[V6]]] : f32
// CHECK-NEXT:       %[[V8:.*]] = tir.mul %[[V1]], %[[V0]] : i32
// CHECK-NEXT:       %[[V9:.*]] = tir.add %[[V8]], %[[I]] : i32
// CHECK-NEXT:       tir.store %[[V7]], %[[B]][%[[V9]]] : f32
// CHECK-NEXT:       %[[V10:.*]] = tir.add %[[V5]], %[[V2]] : i32
// CHECK-NEXT:       %[[V11:.*]] = tir.load %[[A]][%[[V10]]] : f32
// CHECK-NEXT:       %[[V12:.*]] = tir.mul %[[V2]], %[[V0]] : i32
// CHECK-NEXT:       %[[V13:.*]] = tir.add %[[V12]], %[[I]] : i32
// CHECK-NEXT:       tir.store %[[V11]], %[[B]][%[[V13]]] : f32
// CHECK-NEXT:       %[[V14:.*]] = tir.const 4 : i32
// CHECK-NEXT:       %[[V15:.*]] = tir.add %[[V5]], %[[V1]] : i32
// CHECK-NEXT:       %[[V16:.*]] = tir.load %[[A]][%[[V15]]] : f32
// CHECK-NEXT:       %[[V17:.*]] = tir.mul %[[V1]], %[[V0]] : i32
// CHECK-NEXT:       %[[V18:.*]] = tir.add %[[V17]], %[[I]] : i32
// CHECK-NEXT:       %[[V19:.*]] = tir.add %[[V18]], %[[V14]] : i32
// CHECK-NEXT:       tir.store %[[V16]], %[[B]][%[[V19]]] : f32
// CHECK-NEXT:       %[[V20:.*]] = tir.add %[[V5]], %[[V2]] : i32
// CHECK-NEXT:       %[[V21:.*]] = tir.load %[[A]][%[[V20]]] : f32
// CHECK-NEXT:       %[[V22:.*]] = tir.mul %[[V2]], %[[V0]] : i32
// CHECK-NEXT:       %[[V23:.*]] = tir.add %[[V22]], %[[I]] : i32
// CHECK-NEXT:       %[[V24:.*]] = tir.add %[[V23]], %[[V14]] : i32
// CHECK-NEXT:       tir.store %[[V21]], %[[B]][%[[V24]]] : f32
// CHECK-NEXT:       %[[V25:.*]] = tir.mul %[[V1]], %[[V0]] : i32
// CHECK-NEXT:       %[[Q:.*]] = tir.access_ptr r %[[P]][%[[V25]] to %[[V25]] + %[[C4]]] : !tir.ptr<f32, "shared">
// CHECK-NEXT:       %[[R:.*]] = tir.call "call_extern"(%[[CALLEE]], %[[Q]], %[[V3]]) : (!tir.handle, !tir.ptr<f32, "shared">, i32) -> i32
// CHECK-NEXT:       tir.evaluate %[[R]] : i32
// CHECK-NEXT:       %[[V26:.*]] = tir.mul %[[V2]], %[[V0]] : i32
// CHECK-NEXT:       %[[Q_1:.*]] = tir.access_ptr r %[[P]][%[[V26]] to %[[V26]] + %[[C4]]] : !tir.ptr<f32, "shared">
// CHECK-NEXT:       %[[R_1:.*]] = tir.call "call_extern"(%[[CALLEE]], %[[Q_1]], %[[V3]]) : (!tir.handle, !tir.ptr<f32, "shared">, i32) -> i32
// CHECK-NEXT:       tir.evaluate %[[R_1]] : i32
// CHECK-NEXT:       %[[V27:.*]] = tir.const 4 : i32
// CHECK-NEXT:       %[[V28:.*]] = tir.mul %[[V1]], %[[V0]] : i32
// CHECK-NEXT:       %[[V29:.*]] = tir.add %[[V28]], %[[V27]] : i32
// CHECK-NEXT:       %[[Q_2:.*]] = tir.access_ptr r %[[P]][%[[V29]] to %[[V29]] + %[[C4]]] : !tir.ptr<f32, "shared">
// CHECK-NEXT:       %[[R_2:.*]] = tir.call "call_extern"(%[[CALLEE]], %[[Q_2]], %[[V4]]) : (!tir.handle, !tir.ptr<f32, "shared">, i32) -> i32
// CHECK-NEXT:       tir.evaluate %[[R_2]] : i32
// CHECK-NEXT:       %[[V30:.*]] = tir.mul %[[V2]], %[[V0]] : i32
// CHECK-NEXT:       %[[V31:.*]] = tir.add %[[V30]], %[[V27]] : i32
// CHECK-NEXT:       %[[Q_3:.*]] = tir.access_ptr r %[[P]][%[[V31]] to %[[V31]] + %[[C4]]] : !tir.ptr<f32, "shared">
// CHECK-NEXT:       %[[R_3:.*]] = tir.call "call_extern"(%[[CALLEE]], %[[Q_3]], %[[V4]]) : (!tir.handle, !tir.ptr<f32, "shared">, i32) -> i32
// CHECK-NEXT:       tir.evaluate %[[R_3]] : i32
// CHECK-NEXT:     }

// -----

// CASE: InjectVirtualThread.2
tir.func @written_by_calls() {
  %run = tir.string "Run"
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  tir.launch_thread %tx = "vthread.x" to %c2 virtual {
    tir.launch_thread %ty = "vthread.y" to %c2 virtual {
      %p = tir.allocate "A" [4] : !tir.ptr<i32, "shared">
      %A = tir.decl_buffer "A" %p : !tir.buffer<4xi32, "shared">
      %q = tir.allocate "B" [4] : !tir.ptr<i32, "shared">
      %B = tir.decl_buffer "B" %q : !tir.buffer<4xi32, "shared">
      %r = tir.allocate "C" [4] : !tir.ptr<i32, "shared">
      tir.store %c0, %A[%tx] : i32
      tir.store %c0, %B[%ty] : i32
      %pa = tir.access_ptr r %p[%c0 to %c0 + %c4] : !tir.ptr<i32, "shared">
      %pb = tir.access_ptr r %q[%c0 to %c0 + %c4] : !tir.ptr<i32, "shared">
      %pc = tir.access_ptr rw %r[%c0 to %c0 + %c4] : !tir.ptr<i32, "shared">
      tir.call "call_extern"(%run, %pa, %pb, %pc) : (!tir.handle, !tir.ptr<i32, "shared">, !tir.ptr<i32, "shared">, !tir.ptr<i32, "shared">) -> ()
    }
  }
}
// CHECK-LABEL: tir.func @written_by_calls
// CHECK-NEXT:     %[[CALLEE:.*]] = tir.string "Run"
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[V0:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[V1:.*]] = tir.const 8 : i32
// CHECK-NEXT:     %[[V2:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[V3:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[V4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[V5:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[V6:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[P:.*]] = tir.allocate "A" [8] : !tir.ptr<i32, "shared">
// CHECK-NEXT:     %[[A:.*]] = tir.decl_buffer "A" %[[P]] : !tir.buffer<8xi32, "shared">
// CHECK-NEXT:     %[[Q:.*]] = tir.allocate "B" [8] : !tir.ptr<i32, "shared">
// CHECK-NEXT:     %[[B:.*]] = tir.decl_buffer "B" %[[Q]] : !tir.buffer<8xi32, "shared">
// CHECK-NEXT:     %[[R:.*]] = tir.allocate "C" [16] : !tir.ptr<i32, "shared">
// CHECK-NEXT:     %[[V7:.*]] = tir.const 5 : i32
// CHECK-NEXT:     %[[V8:.*]] = tir.mul %[[V2]], %[[V7]] : i32
// CHECK-NEXT:     tir.store %[[C0]], %[[A]][%[[V8]]] : i32
// CHECK-NEXT:     %[[V9:.*]] = tir.mul %[[V3]], %[[V7]] : i32
// CHECK-NEXT:     tir.store %[[C0]], %[[A]][%[[V9]]] : i32
// CHECK-NEXT:     %[[V10:.*]] = tir.const 5 : i32
// CHECK-NEXT:     %[[V11:.*]] = tir.mul %[[V5]], %[[V10]] : i32
// CHECK-NEXT:     tir.store %[[C0]], %[[B]][%[[V11]]] : i32
// CHECK-NEXT:     %[[V12:.*]] = tir.mul %[[V6]], %[[V10]] : i32
// CHECK-NEXT:     tir.store %[[C0]], %[[B]][%[[V12]]] : i32
// CHECK-NEXT:     %[[V13:.*]] = tir.mul %[[V5]], %[[V4]] : i32
// CHECK-NEXT:     %[[PB:.*]] = tir.access_ptr r %[[Q]][%[[V13]] to %[[V13]] + %[[C4]]] : !tir.ptr<i32, "shared">
// CHECK-NEXT:     %[[V14:.*]] = tir.mul %[[V2]], %[[V0]] : i32
// CHECK-NEXT:     %[[PA:.*]] = tir.access_ptr r %[[P]][%[[V14]] to %[[V14]] + %[[C4]]] : !tir.ptr<i32, "shared">
// CHECK-NEXT:     %[[V15:.*]] = tir.mul %[[V2]], %[[V1]] : i32
// CHECK-NEXT:     %[[PC:.*]] = tir.access_ptr rw %[[R]][%[[V15]] to %[[V15]] + %[[C4]]] : !tir.ptr<i32, "shared">
// CHECK-NEXT:     tir.call "call_extern"(%[[CALLEE]], %[[PA]], %[[PB]], %[[PC]]) : (!tir.handle, !tir.ptr<i32, "shared">, !tir.ptr<i32, "shared">, !tir.ptr<i32, "shared">) -> ()
// CHECK-NEXT:     %[[V16:.*]] = tir.mul %[[V3]], %[[V0]] : i32
// CHECK-NEXT:     %[[PA_1:.*]] = tir.access_ptr r %[[P]][%[[V16]] to %[[V16]] + %[[C4]]] : !tir.ptr<i32, "shared">
// CHECK-NEXT:     %[[V17:.*]] = tir.mul %[[V3]], %[[V1]] : i32
// CHECK-NEXT:     %[[PC_1:.*]] = tir.access_ptr rw %[[R]][%[[V17]] to %[[V17]] + %[[C4]]] : !tir.ptr<i32, "shared">
// CHECK-NEXT:     tir.call "call_extern"(%[[CALLEE]], %[[PA_1]], %[[PB]], %[[PC_1]]) : (!tir.handle, !tir.ptr<i32, "shared">, !tir.ptr<i32, "shared">, !tir.ptr<i32, "shared">) -> ()
// CHECK-NEXT:     %[[V18:.*]] = tir.mul %[[V6]], %[[V4]] : i32
// CHECK-NEXT:     %[[PB_1:.*]] = tir.access_ptr r %[[Q]][%[[V18]] to %[[V18]] + %[[C4]]] : !tir.ptr<i32, "shared">
// CHECK-NEXT:     %[[V19:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[V20:.*]] = tir.mul %[[V2]], %[[V0]] : i32
// CHECK-NEXT:     %[[PA_2:.*]] = tir.access_ptr r %[[P]][%[[V20]] to %[[V20]] + %[[C4]]] : !tir.ptr<i32, "shared">
// CHECK-NEXT:     %[[V21:.*]] = tir.mul %[[V2]], %[[V1]] : i32
// CHECK-NEXT:     %[[V22:.*]] = tir.add %[[V21]], %[[V19]] : i32
// CHECK-NEXT:     %[[PC_2:.*]] = tir.access_ptr rw %[[R]][%[[V22]] to %[[V22]] + %[[C4]]] : !tir.ptr<i32, "shared">
// CHECK-NEXT:     tir.call "call_extern"(%[[CALLEE]], %[[PA_2]], %[[PB_1]], %[[PC_2]]) : (!tir.handle, !tir.ptr<i32, "shared">, !tir.ptr<i32, "shared">, !tir.ptr<i32, "shared">) -> ()
// CHECK-NEXT:     %[[V23:.*]] = tir.mul %[[V3]], %[[V0]] : i32
// CHECK-NEXT:     %[[PA_3:.*]] = tir.access_ptr r %[[P]][%[[V23]] to %[[V23]] + %[[C4]]] : !tir.ptr<i32, "shared">
// CHECK-NEXT:     %[[V24:.*]] = tir.mul %[[V3]], %[[V1]] : i32
// CHECK-NEXT:     %[[V25:.*]] = tir.add %[[V24]], %[[V19]] : i32
// CHECK-NEXT:     %[[PC_3:.*]] = tir.access_ptr rw %[[R]][%[[V25]] to %[[V25]] + %[[C4]]] : !tir.ptr<i32, "shared">
// CHECK-NEXT:     tir.call "call_extern"(%[[CALLEE]], %[[PA_3]], %[[PB_1]], %[[PC_3]]) : (!tir.handle, !tir.ptr<i32, "shared">, !tir.ptr<i32, "shared">, !tir.ptr<i32, "shared">) -> ()

// -----

// CASE: InjectVirtualThread.2
tir.func @exclusive_memory() {
  %run = tir.string "Run"
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  tir.launch_thread %tx = "cthread" to %c2 virtual {
    tir.launch_thread %ty = "cthread" to %c2 virtual {
      %p = tir.allocate "A" [4] : !tir.ptr<i32, "shared">
      %A = tir.decl_buffer "A" %p : !tir.buffer<4xi32, "shared">
      %r = tir.allocate "C" [4] : !tir.ptr<i32, "shared">
      tir.store %c0, %A[%tx] : i32
      %pc = tir.access_ptr rw %r[%c0 to %c0 + %c4] : !tir.ptr<i32, "shared">
      tir.call "call_extern"(%run, %pc) : (!tir.handle, !tir.ptr<i32, "shared">) -> ()
    }
  }
}
// CHECK-LABEL: tir.func @exclusive_memory
// CHECK-NEXT:     %[[CALLEE:.*]] = tir.string "Run"
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[V0:.*]] = tir.const 8 : i32
// CHECK-NEXT:     %[[V1:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[V2:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[P:.*]] = tir.allocate "A" [16] : !tir.ptr<i32, "shared">
// CHECK-NEXT:     %[[A:.*]] = tir.decl_buffer "A" %[[P]] : !tir.buffer<16xi32, "shared">
// CHECK-NEXT:     %[[R:.*]] = tir.allocate "C" [16] : !tir.ptr<i32, "shared">
// CHECK-NEXT:     %[[V3:.*]] = tir.const 9 : i32
// CHECK-NEXT:     %[[V4:.*]] = tir.mul %[[V1]], %[[V3]] : i32
// CHECK-NEXT:     tir.store %[[C0]], %[[A]][%[[V4]]] : i32
// CHECK-NEXT:     %[[V5:.*]] = tir.mul %[[V2]], %[[V3]] : i32
// CHECK-NEXT:     tir.store %[[C0]], %[[A]][%[[V5]]] : i32
// CHECK-NEXT:     %[[V6:.*]] = tir.const 9 : i32
// CHECK-NEXT:     %[[V7:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[V8:.*]] = tir.mul %[[V1]], %[[V6]] : i32
// CHECK-NEXT:     %[[V9:.*]] = tir.add %[[V8]], %[[V7]] : i32
// CHECK-NEXT:     tir.store %[[C0]], %[[A]][%[[V9]]] : i32
// CHECK-NEXT:     %[[V10:.*]] = tir.mul %[[V2]], %[[V6]] : i32
// CHECK-NEXT:     %[[V11:.*]] = tir.add %[[V10]], %[[V7]] : i32
// CHECK-NEXT:     tir.store %[[C0]], %[[A]][%[[V11]]] : i32
// CHECK-NEXT:     %[[V12:.*]] = tir.mul %[[V1]], %[[V0]] : i32
// CHECK-NEXT:     %[[PC:.*]] = tir.access_ptr rw %[[R]][%[[V12]] to %[[V12]] + %[[C4]]] : !tir.ptr<i32, "shared">
// CHECK-NEXT:     tir.call "call_extern"(%[[CALLEE]], %[[PC]]) : (!tir.handle, !tir.ptr<i32, "shared">) -> ()
// CHECK-NEXT:     %[[V13:.*]] = tir.mul %[[V2]], %[[V0]] : i32
// CHECK-NEXT:     %[[PC_1:.*]] = tir.access_ptr rw %[[R]][%[[V13]] to %[[V13]] + %[[C4]]] : !tir.ptr<i32, "shared">
// CHECK-NEXT:     tir.call "call_extern"(%[[CALLEE]], %[[PC_1]]) : (!tir.handle, !tir.ptr<i32, "shared">) -> ()
// CHECK-NEXT:     %[[V14:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[V15:.*]] = tir.mul %[[V1]], %[[V0]] : i32
// CHECK-NEXT:     %[[V16:.*]] = tir.add %[[V15]], %[[V14]] : i32
// CHECK-NEXT:     %[[PC_2:.*]] = tir.access_ptr rw %[[R]][%[[V16]] to %[[V16]] + %[[C4]]] : !tir.ptr<i32, "shared">
// CHECK-NEXT:     tir.call "call_extern"(%[[CALLEE]], %[[PC_2]]) : (!tir.handle, !tir.ptr<i32, "shared">) -> ()
// CHECK-NEXT:     %[[V17:.*]] = tir.mul %[[V2]], %[[V0]] : i32
// CHECK-NEXT:     %[[V18:.*]] = tir.add %[[V17]], %[[V14]] : i32
// CHECK-NEXT:     %[[PC_3:.*]] = tir.access_ptr rw %[[R]][%[[V18]] to %[[V18]] + %[[C4]]] : !tir.ptr<i32, "shared">
// CHECK-NEXT:     tir.call "call_extern"(%[[CALLEE]], %[[PC_3]]) : (!tir.handle, !tir.ptr<i32, "shared">) -> ()

// -----

// A condition that is the same for all threads is asked once.
// CASE: InjectVirtualThread.3
tir.func @branches(%a: !tir.handle, %c: !tir.handle) attributes {tir.noalias} {
  %A = tir.match_buffer %a : !tir.buffer<16xi32>
  %C = tir.match_buffer %c : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  tir.launch_thread %v = "vthread" to %c2 virtual {
    tir.for "i" %i = %c0 to %c4 {
      %p = tir.allocate "B" [4] : !tir.ptr<i32>
      %B = tir.decl_buffer "B" %p : !tir.buffer<4xi32>
      %0 = tir.mul %i, %c2 : i32
      %1 = tir.add %0, %v : i32
      %first = tir.cmp eq %i, %c0 : i32
      tir.if %first {
        %2 = tir.load %A[%1] : i32
        tir.store %2, %B[%i] : i32
      } else {
        %2 = tir.load %A[%1] : i32
        %3 = tir.add %2, %c1 : i32
        tir.store %3, %B[%i] : i32
      }
      tir.if %first {
        %4 = tir.load %B[%i] : i32
        tir.store %4, %C[%1] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @branches
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<16xi32>
// CHECK-NEXT:     %[[C:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<16xi32>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[V0:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[V1:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[V2:.*]] = tir.const 1 : i32
// CHECK-NEXT:     tir.for "i" %[[I:.*]] = %[[C0]] to %[[C4]] {
// CHECK-NEXT:       %[[P:.*]] = tir.allocate "B" [8] : !tir.ptr<i32>
// CHECK-NEXT:       %[[B:.*]] = tir.decl_buffer "B" %[[P]] : !tir.buffer<8xi32>
// CHECK-NEXT:       %[[V3:.*]] = tir.mul %[[I]], %[[C2]] : i32
// CHECK-NEXT:       %[[FIRST:.*]] = tir.cmp eq %[[I]], %[[C0]] : i32
// CHECK-NEXT:       tir.if %[[FIRST]] {
// CHECK-NEXT:         %[[V4:.*]] = tir.add %[[V3]], %[[V1]] : i32
// CHECK-NEXT:         %[[V5:.*]] = tir.load %[[A]][%[[V4]]] : i32
// CHECK-NEXT:         %[[V6:.*]] = tir.mul %[[V1]], %[[V0]] : i32
// CHECK-NEXT:         %[[V7:.*]] = tir.add %[[V6]], %[[I]] : i32
// CHECK-NEXT:         tir.store %[[V5]], %[[B]][%[[V7]]] : i32
// CHECK-NEXT:         %[[V8:.*]] = tir.add %[[V3]], %[[V2]] : i32
// CHECK-NEXT:         %[[V9:.*]] = tir.load %[[A]][%[[V8]]] : i32
// CHECK-NEXT:         %[[V10:.*]] = tir.mul %[[V2]], %[[V0]] : i32
// CHECK-NEXT:         %[[V11:.*]] = tir.add %[[V10]], %[[I]] : i32
// CHECK-NEXT:         tir.store %[[V9]], %[[B]][%[[V11]]] : i32
// CHECK-NEXT:       } else {
// CHECK-NEXT:         %[[V12:.*]] = tir.add %[[V3]], %[[V1]] : i32
// CHECK-NEXT:         %[[V13:.*]] = tir.load %[[A]][%[[V12]]] : i32
// CHECK-NEXT:         %[[V14:.*]] = tir.add %[[V13]], %[[C1]] : i32
// CHECK-NEXT:         %[[V15:.*]] = tir.mul %[[V1]], %[[V0]] : i32
// CHECK-NEXT:         %[[V16:.*]] = tir.add %[[V15]], %[[I]] : i32
// CHECK-NEXT:         tir.store %[[V14]], %[[B]][%[[V16]]] : i32
// CHECK-NEXT:         %[[V17:.*]] = tir.add %[[V3]], %[[V2]] : i32
// CHECK-NEXT:         %[[V18:.*]] = tir.load %[[A]][%[[V17]]] : i32
// CHECK-NEXT:         %[[V19:.*]] = tir.add %[[V18]], %[[C1]] : i32
// CHECK-NEXT:         %[[V20:.*]] = tir.mul %[[V2]], %[[V0]] : i32
// CHECK-NEXT:         %[[V21:.*]] = tir.add %[[V20]], %[[I]] : i32
// CHECK-NEXT:         tir.store %[[V19]], %[[B]][%[[V21]]] : i32
// CHECK-NEXT:       }
// CHECK-NEXT:       tir.if %[[FIRST]] {
// CHECK-NEXT:         %[[V22:.*]] = tir.mul %[[V1]], %[[V0]] : i32
// CHECK-NEXT:         %[[V23:.*]] = tir.add %[[V22]], %[[I]] : i32
// CHECK-NEXT:         %[[V24:.*]] = tir.load %[[B]][%[[V23]]] : i32
// CHECK-NEXT:         %[[V25:.*]] = tir.add %[[V3]], %[[V1]] : i32
// CHECK-NEXT:         tir.store %[[V24]], %[[C]][%[[V25]]] : i32
// CHECK-NEXT:         %[[V26:.*]] = tir.mul %[[V2]], %[[V0]] : i32
// CHECK-NEXT:         %[[V27:.*]] = tir.add %[[V26]], %[[I]] : i32
// CHECK-NEXT:         %[[V28:.*]] = tir.load %[[B]][%[[V27]]] : i32
// CHECK-NEXT:         %[[V29:.*]] = tir.add %[[V3]], %[[V2]] : i32
// CHECK-NEXT:         tir.store %[[V28]], %[[C]][%[[V29]]] : i32
// CHECK-NEXT:       }
// CHECK-NEXT:     }

// -----

// CASE: InjectVirtualThread.4
tir.func @vectors() {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  tir.launch_thread %v = "vthread" to %c4 virtual {
    %p = tir.allocate "B" [4] : !tir.ptr<i32, "shared">
    %B = tir.decl_buffer "B" %p : !tir.buffer<4xi32, "shared">
    %value = tir.broadcast %v : vector<4xi32>
    %place = tir.ramp %c0, %c1 : vector<4xi32>
    tir.store %value, %B[%place] : vector<4xi32>
  }
}
// CHECK-LABEL: tir.func @vectors
// CHECK-NEXT:     %[[V0:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[V1:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[V2:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[V3:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[V4:.*]] = tir.const 3 : i32
// CHECK-NEXT:     %[[P:.*]] = tir.allocate "B" [16] : !tir.ptr<i32, "shared">
// CHECK-NEXT:     %[[B:.*]] = tir.decl_buffer "B" %[[P]] : !tir.buffer<16xi32, "shared">
// CHECK-NEXT:     %[[V5:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[VALUE:.*]] = tir.broadcast %[[V1]] : vector<4xi32>
// CHECK-NEXT:     %[[V6:.*]] = tir.mul %[[V1]], %[[V0]] : i32
// CHECK-NEXT:     %[[V7:.*]] = tir.ramp %[[V6]], %[[V5]] : vector<4xi32>
// CHECK-NEXT:     tir.store %[[VALUE]], %[[B]][%[[V7]]] : vector<4xi32>
// CHECK-NEXT:     %[[VALUE_1:.*]] = tir.broadcast %[[V2]] : vector<4xi32>
// CHECK-NEXT:     %[[V8:.*]] = tir.mul %[[V2]], %[[V0]] : i32
// CHECK-NEXT:     %[[V9:.*]] = tir.ramp %[[V8]], %[[V5]] : vector<4xi32>
// CHECK-NEXT:     tir.store %[[VALUE_1]], %[[B]][%[[V9]]] : vector<4xi32>
// CHECK-NEXT:     %[[VALUE_2:.*]] = tir.broadcast %[[V3]] : vector<4xi32>
// CHECK-NEXT:     %[[V10:.*]] = tir.mul %[[V3]], %[[V0]] : i32
// CHECK-NEXT:     %[[V11:.*]] = tir.ramp %[[V10]], %[[V5]] : vector<4xi32>
// CHECK-NEXT:     tir.store %[[VALUE_2]], %[[B]][%[[V11]]] : vector<4xi32>
// CHECK-NEXT:     %[[VALUE_3:.*]] = tir.broadcast %[[V4]] : vector<4xi32>
// CHECK-NEXT:     %[[V12:.*]] = tir.mul %[[V4]], %[[V0]] : i32
// CHECK-NEXT:     %[[V13:.*]] = tir.ramp %[[V12]], %[[V5]] : vector<4xi32>
// CHECK-NEXT:     tir.store %[[VALUE_3]], %[[B]][%[[V13]]] : vector<4xi32>

// -----

// The form that StorageRewrite gives to the memory of the last one.
// CASE: InjectVirtualThread.5
tir.func @memory_of_vectors() {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.launch_thread %v = "vthread" to %c4 virtual {
    %p = tir.allocate "B" [1] : !tir.ptr<vector<4xi32>, "shared">
    %B = tir.decl_buffer "B" %p : !tir.buffer<1xvector<4xi32>, "shared">
    %value = tir.broadcast %v : vector<4xi32>
    tir.store %value, %B[%c0] : vector<4xi32>
  }
}
// CHECK-LABEL: tir.func @memory_of_vectors
// CHECK-NEXT:     %[[V0:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[V1:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[V2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[V3:.*]] = tir.const 3 : i32
// CHECK-NEXT:     %[[P:.*]] = tir.allocate "B" [4] : !tir.ptr<vector<4xi32>, "shared">
// CHECK-NEXT:     %[[B:.*]] = tir.decl_buffer "B" %[[P]] : !tir.buffer<4xvector<4xi32>, "shared">
// CHECK-NEXT:     %[[VALUE:.*]] = tir.broadcast %[[V1]] : vector<4xi32>
// CHECK-NEXT:     tir.store %[[VALUE]], %[[B]][%[[V1]]] : vector<4xi32>
// CHECK-NEXT:     %[[VALUE_1:.*]] = tir.broadcast %[[V0]] : vector<4xi32>
// CHECK-NEXT:     tir.store %[[VALUE_1]], %[[B]][%[[V0]]] : vector<4xi32>
// CHECK-NEXT:     %[[VALUE_2:.*]] = tir.broadcast %[[V2]] : vector<4xi32>
// CHECK-NEXT:     tir.store %[[VALUE_2]], %[[B]][%[[V2]]] : vector<4xi32>
// CHECK-NEXT:     %[[VALUE_3:.*]] = tir.broadcast %[[V3]] : vector<4xi32>
// CHECK-NEXT:     tir.store %[[VALUE_3]], %[[B]][%[[V3]]] : vector<4xi32>

// -----

// CASE: InjectVirtualThread.6
tir.func @loops(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c8 = tir.const 8 : i32
  tir.launch_thread %v = "vthread" to %c2 virtual {
    %p = tir.allocate "B" [8] : !tir.ptr<i32>
    %B = tir.decl_buffer "B" %p : !tir.buffer<8xi32>
    tir.for "i" %i = %c0 to %c8 {
      %0 = tir.mul %i, %c2 : i32
      %1 = tir.add %0, %v : i32
      %2 = tir.load %A[%1] : i32
      tir.store %2, %B[%i] : i32
    }
    tir.for "i" %i = %c0 to %c8 {
      %0 = tir.mul %i, %c2 : i32
      %1 = tir.add %0, %v : i32
      %2 = tir.load %B[%i] : i32
      %3 = tir.add %2, %n : i32
      tir.store %3, %A[%1] : i32
    }
  }
}
// CHECK-LABEL: tir.func @loops
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<16xi32>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[C8:.*]] = tir.const 8 : i32
// CHECK-NEXT:     %[[V0:.*]] = tir.const 8 : i32
// CHECK-NEXT:     %[[V1:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[V2:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[P:.*]] = tir.allocate "B" [16] : !tir.ptr<i32>
// CHECK-NEXT:     %[[B:.*]] = tir.decl_buffer "B" %[[P]] : !tir.buffer<16xi32>
// CHECK-NEXT:     tir.for "i" %[[I:.*]] = %[[C0]] to %[[C8]] {
// CHECK-NEXT:       %[[V3:.*]] = tir.mul %[[I]], %[[C2]] : i32
// CHECK-NEXT:       %[[V4:.*]] = tir.add %[[V3]], %[[V1]] : i32
// CHECK-NEXT:       %[[V5:.*]] = tir.load %[[A]][%[[V4]]] : i32
// CHECK-NEXT:       %[[V6:.*]] = tir.mul %[[V1]], %[[V0]] : i32
// CHECK-NEXT:       %[[V7:.*]] = tir.add %[[V6]], %[[I]] : i32
// CHECK-NEXT:       tir.store %[[V5]], %[[B]][%[[V7]]] : i32
// CHECK-NEXT:       %[[V8:.*]] = tir.add %[[V3]], %[[V2]] : i32
// CHECK-NEXT:       %[[V9:.*]] = tir.load %[[A]][%[[V8]]] : i32
// CHECK-NEXT:       %[[V10:.*]] = tir.mul %[[V2]], %[[V0]] : i32
// CHECK-NEXT:       %[[V11:.*]] = tir.add %[[V10]], %[[I]] : i32
// CHECK-NEXT:       tir.store %[[V9]], %[[B]][%[[V11]]] : i32
// CHECK-NEXT:     }
// CHECK-NEXT:     tir.for "i" %[[I_1:.*]] = %[[C0]] to %[[C8]] {
// CHECK-NEXT:       %[[V12:.*]] = tir.mul %[[I_1]], %[[C2]] : i32
// CHECK-NEXT:       %[[V13:.*]] = tir.mul %[[V1]], %[[V0]] : i32
// CHECK-NEXT:       %[[V14:.*]] = tir.add %[[V13]], %[[I_1]] : i32
// CHECK-NEXT:       %[[V15:.*]] = tir.load %[[B]][%[[V14]]] : i32
// CHECK-NEXT:       %[[V16:.*]] = tir.add %[[V15]], %{{.*}} : i32
// CHECK-NEXT:       %[[V17:.*]] = tir.add %[[V12]], %[[V1]] : i32
// CHECK-NEXT:       tir.store %[[V16]], %[[A]][%[[V17]]] : i32
// CHECK-NEXT:       %[[V18:.*]] = tir.mul %[[V2]], %[[V0]] : i32
// CHECK-NEXT:       %[[V19:.*]] = tir.add %[[V18]], %[[I_1]] : i32
// CHECK-NEXT:       %[[V20:.*]] = tir.load %[[B]][%[[V19]]] : i32
// CHECK-NEXT:       %[[V21:.*]] = tir.add %[[V20]], %{{.*}} : i32
// CHECK-NEXT:       %[[V22:.*]] = tir.add %[[V12]], %[[V2]] : i32
// CHECK-NEXT:       tir.store %[[V21]], %[[A]][%[[V22]]] : i32
// CHECK-NEXT:     }

// -----

// CASE: InjectVirtualThread.7
tir.func @bound(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  tir.launch_thread %v = "vthread" to %c4 virtual {
    %last = tir.add %v, %c1 : i32
    tir.for "i" %i = %c0 to %last {
      %0 = tir.mul %v, %c4 : i32
      %1 = tir.add %0, %i : i32
      tir.store %i, %A[%1] : i32
    }
  }
}
// CHECK-LABEL: tir.func @bound
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<16xi32>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[V0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     tir.for "vthread.s" %[[V1:.*]] = %[[V0]] to %[[C4]] {
// CHECK-NEXT:       %[[LAST:.*]] = tir.add %[[V1]], %[[C1]] : i32
// CHECK-NEXT:       tir.for "i" %[[I:.*]] = %[[C0]] to %[[LAST]] {
// CHECK-NEXT:         %[[V2:.*]] = tir.mul %[[V1]], %[[C4]] : i32
// CHECK-NEXT:         %[[V3:.*]] = tir.add %[[V2]], %[[I]] : i32
// CHECK-NEXT:         tir.store %[[I]], %[[A]][%[[V3]]] : i32
// CHECK-NEXT:       }
// CHECK-NEXT:     }

// -----

// CASE: InjectVirtualThread.7
tir.func @many(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<64xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  tir.launch_thread %v = "vthread" to %c16 virtual {
    tir.for "i" %i = %c0 to %c4 {
      %0 = tir.mul %v, %c4 : i32
      %1 = tir.add %0, %i : i32
      tir.store %i, %A[%1] : i32
    }
  }
}
// CHECK-LABEL: tir.func @many
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<64xi32>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[C16:.*]] = tir.const 16 : i32
// CHECK-NEXT:     %[[V0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     tir.for "i" %[[I:.*]] = %[[C0]] to %[[C4]] {
// CHECK-NEXT:       tir.for "vthread.s" %[[V1:.*]] = %[[V0]] to %[[C16]] {
// CHECK-NEXT:         %[[V2:.*]] = tir.mul %[[V1]], %[[C4]] : i32
// CHECK-NEXT:         %[[V3:.*]] = tir.add %[[V2]], %[[I]] : i32
// CHECK-NEXT:         tir.store %[[I]], %[[A]][%[[V3]]] : i32
// CHECK-NEXT:       }
// CHECK-NEXT:     }

// -----

// What one thread alone writes has a place for each of them.
tir.func @written_by_some(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<2xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  tir.launch_thread %v = "vthread" to %c2 virtual {
    %p = tir.allocate "B" [1] : !tir.ptr<i32>
    %B = tir.decl_buffer "B" %p : !tir.buffer<1xi32>
    tir.store %c0, %B[%c0] : i32
    %first = tir.cmp eq %v, %c0 : i32
    tir.if %first {
      tir.store %c2, %B[%c0] : i32
    }
    %x = tir.load %B[%c0] : i32
    tir.store %x, %A[%v] : i32
  }
}
// CHECK-LABEL: tir.func @written_by_some
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<2xi32>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[V0:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[V1:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[P:.*]] = tir.allocate "B" [2] : !tir.ptr<i32>
// CHECK-NEXT:     %[[B:.*]] = tir.decl_buffer "B" %[[P]] : !tir.buffer<2xi32>
// CHECK-NEXT:     tir.store %[[C0]], %[[B]][%[[V1]]] : i32
// CHECK-NEXT:     tir.store %[[C0]], %[[B]][%[[V0]]] : i32
// CHECK-NEXT:     %[[FIRST:.*]] = tir.cmp eq %[[V1]], %[[C0]] : i32
// CHECK-NEXT:     tir.if %[[FIRST]] {
// CHECK-NEXT:       tir.store %[[C2]], %[[B]][%[[V1]]] : i32
// CHECK-NEXT:     }
// CHECK-NEXT:     %[[FIRST_1:.*]] = tir.cmp eq %[[V0]], %[[C0]] : i32
// CHECK-NEXT:     tir.if %[[FIRST_1]] {
// CHECK-NEXT:       tir.store %[[C2]], %[[B]][%[[V0]]] : i32
// CHECK-NEXT:     }
// CHECK-NEXT:     %[[X:.*]] = tir.load %[[B]][%[[V1]]] : i32
// CHECK-NEXT:     tir.store %[[X]], %[[A]][%[[V1]]] : i32
// CHECK-NEXT:     %[[X_1:.*]] = tir.load %[[B]][%[[V0]]] : i32
// CHECK-NEXT:     tir.store %[[X_1]], %[[A]][%[[V0]]] : i32

// -----

// A load that other statements of its thread write after runs with them.
tir.func @load_before_write(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias} {
  %A = tir.match_buffer %a : !tir.buffer<2xi32>
  %B = tir.match_buffer %b : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  tir.launch_thread %v = "vthread" to %c2 virtual {
    %x = tir.load %A[%v] : i32
    tir.store %c0, %A[%v] : i32
    tir.store %x, %B[%v] : i32
    %w = tir.add %v, %c2 : i32
    tir.store %v, %B[%w] : i32
  }
}
// CHECK-LABEL: tir.func @load_before_write
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<2xi32>
// CHECK-NEXT:     %[[B:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<4xi32>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[V0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[V1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[X:.*]] = tir.load %[[A]][%[[V0]]] : i32
// CHECK-NEXT:     tir.store %[[C0]], %[[A]][%[[V0]]] : i32
// CHECK-NEXT:     tir.store %[[X]], %[[B]][%[[V0]]] : i32
// CHECK-NEXT:     %[[X_1:.*]] = tir.load %[[A]][%[[V1]]] : i32
// CHECK-NEXT:     tir.store %[[C0]], %[[A]][%[[V1]]] : i32
// CHECK-NEXT:     tir.store %[[X_1]], %[[B]][%[[V1]]] : i32
// CHECK-NEXT:     %[[W:.*]] = tir.add %[[V0]], %[[C2]] : i32
// CHECK-NEXT:     tir.store %[[V0]], %[[B]][%[[W]]] : i32
// CHECK-NEXT:     %[[W_1:.*]] = tir.add %[[V1]], %[[C2]] : i32
// CHECK-NEXT:     tir.store %[[V1]], %[[B]][%[[W_1]]] : i32

// -----

// A binding has all that follows it, for one thread after the other.
tir.func @binding(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  tir.launch_thread %v = "vthread" to %c2 virtual annotations {"pragma_x" = 1 : i32} {
    %w = tir.add %v, %c1 : i32
    %x = tir.let "x" %w : i32
    tir.store %x, %A[%v] : i32
    %y = tir.add %v, %c2 : i32
    tir.store %x, %A[%y] : i32
  }
}
// CHECK-LABEL: tir.func @binding
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<4xi32>
// CHECK-NEXT:     %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[V0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[V1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     tir.attr "pragma_x" (0 : i32) = 1 : i32 {
// CHECK-NEXT:       tir.scope {
// CHECK-NEXT:         %[[W:.*]] = tir.add %[[V0]], %[[C1]] : i32
// CHECK-NEXT:         %[[X:.*]] = tir.let "x" %[[W]] : i32
// CHECK-NEXT:         tir.store %[[X]], %[[A]][%[[V0]]] : i32
// CHECK-NEXT:         %[[Y:.*]] = tir.add %[[V0]], %[[C2]] : i32
// CHECK-NEXT:         tir.store %[[X]], %[[A]][%[[Y]]] : i32
// CHECK-NEXT:       }
// CHECK-NEXT:       %[[W_1:.*]] = tir.add %[[V1]], %[[C1]] : i32
// CHECK-NEXT:       %[[X_1:.*]] = tir.let "x" %[[W_1]] : i32
// CHECK-NEXT:       tir.store %[[X_1]], %[[A]][%[[V1]]] : i32
// CHECK-NEXT:       %[[Y_1:.*]] = tir.add %[[V1]], %[[C2]] : i32
// CHECK-NEXT:       tir.store %[[X_1]], %[[A]][%[[Y_1]]] : i32
// CHECK-NEXT:     }

// -----

// Symbolic extents, a predicate, and elements that a pointer counts otherwise.
tir.func @dynamic(%a: !tir.handle, %n: i64) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %run = tir.string "Run"
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  tir.launch_thread %v = "vthread" to %c2 virtual {
    %p = tir.allocate "B" [%n] : !tir.ptr<i32>
    %B = tir.decl_buffer "B" %p [%n] : !tir.buffer<?xi32>
    tir.store %v, %B[%c0] : i32
    %q = tir.access_ptr rw %p[%c1 to %c1 + %c1] : !tir.ptr<i8>
    tir.call "call_extern"(%run, %q) : (!tir.handle, !tir.ptr<i8>) -> ()
    %e = tir.address_of %B[%c1] : !tir.ptr<i32>
    tir.call "call_extern"(%run, %e) : (!tir.handle, !tir.ptr<i32>) -> ()
    tir.attr "volatile_scope" (%p) = 1 : i32 {
      tir.evaluate %c1 : i32
    }
  }
}
// CHECK-LABEL: tir.func @dynamic
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<4xi32>
// CHECK-NEXT:     %[[CALLEE:.*]] = tir.string "Run"
// CHECK-NEXT:     %[[C1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[V0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[V1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[V2:.*]] = tir.const 2 : i64
// CHECK-NEXT:     %[[V3:.*]] = tir.mul %{{.*}}, %[[V2]] : i64
// CHECK-NEXT:     %[[P:.*]] = tir.allocate "B" [%[[V3]]] : !tir.ptr<i32>
// CHECK-NEXT:     %[[B:.*]] = tir.decl_buffer "B" %[[P]] [%[[V3]]] : !tir.buffer<?xi32>
// CHECK-NEXT:     %[[V4:.*]] = tir.cast %[[V0]] : i32 to i64
// CHECK-NEXT:     %[[V5:.*]] = tir.mul %[[V4]], %{{.*}} : i64
// CHECK-NEXT:     tir.store %[[V0]], %[[B]][%[[V5]]] : i32
// CHECK-NEXT:     %[[V6:.*]] = tir.cast %[[V1]] : i32 to i64
// CHECK-NEXT:     %[[V7:.*]] = tir.mul %[[V6]], %{{.*}} : i64
// CHECK-NEXT:     tir.store %[[V1]], %[[B]][%[[V7]]] : i32
// CHECK-NEXT:     %[[V8:.*]] = tir.const 4 : i64
// CHECK-NEXT:     %[[V9:.*]] = tir.const 1 : i64
// CHECK-NEXT:     %[[V10:.*]] = tir.cast %[[V0]] : i32 to i64
// CHECK-NEXT:     %[[V11:.*]] = tir.mul %[[V10]], %{{.*}} : i64
// CHECK-NEXT:     %[[V12:.*]] = tir.mul %[[V11]], %[[V8]] : i64
// CHECK-NEXT:     %[[V13:.*]] = tir.add %[[V12]], %[[V9]] : i64
// CHECK-NEXT:     %[[Q:.*]] = tir.access_ptr rw %[[P]][%[[V13]] to %[[V13]] + %[[C1]]] : !tir.ptr<i8>
// CHECK-NEXT:     tir.call "call_extern"(%[[CALLEE]], %[[Q]]) : (!tir.handle, !tir.ptr<i8>) -> ()
// CHECK-NEXT:     %[[V14:.*]] = tir.cast %[[V1]] : i32 to i64
// CHECK-NEXT:     %[[V15:.*]] = tir.mul %[[V14]], %{{.*}} : i64
// CHECK-NEXT:     %[[V16:.*]] = tir.mul %[[V15]], %[[V8]] : i64
// CHECK-NEXT:     %[[V17:.*]] = tir.add %[[V16]], %[[V9]] : i64
// CHECK-NEXT:     %[[Q_1:.*]] = tir.access_ptr rw %[[P]][%[[V17]] to %[[V17]] + %[[C1]]] : !tir.ptr<i8>
// CHECK-NEXT:     tir.call "call_extern"(%[[CALLEE]], %[[Q_1]]) : (!tir.handle, !tir.ptr<i8>) -> ()
// CHECK-NEXT:     %[[V18:.*]] = tir.const 1 : i64
// CHECK-NEXT:     %[[V19:.*]] = tir.cast %[[V0]] : i32 to i64
// CHECK-NEXT:     %[[V20:.*]] = tir.mul %[[V19]], %{{.*}} : i64
// CHECK-NEXT:     %[[V21:.*]] = tir.add %[[V20]], %[[V18]] : i64
// CHECK-NEXT:     %[[E:.*]] = tir.address_of %[[B]][%[[V21]]] : !tir.ptr<i32>
// CHECK-NEXT:     tir.call "call_extern"(%[[CALLEE]], %[[E]]) : (!tir.handle, !tir.ptr<i32>) -> ()
// CHECK-NEXT:     %[[V22:.*]] = tir.cast %[[V1]] : i32 to i64
// CHECK-NEXT:     %[[V23:.*]] = tir.mul %[[V22]], %{{.*}} : i64
// CHECK-NEXT:     %[[V24:.*]] = tir.add %[[V23]], %[[V18]] : i64
// CHECK-NEXT:     %[[E_1:.*]] = tir.address_of %[[B]][%[[V24]]] : !tir.ptr<i32>
// CHECK-NEXT:     tir.call "call_extern"(%[[CALLEE]], %[[E_1]]) : (!tir.handle, !tir.ptr<i32>) -> ()
// CHECK-NEXT:     tir.attr "volatile_scope" (%[[P]]) = 1 : i32 {
// CHECK-NEXT:       tir.evaluate %[[C1]] : i32
// CHECK-NEXT:     }

// -----

// A co-processor runs for one thread after the other.
tir.func @coprocessor(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  tir.launch_thread %v = "cthread" to %c2 virtual {
    tir.attr "coproc_scope" (0 : i32) = 1 : i32 {
      tir.store %c0, %A[%v] : i32
      tir.store %c2, %A[%v] : i32
    }
  }
}
// CHECK-LABEL: tir.func @coprocessor
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<4xi32>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[V0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[V1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     tir.attr "coproc_scope" (0 : i32) = 1 : i32 {
// CHECK-NEXT:       tir.store %[[C0]], %[[A]][%[[V0]]] : i32
// CHECK-NEXT:       tir.store %[[C2]], %[[A]][%[[V0]]] : i32
// CHECK-NEXT:     }
// CHECK-NEXT:     tir.attr "coproc_scope" (0 : i32) = 1 : i32 {
// CHECK-NEXT:       tir.store %[[C0]], %[[A]][%[[V1]]] : i32
// CHECK-NEXT:       tir.store %[[C2]], %[[A]][%[[V1]]] : i32
// CHECK-NEXT:     }

// -----

// One axis opened in itself, none at all, and one that is not virtual.
tir.func @axes(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  tir.launch_thread %v = "vthread" to %c2 virtual env "v" {
    tir.launch_thread %w = "vthread" to %c2 virtual env "v" {
      tir.store %c0, %A[%w] : i32
    }
  }
  tir.launch_thread %v = "vthread" to %c0 virtual {
    tir.store %c2, %A[%v] : i32
  }
  tir.launch_thread %v = "vthread" to %c2 {
    tir.store %c2, %A[%v] : i32
  }
}
// CHECK-LABEL: tir.func @axes
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<4xi32>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[V0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[V1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     tir.store %[[C0]], %[[A]][%[[V0]]] : i32
// CHECK-NEXT:     tir.store %[[C0]], %[[A]][%[[V1]]] : i32
// CHECK-NEXT:     tir.launch_thread %[[V:.*]] = "vthread" to %[[C2]] {
// CHECK-NEXT:       tir.store %[[C2]], %[[A]][%[[V]]] : i32
// CHECK-NEXT:     }

// -----

// A barrier that all threads meet is met once for all virtual threads.
tir.func @barrier(%a: !tir.handle) attributes {tir.noalias} {
  %A = tir.match_buffer %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %shared = tir.string "shared"
  tir.launch_thread %t = "threadIdx.x" to %c4 {
    tir.launch_thread %v = "vthread" to %c2 virtual {
      %p = tir.allocate "S" [4] : !tir.ptr<i32, "shared">
      %S = tir.decl_buffer "S" %p : !tir.buffer<4xi32, "shared">
      %0 = tir.mul %v, %c4 : i32
      %1 = tir.add %0, %t : i32
      %x = tir.load %A[%1] : i32
      tir.store %x, %S[%t] : i32
      tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
      %other = tir.sub %c3, %t : i32
      %y = tir.load %S[%other] : i32
      tir.store %y, %A[%1] : i32
      tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
    }
  }
}
// CHECK-LABEL: tir.func @barrier
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<8xi32>
// CHECK-NEXT:     %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[SHARED:.*]] = tir.string "shared"
// CHECK-NEXT:     tir.launch_thread %[[T:.*]] = "threadIdx.x" to %[[C4]] {
// CHECK-NEXT:       %[[V0:.*]] = tir.const 4 : i32
// CHECK-NEXT:       %[[V1:.*]] = tir.const 0 : i32
// CHECK-NEXT:       %[[V2:.*]] = tir.const 1 : i32
// CHECK-NEXT:       %[[P:.*]] = tir.allocate "S" [8] : !tir.ptr<i32, "shared">
// CHECK-NEXT:       %[[S:.*]] = tir.decl_buffer "S" %[[P]] : !tir.buffer<8xi32, "shared">
// CHECK-NEXT:       %[[V3:.*]] = tir.mul %[[V1]], %[[C4]] : i32
// CHECK-NEXT:       %[[V4:.*]] = tir.add %[[V3]], %[[T]] : i32
// CHECK-NEXT:       %[[X:.*]] = tir.load %[[A]][%[[V4]]] : i32
// CHECK-NEXT:       %[[V5:.*]] = tir.mul %[[V1]], %[[V0]] : i32
// CHECK-NEXT:       %[[V6:.*]] = tir.add %[[V5]], %[[T]] : i32
// CHECK-NEXT:       tir.store %[[X]], %[[S]][%[[V6]]] : i32
// CHECK-NEXT:       %[[V7:.*]] = tir.mul %[[V2]], %[[C4]] : i32
// CHECK-NEXT:       %[[V8:.*]] = tir.add %[[V7]], %[[T]] : i32
// CHECK-NEXT:       %[[X_1:.*]] = tir.load %[[A]][%[[V8]]] : i32
// CHECK-NEXT:       %[[V9:.*]] = tir.mul %[[V2]], %[[V0]] : i32
// CHECK-NEXT:       %[[V10:.*]] = tir.add %[[V9]], %[[T]] : i32
// CHECK-NEXT:       tir.store %[[X_1]], %[[S]][%[[V10]]] : i32
// CHECK-NEXT:       tir.call "tvm_storage_sync"(%[[SHARED]]) : (!tir.handle) -> ()
// CHECK-NEXT:       %[[V11:.*]] = tir.const 3 : i32
// CHECK-NEXT:       %[[V12:.*]] = tir.mul %[[V1]], %[[V0]] : i32
// CHECK-NEXT:       %[[V13:.*]] = tir.add %[[V12]], %[[V11]] : i32
// CHECK-NEXT:       %[[V14:.*]] = tir.sub %[[V13]], %[[T]] : i32
// CHECK-NEXT:       %[[Y:.*]] = tir.load %[[S]][%[[V14]]] : i32
// CHECK-NEXT:       %[[V15:.*]] = tir.mul %[[V1]], %[[C4]] : i32
// CHECK-NEXT:       %[[V16:.*]] = tir.add %[[V15]], %[[T]] : i32
// CHECK-NEXT:       tir.store %[[Y]], %[[A]][%[[V16]]] : i32
// CHECK-NEXT:       %[[V17:.*]] = tir.mul %[[V2]], %[[V0]] : i32
// CHECK-NEXT:       %[[V18:.*]] = tir.add %[[V17]], %[[V11]] : i32
// CHECK-NEXT:       %[[V19:.*]] = tir.sub %[[V18]], %[[T]] : i32
// CHECK-NEXT:       %[[Y_1:.*]] = tir.load %[[S]][%[[V19]]] : i32
// CHECK-NEXT:       %[[V20:.*]] = tir.mul %[[V2]], %[[C4]] : i32
// CHECK-NEXT:       %[[V21:.*]] = tir.add %[[V20]], %[[T]] : i32
// CHECK-NEXT:       tir.store %[[Y_1]], %[[A]][%[[V21]]] : i32
// CHECK-NEXT:       tir.call "tvm_storage_sync"(%[[SHARED]]) : (!tir.handle) -> ()
// CHECK-NEXT:     }

// -----

// Threads within virtual ones, and results of reductions over them.
tir.func @reduction(%a: !tir.handle, %o: !tir.handle) attributes {tir.noalias} {
  %A = tir.match_buffer %a : !tir.buffer<8xi32>
  %O = tir.match_buffer %o : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %sum = tir.reducer (%x : i32, %y : i32) identity [0 : i32] {
    %z = tir.add %x, %y : i32
    tir.yield %z : i32
  }
  tir.launch_thread %v = "vthread" to %c2 virtual {
    %p = tir.allocate "R" [1] : !tir.ptr<i32, "local">
    %R = tir.decl_buffer "R" %p : !tir.buffer<1xi32, "local">
    tir.launch_thread %t = "threadIdx.x" to %c4 {
      %0 = tir.mul %v, %c4 : i32
      %1 = tir.add %0, %t : i32
      %x = tir.load %A[%1] : i32
      tir.attr "reduce_scope" (%sum) = 0 : i32 {
        tir.thread_allreduce [%x] into [%R[%c0]] over [%t]
      }
      %y = tir.load %R[%c0] : i32
      tir.store %y, %O[%1] : i32
    }
  }
}
// CHECK-LABEL: tir.func @reduction
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<8xi32>
// CHECK-NEXT:     %[[O:.*]] = tir.match_buffer %{{.*}} : !tir.buffer<8xi32>
// CHECK-NEXT:     %[[C4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[SUM:.*]] = tir.reducer (%{{.*}} : i32, %{{.*}} : i32) identity [0 : i32] {
// CHECK-NEXT:       %[[Z:.*]] = tir.add %{{.*}}, %{{.*}} : i32
// CHECK-NEXT:       tir.yield %[[Z]] : i32
// CHECK-NEXT:     }
// CHECK-NEXT:     %[[V0:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[V1:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[P:.*]] = tir.allocate "R" [2] : !tir.ptr<i32, "local">
// CHECK-NEXT:     %[[R:.*]] = tir.decl_buffer "R" %[[P]] : !tir.buffer<2xi32, "local">
// CHECK-NEXT:     tir.launch_thread %[[T:.*]] = "threadIdx.x" to %[[C4]] {
// CHECK-NEXT:       tir.attr "reduce_scope" (%[[SUM]]) = 0 : i32 {
// CHECK-NEXT:         %[[V2:.*]] = tir.mul %[[V1]], %[[C4]] : i32
// CHECK-NEXT:         %[[V3:.*]] = tir.add %[[V2]], %[[T]] : i32
// CHECK-NEXT:         %[[X_1:.*]] = tir.load %[[A]][%[[V3]]] : i32
// CHECK-NEXT:         tir.thread_allreduce [%[[X_1]]] into [%[[R]][%[[V1]]]] over [%[[T]]]
// CHECK-NEXT:         %[[V4:.*]] = tir.mul %[[V0]], %[[C4]] : i32
// CHECK-NEXT:         %[[V5:.*]] = tir.add %[[V4]], %[[T]] : i32
// CHECK-NEXT:         %[[X_2:.*]] = tir.load %[[A]][%[[V5]]] : i32
// CHECK-NEXT:         tir.thread_allreduce [%[[X_2]]] into [%[[R]][%[[V0]]]] over [%[[T]]]
// CHECK-NEXT:       }
// CHECK-NEXT:       %[[Y_1:.*]] = tir.load %[[R]][%[[V1]]] : i32
// CHECK-NEXT:       %[[V6:.*]] = tir.mul %[[V1]], %[[C4]] : i32
// CHECK-NEXT:       %[[V7:.*]] = tir.add %[[V6]], %[[T]] : i32
// CHECK-NEXT:       tir.store %[[Y_1]], %[[O]][%[[V7]]] : i32
// CHECK-NEXT:       %[[Y_2:.*]] = tir.load %[[R]][%[[V0]]] : i32
// CHECK-NEXT:       %[[V8:.*]] = tir.mul %[[V0]], %[[C4]] : i32
// CHECK-NEXT:       %[[V9:.*]] = tir.add %[[V8]], %[[T]] : i32
// CHECK-NEXT:       tir.store %[[Y_2]], %[[O]][%[[V9]]] : i32
// CHECK-NEXT:     }
