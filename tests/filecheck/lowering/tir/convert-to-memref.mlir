// RUN: xdsl-opt %s -p tir-convert-to-memref --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p tir-convert-to-memref,tir-convert-to-memref --split-input-file | filecheck %s

// Symbolic extents follow the parameters; a shared index is cast once.

tir.func @add(%a: !tir.handle, %b: !tir.handle, %s: f32)
    attributes {global_symbol = "add", tir.noalias = true} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?xf32>
  %B = tir.match_buffer "B" %b [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n {
    %x = tir.load %A[%i] : f32
    %y = tir.add %x, %s : f32
    tir.store %y, %B[%i] : f32
  }
}

// CHECK-LABEL: func.func @add(
// CHECK-SAME:    %[[A:.*]]: memref<?xf32> {llvm.noalias}, %[[B:.*]]: memref<?xf32> {llvm.noalias}, %[[S:.*]]: f32, %[[N:.*]]: i64)
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 1 : i32
// CHECK:         %[[N32:.*]] = arith.trunci %[[N]] : i64 to i32
// CHECK:         scf.for %[[I:.*]] = %[[ZERO]] to %[[N32]] step %[[ONE]] : i32 {
// CHECK-NEXT:      %[[J:.*]] = arith.index_cast %[[I]] : i32 to index
// CHECK-NEXT:      %[[X:.*]] = memref.load %[[A]][%[[J]]] : memref<?xf32>
// CHECK-NEXT:      %[[Y:.*]] = arith.addf %[[X]], %[[S]] : f32
// CHECK-NEXT:      memref.store %[[Y]], %[[B]][%[[J]]] : memref<?xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return

// -----

// Strides, an offset or a symbolic trailing extent make a flat memref.

tir.func @strided(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "strided"} {
  %s = tir.shape_var "s" : i64
  %o = tir.shape_var "o" : i64
  %A = tir.match_buffer %a strides [%s, 1] offset %o : !tir.buffer<4x8xf32>
  %B = tir.match_buffer %b : !tir.buffer<4x8xf32>
  %c0 = tir.const 0 : i64
  %c1 = tir.const 1 : i64
  %x = tir.load %A[%c1, %c0] : f32
  tir.store %x, %B[%c1, %c0] : f32
}

// CHECK-LABEL: func.func @strided(
// CHECK-SAME:    %[[A:.*]]: memref<?xf32>, %[[B:.*]]: memref<4x8xf32>, %[[S:.*]]: i64, %[[O:.*]]: i64)
// CHECK-DAG:     %[[STRIDE:.*]] = arith.index_cast %[[S]] : i64 to index
// CHECK-DAG:     %[[OFFSET:.*]] = arith.index_cast %[[O]] : i64 to index
// CHECK:         %[[SUM:.*]] = arith.addi %[[OFFSET]], %[[STRIDE]] : index
// CHECK:         memref.load %[[A]][%[[SUM]]] : memref<?xf32>
// CHECK:         memref.store %{{.*}}, %[[B]][%{{.*}}, %{{.*}}] : memref<4x8xf32>

// -----

// Signedness decides the operation, and is gone from the types.

tir.func @unsigned(%a: ui8, %b: ui8, %c: i32, %d: i32) -> i32 attributes {global_symbol = "unsigned"} {
  %q = tir.div %a, %b : ui8
  %p = tir.cmp lt %q, %b : ui8
  %w = tir.cast %q : ui8 to i32
  %c4 = tir.const 4 : i32
  %f = tir.floordiv %c, %c4 : i32
  %g = tir.floormod %c, %d : i32
  %s = tir.select %p, %f, %g : i1, i32
  %m = tir.max %s, %w : i32
  tir.ret %m : i32
}

