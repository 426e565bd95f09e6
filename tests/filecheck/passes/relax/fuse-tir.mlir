// RUN: xdsl-opt %s -p relax-legalize-ops,relax-fuse-tir --split-input-file | filecheck %s

// The bodies of the functions that are called follow each other in one function. What
// is between them is allocated, blocks get names of their own.

!t = tensor<4x8xf32>
!m = tensor<4x6xf32>

// CHECK-LABEL: relax.func @main
relax.func @main(%x: !t, %w: tensor<8x6xf32>, %b: tensor<6xf32>) -> !m attributes {global_symbol = "main"} {
  // CHECK: %{{.*}} = relax.call_tir @fused(%x, %w, %b) : (tensor<4x8xf32>, tensor<8x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %r = relax.call @fused(%x, %w, %b) : (!t, tensor<8x6xf32>, tensor<6xf32>) -> !m
  relax.return %r : !m
}
// CHECK-NOT: relax.func
// CHECK: tir.func @fused(%{{.*}}: !tir.handle, %{{.*}}: !tir.handle, %{{.*}}: !tir.handle, %{{.*}}: !tir.handle) attributes {tir.noalias = true, param_names = ["p_x", "p_w", "p_b", "p_output0"]}
// CHECK-DAG: %[[X:.*]] = tir.match_buffer "p_x"
// CHECK-DAG: %[[OUT:.*]] = tir.match_buffer "p_output0" {{.*}} : !tir.buffer<4x6xf32>
// CHECK: tir.block "root" {
// CHECK-NEXT: %[[A:.*]] = tir.alloc_buffer "a" {{.*}} : !tir.buffer<4x6xf32>
// CHECK-NEXT: %[[C:.*]] = tir.alloc_buffer "c" {{.*}} : !tir.buffer<4x6xf32>
// CHECK: tir.block "matmul"
// CHECK: tir.writes %[[A]]
// CHECK: tir.block "T_add"
// CHECK: tir.reads %[[A]]{{.*}}, %p_b
// CHECK: tir.writes %[[C]]
// CHECK: tir.block "T_add1"
// CHECK: tir.reads %[[C]]{{.*}}, %[[C]]
// CHECK: tir.writes %[[OUT]]
// CHECK-NOT: tir.func
relax.func @fused(%x: !t, %w: tensor<8x6xf32>, %b: tensor<6xf32>) -> !m attributes {Primitive = 1 : i32} {
  %r = relax.dataflow -> (!m) {
    %a = relax.matmul %x, %w : (!t, tensor<8x6xf32>) -> !m
    %c = relax.add %a, %b : (!m, tensor<6xf32>) -> !m
    %d = relax.add %c, %c : (!m, !m) -> !m
    relax.output %d : !m
  }
  relax.return %r : !m
}

// -----

// Symbols come from the buffers, or else as numbers, which the call knows.

!s = tensor<?x6xf32, #relax.dims<[n, 6]>>
!v = tensor<?xf32, #relax.dims<[n * 6]>>
!k = tensor<?xf32, #relax.dims<[m * 6]>>

// CHECK-LABEL: relax.func @main
relax.func @main<n, m>(%x: !s, %y: !k, %z: tensor<?x1xf32, #relax.dims<[m, 1]>>) -> !relax.tuple<!v, !k, tensor<30xf32>> attributes {global_symbol = "main"} {
  // CHECK: relax.call_tir @flat(%x) :
  // CHECK: relax.call_tir @scaled(%y) [m] :
  // CHECK: relax.call_tir @scaled(%{{.*}}) [5] : (tensor<30xf32>) -> tensor<30xf32>
  %a = relax.call @flat(%x) : (!s) -> !v
  %s = relax.shape [m]
  %b = relax.call @scaled(%y, %s) : (!k, !relax.shape<[m]>) -> !k
  %c = relax.constant dense<1.0> : tensor<30xf32>
  %five = relax.shape [5]
  %d = relax.call @scaled(%c, %five) : (tensor<30xf32>, !relax.shape<[5]>) -> tensor<30xf32>
  %r = relax.tuple(%a, %b, %d) : !v, !k, tensor<30xf32>
  relax.return %r : !relax.tuple<!v, !k, tensor<30xf32>>
}
// CHECK: tir.func @flat(%{{.*}}: !tir.handle, %{{.*}}: !tir.handle)
// CHECK: %[[N:.*]] = tir.shape_var "n" : i64
// CHECK: tir.match_buffer "p_x" %{{.*}} [%[[N]]] : !tir.buffer<?x6xf32>
// CHECK: tir.match_buffer "p_output0" %{{.*}} [%{{.*}}] : !tir.buffer<?xf32>
// CHECK: tir.alloc_buffer "a" [%[[N]]] : !tir.buffer<?x6xf32>
// CHECK: tir.func @scaled(%{{.*}}: !tir.handle, %{{.*}}: !tir.handle, %[[M:.*]]: i64)
// CHECK: %[[L:.*]] = tir.mul %[[M]], %{{.*}} : i64
// CHECK: tir.match_buffer "p_x" %{{.*}} [%[[L]]] : !tir.buffer<?xf32>
relax.func @flat<n>(%x: !s) -> !v attributes {Primitive = 1 : i32} {
  %s = relax.shape [n * 6]
  %a = relax.nn.relu %x : (!s) -> !s
  %b = relax.reshape %a, %s : (!s, !relax.shape<[n * 6]>) -> !v
  relax.return %b : !v
}
relax.func @scaled<m>(%x: !k, %s: !relax.shape<[m]>) -> !k attributes {Primitive = 1 : i32} {
  %a = relax.add %x, %x : (!k, !k) -> !k
  %b = relax.add %a, %a : (!k, !k) -> !k
  relax.return %b : !k
}

