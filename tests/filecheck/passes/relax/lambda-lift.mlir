// RUN: xdsl-opt %s -p relax-lambda-lift | filecheck %s
// RUN: xdsl-opt %s -p relax-lambda-lift,relax-lambda-lift | filecheck %s

!t = tensor<4xf32>
!v = tensor<?xf32, #relax.dims<[n]>>
!w = tensor<?xf32, #relax.dims<[m]>>
!g = !relax.func<(!t) -> !t>
!c = !relax.prim<i1>

// What captures nothing leaves no value behind; its calls name the function.
// CHECK-LABEL: relax.func @plain
// CHECK-NEXT: %a = relax.call @plain_inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %b = relax.call @plain_inner(%a) {note} :
// CHECK-NEXT: relax.return %b
relax.func @plain(%x: !t) -> !t attributes {global_symbol = "plain"} {
  %f = relax.lambda "inner"<n>(%y: !v) -> !v attributes {kept} {
    %z = relax.add %y, %y : (!v, !v) -> !v
    relax.return %z : !v
  }
  %a = relax.call_indirect %f(%x) : !relax.func<(!v) -> !v>, (!t) -> !t
  %b = relax.call_indirect %f(%a) {note} : !relax.func<(!v) -> !v>, (!t) -> !t
  relax.return %b : !t
}

// What is captured becomes parameters, constants of the function around as well.
// CHECK-LABEL: relax.func @closure
// CHECK-NEXT: %one = relax.constant
// CHECK-NEXT: %f = relax.make_closure @closure_inner(%x, %one) : (tensor<4xf32>, tensor<f32>) -> !relax.func<(tensor<4xf32>) -> tensor<4xf32>>
// CHECK-NEXT: %a = relax.invoke_pure_closure %f(%x) : !relax.func<(tensor<4xf32>) -> tensor<4xf32>>, (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: relax.return %a
relax.func @closure(%x: !t) -> !t attributes {global_symbol = "closure"} {
  %one = relax.constant dense<1.0> : tensor<f32>
  %f = relax.lambda "inner"(%y: !t) -> !t {
    %z = relax.add %y, %x : (!t, !t) -> !t
    %q = relax.add %z, %one : (!t, tensor<f32>) -> !t
    relax.return %q : !t
  }
  %a = relax.call_indirect %f(%x) : !g, (!t) -> !t
  relax.return %a : !t
}

// Literals in each other; the inner one is made in the outer one.
// CHECK-LABEL: relax.func @nested
// CHECK-NEXT: %f = relax.make_closure @nested_outer(%x) : (tensor<4xf32>) -> !relax.func<(tensor<4xf32>) -> !relax.func<(tensor<4xf32>) -> tensor<4xf32>>>
// CHECK-NEXT: %g = relax.invoke_pure_closure %f(%x) :
// CHECK-NEXT: %a = relax.invoke_pure_closure %g(%x) :
// CHECK-NEXT: relax.return %a
relax.func @nested(%x: !t) -> !t attributes {global_symbol = "nested"} {
  %f = relax.lambda "outer"(%y: !t) -> !g {
    %i = relax.lambda "inner"(%z: !t) -> !t {
      %s = relax.add %y, %x : (!t, !t) -> !t
      %q = relax.add %z, %s : (!t, !t) -> !t
      relax.return %q : !t
    }
    relax.return %i : !g
  }
  %g = relax.call_indirect %f(%x) : !relax.func<(!t) -> !g>, (!t) -> !g
  %a = relax.call_indirect %g(%x) : !g, (!t) -> !t
  relax.return %a : !t
}

