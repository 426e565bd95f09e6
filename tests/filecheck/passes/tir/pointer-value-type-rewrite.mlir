// RUN: xdsl-opt %s -p tir-pointer-value-type-rewrite --split-input-file | filecheck %s

// Scalar reads are lanes of vector reads; scalar stores keep their memory.
// CASE: PointerValueTypeRewrite.1
tir.func @lanes(%a: !tir.handle, %b: !tir.handle) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xf32>
  %p = tir.allocate [16] : !tir.ptr<f32, "local">
  %L = tir.decl_buffer "L" %p : !tir.buffer<16xf32, "local">
  tir.for %i = %c0 to %c4 {
    %i4 = tir.mul %i, %c4 : i32
    %r = tir.ramp %i4, %c1 : vector<4xi32>
    %v = tir.load %A[%r] : vector<4xf32>
    tir.store %v, %L[%r] : vector<4xf32>
  }
  tir.for %j = %c0 to %c4 {
    %j4 = tir.mul %j, %c4 : i32
    %k0 = tir.add %j4, %c0 : i32
    %x0 = tir.load %L[%k0] : f32
    tir.store %x0, %B[%k0] : f32
    %k1 = tir.add %j4, %c1 : i32
    %x1 = tir.load %L[%k1] : f32
    tir.store %x1, %B[%k1] : f32
    %k2 = tir.add %j4, %c2 : i32
    %x2 = tir.load %L[%k2] : f32
    tir.store %x2, %B[%k2] : f32
    %k3 = tir.add %j4, %c3 : i32
    %x3 = tir.load %L[%k3] : f32
    tir.store %x3, %B[%k3] : f32
  }
}
// CHECK-LABEL: tir.func @lanes
// CHECK-NEXT:     %[[c0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[c1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[c2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[c3:.*]] = tir.const 3 : i32
// CHECK-NEXT:     %[[c4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer "A" %{{.*}} : !tir.buffer<4xvector<4xf32>>
// CHECK-NEXT:     %[[B:.*]] = tir.match_buffer "B" %{{.*}} : !tir.buffer<16xf32>
// CHECK-NEXT:     %[[p:.*]] = tir.allocate [4] : !tir.ptr<vector<4xf32>, "local">
// CHECK-NEXT:     %[[L:.*]] = tir.decl_buffer "L" %[[p]] : !tir.buffer<4xvector<4xf32>, "local">
// CHECK-NEXT:     tir.for %[[i:.*]] = %[[c0]] to %[[c4]] {
// CHECK-NEXT:       %[[i4:.*]] = tir.mul %[[i]], %[[c4]] : i32
// CHECK-NEXT:       %[[V0:.*]] = tir.const 4 : i32
// CHECK-NEXT:       %[[V1:.*]] = tir.div %[[i4]], %[[V0]] : i32
// CHECK-NEXT:       %[[v:.*]] = tir.load %[[A]][%[[V1]]] : vector<4xf32>
// CHECK-NEXT:       %[[V2:.*]] = tir.const 4 : i32
// CHECK-NEXT:       %[[V3:.*]] = tir.div %[[i4]], %[[V2]] : i32
// CHECK-NEXT:       tir.store %[[v]], %[[L]][%[[V3]]] : vector<4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     tir.for %[[j:.*]] = %[[c0]] to %[[c4]] {
// CHECK-NEXT:       %[[j4:.*]] = tir.mul %[[j]], %[[c4]] : i32
// CHECK-NEXT:       %[[k0:.*]] = tir.add %[[j4]], %[[c0]] : i32
// CHECK-NEXT:       %[[V4:.*]] = tir.const 4 : i32
// CHECK-NEXT:       %[[V5:.*]] = tir.div %[[k0]], %[[V4]] : i32
// CHECK-NEXT:       %[[V6:.*]] = tir.load %[[L]][%[[V5]]] : vector<4xf32>
// CHECK-NEXT:       %[[V7:.*]] = tir.const 0 : i32
// CHECK-NEXT:       %[[x0:.*]] = tir.shuffle [%[[V6]]] [%[[V7]]] : f32
// CHECK-NEXT:       tir.store %[[x0]], %[[B]][%[[k0]]] : f32
// CHECK-NEXT:       %[[k1:.*]] = tir.add %[[j4]], %[[c1]] : i32
// CHECK-NEXT:       %[[V8:.*]] = tir.const 4 : i32
// CHECK-NEXT:       %[[V9:.*]] = tir.div %[[k1]], %[[V8]] : i32
// CHECK-NEXT:       %[[V10:.*]] = tir.load %[[L]][%[[V9]]] : vector<4xf32>
// CHECK-NEXT:       %[[V11:.*]] = tir.const 1 : i32
// CHECK-NEXT:       %[[x1:.*]] = tir.shuffle [%[[V10]]] [%[[V11]]] : f32
// CHECK-NEXT:       tir.store %[[x1]], %[[B]][%[[k1]]] : f32
// CHECK-NEXT:       %[[k2:.*]] = tir.add %[[j4]], %[[c2]] : i32
// CHECK-NEXT:       %[[V12:.*]] = tir.const 4 : i32
// CHECK-NEXT:       %[[V13:.*]] = tir.div %[[k2]], %[[V12]] : i32
// CHECK-NEXT:       %[[V14:.*]] = tir.load %[[L]][%[[V13]]] : vector<4xf32>
// CHECK-NEXT:       %[[V15:.*]] = tir.const 2 : i32
// CHECK-NEXT:       %[[x2:.*]] = tir.shuffle [%[[V14]]] [%[[V15]]] : f32
// CHECK-NEXT:       tir.store %[[x2]], %[[B]][%[[k2]]] : f32
// CHECK-NEXT:       %[[k3:.*]] = tir.add %[[j4]], %[[c3]] : i32
// CHECK-NEXT:       %[[V16:.*]] = tir.const 4 : i32
// CHECK-NEXT:       %[[V17:.*]] = tir.div %[[k3]], %[[V16]] : i32
// CHECK-NEXT:       %[[V18:.*]] = tir.load %[[L]][%[[V17]]] : vector<4xf32>
// CHECK-NEXT:       %[[V19:.*]] = tir.const 3 : i32
// CHECK-NEXT:       %[[x3:.*]] = tir.shuffle [%[[V18]]] [%[[V19]]] : f32
// CHECK-NEXT:       tir.store %[[x3]], %[[B]][%[[k3]]] : f32
// CHECK-NEXT:     }
// CHECK-NEXT:   }

