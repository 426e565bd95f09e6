// RUN: xdsl-opt %s -p relax-legalize-ops,relax-annotate-tir-op-pattern,relax-fuse-ops --split-input-file --allow-unregistered-dialect | filecheck %s
// RUN: xdsl-opt %s -p 'relax-legalize-ops,relax-annotate-tir-op-pattern,relax-fuse-ops{fuse_opt_level=0}' --split-input-file --allow-unregistered-dialect | filecheck %s --check-prefix NONE

// NONE-NOT: relax.call @

// A chain of maps is one function, and so is an equal chain elsewhere, symbols aside.
// A constant becomes a parameter.

!t = tensor<4x6xf32>
!s = tensor<?x6xf32, #relax.dims<[n, 6]>>
!u = tensor<?x6xf32, #relax.dims<[m, 6]>>

// CHECK-LABEL: relax.func @chain(
relax.func @chain(%x: !t) -> tensor<24xf32> {
  %r = relax.dataflow -> (tensor<24xf32>) {
    // CHECK: %[[C:.*]] = relax.constant dense<[1.0
    // CHECK: %{{.*}} = relax.call @fused_add_gelu_reshape(%x, %[[C]]) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<24xf32>
    // CHECK-NEXT: relax.output
    %c = relax.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
    %a = relax.add %x, %c : (!t, tensor<6xf32>) -> !t
    %b = relax.nn.gelu %a : (!t) -> !t
    %s = relax.shape [24]
    %d = relax.reshape %b, %s : (!t, !relax.shape<[24]>) -> tensor<24xf32>
    relax.output %d : tensor<24xf32>
  }
  relax.return %r : tensor<24xf32>
}
// CHECK-LABEL: relax.func @first<n>
relax.func @first<n>(%x: !s) -> !s {
  %r = relax.dataflow -> (!s) {
    // CHECK: relax.call @fused_add1_gelu1(%x)
    %a = relax.add %x, %x : (!s, !s) -> !s
    %b = relax.nn.gelu %a : (!s) -> !s
    relax.output %b : !s
  }
  relax.return %r : !s
}
// CHECK-LABEL: relax.func @second<m>
relax.func @second<m>(%x: !u) -> !u {
  %r = relax.dataflow -> (!u) {
    // CHECK: relax.call @fused_add1_gelu1(%x)
    %a = relax.add %x, %x : (!u, !u) -> !u
    %b = relax.nn.gelu %a : (!u) -> !u
    relax.output %b : !u
  }
  relax.return %r : !u
}
// CHECK: relax.func @fused_add_gelu_reshape(%x: tensor<4x6xf32>, %{{.*}}: tensor<6xf32>) -> tensor<24xf32> attributes {Primitive = 1 : i32}
// CHECK-NEXT: relax.dataflow
// CHECK-NEXT: %[[A:.*]] = relax.call_tir @add(%x, %{{.*}}) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %[[B:.*]] = relax.call_tir @gelu(%[[A]])
// CHECK-NEXT: %[[D:.*]] = relax.call_tir @reshape(%[[B]])
// CHECK-NEXT: relax.output %[[D]]
// CHECK: relax.func @fused_add1_gelu1<n>
// CHECK-NOT: relax.func

// -----

// What follows a matrix product joins it; the next one does not, nor what comes before.
// A residual branch around both ends at the sum that it joins.

!t = tensor<6x6xf32>

// CHECK-LABEL: relax.func @layers
relax.func @layers(%x: !t, %w: !t, %b: tensor<6xf32>) -> !t {
  %r = relax.dataflow -> (!t) {
    // CHECK: %[[A:.*]] = relax.call_tir @relu(%x)
    %a = relax.nn.relu %x : (!t) -> !t
    // CHECK: %[[D:.*]] = relax.call @fused_matmul_add_gelu(%[[A]], %w, %b)
    %m = relax.matmul %a, %w : (!t, !t) -> !t
    %c = relax.add %m, %b : (!t, tensor<6xf32>) -> !t
    %d = relax.nn.gelu %c : (!t) -> !t
    // CHECK: %[[F:.*]] = relax.call @fused_matmul_add1(%[[D]], %w, %[[A]])
    %e = relax.matmul %d, %w : (!t, !t) -> !t
    %f = relax.add %e, %a : (!t, !t) -> !t
    relax.output %f : !t
  }
  relax.return %r : !t
}