// A closure that calls itself calls the function with what it captured.
// CHECK-LABEL: relax.func @recursive
// CHECK-NEXT: %f = relax.make_closure @recursive_again(%x) :
// CHECK-NEXT: relax.invoke_pure_closure %f(%c, %x) :
relax.func @recursive(%x: !t, %c: !c) -> !t attributes {global_symbol = "recursive"} {
  %f = relax.lambda "again" recursive %f0(%c0: !c, %y: !t) -> !t {
    %r = relax.if %c0 : !c -> !t {
      %no = relax.prim_value 0 : i1
      %z = relax.call_indirect %f0(%no, %y) : !relax.func<(!c, !t) -> !t>, (!relax.prim<i1, 0>, !t) -> !t
      relax.yield %z : !t
    } else {
      %z = relax.multiply %y, %x : (!t, !t) -> !t
      relax.yield %z : !t
    }
    relax.return %r : !t
  }
  %a = relax.call_indirect %f(%c, %x) : !relax.func<(!c, !t) -> !t>, (!c, !t) -> !t
  relax.return %a : !t
}

// A literal in one that calls the outer one captures it.
// CHECK-LABEL: relax.func @mutual
// CHECK-NEXT: %r = relax.call @mutual_outer(%c, %x)
// CHECK-NEXT: relax.return
relax.func @mutual(%x: !t, %c: !c) -> !t attributes {global_symbol = "mutual"} {
  %f = relax.lambda "outer" recursive %f0(%c0: !c, %y: !t) -> !t {
    %i = relax.lambda "inner"(%z: !t) -> !t {
      %no = relax.prim_value 0 : i1
      %q = relax.call_indirect %f0(%no, %z) : !relax.func<(!c, !t) -> !t>, (!relax.prim<i1, 0>, !t) -> !t
      relax.return %q : !t
    }
    %r = relax.if %c0 : !c -> !t {
      %z = relax.call_indirect %i(%y) : !g, (!t) -> !t
      relax.yield %z : !t
    } else {
      relax.yield %y : !t
    }
    relax.return %r : !t
  }
  %r = relax.call_indirect %f(%c, %x) : !relax.func<(!c, !t) -> !t>, (!c, !t) -> !t
  relax.return %r : !t
}

// Names that are the same get the path, then a number; a literal that nothing uses is
// lifted, too; one without a name is called lambda; global_symbol is kept.
// CHECK-LABEL: relax.func @names
// CHECK-NEXT: %f = relax.global_ref @names_same : !relax.func<(tensor<4xf32>) -> tensor<4xf32>>
// CHECK-NEXT: %p = relax.tuple(%f, %x)
// CHECK-NEXT: relax.return %x
relax.func @names(%x: !t) -> !t attributes {global_symbol = "names"} {
  %f = relax.lambda "same"(%y: !t) -> !t {
    %i = relax.lambda "same"(%z: !t) -> !t {
      relax.return %z : !t
    }
    relax.return %y : !t
  }
  %g = relax.lambda "same"(%y: !t) -> !t {
    relax.return %y : !t
  }
  %h = relax.lambda(%y: !t) -> !t {
    relax.return %y : !t
  }
  %i = relax.lambda "same"(%y: !t) -> !t attributes {global_symbol = "public"} {
    relax.return %y : !t
  }
  %p = relax.tuple(%f, %x) : !g, !t
  relax.return %x : !t
}

// In branches; impure ones; a value that may be either.
// CHECK-LABEL: relax.func impure @branches
// CHECK-NEXT: %f = relax.if
// CHECK-NEXT: %i = relax.global_ref @branches_lambda : !relax.func<(tensor<4xf32>) -> tensor<4xf32>, impure>
// CHECK-NEXT: relax.yield %i
// CHECK-NEXT: } else {
// CHECK-NEXT: %i{{.*}} = relax.make_closure @branches_lambda_0(%x)
// CHECK-NEXT: relax.yield
// CHECK-NEXT: }
// CHECK-NEXT: relax.invoke_closure %f(%x)
relax.func impure @branches(%x: !t, %c: !c) -> !t attributes {global_symbol = "branches"} {
  %f = relax.if %c : !c -> !relax.func<(!t) -> !t, impure> {
    %i = relax.lambda impure (%y: !t) -> !t {
      relax.print "one"() : () -> ()
      relax.return %y : !t
    }
    relax.yield %i : !relax.func<(!t) -> !t, impure>
  } else {
    %i = relax.lambda impure (%y: !t) -> !t {
      relax.print "two"() : () -> ()
      relax.return %x : !t
    }
    relax.yield %i : !relax.func<(!t) -> !t, impure>
  }
  %r = relax.call_indirect impure %f(%x) : !relax.func<(!t) -> !t, impure>, (!t) -> !t
  relax.return %r : !t
}