// -----

// Constant indices are folded.
// CASE: PointerValueTypeRewrite.2
tir.func @constants(%a: !tir.handle, %b: !tir.handle) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c5 = tir.const 5 : i32
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xf32>
  %p = tir.allocate [8] : !tir.ptr<f32, "local">
  %L = tir.decl_buffer "L" %p : !tir.buffer<8xf32, "local">
  %r0 = tir.ramp %c0, %c1 : vector<4xi32>
  %v0 = tir.load %A[%r0] : vector<4xf32>
  tir.store %v0, %L[%r0] : vector<4xf32>
  %r4 = tir.ramp %c4, %c1 : vector<4xi32>
  %v4 = tir.load %A[%r4] : vector<4xf32>
  tir.store %v4, %L[%r4] : vector<4xf32>
  %x1 = tir.load %L[%c1] : f32
  tir.store %x1, %B[%c1] : f32
  %x4 = tir.load %L[%c4] : f32
  tir.store %x4, %B[%c4] : f32
  %x5 = tir.load %L[%c5] : f32
  tir.store %x5, %B[%c5] : f32
}
// CHECK-LABEL: tir.func @constants
// CHECK-NEXT:     %[[c0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[c1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[c4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[c5:.*]] = tir.const 5 : i32
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer "A" %{{.*}} : !tir.buffer<4xvector<4xf32>>
// CHECK-NEXT:     %[[B:.*]] = tir.match_buffer "B" %{{.*}} : !tir.buffer<16xf32>
// CHECK-NEXT:     %[[p:.*]] = tir.allocate [2] : !tir.ptr<vector<4xf32>, "local">
// CHECK-NEXT:     %[[L:.*]] = tir.decl_buffer "L" %[[p]] : !tir.buffer<2xvector<4xf32>, "local">
// CHECK-NEXT:     %[[v0:.*]] = tir.load %[[A]][%[[c0]]] : vector<4xf32>
// CHECK-NEXT:     tir.store %[[v0]], %[[L]][%[[c0]]] : vector<4xf32>
// CHECK-NEXT:     %[[V0:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[v4:.*]] = tir.load %[[A]][%[[V0]]] : vector<4xf32>
// CHECK-NEXT:     %[[V1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     tir.store %[[v4]], %[[L]][%[[V1]]] : vector<4xf32>
// CHECK-NEXT:     %[[V2:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[V3:.*]] = tir.load %[[L]][%[[V2]]] : vector<4xf32>
// CHECK-NEXT:     %[[V4:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[x1:.*]] = tir.shuffle [%[[V3]]] [%[[V4]]] : f32
// CHECK-NEXT:     tir.store %[[x1]], %[[B]][%[[c1]]] : f32
// CHECK-NEXT:     %[[V5:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[V6:.*]] = tir.load %[[L]][%[[V5]]] : vector<4xf32>
// CHECK-NEXT:     %[[V7:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[x4:.*]] = tir.shuffle [%[[V6]]] [%[[V7]]] : f32
// CHECK-NEXT:     tir.store %[[x4]], %[[B]][%[[c4]]] : f32
// CHECK-NEXT:     %[[V8:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[V9:.*]] = tir.load %[[L]][%[[V8]]] : vector<4xf32>
// CHECK-NEXT:     %[[V10:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[x5:.*]] = tir.shuffle [%[[V9]]] [%[[V10]]] : f32
// CHECK-NEXT:     tir.store %[[x5]], %[[B]][%[[c5]]] : f32
// CHECK-NEXT:   }

// -----