// CHECK-LABEL: func.func @unsigned(
// CHECK-SAME:    %[[A:.*]]: i8, %[[B:.*]]: i8, %[[C:.*]]: i32, %[[D:.*]]: i32) -> i32
// CHECK:         %[[Q:.*]] = arith.divui %[[A]], %[[B]] : i8
// CHECK:         %[[P:.*]] = arith.cmpi ult, %[[Q]], %[[B]] : i8
// CHECK:         %[[W:.*]] = arith.extui %[[Q]] : i8 to i32
// CHECK:         %[[F:.*]] = arith.shrsi %[[C]], %{{.*}} : i32
// CHECK:         %[[R:.*]] = arith.remsi %[[C]], %[[D]] : i32
// CHECK:         arith.xori %[[R]], %[[D]] : i32
// CHECK:         %[[G:.*]] = arith.select %{{.*}}, %{{.*}}, %[[R]] : i32
// CHECK:         %[[S:.*]] = arith.select %[[P]], %[[F]], %[[G]] : i32
// CHECK:         %[[M:.*]] = arith.maxsi %[[S]], %[[W]] : i32
// CHECK:         func.return %[[M]] : i32

// -----

// Minimum of floats takes the second operand where one is NaN.

tir.func @float_min(%a: f32, %b: f32) -> f32 attributes {global_symbol = "float_min"} {
  %m = tir.min %a, %b : f32
  tir.ret %m : f32
}

// CHECK-LABEL: func.func @float_min(
// CHECK-SAME:    %[[A:.*]]: f32, %[[B:.*]]: f32) -> f32
// CHECK:         arith.minimumf %[[A]], %[[B]] fastmath<nsz> : f32

// -----

// Small allocations go to the start of the function, others end with their scope.

tir.func @memory(%a: !tir.handle) attributes {global_symbol = "memory"} {
  %A = tir.match_buffer %a : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %p = tir.allocate [16] : !tir.ptr<f32>
    %P = tir.decl_buffer %p : !tir.buffer<4x4xf32>
    %q = tir.allocate [32, 64] : !tir.ptr<f32>
    %Q = tir.decl_buffer %q : !tir.buffer<32x64xf32>
    %x = tir.load %A[%i] : f32
    tir.store %x, %P[%c0, %c0] : f32
    tir.store %x, %Q[%c0, %i] : f32
  }
}

// CHECK-LABEL: func.func @memory(
// CHECK:         %[[P:.*]] = memref.alloca() {alignment = 64 : i64} : memref<4x4xf32>
// CHECK:         scf.for
// CHECK:           %[[Q:.*]] = memref.alloc() : memref<32x64xf32>
// CHECK:           memref.store %{{.*}}, %[[P]][%{{.*}}, %{{.*}}] : memref<4x4xf32>
// CHECK:           memref.store %{{.*}}, %[[Q]][%{{.*}}, %{{.*}}] : memref<32x64xf32>
// CHECK-NEXT:      memref.dealloc %[[Q]] : memref<32x64xf32>
// CHECK-NEXT:    }

// -----

// Control flow, and calls of builtins.

tir.func @flow(%a: !tir.handle, %n: i32) attributes {global_symbol = "flow"} {
  %A = tir.match_buffer %a : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %p = tir.cmp gt %n, %c0 : i32
  tir.assert %p, "n must be positive"
  tir.for %i = %c1 to %c1 + %n parallel {
    %x = tir.if_then_else %p -> f32 {
      %y = tir.load %A[%i] : f32
      tir.yield %y : f32
    } else {
      %z = tir.const 0.0 : f32
      tir.yield %z : f32
    }
    %e = tir.call "exp"(%x) : (f32) -> f32
    tir.if %p {
      tir.store %e, %A[%i] : f32
    }
  }
}

// CHECK-LABEL: func.func @flow(
// CHECK:         cf.assert %[[P:.*]], "n must be positive"
// CHECK:         %[[END:.*]] = arith.addi %{{.*}}, %{{.*}} overflow<nsw> : i32
// CHECK:         %[[HIGH:.*]] = arith.index_cast %[[END]] : i32 to index
// CHECK:         "scf.parallel"(%{{.*}}, %[[HIGH]], %{{.*}})
// CHECK-NEXT:    ^bb0(%[[I:.*]]: index):
// CHECK-NEXT:      %{{.*}} = arith.index_cast %[[I]] : index to i32
// CHECK-NEXT:      %[[X:.*]] = scf.if %[[P]] -> (f32) {
// CHECK:             scf.yield %{{.*}} : f32
// CHECK:           } else {
// CHECK:             scf.yield %{{.*}} : f32
// CHECK:           %[[E:.*]] = math.exp %[[X]] : f32
// CHECK:           scf.if %[[P]] {
// CHECK:             memref.store %[[E]]
// CHECK:           scf.reduce
// CHECK-NEXT:    }) : (index, index, index) -> ()

