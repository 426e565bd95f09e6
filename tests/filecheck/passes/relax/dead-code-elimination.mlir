// RUN: xdsl-opt %s -p relax-dead-code-elimination --split-input-file --allow-unregistered-dialect | filecheck %s

// A chain of unneeded bindings, the output that only names it, and then the functions
// that only they called.

// CHECK-LABEL: relax.func @chain
relax.func @chain(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "chain"} {
  // CHECK-NEXT: %r = relax.dataflow -> (tensor<4xf32>) {
  // CHECK-NEXT:   %a = relax.nn.relu %x
  // CHECK-NEXT:   relax.output %a : tensor<4xf32>
  // CHECK-NEXT: }
  // CHECK-NEXT: relax.return %r : tensor<4xf32>
  %u, %r, %v = relax.dataflow -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %a = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    %b = relax.call_tir @unused(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %c = relax.add %b, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    relax.output %c, %a, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  %d = relax.multiply %u, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %e = relax.call @unused_too(%d) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %r : tensor<4xf32>
}
// CHECK-NOT: func
tir.func @unused(%a: !tir.handle, %b: !tir.handle) {
}
relax.func @unused_too(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relax.call @recursive(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}
relax.func @recursive(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relax.call @recursive(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}

// -----

// A block that gives nothing goes; a block in which a check is made stays, without
// results. The second output of a block is that of another one.

// CHECK-LABEL: relax.func @blocks
relax.func @blocks(%x: tensor<?xf32>) -> tensor<?xf32> attributes {global_symbol = "blocks"} {
  // CHECK-NEXT: %p = relax.dataflow -> (tensor<?xf32>) {
  // CHECK-NEXT:   relax.output %x
  // CHECK-NEXT: }
  // CHECK-NEXT: relax.dataflow -> () {
  // CHECK-NEXT:   %m = relax.match_cast %p
  // CHECK-NEXT:   relax.output
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[T:.*]] = relax.dataflow -> (tensor<?xf32>) {
  // CHECK-NEXT:   relax.output %p
  // CHECK-NEXT: }
  // CHECK-NEXT: relax.return %[[T]]
  %p = relax.dataflow -> (tensor<?xf32>) {
    relax.output %x : tensor<?xf32>
  }
  %q = relax.dataflow -> (tensor<?xf32>) {
    relax.output %p : tensor<?xf32>
  }
  %n = relax.dataflow -> (tensor<?xf32>) {
    %m = relax.match_cast %p defines [k] : tensor<?xf32> -> tensor<?xf32, #relax.dims<[k]>>
    relax.output %p : tensor<?xf32>
  }
  %s, %t = relax.dataflow -> (tensor<?xf32>, tensor<?xf32>) {
    relax.output %q, %p : tensor<?xf32>, tensor<?xf32>
  }
  relax.return %t : tensor<?xf32>
}

// -----

// Branches: what they yield is needed as long as the conditional is.

// CHECK-LABEL: relax.func impure @branches
relax.func impure @branches(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "branches"} {
  // CHECK-NEXT: %[[E:.*]] = relax.builtin.alloc_tensor
  // CHECK-NEXT: %{{.*}} = relax.if %c
  // CHECK-NEXT:   relax.call impure @effect(%x, %[[E]])
  // CHECK-NEXT:   %[[Y:.*]] = relax.nn.relu %x
  // CHECK-NEXT:   relax.yield %[[Y]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT:   relax.yield %x
  // CHECK-NEXT: }
  // CHECK-NEXT: relax.return %x
  %dead = relax.if %c : tensor<i1> -> tensor<4xf32> {
    %y = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    relax.yield %y : tensor<4xf32>
  } else {
    relax.yield %x : tensor<4xf32>
  }
  %e = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
  %f = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
  %kept = relax.if %c : tensor<i1> -> tensor<4xf32> {
    relax.call impure @effect(%x, %e) : (tensor<4xf32>, tensor<4xf32>) -> ()
    %y = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    %z = relax.nn.relu %y : (tensor<4xf32>) -> tensor<4xf32>
    relax.yield %y : tensor<4xf32>
  } else {
    %z = relax.nn.relu %dead : (tensor<4xf32>) -> tensor<4xf32>
    relax.yield %x : tensor<4xf32>
  }
  relax.return %x : tensor<4xf32>
}
// CHECK: tir.func @effect
tir.func @effect(%a: !tir.handle, %b: !tir.handle) {
}

// -----

// Unused fields of a tuple stay, operations that nobody knows as well.

// CHECK-LABEL: relax.func @fields
relax.func @fields(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "fields"} {
  // CHECK-NEXT: %a = relax.nn.relu %x
  // CHECK-NEXT: %[[T:.*]] = relax.tuple(%x, %a)
  // CHECK-NEXT: %[[S:.*]] = relax.nn.relu %a
  // CHECK-NEXT: "strange.op"(%[[S]])
  // CHECK-NEXT: %[[R:.*]] = relax.get_item %[[T]][0]
  // CHECK-NEXT: relax.return %[[R]]
  %a = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %t = relax.tuple(%x, %a) : tensor<4xf32>, tensor<4xf32>
  %s = relax.nn.relu %a : (tensor<4xf32>) -> tensor<4xf32>
  %f = "strange.op"(%s) : (tensor<4xf32>) -> f32
  %e = arith.constant 1 : i32
  %r = relax.get_item %t[0] : !relax.tuple<tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>
  relax.return %r : tensor<4xf32>
}

// -----

// Public functions stay, and what they and other operations of the module name:
// functions of TIR call each other, and attributes name functions, too.

// CHECK: tir.func @public
tir.func @public(%a: !tir.handle) attributes {global_symbol = "public"} {
  tir.call_func @by_tir(%a) : (!tir.handle) -> ()
}
// CHECK: tir.func @by_tir
tir.func @by_tir(%a: !tir.handle) {
}
// CHECK: "strange.op"
"strange.op"() {list = [{entry = @by_attribute::@inner}]} : () -> ()
// CHECK: tir.func @by_attribute
tir.func @by_attribute(%a: !tir.handle) {
}
// CHECK: tir.func @declared
tir.func @declared(!tir.handle)
// CHECK: func.func private @other
func.func private @other(%x: i32) {
  %e = arith.constant 1 : i32
  func.return
}
// CHECK-NOT: private_one
relax.func @private_one(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %x : tensor<4xf32>
}

// -----

// Calls that write arguments stay; a closure names its function.

// CHECK-LABEL: relax.func impure @calls
relax.func impure @calls(%x: tensor<4xf32>) -> !relax.object attributes {global_symbol = "calls"} {
  // CHECK-NEXT: %{{.*}} = relax.call_tir_inplace @in_place(%x)
  // CHECK-NEXT: %[[C:.*]] = relax.make_closure @lifted(%x)
  // CHECK-NEXT: relax.return %[[C]]
  %a = relax.call_tir_inplace @in_place(%x) inplace [0] : (tensor<4xf32>) -> tensor<4xf32>
  %b = relax.call_dps_packed "pure"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %c = relax.make_closure @lifted(%x) : (tensor<4xf32>) -> !relax.object
  %n = relax.null_value : !relax.object
  relax.return %c : !relax.object
}
// CHECK: tir.func @in_place
tir.func @in_place(%a: !tir.handle) {
}
// CHECK: relax.func @lifted
relax.func @lifted(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %x : tensor<4xf32>
}

// -----

// Outputs that only dropped outputs of other blocks use, after them and around them.

// CHECK-LABEL: relax.func @blocks
relax.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "blocks"} {
  // CHECK-NEXT: %[[A:.*]] = relax.dataflow -> (tensor<4xf32>) {
  // CHECK-NEXT: relax.add
  // CHECK-NEXT: relax.output
  %a, %b = relax.dataflow -> (tensor<4xf32>, tensor<4xf32>) {
    %p = relax.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %q = relax.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    relax.output %p, %q : tensor<4xf32>, tensor<4xf32>
  }
  // CHECK: %[[C:.*]] = relax.dataflow -> (tensor<4xf32>) {
  // CHECK-NEXT: %[[E:.*]] = relax.dataflow -> (tensor<4xf32>) {
  // CHECK-NEXT: relax.subtract
  // CHECK-NEXT: relax.output
  // CHECK-NEXT: }
  // CHECK-NEXT: relax.output %[[E]]
  %c, %d = relax.dataflow -> (tensor<4xf32>, tensor<4xf32>) {
    %e, %f, %g = relax.dataflow -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
      %p = relax.subtract %a, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %q = relax.sin %x : (tensor<4xf32>) -> tensor<4xf32>
      relax.output %p, %q, %b : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    }
    relax.output %e, %f : tensor<4xf32>, tensor<4xf32>
  }
  relax.return %c : tensor<4xf32>
}