// An address counts elements as they are.
// CASE: PointerValueTypeRewrite.3
tir.func @address(%a: !tir.handle, %b: !tir.handle) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xf32>
  tir.for %i = %c0 to %c4 {
    %i4 = tir.mul %i, %c4 : i32
    %q = tir.address_of %A[%i4] : !tir.ptr<f32>
    %d = tir.decl_buffer %q : !tir.buffer<1xf32>
    %z = tir.load %d[%c0] : f32
    tir.evaluate %z : f32
    %r = tir.ramp %i4, %c1 : vector<4xi32>
    %v = tir.load %A[%r] : vector<4xf32>
    tir.store %v, %B[%r] : vector<4xf32>
  }
}
// CHECK-LABEL: tir.func @address
// CHECK-NEXT:     %[[c0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[c1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[c4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer "A" %{{.*}} : !tir.buffer<16xf32>
// CHECK-NEXT:     %[[B:.*]] = tir.match_buffer "B" %{{.*}} : !tir.buffer<4xvector<4xf32>>
// CHECK-NEXT:     tir.for %[[i:.*]] = %[[c0]] to %[[c4]] {
// CHECK-NEXT:       %[[i4:.*]] = tir.mul %[[i]], %[[c4]] : i32
// CHECK-NEXT:       %[[q:.*]] = tir.address_of %[[A]][%[[i4]]] : !tir.ptr<f32>
// CHECK-NEXT:       %[[d:.*]] = tir.decl_buffer %[[q]] : !tir.buffer<1xf32>
// CHECK-NEXT:       %[[z:.*]] = tir.load %[[d]][%[[c0]]] : f32
// CHECK-NEXT:       tir.evaluate %[[z]] : f32
// CHECK-NEXT:       %[[r:.*]] = tir.ramp %[[i4]], %[[c1]] : vector<4xi32>
// CHECK-NEXT:       %[[v:.*]] = tir.load %[[A]][%[[r]]] : vector<4xf32>
// CHECK-NEXT:       %[[V0:.*]] = tir.const 4 : i32
// CHECK-NEXT:       %[[V1:.*]] = tir.div %[[i4]], %[[V0]] : i32
// CHECK-NEXT:       tir.store %[[v]], %[[B]][%[[V1]]] : vector<4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:   }

// -----

// Nothing is accessed by vectors.
// CASE: PointerValueTypeRewrite.4
tir.func @scalars(%a: !tir.handle, %b: !tir.handle) {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xf32>
  tir.for %j = %c0 to %c4 {
    %j4 = tir.mul %j, %c4 : i32
    %k0 = tir.add %j4, %c0 : i32
    %x0 = tir.load %A[%k0] : f32
    tir.store %x0, %B[%k0] : f32
  }
}
// CHECK-LABEL: tir.func @scalars
// CHECK-NEXT:     %[[c0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[c4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer "A" %{{.*}} : !tir.buffer<16xf32>
// CHECK-NEXT:     %[[B:.*]] = tir.match_buffer "B" %{{.*}} : !tir.buffer<16xf32>
// CHECK-NEXT:     tir.for %[[j:.*]] = %[[c0]] to %[[c4]] {
// CHECK-NEXT:       %[[j4:.*]] = tir.mul %[[j]], %[[c4]] : i32
// CHECK-NEXT:       %[[k0:.*]] = tir.add %[[j4]], %[[c0]] : i32
// CHECK-NEXT:       %[[x0:.*]] = tir.load %[[A]][%[[k0]]] : f32
// CHECK-NEXT:       tir.store %[[x0]], %[[B]][%[[k0]]] : f32
// CHECK-NEXT:     }
// CHECK-NEXT:   }

// -----

