// RUN: xdsl-opt %s -p relax-test-print-dataflow-alias --split-input-file --allow-unregistered-dialect | filecheck %s

// A name is its value; an operator makes something new.
// CASE: DataflowUseInplaceCalls.2
// CHECK-LABEL: relax.func @main
// CHECK: attributes {alias = "%x {0}, %y {0}, %z {1}, %n {1}", tuples = "", fixed = "{}"}
!t = tensor<4xf32>
relax.func @main(%x: !t) -> !t {
  %o = relax.dataflow -> (!t) {
    %y = relax.alias %x : !t -> !t
    %z = relax.add %y, %y : (!t, !t) -> !t
    %n = relax.alias %z : !t -> !t
    relax.output %n : !t
  }
  relax.return %o : !t
}

// -----

// A tuple is a location of its own and shares its fields. Nobody may write a constant.
// CASE: DataflowUseInplaceCalls.3
// CHECK-LABEL: relax.func @main
// CHECK: attributes {alias = "%x {0}, %y {1}, %t {2}, %a {0}, %b {1}, %u {2}, %e {0}, %z {3}, %n {3}", tuples = "2: [{0}, {1}]", fixed = "{1}"}
!t = tensor<4xf32>
!p = !relax.tuple<tensor<4xf32>, tensor<4xf32>>
relax.func @main(%x: !t) -> !t {
  %o = relax.dataflow -> (!t) {
    %y = relax.constant dense<1.0> : !t
    %t = relax.tuple(%x, %y) : !t, !t
    %a = relax.get_item %t[0] : !p -> !t
    %b = relax.get_item %t[1] : !p -> !t
    %u = relax.alias %t : !p -> !p
    %e = relax.get_item %u[0] : !p -> !t
    %z = relax.add %a, %b : (!t, !t) -> !t
    %n = relax.alias %z : !t -> !t
    relax.output %n : !t
  }
  relax.return %o : !t
}

// -----

// An operator with several results. With one part nothing needs to move.
// CASE: DataflowUseInplaceCalls.4
// CHECK-LABEL: relax.func @main
// CHECK: attributes {alias = "%x {0}, %t {1}, %one {0}, %v {6}, %c {0, 6}", tuples = "1: [{2}, {3}, {4}, {5}], 6: [{0}]", fixed = "{}"}
!t = tensor<4xf32>
!q = tensor<1xf32>
relax.func @main(%x: !t) -> !t {
  %o = relax.dataflow -> (!t) {
    %t = relax.split %x sections 4 axis 0 : (!t) -> !relax.tuple<!q, !q, !q, !q>
    %one = relax.split %x sections 1 axis 0 : (!t) -> !t
    %v = relax.tuple(%x) : !t
    %c = relax.concat %v axis 0 : (!relax.tuple<!t>) -> !t
    relax.output %c : !t
  }
  relax.return %o : !t
}

// -----

// Calls of TIR functions make something new, but for an argument that they write.
// CASE: DataflowUseInplaceCalls.5
// CHECK-LABEL: relax.func @main
// CHECK: attributes {alias = "%x {0}, %y {1}, %t {2}, %w {1}, %s {5}", tuples = "2: [{3}, {4}], 5: [{1}, {7}]", fixed = "{}"}
!t = tensor<4xf32>
tir.func @f(%a: !tir.handle, %b: !tir.handle)
tir.func @g(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle)
tir.func @h(%a: !tir.handle)
tir.func @i(%a: !tir.handle, %b: !tir.handle)
relax.func @main(%x: !t) -> !t {
  %o = relax.dataflow -> (!t) {
    %y = relax.call_tir @f(%x) : (!t) -> !t
    %t = relax.call_tir @g(%x) : (!t) -> !relax.tuple<!t, !t>
    %w = relax.call_tir_inplace @h(%y) inplace [0] : (!t) -> !t
    %s = relax.call_tir_inplace @i(%w) inplace [0, -1] : (!t) -> !relax.tuple<!t, !t>
    relax.output %y : !t
  }
  relax.return %o : !t
}

// -----

