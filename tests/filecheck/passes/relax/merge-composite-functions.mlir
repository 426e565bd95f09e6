// RUN: xdsl-opt %s -p 'relax-merge-composite-functions' --split-input-file | filecheck %s

// A chain and the branch that joins it are one function; composites become literals, and
// what is used outside is a second result.

!t = tensor<4xf32>

// CHECK-LABEL: relax.func @main(
relax.func @main(%x: !t, %y: !t) -> !relax.tuple<!t, !t> attributes {global_symbol = "main"} {
  %r, %s = relax.dataflow -> (!t, !t) {
    // CHECK: %[[T:.*]] = relax.call @fused_relax_exp_relax_exp_relax_add_dnnl(%x, %y)
    // CHECK-NEXT: %[[A:.*]] = relax.get_item %[[T]][0]
    // CHECK-NEXT: %[[C:.*]] = relax.get_item %[[T]][1]
    // CHECK-NEXT: relax.output %[[C]], %[[A]]
    %a = relax.call @fused_relax_exp(%x) : (!t) -> !t
    %b = relax.call @fused_relax_exp(%y) : (!t) -> !t
    %c = relax.call @fused_relax_add(%a, %b) : (!t, !t) -> !t
    relax.output %c, %a : !t, !t
  }
  %u = relax.tuple(%r, %s) : !t, !t
  relax.return %u : !relax.tuple<!t, !t>
}
// CHECK: relax.func @fused_relax_exp_relax_exp_relax_add_dnnl(%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>) -> !relax.tuple<tensor<4xf32>, tensor<4xf32>> attributes {Codegen = "dnnl", global_symbol = "fused_relax_exp_relax_exp_relax_add_dnnl"} {
// CHECK-NEXT: %[[F:.*]] = relax.lambda "local_func"({{.*}}) -> tensor<4xf32> attributes {Composite = "dnnl.exp"} {
// CHECK: %[[A:.*]] = relax.call_indirect %[[F]](%[[X]])
// CHECK: %[[B:.*]] = relax.call_indirect %{{.*}}(%[[Y]])
// CHECK: relax.lambda "local_func"({{.*}}) -> tensor<4xf32> attributes {Composite = "dnnl.add"}
// CHECK: relax.call_indirect %{{.*}}(%[[A]], %[[B]])
// CHECK-NOT: relax.func @
relax.func @fused_relax_exp(%x: !t) -> !t attributes {Composite = "dnnl.exp", Primitive = 1 : i32} {
  %r = relax.exp %x : (!t) -> !t
  relax.return %r : !t
}
relax.func @fused_relax_add(%x: !t, %y: !t) -> !t attributes {Composite = "dnnl.add", Primitive = 1 : i32} {
  %r = relax.add %x, %y : (!t, !t) -> !t
  relax.return %r : !t
}

// -----

// What another binding needs and makes is in the way. Two code generators are apart.

!t = tensor<4xf32>

// CHECK-LABEL: relax.func @main(
relax.func @main(%x: !t) -> !t attributes {global_symbol = "main"} {
  %r = relax.dataflow -> (!t) {
    // CHECK: %[[A:.*]] = relax.call @fused_exp_dnnl(%x)
    // CHECK-NEXT: %[[Q:.*]] = relax.tanh %[[A]]
    // CHECK-NEXT: %[[B:.*]] = relax.call @fused_add_dnnl(%[[A]], %[[Q]])
    // CHECK-NEXT: relax.call @fused_sigmoid_cutlass(%[[B]])
    %a = relax.call @fused_exp(%x) : (!t) -> !t
    %q = relax.tanh %a : (!t) -> !t
    %b = relax.call @fused_add(%a, %q) : (!t, !t) -> !t
    %c = relax.call @fused_sigmoid(%b) : (!t) -> !t
    relax.output %c : !t
  }
  relax.return %r : !t
}
relax.func @fused_exp(%x: !t) -> !t attributes {Composite = "dnnl.exp"} {
  %r = relax.exp %x : (!t) -> !t
  relax.return %r : !t
}
relax.func @fused_add(%x: !t, %y: !t) -> !t attributes {Composite = "dnnl.add"} {
  %r = relax.add %x, %y : (!t, !t) -> !t
  relax.return %r : !t
}
relax.func @fused_sigmoid(%x: !t) -> !t attributes {Composite = "cutlass.sigmoid"} {
  %r = relax.sigmoid %x : (!t) -> !t
  relax.return %r : !t
}

// -----

// Symbols of a literal are other ones than those of the function around it.

!v = tensor<?xf32, #relax.dims<[n]>>

// CHECK-LABEL: relax.func @main<n>
relax.func @main<n>(%x: !v) -> !v attributes {global_symbol = "main"} {
  %r = relax.dataflow -> (!v) {
    // CHECK: relax.call @fused_exp_exp_dnnl(%x)
    %a = relax.call @fused_exp(%x) : (!v) -> !v
    %b = relax.call @fused_exp(%a) : (!v) -> !v
    relax.output %b : !v
  }
  relax.return %r : !v
}
// CHECK: relax.func @fused_exp_exp_dnnl<n>
// CHECK-NEXT: relax.lambda "local_func"<n1>(%{{.*}}: tensor<?xf32, #relax.dims<[n1]>>)
// CHECK: relax.lambda "local_func"<n2>(%{{.*}}: tensor<?xf32, #relax.dims<[n2]>>)
relax.func @fused_exp<n>(%x: !v) -> !v attributes {Composite = "dnnl.exp"} {
  %r = relax.exp %x : (!v) -> !v
  relax.return %r : !v
}