// Starts at no multiple of the lanes, two numbers of lanes, two base types, and an extent
// that is no multiple of the lanes.
// CASE: PointerValueTypeRewrite.5
tir.func @unaligned(%a: !tir.handle, %b: !tir.handle) {
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xf32>
  %r0 = tir.ramp %c2, %c1 : vector<4xi32>
  %v0 = tir.load %A[%r0] : vector<4xf32>
  tir.store %v0, %B[%r0] : vector<4xf32>
}
tir.func @widths(%a: !tir.handle, %b: !tir.handle) {
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xf32>
  %r0 = tir.ramp %c4, %c1 : vector<4xi32>
  %v0 = tir.load %A[%r0] : vector<4xf32>
  tir.store %v0, %B[%r0] : vector<4xf32>
  %r1 = tir.ramp %c8, %c1 : vector<2xi32>
  %v1 = tir.load %A[%r1] : vector<2xf32>
  tir.store %v1, %B[%r1] : vector<2xf32>
}
tir.func @bases(%a: !tir.handle, %b: !tir.handle) {
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xf32>
  %p = tir.data %A : !tir.ptr<f32>
  %I = tir.decl_buffer "I" %p : !tir.buffer<16xi32>
  %r0 = tir.ramp %c4, %c1 : vector<4xi32>
  %v0 = tir.load %A[%r0] : vector<4xf32>
  tir.store %v0, %A[%r0] : vector<4xf32>
  %w = tir.load %I[%r0] : vector<4xi32>
  tir.evaluate %w : vector<4xi32>
}
tir.func @extents(%a: !tir.handle, %b: !tir.handle) {
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %A = tir.match_buffer "A" %a : !tir.buffer<18xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<18xf32>
  %r0 = tir.ramp %c4, %c1 : vector<4xi32>
  %v0 = tir.load %A[%r0] : vector<4xf32>
  tir.store %v0, %B[%r0] : vector<4xf32>
}
// CHECK-LABEL: tir.func @unaligned
// CHECK-NEXT:     %[[c1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[c2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer "A" %{{.*}} : !tir.buffer<16xf32>
// CHECK-NEXT:     %[[B:.*]] = tir.match_buffer "B" %{{.*}} : !tir.buffer<16xf32>
// CHECK-NEXT:     %[[r0:.*]] = tir.ramp %[[c2]], %[[c1]] : vector<4xi32>
// CHECK-NEXT:     %[[v0:.*]] = tir.load %[[A]][%[[r0]]] : vector<4xf32>
// CHECK-NEXT:     tir.store %[[v0]], %[[B]][%[[r0]]] : vector<4xf32>
// CHECK-NEXT:   }
// CHECK-LABEL: tir.func @widths
// CHECK-NEXT:     %[[c1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[c4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[c8:.*]] = tir.const 8 : i32
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer "A" %{{.*}} : !tir.buffer<16xf32>
// CHECK-NEXT:     %[[B:.*]] = tir.match_buffer "B" %{{.*}} : !tir.buffer<16xf32>
// CHECK-NEXT:     %[[r0:.*]] = tir.ramp %[[c4]], %[[c1]] : vector<4xi32>
// CHECK-NEXT:     %[[v0:.*]] = tir.load %[[A]][%[[r0]]] : vector<4xf32>
// CHECK-NEXT:     tir.store %[[v0]], %[[B]][%[[r0]]] : vector<4xf32>
// CHECK-NEXT:     %[[r1:.*]] = tir.ramp %[[c8]], %[[c1]] : vector<2xi32>
// CHECK-NEXT:     %[[v1:.*]] = tir.load %[[A]][%[[r1]]] : vector<2xf32>
// CHECK-NEXT:     tir.store %[[v1]], %[[B]][%[[r1]]] : vector<2xf32>
// CHECK-NEXT:   }
// CHECK-LABEL: tir.func @bases
// CHECK-NEXT:     %[[c1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[c4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer "A" %{{.*}} : !tir.buffer<16xf32>
// CHECK-NEXT:     %[[B:.*]] = tir.match_buffer "B" %{{.*}} : !tir.buffer<16xf32>
// CHECK-NEXT:     %[[p:.*]] = tir.data %[[A]] : !tir.ptr<f32>
// CHECK-NEXT:     %[[I:.*]] = tir.decl_buffer "I" %[[p]] : !tir.buffer<16xi32>
// CHECK-NEXT:     %[[r0:.*]] = tir.ramp %[[c4]], %[[c1]] : vector<4xi32>
// CHECK-NEXT:     %[[v0:.*]] = tir.load %[[A]][%[[r0]]] : vector<4xf32>
// CHECK-NEXT:     tir.store %[[v0]], %[[A]][%[[r0]]] : vector<4xf32>
// CHECK-NEXT:     %[[w:.*]] = tir.load %[[I]][%[[r0]]] : vector<4xi32>
// CHECK-NEXT:     tir.evaluate %[[w]] : vector<4xi32>
// CHECK-NEXT:   }
// CHECK-LABEL: tir.func @extents
// CHECK-NEXT:     %[[c1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[c4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer "A" %{{.*}} : !tir.buffer<18xf32>
// CHECK-NEXT:     %[[B:.*]] = tir.match_buffer "B" %{{.*}} : !tir.buffer<18xf32>
// CHECK-NEXT:     %[[r0:.*]] = tir.ramp %[[c4]], %[[c1]] : vector<4xi32>
// CHECK-NEXT:     %[[v0:.*]] = tir.load %[[A]][%[[r0]]] : vector<4xf32>
// CHECK-NEXT:     tir.store %[[v0]], %[[B]][%[[r0]]] : vector<4xf32>
// CHECK-NEXT:   }

// -----