// -----

// Two branches that join are one function. A value that leaves the block ends a group, a
// reduction starts none, and softmax goes on with what is element-wise.

!t = tensor<4x6xf32>
!v = tensor<6xf32>

// CHECK-LABEL: relax.func @branches
relax.func @branches(%x: !t) -> !relax.tuple<!t, !t> {
  %r, %s = relax.dataflow -> (!t, !t) {
    // CHECK: %[[D:.*]] = relax.call @fused_relu_gelu_add_add(%x)
    %a = relax.nn.relu %x : (!t) -> !t
    %b = relax.nn.gelu %a : (!t) -> !t
    %c = relax.add %a, %a : (!t, !t) -> !t
    %d = relax.add %b, %c : (!t, !t) -> !t
    // CHECK: %[[E:.*]] = relax.call @fused_relu_sum(%[[D]])
    %e0 = relax.nn.relu %d : (!t) -> !t
    %e = relax.sum %e0 axis [0] : (!t) -> !v
    // CHECK: %[[F:.*]] = relax.call_tir @add1(%[[D]], %[[E]])
    %f = relax.add %d, %e : (!t, !v) -> !t
    // CHECK: %[[H:.*]] = relax.call @fused_softmax_add(%[[F]])
    %g = relax.nn.softmax %f axis -1 : (!t) -> !t
    %h = relax.add %g, %f : (!t, !t) -> !t
    // CHECK: relax.output %[[D]], %[[H]]
    relax.output %d, %h : !t, !t
  }
  %t = relax.tuple(%r, %s) : !t, !t
  relax.return %t : !relax.tuple<!t, !t>
}

// -----

// A symbol that no tensor has as a dimension comes as a shape.

!v = tensor<?xf32, #relax.dims<[n * 6]>>

// CHECK-LABEL: relax.func @symbols
relax.func @symbols<n>(%x: !v, %n: !relax.shape<[n]>) -> !v {
  %r = relax.dataflow -> (!v) {
    // CHECK: %[[S:.*]] = relax.shape [n]
    // CHECK-NEXT: relax.call @fused_relu_gelu(%x, %[[S]])
    %a = relax.nn.relu %x : (!v) -> !v
    %b = relax.nn.gelu %a : (!v) -> !v
    relax.output %b : !v
  }
  relax.return %r : !v
}
// CHECK: relax.func @fused_relu_gelu<n>(%{{.*}}: tensor<?xf32, #relax.dims<[n * 6]>>, %{{.*}}: !relax.shape<[n]>)

// -----

// Fields of what a call returns are maps of it; fields of other tuples are passed.