// -----

// Tuples: fields of parameters are passed one by one where they are used; several
// results are a tuple again. Other names are the same tensor.

!t = tensor<4xf32>
!p = !relax.tuple<!t, !relax.tuple<!t, !t>>

// CHECK-LABEL: relax.func @main
relax.func @main(%x: !t, %p: !p) -> !relax.tuple<!t, !t> attributes {global_symbol = "main"} {
  // CHECK: %[[I:.*]] = relax.get_item %p[1]
  // CHECK-NEXT: %[[J:.*]] = relax.get_item %[[I]][0]
  // CHECK-NEXT: relax.call_tir @fused(%[[J]], %x) : (tensor<4xf32>, tensor<4xf32>) -> !relax.tuple<tensor<4xf32>, tensor<4xf32>>
  %r = relax.call @fused(%p, %x) : (!p, !t) -> !relax.tuple<!t, !t>
  %q = relax.tuple(%x, %x) : !t, !t
  %u = relax.tuple(%r, %q) : !relax.tuple<!t, !t>, !relax.tuple<!t, !t>
  relax.return %r : !relax.tuple<!t, !t>
}
// CHECK: tir.func @fused(%{{.*}}: !tir.handle, %{{.*}}: !tir.handle, %{{.*}}: !tir.handle, %{{.*}}: !tir.handle) attributes {{.*}}["p_p_1_0", "p_x", "p_output0", "p_output1"]
relax.func @fused(%p: !p, %x: !t) -> !relax.tuple<!t, !t> attributes {Primitive = 1 : i32} {
  %i = relax.get_item %p[1] : !p -> !relax.tuple<!t, !t>
  %j = relax.get_item %i[0] : !relax.tuple<!t, !t> -> !t
  %a = relax.add %j, %x : (!t, !t) -> !t
  %k = relax.alias %a : !t -> !t
  %b = relax.add %a, %k : (!t, !t) -> !t
  %r = relax.tuple(%b, %a) : !t, !t
  relax.return %r : !relax.tuple<!t, !t>
}

// -----

// A parameter that is written in place is the result; one between is not. A function
// that is visible outside stays under its name.

!t = tensor<4xf32>

tir.func @negate(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %zero = tir.const 0.0 : f32
  tir.for %i = %c0 to %c4 {
    tir.block "A" (%vi : S in [%c0 to %c4] = %i) {
      tir.reads %A[%vi]
      tir.writes %A[%vi]
      %x = tir.load %A[%vi] : f32
      %y = tir.sub %zero, %x : f32
      tir.store %y, %A[%vi] : f32
    }
  }
}
// CHECK-LABEL: relax.func @main
relax.func @main(%x: !t, %y: !t) -> !t attributes {global_symbol = "main"} {
  // CHECK: %[[A:.*]] = relax.call_tir @{{.*}}(%y)
  // CHECK: relax.call_tir_inplace @fused1(%x, %[[A]]) inplace [1]
  %a = relax.call_tir @copy(%y) : (!t) -> !t
  %r = relax.call @fused(%x, %a) : (!t, !t) -> !t
  relax.return %r : !t
}
tir.func @copy(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    %x = tir.load %A[%i] : f32
    tir.store %x, %B[%i] : f32
  }
}
// CHECK: tir.func @fused1(%{{.*}}: !tir.handle, %{{.*}}: !tir.handle)
// CHECK: tir.alloc_buffer "b"
// CHECK-NOT: tir.alloc_buffer
// CHECK: relax.func @fused(
relax.func @fused(%x: !t, %y: !t) -> !t attributes {Primitive = 1 : i32, global_symbol = "fused"} {
  %b = relax.add %x, %y : (!t, !t) -> !t
  %c = relax.call_tir_inplace @negate(%b) inplace [0] : (!t) -> !t
  %d = relax.call_tir_inplace @add_to(%y, %c) inplace [0] : (!t, !t) -> !t
  relax.return %d : !t
}
tir.func @add_to(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    tir.block "A" (%vi : S in [%c0 to %c4] = %i) {
      tir.reads %A[%vi], %B[%vi]
      tir.writes %A[%vi]
      %x = tir.load %A[%vi] : f32
      %y = tir.load %B[%vi] : f32
      %z = tir.add %x, %y : f32
      tir.store %z, %A[%vi] : f32
    }
  }
}