// A scalar read at an index that is not known modulo the lanes.
// CASE: PointerValueTypeRewrite.6
tir.func @any_lane(%a: !tir.handle, %b: !tir.handle) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xf32>
  %p = tir.allocate [16] : !tir.ptr<f32, "local">
  %L = tir.decl_buffer "L" %p : !tir.buffer<16xf32, "local">
  tir.for %i = %c0 to %c4 {
    %i4 = tir.mul %i, %c4 : i32
    %r = tir.ramp %i4, %c1 : vector<4xi32>
    %v = tir.load %A[%r] : vector<4xf32>
    tir.store %v, %L[%r] : vector<4xf32>
  }
  tir.for %j = %c0 to %c16 {
    %x = tir.load %L[%j] : f32
    tir.store %x, %B[%j] : f32
  }
}
// CHECK-LABEL: tir.func @any_lane
// CHECK-NEXT:     %[[c0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[c1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[c4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[c16:.*]] = tir.const 16 : i32
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer "A" %{{.*}} : !tir.buffer<4xvector<4xf32>>
// CHECK-NEXT:     %[[B:.*]] = tir.match_buffer "B" %{{.*}} : !tir.buffer<16xf32>
// CHECK-NEXT:     %[[p:.*]] = tir.allocate [16] : !tir.ptr<f32, "local">
// CHECK-NEXT:     %[[L:.*]] = tir.decl_buffer "L" %[[p]] : !tir.buffer<16xf32, "local">
// CHECK-NEXT:     tir.for %[[i:.*]] = %[[c0]] to %[[c4]] {
// CHECK-NEXT:       %[[i4:.*]] = tir.mul %[[i]], %[[c4]] : i32
// CHECK-NEXT:       %[[r:.*]] = tir.ramp %[[i4]], %[[c1]] : vector<4xi32>
// CHECK-NEXT:       %[[V0:.*]] = tir.const 4 : i32
// CHECK-NEXT:       %[[V1:.*]] = tir.div %[[i4]], %[[V0]] : i32
// CHECK-NEXT:       %[[v:.*]] = tir.load %[[A]][%[[V1]]] : vector<4xf32>
// CHECK-NEXT:       tir.store %[[v]], %[[L]][%[[r]]] : vector<4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     tir.for %[[j:.*]] = %[[c0]] to %[[c16]] {
// CHECK-NEXT:       %[[x:.*]] = tir.load %[[L]][%[[j]]] : f32
// CHECK-NEXT:       tir.store %[[x]], %[[B]][%[[j]]] : f32
// CHECK-NEXT:     }
// CHECK-NEXT:   }

// -----

// Views of a parameter follow it, and it follows their accesses.
// CASE: PointerValueTypeRewrite.8
tir.func @views(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %A = tir.match_buffer "A" %a : !tir.buffer<8x4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x4xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<8x4xf32>
  %pa = tir.data %A : !tir.ptr<f32>
  %pb = tir.data %B : !tir.ptr<f32>
  %U = tir.decl_buffer "U" %pa : !tir.buffer<32xf32>
  %V = tir.decl_buffer "V" %pb : !tir.buffer<32xf32>
  %first = tir.ramp %c0, %c1 : vector<4xi32>
  %x = tir.load %U[%first] : vector<4xf32>
  tir.store %x, %V[%first] : vector<4xf32>
  tir.for %k = %c0 to %c8 {
    %k4 = tir.mul %k, %c4 : i32
    %r = tir.ramp %k4, %c1 : vector<4xi32>
    %y = tir.load %U[%r] : vector<4xf32>
    tir.store %y, %V[%r] : vector<4xf32>
  }
}
// CHECK-LABEL: tir.func @views
// CHECK-NEXT:     %[[c0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[c4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[c8:.*]] = tir.const 8 : i32
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer "A" %{{.*}} : !tir.buffer<8x1xvector<4xf32>>
// CHECK-NEXT:     %[[B:.*]] = tir.match_buffer "B" %{{.*}} : !tir.buffer<8x1xvector<4xf32>>
// CHECK-NEXT:     %[[C:.*]] = tir.match_buffer "C" %{{.*}} : !tir.buffer<8x4xf32>
// CHECK-NEXT:     %[[pa:.*]] = tir.data %[[A]] : !tir.ptr<vector<4xf32>>
// CHECK-NEXT:     %[[pb:.*]] = tir.data %[[B]] : !tir.ptr<vector<4xf32>>
// CHECK-NEXT:     %[[U:.*]] = tir.decl_buffer "U" %[[pa]] : !tir.buffer<8xvector<4xf32>>
// CHECK-NEXT:     %[[V:.*]] = tir.decl_buffer "V" %[[pb]] : !tir.buffer<8xvector<4xf32>>
// CHECK-NEXT:     %[[x:.*]] = tir.load %[[U]][%[[c0]]] : vector<4xf32>
// CHECK-NEXT:     tir.store %[[x]], %[[V]][%[[c0]]] : vector<4xf32>
// CHECK-NEXT:     tir.for %[[k:.*]] = %[[c0]] to %[[c8]] {
// CHECK-NEXT:       %[[k4:.*]] = tir.mul %[[k]], %[[c4]] : i32
// CHECK-NEXT:       %[[V0:.*]] = tir.const 4 : i32
// CHECK-NEXT:       %[[V1:.*]] = tir.div %[[k4]], %[[V0]] : i32
// CHECK-NEXT:       %[[y:.*]] = tir.load %[[U]][%[[V1]]] : vector<4xf32>
// CHECK-NEXT:       %[[V2:.*]] = tir.const 4 : i32
// CHECK-NEXT:       %[[V3:.*]] = tir.div %[[k4]], %[[V2]] : i32
// CHECK-NEXT:       tir.store %[[y]], %[[V]][%[[V3]]] : vector<4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:   }

// -----

