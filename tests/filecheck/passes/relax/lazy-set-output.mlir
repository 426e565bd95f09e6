// RUN: xdsl-opt %s -p relax-lazy-set-output --split-input-file | filecheck %s

// Results are handed out where they are made; a parameter first, a constant at the end,
// one that is returned twice, twice.

!x = tensor<4xf32>

// CHECK: relax.func impure @main(%x: tensor<4xf32>, %fset_output: !relax.func<(!relax.prim<i64>, !relax.object) -> !relax.tuple<>, impure>, %w: tensor<4xf32>) -> !relax.tuple<> attributes {global_symbol = "main", num_input = 2 : i64}
// CHECK-NEXT: %[[I:.*]] = relax.prim_value 1 : i64
// CHECK-NEXT: relax.call_indirect impure %fset_output(%[[I]], %x)
// CHECK: relax.dataflow
// CHECK: }
// CHECK-NEXT: %[[J:.*]] = relax.prim_value 0 : i64
// CHECK-NEXT: relax.call_indirect impure %fset_output(%[[J]], %[[A:.*]]) : {{.*}}
// CHECK-NEXT: relax.prim_value 3
// CHECK-NEXT: relax.call_indirect impure
// CHECK-NEXT: %[[B:.*]] = relax.negative
// CHECK-NEXT: relax.constant
// CHECK-NEXT: relax.prim_value 2
// CHECK-NEXT: relax.call_indirect impure
// CHECK-NEXT: %[[R:.*]] = relax.tuple()
// CHECK-NEXT: relax.return %[[R]]
relax.func @main(%x: !x, %w: !x) -> !relax.tuple<!x, !x, !x, !x> attributes {global_symbol = "main", num_input = 1 : i64} {
  %a = relax.dataflow -> (!x) {
    %e = relax.add %x, %w : (!x, !x) -> !x
    relax.output %e : !x
  }
  %b = relax.negative %a : (!x) -> !x
  %c = relax.constant dense<1.0> : tensor<4xf32>
  %r = relax.tuple(%a, %x, %c, %a) : !x, !x, !x, !x
  relax.return %r : !relax.tuple<!x, !x, !x, !x>
}

// -----

// One result; a tuple that a block made is taken apart after it.

!x = tensor<4xf32>

// CHECK: relax.func impure @one(%x: tensor<4xf32>, %fset_output
// CHECK-NEXT: relax.exp
// CHECK-NEXT: relax.prim_value 0
// CHECK-NEXT: relax.call_indirect impure
relax.func @one(%x: !x) -> !x attributes {global_symbol = "one"} {
  %y = relax.exp %x : (!x) -> !x
  relax.return %y : !x
}
// CHECK: relax.func impure @block(
// CHECK: relax.output
// CHECK-NEXT: }
// CHECK-NEXT: %[[A:.*]] = relax.get_item %{{.*}}[0]
// CHECK-NEXT: relax.prim_value 0
// CHECK-NEXT: relax.call_indirect impure %fset_output(%{{.*}}, %[[A]])
// CHECK-NEXT: relax.get_item %{{.*}}[1]
relax.func @block(%x: !x) -> !relax.tuple<!x, !x> attributes {global_symbol = "block"} {
  %r = relax.dataflow -> (!relax.tuple<!x, !x>) {
    %e = relax.exp %x : (!x) -> !x
    %t = relax.tuple(%e, %x) : !x, !x
    relax.output %t : !relax.tuple<!x, !x>
  }
  relax.return %r : !relax.tuple<!x, !x>
}
// CHECK: relax.func @private(%x: tensor<4xf32>) -> tensor<4xf32>
relax.func @private(%x: !x) -> !x {
  relax.return %x : !x
}

// -----

// A tensor that is written after it is made is handed out at the end.

!x = tensor<4xf32>

// CHECK: relax.func impure @written(
// CHECK-NEXT: %[[Y:.*]] = relax.builtin.alloc_tensor
// CHECK-NEXT: relax.call_packed "my.fill"(%[[Y]])
// CHECK-NEXT: relax.prim_value 0
// CHECK-NEXT: relax.call_indirect impure
relax.func impure @written() -> !x attributes {global_symbol = "written"} {
  %y = relax.builtin.alloc_tensor on 0 scope "global" : !x
  relax.call_packed "my.fill"(%y) : (!x) -> ()
  relax.return %y : !x
}