// -----

// A number that a part takes, and what others may be.

!t = tensor<4xf32>

tir.func @from(%a: !tir.handle, %k: i64, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i64
  %c3 = tir.const 3 : i64
  %c4 = tir.const 4 : i64
  tir.for %i = %c0 to %c4 {
    tir.block "B" (%vi : S in [%c0 to %c4] = %i) {
      %j = tir.add %vi, %k : i64
      %l = tir.min %j, %c3 : i64
      tir.reads %A[%c0 to 4]
      tir.writes %B[%vi]
      %x = tir.load %A[%l] : f32
      tir.store %x, %B[%vi] : f32
    }
  }
}
// CHECK-LABEL: relax.func @main
relax.func @main(%x: !t) -> !t attributes {global_symbol = "main"} {
  // CHECK: relax.call_tir @fused(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %r = relax.call @fused(%x) : (!t) -> !t
  // CHECK: relax.call @plain
  %s = relax.call @plain(%r) : (!t) -> !t
  relax.return %s : !t
}
relax.func @fused(%x: !t) -> !t attributes {Primitive = 1 : i32} {
  %two = relax.prim_value 2 : i64
  %a = relax.call_tir @from(%x, %two) : (!t, !relax.prim<i64, 2>) -> !t
  %b = relax.nn.relu %a : (!t) -> !t
  relax.return %b : !t
}
// CHECK: relax.func @plain
relax.func @plain(%x: !t) -> !t {
  %a = relax.nn.relu %x : (!t) -> !t
  relax.return %a : !t
}

// -----

// A function that writes one of its parameters in place may be given that twice. Names in
// a module inside are those of that module.

!t = tensor<4xf32>

tir.func @twice(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  %B = tir.match_buffer %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    %x = tir.load %A[%i] : f32
    %y = tir.add %x, %x : f32
    tir.store %y, %B[%i] : f32
  }
}
tir.func @increase(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  %B = tir.match_buffer %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    %x = tir.load %A[%i] : f32
    %y = tir.load %B[%i] : f32
    %z = tir.add %x, %y : f32
    tir.store %z, %A[%i] : f32
  }
}
// CHECK-LABEL: relax.func @main
relax.func @main(%x: !t) -> !t attributes {global_symbol = "main"} {
  %y = relax.nn.relu %x : (!t) -> !t
  // CHECK: relax.call_tir_inplace @[[F:fused.*]](%y, %y) inplace [1]
  %r = relax.call @fused(%y, %y) : (!t, !t) -> !t
  relax.return %r : !t
}
// CHECK: tir.func @[[F]](
// CHECK-NOT: noalias
// CHECK: tir.match_buffer
relax.func @fused(%x: !t, %y: !t) -> !t attributes {Primitive = 1 : i32} {
  %a = relax.call_tir @twice(%x) : (!t) -> !t
  %b = relax.call_tir_inplace @increase(%y, %a) inplace [0] : (!t, !t) -> !t
  relax.return %b : !t
}
builtin.module {
  relax.func @inner(%x: !t, %y: !t) -> !t attributes {global_symbol = "inner"} {
    // CHECK: relax.call @fused(%x, %y)
    %r = relax.call @fused(%x, %y) : (!t, !t) -> !t
    relax.return %r : !t
  }
  relax.func @fused(%x: !t, %y: !t) -> !t {
    %r = relax.add %x, %y : (!t, !t) -> !t
    relax.return %r : !t
  }
}

// -----

// A constant is made before each call.

!t = tensor<4xf32>

// CHECK-LABEL: relax.func @main
relax.func @main(%x: !t, %y: !t) -> !relax.tuple<!t, !t> attributes {global_symbol = "main"} {
  // CHECK-NEXT: %[[C:.*]] = relax.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]>
  // CHECK-NEXT: relax.call_tir @shifted(%x, %[[C]]) :
  // CHECK-NEXT: %[[D:.*]] = relax.constant dense<[1.000000e+00,
  // CHECK-NEXT: relax.call_tir @shifted(%y, %[[D]]) :
  %a = relax.call @shifted(%x) : (!t) -> !t
  %b = relax.call @shifted(%y) : (!t) -> !t
  %r = relax.tuple(%a, %b) : !t, !t
  relax.return %r : !relax.tuple<!t, !t>
}
// CHECK: tir.func @shifted(
// CHECK: tir.match_buffer "p_x"
// CHECK: tir.match_buffer "p_c"
// CHECK: tir.match_buffer "p_output0"
relax.func @shifted(%x: !t) -> !t attributes {Primitive = 1 : i32} {
  %unused = relax.constant dense<5.0> : tensor<4xf32>
  %c = relax.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %a = relax.add %x, %c : (!t, !t) -> !t
  %b = relax.nn.relu %a : (!t) -> !t
  relax.return %b : !t
}