// Scalars that are broadcast are read as scalars.
// CASE: PointerValueTypeRewrite.9
tir.func @broadcasts(%a: !tir.handle, %b: !tir.handle) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %A = tir.match_buffer "A" %a : !tir.buffer<8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<32xf32>
  %p = tir.allocate [32] : !tir.ptr<f32, "local">
  %L = tir.decl_buffer "L" %p : !tir.buffer<32xf32, "local">
  tir.for %i = %c0 to %c8 {
    %x = tir.load %A[%i] : f32
    %v = tir.broadcast %x : vector<4xf32>
    %i4 = tir.mul %i, %c4 : i32
    %r = tir.ramp %i4, %c1 : vector<4xi32>
    tir.store %v, %L[%r] : vector<4xf32>
    %w = tir.load %L[%r] : vector<4xf32>
    tir.store %w, %B[%r] : vector<4xf32>
  }
}
// CHECK-LABEL: tir.func @broadcasts
// CHECK-NEXT:     %[[c0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[c4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[c8:.*]] = tir.const 8 : i32
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer "A" %{{.*}} : !tir.buffer<8xf32>
// CHECK-NEXT:     %[[B:.*]] = tir.match_buffer "B" %{{.*}} : !tir.buffer<8xvector<4xf32>>
// CHECK-NEXT:     %[[p:.*]] = tir.allocate [8] : !tir.ptr<vector<4xf32>, "local">
// CHECK-NEXT:     %[[L:.*]] = tir.decl_buffer "L" %[[p]] : !tir.buffer<8xvector<4xf32>, "local">
// CHECK-NEXT:     tir.for %[[i:.*]] = %[[c0]] to %[[c8]] {
// CHECK-NEXT:       %[[x:.*]] = tir.load %[[A]][%[[i]]] : f32
// CHECK-NEXT:       %[[v:.*]] = tir.broadcast %[[x]] : vector<4xf32>
// CHECK-NEXT:       %[[i4:.*]] = tir.mul %[[i]], %[[c4]] : i32
// CHECK-NEXT:       %[[V0:.*]] = tir.const 4 : i32
// CHECK-NEXT:       %[[V1:.*]] = tir.div %[[i4]], %[[V0]] : i32
// CHECK-NEXT:       tir.store %[[v]], %[[L]][%[[V1]]] : vector<4xf32>
// CHECK-NEXT:       %[[V2:.*]] = tir.const 4 : i32
// CHECK-NEXT:       %[[V3:.*]] = tir.div %[[i4]], %[[V2]] : i32
// CHECK-NEXT:       %[[w:.*]] = tir.load %[[L]][%[[V3]]] : vector<4xf32>
// CHECK-NEXT:       %[[V4:.*]] = tir.const 4 : i32
// CHECK-NEXT:       %[[V5:.*]] = tir.div %[[i4]], %[[V4]] : i32
// CHECK-NEXT:       tir.store %[[w]], %[[B]][%[[V5]]] : vector<4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:   }

// -----

// A pointer for an intrinsic counts elements as they are.
// CASE: PointerValueTypeRewrite.10
tir.func @intrinsic(%a: !tir.handle, %b: !tir.handle) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c32 = tir.const 32 : i32
  %A = tir.match_buffer "A" %a : !tir.buffer<256xf16>
  %B = tir.match_buffer "B" %b : !tir.buffer<256xf16>
  %no = tir.const false
  %kind = tir.string ".b16"
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %p = tir.allocate [256] : !tir.ptr<f16, "shared">
    %S = tir.decl_buffer "S" %p : !tir.buffer<256xf16, "shared">
    %q = tir.allocate [8] : !tir.ptr<f16, "local">
    %W = tir.decl_buffer "W" %q : !tir.buffer<8xf16, "local">
    %t8 = tir.mul %t, %c8 : i32
    %r = tir.ramp %t8, %c1 : vector<8xi32>
    %x = tir.load %A[%r] : vector<8xf16>
    %l = tir.ramp %c0, %c1 : vector<8xi32>
    %b8 = tir.broadcast %t8 : vector<8xi32>
    %m = tir.add %b8, %l : vector<8xi32>
    tir.store %x, %S[%m] : vector<8xf16>
    %s = tir.access_ptr r %p[%c0 to %c0 + %t8] : !tir.ptr<f16, "shared">
    %d = tir.call "ptx_ldmatrix"(%no, %c4, %kind, %q, %c0, %s, %t8)
      : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "shared">, i32)
      -> f16
    tir.evaluate %d : f16
    %y = tir.load %W[%c0] : f16
    tir.store %y, %B[%t] : f16
  }
}
// CHECK-LABEL: tir.func @intrinsic
// CHECK-NEXT:     %[[c0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[c1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[c4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[c8:.*]] = tir.const 8 : i32
// CHECK-NEXT:     %[[c32:.*]] = tir.const 32 : i32
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer "A" %{{.*}} : !tir.buffer<32xvector<8xf16>>
// CHECK-NEXT:     %[[B:.*]] = tir.match_buffer "B" %{{.*}} : !tir.buffer<256xf16>
// CHECK-NEXT:     %[[no:.*]] = tir.const false
// CHECK-NEXT:     %[[kind:.*]] = tir.string ".b16"
// CHECK-NEXT:     tir.launch_thread %[[t:.*]] = "threadIdx.x" to %[[c32]] {
// CHECK-NEXT:       %[[p:.*]] = tir.allocate [256] : !tir.ptr<f16, "shared">
// CHECK-NEXT:       %[[S:.*]] = tir.decl_buffer "S" %[[p]] : !tir.buffer<256xf16, "shared">
// CHECK-NEXT:       %[[q:.*]] = tir.allocate [8] : !tir.ptr<f16, "local">
// CHECK-NEXT:       %[[W:.*]] = tir.decl_buffer "W" %[[q]] : !tir.buffer<8xf16, "local">
// CHECK-NEXT:       %[[t8:.*]] = tir.mul %[[t]], %[[c8]] : i32
// CHECK-NEXT:       %[[V0:.*]] = tir.const 8 : i32
// CHECK-NEXT:       %[[V1:.*]] = tir.div %[[t8]], %[[V0]] : i32
// CHECK-NEXT:       %[[x:.*]] = tir.load %[[A]][%[[V1]]] : vector<8xf16>
// CHECK-NEXT:       %[[l:.*]] = tir.ramp %[[c0]], %[[c1]] : vector<8xi32>
// CHECK-NEXT:       %[[b8:.*]] = tir.broadcast %[[t8]] : vector<8xi32>
// CHECK-NEXT:       %[[m:.*]] = tir.add %[[b8]], %[[l]] : vector<8xi32>
// CHECK-NEXT:       tir.store %[[x]], %[[S]][%[[m]]] : vector<8xf16>
// CHECK-NEXT:       %[[s:.*]] = tir.access_ptr r %[[p]][%[[c0]] to %[[t8]]] : !tir.ptr<f16, "shared">
// CHECK-NEXT:       %[[d:.*]] = tir.call "ptx_ldmatrix"(%[[no]], %[[c4]], %[[kind]], %[[q]], %[[c0]], %[[s]], %[[t8]]) : (i1, i32, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "shared">, i32) -> f16
// CHECK-NEXT:       tir.evaluate %[[d]] : f16
// CHECK-NEXT:       %[[y:.*]] = tir.load %[[W]][%[[c0]]] : f16
// CHECK-NEXT:       tir.store %[[y]], %[[B]][%[[t]]] : f16
// CHECK-NEXT:     }
// CHECK-NEXT:   }

