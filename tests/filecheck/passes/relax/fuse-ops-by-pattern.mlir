// RUN: xdsl-opt %s -p 'relax-fuse-ops-by-pattern{patterns="generic."}' --split-input-file --allow-unregistered-dialect | filecheck %s
// RUN: xdsl-opt %s -p 'relax-fuse-ops-by-pattern{patterns="generic.matmul_bias_relu" bind_constants=false}' --split-input-file --allow-unregistered-dialect | filecheck %s --check-prefix LIFTED
// RUN: xdsl-opt %s -p 'relax-fuse-ops-by-pattern{patterns="generic.matmul_relu","generic.matmul" annotate_codegen=true}' --split-input-file --allow-unregistered-dialect | filecheck %s --check-prefix CODEGEN
// RUN: xdsl-opt %s -p 'relax-fuse-ops-by-pattern{patterns="generic.conv2d"}' --split-input-file --allow-unregistered-dialect | filecheck %s --check-prefix NONE

// NONE-NOT: relax.call @fused

// The longest pattern is the first; operands of the sum may be the other way round. A
// constant is part of the function, or a parameter. Equal bodies share one function.

!t = tensor<4x4xf32>
!v = tensor<4xf32>

// CHECK-LABEL: relax.func @bias(
// LIFTED-LABEL: relax.func @bias(
relax.func @bias(%x: !t, %w: !t, %u: !t) -> !t {
  // CHECK-NEXT: relax.dataflow
  %r = relax.dataflow -> (!t) {
    // CHECK-NEXT: %[[C:.*]] = relax.call @fused_relax_matmul_relax_add_relax_nn_relu(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK-NEXT: %[[F:.*]] = relax.call @fused_relax_matmul_relax_add_relax_nn_relu(%[[C]], %u)
    // CHECK-NEXT: relax.output %[[F]]
    // LIFTED: %[[K:.*]] = relax.constant
    // LIFTED: relax.call @fused_relax_matmul_relax_add_relax_nn_relu(%x, %w, %[[K]])
    %k = relax.constant dense<[1.0, 2.0, 3.0, 4.0]> : !v
    %a = relax.matmul %x, %w : (!t, !t) -> !t
    %b = relax.add %k, %a : (!v, !t) -> !t
    %c = relax.nn.relu %b : (!t) -> !t
    %d = relax.matmul %c, %u : (!t, !t) -> !t
    %e = relax.add %k, %d : (!v, !t) -> !t
    %f = relax.nn.relu %e : (!t) -> !t
    relax.output %f : !t
  }
  relax.return %r : !t
}
// CHECK: relax.func @fused_relax_matmul_relax_add_relax_nn_relu(%{{.*}}: tensor<4x4xf32>, %{{.*}}: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {Composite = "generic.matmul_bias_relu", Primitive = 1 : i32}
// CHECK-NEXT: relax.constant
// CHECK-NEXT: relax.dataflow
// CHECK-NEXT: relax.matmul
// CHECK-NEXT: relax.add
// CHECK-NEXT: relax.nn.relu
// CHECK-NEXT: relax.output
// CHECK-NOT: relax.func @
// LIFTED: relax.func @fused_relax_matmul_relax_add_relax_nn_relu(%{{.*}}: tensor<4x4xf32>, %{{.*}}: tensor<4x4xf32>, %{{.*}}: tensor<4xf32>)

// -----

// A result that is used elsewhere is a second one; its user moves after the call.

!t = tensor<4x4xf32>

// CHECK-LABEL: relax.func @two_results(
relax.func @two_results(%x: !t, %w: !t) -> !t {
  %r = relax.dataflow -> (!t) {
    // CHECK: %[[T:.*]] = relax.call @fused_relax_matmul_relax_nn_relu(%x, %w) : {{.*}} -> !relax.tuple<
    // CHECK-NEXT: %[[A:.*]] = relax.get_item %[[T]][0]
    // CHECK-NEXT: %[[B:.*]] = relax.get_item %[[T]][1]
    // CHECK-NEXT: %[[Q:.*]] = relax.exp %[[A]]
    // CHECK-NEXT: %[[E:.*]] = relax.multiply %[[Q]], %[[B]]
    %a = relax.matmul %x, %w : (!t, !t) -> !t
    %q = relax.exp %a : (!t) -> !t
    %b = relax.nn.relu %a : (!t) -> !t
    %e = relax.multiply %q, %b : (!t, !t) -> !t
    relax.output %e : !t
  }
  relax.return %r : !t
}

// -----

// The sum needs what the exponential makes of the product, so product and sum cannot run
// as one. The product is one by itself.

!t = tensor<4x4xf32>

// CHECK-LABEL: relax.func @circle(
relax.func @circle(%x: !t, %w: !t) -> !t {
  %r = relax.dataflow -> (!t) {
    // CHECK: %[[A:.*]] = relax.call @fused_relax_matmul(%x, %w)
    // CHECK-NEXT: %[[Q:.*]] = relax.exp %[[A]]
    // CHECK-NEXT: relax.add %[[A]], %[[Q]]
    %a = relax.matmul %x, %w : (!t, !t) -> !t
    %q = relax.exp %a : (!t) -> !t
    %b = relax.add %a, %q : (!t, !t) -> !t
    relax.output %b : !t
  }
  relax.return %r : !t
}

// -----

// A symbol that no parameter has by itself comes as a shape. Functions that differ in the
// names of symbols only are one.

!x = tensor<?x4xf32, #relax.dims<[n * 2, 4]>>
!y = tensor<?x4xf32, #relax.dims<[m * 2, 4]>>
!w = tensor<4x4xf32>