tir.func @halves(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {op_pattern = 2 : i32, tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
  %C = tir.match_buffer "C" %c : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.block "root" {
    tir.for %i = %c0 to %c4 {
      tir.block "B" (%vi : S in [%c0 to %c4] = %i) {
        tir.reads %A[%vi]
        tir.writes %B[%vi]
        %x = tir.load %A[%vi] : f32
        tir.store %x, %B[%vi] : f32
      }
    }
    tir.for %i = %c0 to %c4 {
      tir.block "C" (%vi : S in [%c0 to %c4] = %i) {
        %k = tir.add %vi, %c4 : i32
        tir.reads %A[%k]
        tir.writes %C[%vi]
        %x = tir.load %A[%k] : f32
        tir.store %x, %C[%vi] : f32
      }
    }
  }
}
// CHECK-LABEL: relax.func @tuples
relax.func @tuples(%x: tensor<8xf32>, %t: !relax.tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32> {
  %r = relax.dataflow -> (tensor<4xf32>) {
    %p = relax.call_tir @halves(%x) : (tensor<8xf32>) -> !relax.tuple<tensor<4xf32>, tensor<4xf32>>
    %a = relax.get_item %p[0] : !relax.tuple<tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>
    %b = relax.get_item %p[1] : !relax.tuple<tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>
    // CHECK: %[[D:.*]] = relax.get_item %t[1]
    // CHECK-NEXT: relax.call @fused_halves_add_add(%x, %[[D]])
    %c = relax.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %d = relax.get_item %t[1] : !relax.tuple<tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>
    %e = relax.add %c, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    relax.output %e : tensor<4xf32>
  }
  relax.return %r : tensor<4xf32>
}

// -----

// What another operation is between is not fused across a write in place: %a reads
// what @clear overwrites.

tir.func @clear(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i64
  %c8 = tir.const 8 : i64
  %zero = tir.const 0.0 : f32
  tir.for %i = %c0 to %c8 {
    tir.store %zero, %A[%i] : f32
  }
}
// CHECK-LABEL: relax.func @in_place
relax.func @in_place(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = relax.dataflow -> (tensor<8xf32>) {
    // CHECK: %[[X:.*]] = relax.call @fused_relu_gelu(%x)
    %x0 = relax.nn.relu %x : (tensor<8xf32>) -> tensor<8xf32>
    %x1 = relax.nn.gelu %x0 : (tensor<8xf32>) -> tensor<8xf32>
    // CHECK: %[[A:.*]] = relax.call_tir @relu(%[[X]])
    // CHECK: relax.call_tir_inplace @clear(%[[X]])
    // CHECK: relax.call_tir @gelu(%[[A]])
    %a = relax.nn.relu %x1 : (tensor<8xf32>) -> tensor<8xf32>
    %c = relax.call_tir_inplace @clear(%x1) inplace [0] : (tensor<8xf32>) -> tensor<8xf32>
    %d = relax.nn.gelu %a : (tensor<8xf32>) -> tensor<8xf32>
    %e = relax.matmul %c, %d : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    %f = relax.add %d, %e : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    relax.output %f : tensor<8xf32>
  }
  relax.return %r : tensor<8xf32>
}

// -----

// Left alone: calls outside of dataflow blocks, without use, with other operations
// between them, on another device, functions that are fused or for other compilers.

!t = tensor<8xf32>
!p = tensor<8xf32, #relax.placed<[8], #relax.vdevice<"llvm", 0, "global">>>
!q = tensor<8xf32, #relax.placed<[8], #relax.vdevice<"cuda", 0, "global">>>

// CHECK-LABEL: relax.func @alone
relax.func @alone(%x: !t, %p: !p) -> !t {
  // CHECK-NOT: relax.call @
  %a = relax.nn.relu %x : (!t) -> !t
  %b = relax.nn.gelu %a : (!t) -> !t
  %r = relax.dataflow -> (!t) {
    %c = relax.nn.relu %b : (!t) -> !t
    %d = "test.foreign"(%c) : (!t) -> !t
    %e = relax.nn.gelu %d : (!t) -> !t
    %unused = relax.nn.relu %e : (!t) -> !t
    relax.output %e : !t
  }
  relax.return %r : !t
}
// CHECK-LABEL: relax.func @other_compiler
relax.func @other_compiler(%x: !t) -> !t attributes {Codegen = "dnnl"} {
  // CHECK-NOT: relax.call @
  %r = relax.dataflow -> (!t) {
    %a = relax.nn.relu %x : (!t) -> !t
    %b = relax.nn.gelu %a : (!t) -> !t
    relax.output %b : !t
  }
  relax.return %r : !t
}
// CHECK-LABEL: relax.func @kernel
relax.func @kernel(%x: !t) -> !t attributes {Primitive = true} {
  // CHECK-NOT: relax.call @
  %r = relax.dataflow -> (!t) {
    %a = relax.nn.relu %x : (!t) -> !t
    %b = relax.nn.gelu %a : (!t) -> !t
    relax.output %b : !t
  }
  relax.return %r : !t
}