// -----

// What a parallel iteration has on the stack is its own. What a nontemporal loop stores
// bypasses the cache, and is in order again after it, or after a loop around it.

tir.func @iterations(%a: !tir.handle) attributes {global_symbol = "iterations"} {
  %A = tir.match_buffer %a : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : ui8
  %c16 = tir.const 16 : ui8
  tir.for %i = %c3 to %c3 + %c16 parallel {
    %P = tir.alloc_buffer : !tir.buffer<4xf32>
    %x = tir.load %A[%i] : f32
    tir.store %x, %P[%c0] : f32
  }
  %d16 = tir.const 16 : i32
  tir.for %i = %c0 to %d16 annotations {nontemporal = true} {
    %x = tir.load %A[%i] : f32
    tir.store %x, %A[%i] : f32
  }
}

tir.func @rows(%a: !tir.handle) attributes {global_symbol = "rows"} {
  %A = tir.match_buffer %a : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %s0 = tir.const 0.0 : f32
  tir.for %i = %c0 to %c4 annotations {nontemporal_fence} {
    %r = tir.mul %i, %c4 : i32
    tir.store %s0, %A[%c0] : f32
    tir.for %j = %c0 to %c4 annotations {nontemporal} {
      %k = tir.add %r, %j : i32
      %x = tir.load %A[%k] : f32
      tir.store %x, %A[%k] : f32
    }
  }
}

// CHECK-LABEL: func.func @iterations(
// CHECK:         "scf.parallel"
// CHECK-NEXT:    ^bb0(%[[I:.*]]: index):
// CHECK-NEXT:      %[[P:.*]] = memref.alloca() : memref<4xf32>
// CHECK-NEXT:      %[[V:.*]] = arith.index_cast %[[I]] : index to i8
// CHECK-NEXT:      %{{.*}} = arith.addi %[[V]], %{{.*}} : i8
// CHECK:         scf.for
// CHECK:           memref.store {{.*}} {nontemporal = true} : memref<16xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    tvm_llvm.fence seq_cst
// CHECK-LABEL: func.func @rows(
// CHECK:         scf.for
// CHECK:           memref.store %{{[^ ]+}}, %{{[^ ]+}} : memref<16xf32>
// CHECK:           scf.for
// CHECK:             memref.store {{.*}} {nontemporal = true} : memref<16xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    tvm_llvm.fence seq_cst

// -----

// How far LLVM unrolls a loop, and what is to be fetched before it is read.

tir.func @hints(%a: !tir.handle) attributes {global_symbol = "hints"} {
  %A = tir.match_buffer %a : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c3 = tir.const 3 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %c0 to %c8 annotations {unroll_count = 1 : i32} {
    %j = tir.add %i, %c8 : i32
    %p = tir.address_of %A[%j] : !tir.ptr<f32>
    %n = tir.call "prefetch"(%p, %c0, %c3, %c1) : (!tir.ptr<f32>, i32, i32, i32) -> i32
    %x = tir.load %A[%i] : f32
    tir.store %x, %A[%i] : f32
  }
  tir.for %i = %c0 to %c8 annotations {unroll_count = 4 : i32} {
    %x = tir.load %A[%i] : f32
    tir.store %x, %A[%i] : f32
  }
}