// CHECK-LABEL: relax.func @symbol<n>
relax.func @symbol<n>(%x: !x, %w: !w, %s: !relax.shape<[n]>) -> !x {
  %r = relax.dataflow -> (!x) {
    // CHECK: %[[S:.*]] = relax.shape [n]
    // CHECK-NEXT: relax.call @fused_relax_matmul_relax_nn_gelu(%x, %w, %[[S]])
    %a = relax.matmul %x, %w : (!x, !w) -> !x
    %b = relax.nn.gelu %a : (!x) -> !x
    relax.output %b : !x
  }
  relax.return %r : !x
}
// CHECK-LABEL: relax.func @other<m>
relax.func @other<m>(%x: !y, %w: !w, %s: !relax.shape<[m]>) -> !y {
  %r = relax.dataflow -> (!y) {
    // CHECK: relax.call @fused_relax_matmul_relax_nn_gelu(%x, %w, %{{.*}})
    %a = relax.matmul %x, %w : (!y, !w) -> !y
    %b = relax.nn.gelu %a : (!y) -> !y
    relax.output %b : !y
  }
  relax.return %r : !y
}

// -----

// What is outside of dataflow blocks, in a function that was made already, or dead, stays.
// Aliases between bindings of a match are part of it.

!t = tensor<4x4xf32>

// CHECK-LABEL: relax.func @outside(
relax.func @outside(%x: !t, %w: !t) -> !t {
  // CHECK-NEXT: relax.matmul
  %o = relax.matmul %x, %w : (!t, !t) -> !t
  %r = relax.dataflow -> (!t) {
    // CHECK: relax.matmul %{{.*}}, %{{.*}} :
    // CHECK-NEXT: relax.call @fused_relax_matmul_relax_nn_silu(
    // CHECK-NEXT: relax.call @made(
    %dead = relax.matmul %o, %w : (!t, !t) -> !t
    %a = relax.matmul %o, %x : (!t, !t) -> !t
    %n = relax.alias %a : !t -> !t
    %b = relax.nn.silu %n : (!t) -> !t
    %c = relax.call @made(%b, %w) : (!t, !t) -> !t
    relax.output %c : !t
  }
  relax.return %r : !t
}
// CHECK-LABEL: relax.func @made(
relax.func @made(%x: !t, %w: !t) -> !t attributes {Primitive = 1 : i32} {
  %r = relax.dataflow -> (!t) {
    // CHECK: relax.matmul
    %a = relax.matmul %x, %w : (!t, !t) -> !t
    relax.output %a : !t
  }
  relax.return %r : !t
}

// -----

// For a code generator, a public function holds the composite one as a literal.

!t = tensor<4x4xf32>

// CODEGEN-LABEL: relax.func @codegen(
relax.func @codegen(%x: !t, %w: !t) -> !t {
  %r = relax.dataflow -> (!t) {
    // CODEGEN: %[[B:.*]] = relax.call @fused_relax_matmul_relax_nn_relu_generic(%x, %w)
    // CODEGEN-NEXT: relax.call @fused_relax_matmul_generic(%[[B]], %w)
    %a = relax.matmul %x, %w : (!t, !t) -> !t
    %b = relax.nn.relu %a : (!t) -> !t
    %c = relax.matmul %b, %w : (!t, !t) -> !t
    relax.output %c : !t
  }
  relax.return %r : !t
}
// CODEGEN: relax.func @fused_relax_matmul_relax_nn_relu_generic(%{{.*}}) -> tensor<4x4xf32> attributes {Codegen = "generic", global_symbol = "fused_relax_matmul_relax_nn_relu_generic"} {
// CODEGEN-NEXT: %[[F:.*]] = relax.lambda "local_func"({{.*}}) -> tensor<4x4xf32> attributes {Composite = "generic.matmul_relu"}
// CODEGEN: %[[R:.*]] = relax.call_indirect %[[F]](
// CODEGEN-NEXT: relax.return %[[R]]
// CODEGEN: relax.func @fused_relax_matmul_generic(
// CODEGEN-NOT: relax.func @

// -----

// Nothing is moved across a write in place: the first product reads what is overwritten.

!t = tensor<4x4xf32>

// CODEGEN-LABEL: tir.func @scale(
tir.func @scale(%a: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4x4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    tir.for %j = %c0 to %c4 {
      tir.block "scale" (%vi : S in [%c0 to %c4] = %i, %vj : S in [%c0 to %c4] = %j) {
        tir.reads %A[%vi, %vj]
        tir.writes %A[%vi, %vj]
        %x = tir.load %A[%vi, %vj] : f32
        %y = tir.add %x, %x : f32
        tir.store %y, %A[%vi, %vj] : f32
      }
    }
  }
}
// CHECK-LABEL: relax.func @written(
relax.func @written(%x: !t, %w: !t) -> !t {
  %r = relax.dataflow -> (!t) {
    // CHECK: relax.call @fused_relax_matmul(
    // CHECK: relax.call_tir_inplace
    // CHECK: relax.nn.relu
    %e = relax.exp %x : (!t) -> !t
    %a = relax.matmul %e, %w : (!t, !t) -> !t
    %s = relax.call_tir_inplace @scale(%e) inplace [0] : (!t) -> !t
    %b = relax.nn.relu %a : (!t) -> !t
    %c = relax.multiply %b, %s : (!t, !t) -> !t
    relax.output %c : !t
  }
  relax.return %r : !t
}