// A call of a function may return what it is given, and so may the fields of a tuple.
// CASE: DataflowUseInplaceCalls.6
// CHECK-LABEL: relax.func @main
// CHECK: attributes {alias = "%x {0}, %y {0, 1}, %z {0, 1, 2}, %m {3}, %n {4}, %t {5}, %a {3, 4, 5, 6, 7, 8}, %b {3, 4, 5, 6, 7, 8}, %c {3, 4, 5, 6, 7, 8}", tuples = "5: [{3}, {4}], 6: [{3, 4, 5, 6, 7, 8}, {3, 4, 5, 6, 7, 8}]", fixed = "{3, 4}"}
!t = tensor<4xf32>
!p = !relax.tuple<tensor<4xf32>, tensor<4xf32>>
relax.func @main(%x: !t) -> !t {
  %o = relax.dataflow -> (!t) {
    %y = relax.call @f(%x) : (!t) -> !t
    %z = relax.call @f(%y) : (!t) -> !t
    %m = relax.constant dense<1.0> : !t
    %n = relax.constant dense<2.0> : !t
    %t = relax.tuple(%m, %n) : !t, !t
    %a = relax.call_pure_packed "g"(%t) : (!p) -> !p
    %b = relax.get_item %a[0] : !p -> !t
    %c = relax.get_item %a[1] : !p -> !t
    relax.output %c : !t
  }
  relax.return %o : !t
}
relax.func @f(%x: !t) -> !t {
  relax.return %x : !t
}

// -----

// Nothing is known of what comes from outside.
// CASE: DataflowUseInplaceCalls.7
// CHECK-LABEL: relax.func @main
// CHECK: attributes {alias = "%x {0}, %t {1}, %y {-1}, %z {-1}, %c {2}, %u {3}", tuples = "1: [{-1}, {0}], 3: [{-1}, {2}]", fixed = "{2}"}
!t = tensor<4xf32>
!p = !relax.tuple<tensor<4xf32>, tensor<4xf32>>
relax.func @main(%x: !t) -> !t {
  %e = relax.add %x, %x : (!t, !t) -> !t
  %p = relax.tuple(%e, %e) : !t, !t
  %o = relax.dataflow -> (!t) {
    %t = relax.tuple(%e, %x) : !t, !t
    %y = relax.get_item %p[1] : !p -> !t
    %z = relax.alias %e : !t -> !t
    %c = relax.constant dense<2.0> : !t
    %u = relax.tuple(%e, %c) : !t, !t
    relax.output %y : !t
  }
  relax.return %o : !t
}

// -----

// A reshape may become a view, tensors on one storage share it, a closure holds what it
// captures, and what operations of other dialects see is theirs to keep.
// CHECK-LABEL: relax.func @main
// CHECK: attributes {alias = "%x {0}, %s {}, %r {0}, %m {1}, %a {1}, %b {1}, %z {2}, %f {2, 3}, %g {2, 3, 4}, %w {5}, %v {-1}", tuples = "", fixed = "{5}"}
!t = tensor<4xf32>
relax.func @main(%x: !t) -> !t {
  %o = relax.dataflow -> (!t) {
    %s = relax.shape [2, 2]
    %r = relax.reshape %x, %s : (!t, !relax.shape<[2, 2]>) -> tensor<2x2xf32>
    %m = relax.memory.alloc_storage 32 on 0 scope "global" dtype f32 : !relax.object
    %a = relax.memory.alloc_tensor %m at 0 : !relax.object -> !t
    %b = relax.memory.alloc_tensor %m at 16 : !relax.object -> !t
    %z = relax.add %x, %x : (!t, !t) -> !t
    %f = relax.make_closure @lifted(%z) : (!t) -> !relax.object
    %g = relax.invoke_pure_closure %f() : !relax.object, () -> !t
    %w = relax.add %x, %x : (!t, !t) -> !t
    %v = "test.op"(%w) : (!t) -> !t
    relax.output %v : !t
  }
  relax.return %o : !t
}
relax.func @lifted(%x: !t) -> !t {
  relax.return %x : !t
}