// CHECK-LABEL: func.func @hints(
// CHECK:         %[[G:.*]] = llvm.getelementptr
// CHECK:         tvm_llvm.call_intrinsic "llvm.prefetch"(%[[G]], %{{.*}}, %{{.*}}, %{{.*}}) : (!llvm.ptr, i32, i32, i32) -> ()
// CHECK:         } {tvm_llvm.loop = #tvm_llvm.loop<{unroll.disable}>}
// CHECK:         } {tvm_llvm.loop = #tvm_llvm.loop<{unroll.count = 4 : i64}>}

// -----

// Neighbours are a vector load; a function without global_symbol is private.

tir.func @vectors(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %r = tir.ramp %c0, %c1 : vector<4xi32>
  %x = tir.load %A[%r] : vector<4xf32>
  %y = tir.add %x, %x : vector<4xf32>
  tir.store %y, %A[%r] : vector<4xf32>
}

// CHECK-LABEL: func.func private @vectors(
// CHECK:         %[[X:.*]] = vector.load %{{.*}}[%{{.*}}] : memref<16xf32>, vector<4xf32>
// CHECK:         %[[Y:.*]] = arith.addf %[[X]], %[[X]] : vector<4xf32>
// CHECK:         vector.store %[[Y]], %{{.*}}[%{{.*}}] : memref<16xf32>, vector<4xf32>

// -----

// Foreign operations and functions stay.

func.func @other(%x: i32) -> i32 {
  func.return %x : i32
}
tir.func @foreign(%a: !tir.handle, %n: i32) attributes {global_symbol = "foreign"} {
  %A = tir.match_buffer %a : !tir.buffer<16xi32>
  %x = "test.op"(%n) : (i32) -> i32
  %c0 = tir.const 0 : i32
  tir.store %x, %A[%c0] : i32
}

// CHECK-LABEL: func.func @other(
// CHECK-LABEL: func.func @foreign(
// CHECK-SAME:    %{{.*}}: memref<16xi32>, %[[N:.*]]: i32)
// CHECK:         %[[X:.*]] = "test.op"(%[[N]]) : (i32) -> i32
// CHECK:         memref.store %[[X]]

// -----

// Vectors are compared, chosen, converted and permuted whole, except those of bf16.

tir.func @lanes(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<16xf32>
  %B = tir.match_buffer %b : !tir.buffer<16xbf16>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c3 = tir.const 3 : i32
  %r = tir.ramp %c0, %c1 : vector<2xi32>
  %x = tir.load %A[%r] : vector<2xf32>
  %f = tir.cast %r : vector<2xi32> to vector<2xf32>
  %p = tir.cmp lt %x, %f : vector<2xf32>
  %m = tir.select %p, %x, %f : vector<2xi1>, vector<2xf32>
  %s = tir.shuffle [%m, %x] [%c3, %c0] : vector<2xf32>
  tir.store %s, %A[%r] : vector<2xf32>
  %h = tir.cast %s : vector<2xf32> to vector<2xbf16>
  tir.store %h, %B[%r] : vector<2xbf16>
}

// CHECK-LABEL: func.func private @lanes(
// CHECK:         %[[X:.*]] = vector.load
// CHECK:         %[[F:.*]] = llvm.sitofp %{{.*}} : vector<2xi32> to vector<2xf32>
// CHECK:         %[[P:.*]] = tvm_llvm.fcmp "olt" %[[X]], %[[F]] : vector<2xf32>
// CHECK:         %[[M:.*]] = tvm_llvm.select %[[P]], %[[X]], %[[F]] : vector<2xi1>, vector<2xf32>
// CHECK:         vector.shuffle %[[M]], %[[X]] [3, 0] : vector<2xf32>, vector<2xf32>
// CHECK:         llvm.fptrunc %{{.*}} : vector<2xf32> to vector<2xbf16>

// -----

// Unrolled loops that are left are for LLVM to expand.
// CHECK-LABEL: @unrolled
// CHECK: scf.for
// CHECK: memref.store
// CHECK: } {tvm_llvm.loop = #tvm_llvm.loop<{unroll.full}>}
tir.func @unrolled(%a: !tir.handle) {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %one = tir.const 1.0 : f32
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  tir.for %i = %c0 to %c4 unrolled {
    tir.store %one, %A[%i] : f32
  }
}