// Symbols of the function around are dimensions of the parameters, or forgotten.
// CHECK-LABEL: relax.func @symbols<n>
// CHECK: relax.make_closure @symbols_lambda(%x, %y)
// CHECK: relax.make_closure @symbols_lambda_0(%y)
relax.func @symbols<n>(%x: !v, %t: !t) -> !t attributes {global_symbol = "symbols"} {
  %p = relax.tuple(%x, %x) : !v, !v
  %y = relax.concat %p axis 0 : (!relax.tuple<!v, !v>) -> tensor<?xf32, #relax.dims<[n * 2]>>
  %f = relax.lambda(%z: !t) -> !t {
    %s = relax.sum %x axis [0] : (!v) -> tensor<f32>
    %u = relax.sum %y axis [0] : (tensor<?xf32, #relax.dims<[n * 2]>>) -> tensor<f32>
    %q = relax.add %z, %s : (!t, tensor<f32>) -> !t
    relax.return %q : !t
  }
  %g = relax.lambda(%z: !t) -> !t {
    %u = relax.sum %y axis [0] : (tensor<?xf32, #relax.dims<[n * 2]>>) -> tensor<f32>
    %q = relax.add %z, %u : (!t, tensor<f32>) -> !t
    relax.return %q : !t
  }
  %a = relax.call_indirect %f(%t) : !g, (!t) -> !t
  %b = relax.call_indirect %g(%a) : !g, (!t) -> !t
  relax.return %b : !t
}

// CHECK: relax.func @plain_inner<n>(%y: tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32, #relax.dims<[n]>> attributes {kept} {
// CHECK: relax.func @closure_inner(%y: tensor<4xf32>, %x: tensor<4xf32>, %one: tensor<f32>) -> tensor<4xf32> {
// CHECK: relax.func @outer_inner(%z: tensor<4xf32>, %y: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK: relax.func @nested_outer(%y: tensor<4xf32>, %x: tensor<4xf32>) -> !relax.func<(tensor<4xf32>) -> tensor<4xf32>> {
// CHECK-NEXT: %i = relax.make_closure @outer_inner(%y, %x)
// CHECK: relax.func @recursive_again(%c0: !relax.prim<i1>, %y: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK: relax.call @recursive_again(%no, %y, %x)
// CHECK: relax.func @mutual_outer_inner(%z: tensor<4xf32>, %f0: !relax.func<(!relax.prim<i1>, tensor<4xf32>) -> tensor<4xf32>>) -> tensor<4xf32> {
// CHECK: relax.invoke_pure_closure %f0(%no, %z)
// CHECK: relax.func @mutual_outer(%c0: !relax.prim<i1>, %y: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: %f0 = relax.global_ref @mutual_outer
// CHECK-NEXT: %i = relax.make_closure @mutual_outer_inner(%f0)
// CHECK: relax.func @same_same(%z: tensor<4xf32>)
// CHECK: relax.func @names_same(%y: tensor<4xf32>)
// CHECK: relax.func @names_same_0(%y: tensor<4xf32>)
// CHECK: relax.func @names_lambda(%y: tensor<4xf32>)
// CHECK: relax.func @public(%y: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "public"} {
// CHECK: relax.func impure @branches_lambda(%y: tensor<4xf32>)
// CHECK: relax.func impure @branches_lambda_0(%y: tensor<4xf32>, %x: tensor<4xf32>)
// CHECK: relax.func @symbols_lambda<n>(%z: tensor<4xf32>, %x: tensor<?xf32, #relax.dims<[n]>>, %y: tensor<?xf32, #relax.dims<[n * 2]>>)
// CHECK: relax.func @symbols_lambda_0(%z: tensor<4xf32>, %y: tensor<?xf32>)