// -----

// An index that is a multiple of a multiple of the lanes.
tir.func @wide_strides(%a: !tir.handle, %b: !tir.handle) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c5 = tir.const 5 : i32
  %c8 = tir.const 8 : i32
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xf32>
  %p = tir.allocate [16] : !tir.ptr<f32, "local">
  %L = tir.decl_buffer "L" %p : !tir.buffer<16xf32, "local">
  tir.for %i = %c0 to %c4 {
    %i4 = tir.mul %i, %c4 : i32
    %r = tir.ramp %i4, %c1 : vector<4xi32>
    %v = tir.load %A[%r] : vector<4xf32>
    tir.store %v, %L[%r] : vector<4xf32>
  }
  tir.for %j = %c0 to %c2 {
    %j8 = tir.mul %j, %c8 : i32
    %k = tir.add %j8, %c5 : i32
    %x = tir.load %L[%k] : f32
    tir.store %x, %B[%j] : f32
  }
}
// CHECK-LABEL: tir.func @wide_strides
// CHECK-NEXT:     %[[c0:.*]] = tir.const 0 : i32
// CHECK-NEXT:     %[[c2:.*]] = tir.const 2 : i32
// CHECK-NEXT:     %[[c4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[c5:.*]] = tir.const 5 : i32
// CHECK-NEXT:     %[[c8:.*]] = tir.const 8 : i32
// CHECK-NEXT:     %[[A:.*]] = tir.match_buffer "A" %{{.*}} : !tir.buffer<4xvector<4xf32>>
// CHECK-NEXT:     %[[B:.*]] = tir.match_buffer "B" %{{.*}} : !tir.buffer<16xf32>
// CHECK-NEXT:     %[[p:.*]] = tir.allocate [4] : !tir.ptr<vector<4xf32>, "local">
// CHECK-NEXT:     %[[L:.*]] = tir.decl_buffer "L" %[[p]] : !tir.buffer<4xvector<4xf32>, "local">
// CHECK-NEXT:     tir.for %[[i:.*]] = %[[c0]] to %[[c4]] {
// CHECK-NEXT:       %[[i4:.*]] = tir.mul %[[i]], %[[c4]] : i32
// CHECK-NEXT:       %[[V0:.*]] = tir.const 4 : i32
// CHECK-NEXT:       %[[V1:.*]] = tir.div %[[i4]], %[[V0]] : i32
// CHECK-NEXT:       %[[v:.*]] = tir.load %[[A]][%[[V1]]] : vector<4xf32>
// CHECK-NEXT:       %[[V2:.*]] = tir.const 4 : i32
// CHECK-NEXT:       %[[V3:.*]] = tir.div %[[i4]], %[[V2]] : i32
// CHECK-NEXT:       tir.store %[[v]], %[[L]][%[[V3]]] : vector<4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     tir.for %[[j:.*]] = %[[c0]] to %[[c2]] {
// CHECK-NEXT:       %[[j8:.*]] = tir.mul %[[j]], %[[c8]] : i32
// CHECK-NEXT:       %[[k:.*]] = tir.add %[[j8]], %[[c5]] : i32
// CHECK-NEXT:       %[[V4:.*]] = tir.const 4 : i32
// CHECK-NEXT:       %[[V5:.*]] = tir.div %[[k]], %[[V4]] : i32
// CHECK-NEXT:       %[[V6:.*]] = tir.load %[[L]][%[[V5]]] : vector<4xf32>
// CHECK-NEXT:       %[[V7:.*]] = tir.const 1 : i32
// CHECK-NEXT:       %[[x:.*]] = tir.shuffle [%[[V6]]] [%[[V7]]] : f32
// CHECK-NEXT:       tir.store %[[x]], %[[B]][%[[j]]] : f32
// CHECK-NEXT:     }
// CHECK-NEXT:   }

// -----

// A typed let, and dynamic extents that are multiples of the lanes.
tir.func @let(%h: !tir.handle, %n: i32) {
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %p = tir.let "p" %h : !tir.handle -> !tir.ptr<f32>
  %n4 = tir.mul %n, %c4 : i32
  %q = tir.allocate [%n4] : !tir.ptr<f32>
  %P = tir.decl_buffer "P" %p [%n4] : !tir.buffer<?xf32>
  %Q = tir.decl_buffer "Q" %q [%n4] : !tir.buffer<?xf32>
  %r = tir.ramp %c4, %c1 : vector<4xi32>
  %x = tir.load %P[%r] : vector<4xf32>
  tir.store %x, %Q[%r] : vector<4xf32>
}
// CHECK-LABEL: tir.func @let
// CHECK-NEXT:     %[[c4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[p:.*]] = tir.let "p" %{{.*}} : !tir.handle -> !tir.ptr<vector<4xf32>>
// CHECK-NEXT:     %[[n4:.*]] = tir.mul %{{.*}}, %[[c4]] : i32
// CHECK-NEXT:     %[[V0:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[V1:.*]] = tir.div %[[n4]], %[[V0]] : i32
// CHECK-NEXT:     %[[q:.*]] = tir.allocate [%[[V1]]] : !tir.ptr<vector<4xf32>>
// CHECK-NEXT:     %[[V2:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[V3:.*]] = tir.div %[[n4]], %[[V2]] : i32
// CHECK-NEXT:     %[[P:.*]] = tir.decl_buffer "P" %[[p]] [%[[V3]]] : !tir.buffer<?xvector<4xf32>>
// CHECK-NEXT:     %[[V4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[V5:.*]] = tir.div %[[n4]], %[[V4]] : i32
// CHECK-NEXT:     %[[Q:.*]] = tir.decl_buffer "Q" %[[q]] [%[[V5]]] : !tir.buffer<?xvector<4xf32>>
// CHECK-NEXT:     %[[V6:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[x:.*]] = tir.load %[[P]][%[[V6]]] : vector<4xf32>
// CHECK-NEXT:     %[[V7:.*]] = tir.const 1 : i32
// CHECK-NEXT:     tir.store %[[x]], %[[Q]][%[[V7]]] : vector<4xf32>
// CHECK-NEXT:   }

// -----

// A parameter that is a pointer; one of a function that is called keeps its type.
tir.func @called(%p: !tir.ptr<f32>) {
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %P = tir.decl_buffer "P" %p : !tir.buffer<8xf32>
  %r = tir.ramp %c4, %c1 : vector<4xi32>
  %x = tir.load %P[%r] : vector<4xf32>
  tir.store %x, %P[%r] : vector<4xf32>
}
tir.func @caller(%p: !tir.ptr<f32>, %q: !tir.ptr<f32>) {
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  tir.call_func @called(%p) : (!tir.ptr<f32>) -> ()
  %P = tir.decl_buffer "P" %q : !tir.buffer<8xf32>
  %r = tir.ramp %c4, %c1 : vector<4xi32>
  %x = tir.load %P[%r] : vector<4xf32>
  tir.store %x, %P[%r] : vector<4xf32>
}
// CHECK-LABEL: tir.func @called
// CHECK-NEXT:     %[[c1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[c4:.*]] = tir.const 4 : i32
// CHECK-NEXT:     %[[P:.*]] = tir.decl_buffer "P" %{{.*}} : !tir.buffer<8xf32>
// CHECK-NEXT:     %[[r:.*]] = tir.ramp %[[c4]], %[[c1]] : vector<4xi32>
// CHECK-NEXT:     %[[x:.*]] = tir.load %[[P]][%[[r]]] : vector<4xf32>
// CHECK-NEXT:     tir.store %[[x]], %[[P]][%[[r]]] : vector<4xf32>
// CHECK-NEXT:   }
// CHECK-LABEL: tir.func @caller
// CHECK-NEXT:     tir.call_func @called(%{{.*}}) : (!tir.ptr<f32>) -> ()
// CHECK-NEXT:     %[[P:.*]] = tir.decl_buffer "P" %{{.*}} : !tir.buffer<2xvector<4xf32>>
// CHECK-NEXT:     %[[V0:.*]] = tir.const 1 : i32
// CHECK-NEXT:     %[[x:.*]] = tir.load %[[P]][%[[V0]]] : vector<4xf32>
// CHECK-NEXT:     %[[V1:.*]] = tir.const 1 : i32
// CHECK-NEXT:     tir.store %[[x]], %[[P]][%[[V1]]] : vector<4xf32>
// CHECK-NEXT:   }
