// RUN: xdsl-opt %s -p relax-kill-after-last-use --split-input-file --allow-unregistered-dialect | filecheck %s

// CASE: KillAfterLastUse.1, KillAfterLastUse.5
// A storage ends after its last tensor; parameters, the result, a shape, a scalar, a
// constant, and what nothing reads stay.

!t = tensor<4xf32>
// CHECK-LABEL: relax.func impure @storage
// CHECK-NOT: force_pure
relax.func impure @storage(%x: !t) -> !t {
  // CHECK-NEXT: %s = relax.memory.alloc_storage
  // CHECK-NEXT: %y = relax.memory.alloc_tensor %s
  // CHECK-NEXT: relax.memory.kill_storage %s : !relax.object
  // CHECK-NEXT: relax.call impure @f(%x, %y)
  // CHECK-NEXT: %c = relax.constant
  // CHECK-NEXT: %h = relax.shape
  // CHECK-NEXT: %p = relax.prim_value
  // CHECK-NEXT: %n = relax.null_value
  // CHECK-NEXT: %u = relax.nn.relu %x
  // CHECK-NEXT: relax.call_packed "use"(%c, %h, %p, %n)
  // CHECK-NEXT: %z = relax.add %x, %y
  // CHECK-NEXT: relax.memory.kill_tensor %y : tensor<4xf32>
  // CHECK-NEXT: relax.return %z
  %s = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 : !relax.object
  %y = relax.memory.alloc_tensor %s at 0 : !relax.object -> tensor<4xf32>
  relax.call impure @f(%x, %y) : (!t, !t) -> ()
  %c = relax.constant dense<1.0> : tensor<4xf32>
  %h = relax.shape [4]
  %p = relax.prim_value 4 : i64
  %n = relax.null_value : !relax.object
  %u = relax.nn.relu %x : (!t) -> !t
  %void = relax.call_packed "use"(%c, %h, %p, %n) : (!t, !relax.shape<[4]>, !relax.prim<i64, 4>, !relax.object) -> !relax.tuple<>
  %z = relax.add %x, %y : (!t, !t) -> !t
  relax.return %z : !t
}
tir.func @f(%a: !tir.handle, %b: !tir.handle) {
}

// -----

// CASE: KillAfterLastUse.2, KillAfterLastUse.4, KillAfterLastUse.10, KillAfterLastUse.17
// Other names of a value go, one operation reads it twice; lives end in a function
// without allocations, which is forced to be pure.

!t = tensor<4xf32>
// CHECK-LABEL: relax.func @names
// CHECK-SAME: attributes {relax.force_pure = true}
relax.func @names(%x: !t) -> !t {
  // CHECK-NEXT: %a = relax.nn.relu %x
  // CHECK-NEXT: %d = relax.add %a, %a
  // CHECK-NEXT: relax.memory.kill_tensor %a
  // CHECK-NEXT: %e = relax.add %d, %d
  // CHECK-NEXT: relax.memory.kill_tensor %d
  // CHECK-NEXT: relax.return %e
  %a = relax.nn.relu %x : (!t) -> !t
  %b = relax.alias %a : !t -> !t
  %c = relax.match_cast %b : !t -> !t
  %unused = relax.alias %a : !t -> tensor<?xf32>
  %too = relax.alias %unused : tensor<?xf32> -> tensor<*xf32>
  %d = relax.add %c, %a : (!t, !t) -> !t
  %e = relax.add %d, %d : (!t, !t) -> !t
  %r = relax.alias %e : !t -> !t
  relax.return %r : !t
}

// -----

// CASE: KillAfterLastUse.3, KillAfterLastUse.16
// A cast to another type stays; each name ends by itself. Symbolic sizes play no role.

!n = tensor<?xf32, #relax.dims<[n]>>
// CHECK-LABEL: relax.func @cast
relax.func @cast<n>(%x: !n) -> !n {
  // CHECK-NEXT: %y = relax.nn.relu %x
  // CHECK-NEXT: %m = relax.match_cast %y
  // CHECK-NEXT: relax.memory.kill_tensor %y : tensor<?xf32, #relax.dims<[n]>>
  // CHECK-NEXT: %u = relax.match_cast %m
  // CHECK-NEXT: %z = relax.nn.relu %m
  // CHECK-NEXT: relax.memory.kill_tensor %m : tensor<?xf32>
  // CHECK-NEXT: %r = relax.match_cast %z
  // CHECK-NEXT: relax.memory.kill_tensor %z
  // CHECK-NEXT: relax.return %r
  %y = relax.nn.relu %x : (!n) -> !n
  %m = relax.match_cast %y : !n -> tensor<?xf32>
  %u = relax.match_cast %m : tensor<?xf32> -> tensor<4xf32>
  %z = relax.nn.relu %m : (tensor<?xf32>) -> tensor<?xf32>
  %r = relax.match_cast %z : tensor<?xf32> -> !n
  relax.return %r : !n
}

// -----

// CASE: KillAfterLastUse.6, KillAfterLastUse.15
// Lives that end already, and names of such values; what is never read.

!t = tensor<4xf32>
// CHECK-LABEL: relax.func impure @ended
relax.func impure @ended(%x: !t) -> !t {
  // CHECK-NEXT: %a = relax.nn.relu %x
  // CHECK-NEXT: %b = relax.alias %a
  // CHECK-NEXT: relax.memory.kill_tensor %a
  // CHECK-NEXT: %c = relax.add %b, %x
  // CHECK-NEXT: relax.memory.kill_tensor %b
  // CHECK-NEXT: %{{.*}} = relax.call_packed "effect"(%c)
  // CHECK-NEXT: relax.return %c
  %a = relax.nn.relu %x : (!t) -> !t
  %b = relax.alias %a : !t -> !t
  relax.memory.kill_tensor %a : !t
  %c = relax.add %b, %x : (!t, !t) -> !t
  %void = relax.call_packed "effect"(%c) : (!t) -> !relax.tuple<>
  relax.return %c : !t
}

// -----

// CASE: KillAfterLastUse.7, KillAfterLastUse.8, KillAfterLastUse.9
// Tensors, then storages, then objects, in order of definition; a storage of two
// tensors; a tuple and its fields.

!t = tensor<4xf32>
// CHECK-LABEL: relax.func impure @order
relax.func impure @order(%x: !t) -> !t {
  // CHECK-NEXT: %o = relax.call_packed "object"()
  // CHECK-NEXT: %s = relax.memory.alloc_storage
  // CHECK-NEXT: %p = relax.memory.alloc_tensor %s at 0
  // CHECK-NEXT: %q = relax.memory.alloc_tensor %s at 16
  // CHECK-NEXT: %a = relax.nn.relu %x
  // CHECK-NEXT: %{{.*}} = relax.call_packed "use"(%o, %q, %a, %p, %s)
  // CHECK-NEXT: relax.memory.kill_tensor %p
  // CHECK-NEXT: relax.memory.kill_tensor %q
  // CHECK-NEXT: relax.memory.kill_tensor %a
  // CHECK-NEXT: relax.memory.kill_storage %s
  // CHECK-NEXT: relax.vm.kill_object %o : !relax.object
  // CHECK-NEXT: %t = relax.call_packed "two"()
  // CHECK-NEXT: %f = relax.get_item %t[0]
  // CHECK-NEXT: %g = relax.get_item %t[1]
  // CHECK-NEXT: relax.vm.kill_object %t : !relax.tuple<tensor<4xf32>, tensor<4xf32>>
  // CHECK-NEXT: %r = relax.add %f, %g
  // CHECK-NEXT: relax.memory.kill_tensor %f
  // CHECK-NEXT: relax.memory.kill_tensor %g
  // CHECK-NEXT: relax.return %r
  %o = relax.call_packed "object"() : () -> !relax.object
  %s = relax.memory.alloc_storage 32 on 0 scope "global" dtype f32 : !relax.object
  %p = relax.memory.alloc_tensor %s at 0 : !relax.object -> tensor<4xf32>
  %q = relax.memory.alloc_tensor %s at 16 : !relax.object -> tensor<4xf32>
  %a = relax.nn.relu %x : (!t) -> !t
  %void = relax.call_packed "use"(%o, %q, %a, %p, %s) : (!relax.object, !t, !t, !t, !relax.object) -> !relax.tuple<>
  %t = relax.call_packed "two"() : () -> !relax.tuple<!t, !t>
  %f = relax.get_item %t[0] : !relax.tuple<!t, !t> -> !t
  %g = relax.get_item %t[1] : !relax.tuple<!t, !t> -> !t
  %r = relax.add %f, %g : (!t, !t) -> !t
  relax.return %r : !t
}

// -----

// CASE: KillAfterLastUse.11
// Branches: what is made there ends there, but the value of the branch; what is made
// outside ends after the conditional, also where a branch gives it.

!t = tensor<4xf32>
// CHECK-LABEL: relax.func @branches
relax.func @branches(%c: tensor<i1>, %x: !t) -> !t {
  // CHECK-NEXT: %a = relax.nn.relu %x
  // CHECK-NEXT: %b = relax.nn.relu %x
  // CHECK-NEXT: %r = relax.if %c
  // CHECK-NEXT:   %d = relax.add %a, %x
  // CHECK-NEXT:   %e = relax.add %d, %x
  // CHECK-NEXT:   relax.memory.kill_tensor %d
  // CHECK-NEXT:   relax.yield %e
  // CHECK-NEXT: } else {
  // CHECK-NEXT:   relax.yield %b
  // CHECK-NEXT: }
  // CHECK-NEXT: relax.memory.kill_tensor %a
  // CHECK-NEXT: relax.memory.kill_tensor %b
  // CHECK-NEXT: %z = relax.nn.relu %r
  // CHECK-NEXT: relax.memory.kill_tensor %r
  // CHECK-NEXT: relax.return %z
  %a = relax.nn.relu %x : (!t) -> !t
  %b = relax.nn.relu %x : (!t) -> !t
  %r = relax.if %c : tensor<i1> -> !t {
    %d = relax.add %a, %x : (!t, !t) -> !t
    %e = relax.add %d, %x : (!t, !t) -> !t
    relax.yield %e : !t
  } else {
    relax.yield %b : !t
  }
  %z = relax.nn.relu %r : (!t) -> !t
  relax.return %z : !t
}

// -----

// CASE: KillAfterLastUse.12
// A tuple that is returned keeps its fields.

!t = tensor<4xf32>
// CHECK-LABEL: relax.func @returned
relax.func @returned(%x: !t) -> !relax.tuple<!t, !t> {
  // CHECK-NEXT: %a = relax.nn.relu %x
  // CHECK-NEXT: %b = relax.nn.relu %x
  // CHECK-NEXT: %r = relax.tuple(%a, %b)
  // CHECK-NEXT: relax.return %r
  %a = relax.nn.relu %x : (!t) -> !t
  %b = relax.nn.relu %x : (!t) -> !t
  %r = relax.tuple(%a, %b) : !t, !t
  relax.return %r : !relax.tuple<!t, !t>
}

// -----

// CASE: KillAfterLastUse.13
// A planned function: storages, a view, and destinations of calls.

!t = tensor<2x4xf32>
!v = tensor<8xf32>
// CHECK-LABEL: relax.func impure @planned
relax.func impure @planned(%x: !t) -> !v {
  // CHECK: %a = relax.memory.alloc_tensor %s at 0
  // CHECK-NEXT: relax.call impure @f(%x, %a)
  // CHECK: %v = relax.reshape %a
  // CHECK-NEXT: relax.memory.kill_tensor %a
  // CHECK: %b = relax.memory.alloc_tensor %u at 0
  // CHECK-NEXT: relax.memory.kill_storage %u
  // CHECK-NEXT: relax.call impure @g(%v, %b)
  // CHECK-NEXT: relax.memory.kill_tensor %v
  // CHECK-NEXT: %c = relax.memory.alloc_tensor %s at 0
  // CHECK-NEXT: relax.memory.kill_storage %s
  // CHECK-NEXT: relax.call impure @g(%b, %c)
  // CHECK-NEXT: relax.memory.kill_tensor %b
  // CHECK-NEXT: %r = relax.builtin.alloc_tensor
  // CHECK-NEXT: relax.call impure @g(%c, %r)
  // CHECK-NEXT: relax.memory.kill_tensor %c
  // CHECK-NEXT: relax.return %r
  %s = relax.memory.alloc_storage 32 on 0 scope "global" dtype f32 : !relax.object
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  relax.call impure @f(%x, %a) : (!t, !t) -> ()
  %h = relax.shape [8]
  %v = relax.reshape %a, %h : (!t, !relax.shape<[8]>) -> !v
  %u = relax.memory.alloc_storage 32 on 0 scope "global" dtype f32 : !relax.object
  %b = relax.memory.alloc_tensor %u at 0 : !relax.object -> !v
  relax.call impure @g(%v, %b) : (!v, !v) -> ()
  %c = relax.memory.alloc_tensor %s at 0 : !relax.object -> !v
  relax.call impure @g(%b, %c) : (!v, !v) -> ()
  %r = relax.builtin.alloc_tensor on 0 scope "global" : !v
  relax.call impure @g(%c, %r) : (!v, !v) -> ()
  relax.return %r : !v
}
tir.func @f(%a: !tir.handle, %b: !tir.handle) {
}
tir.func @g(%a: !tir.handle, %b: !tir.handle) {
}

// -----

// Operations that nobody knows: a use in one counts, what is made in it stays.

!t = tensor<4xf32>
// CHECK-LABEL: relax.func @foreign
relax.func @foreign(%x: !t) -> !t {
  // CHECK-NEXT: %a = relax.nn.relu %x
  // CHECK-NEXT: %i, %b = "strange.op"() ({
  // CHECK-NEXT:   %c = relax.nn.relu %a
  // CHECK-NEXT:   %d = relax.nn.relu %c
  // CHECK-NEXT: }) : () -> (i32, tensor<4xf32>)
  // CHECK-NEXT: relax.memory.kill_tensor %a
  // CHECK-NEXT: "strange.op"(%i, %b)
  // CHECK-NEXT: relax.memory.kill_tensor %b
  // CHECK-NEXT: relax.return %x
  %a = relax.nn.relu %x : (!t) -> !t
  %i, %b = "strange.op"() ({
    %c = relax.nn.relu %a : (!t) -> !t
    %d = relax.nn.relu %c : (!t) -> !t
  }) : () -> (i32, !t)
  "strange.op"(%i, %b) : (i32, !t) -> ()
  relax.return %x : !t
}

// -----

// Function literals are functions: what they make ends its life in them. What they capture
// lives until the literal is made.

// CHECK-LABEL: relax.func @literal
// CHECK-SAME: attributes {relax.force_pure = true}
// CHECK-NEXT: %y = relax.nn.relu %x
// CHECK-NEXT: %f = relax.lambda
// CHECK-SAME: attributes {relax.force_pure = true}
// CHECK-NEXT: relax.exp
// CHECK-NEXT: %[[B:.*]] = relax.add
// CHECK-NEXT: relax.memory.kill_tensor %a : tensor<4xf32>
// CHECK-NEXT: relax.return %[[B]]
// CHECK-NEXT: }
// CHECK-NEXT: relax.memory.kill_tensor %y : tensor<4xf32>
// CHECK-NEXT: relax.call_indirect
// CHECK-NEXT: relax.return
!t = tensor<4xf32>
relax.func @literal(%x: !t) -> !t {
  %y = relax.nn.relu %x : (!t) -> !t
  %f = relax.lambda "f"(%z: !t) -> !t {
    %a = relax.exp %z : (!t) -> !t
    %b = relax.add %a, %y : (!t, !t) -> !t
    relax.return %b : !t
  }
  %r = relax.call_indirect %f(%x) : !relax.func<(!t) -> !t>, (!t) -> !t
  relax.return %r : !t
}

// -----

// A tuple that is no more than an argument has no life of its own: the call uses its
// fields. One with two uses is a value like others.

!t = tensor<4xf32>
!p = !relax.tuple<!t, !t>
// CHECK-LABEL: relax.func impure @arguments
relax.func impure @arguments(%x: !t) -> !t {
  // CHECK-NEXT: %a = relax.nn.relu %x
  // CHECK-NEXT: %b = relax.nn.relu %x
  // CHECK-NEXT: %inner = relax.tuple(%b, %x)
  // CHECK-NEXT: %outer = relax.tuple(%a, %inner)
  // CHECK-NEXT: %c = relax.call_packed "f"(%outer)
  // CHECK-NEXT: relax.memory.kill_tensor %a
  // CHECK-NEXT: relax.memory.kill_tensor %b
  // CHECK-NEXT: %twice = relax.tuple(%c, %x)
  // CHECK-NEXT: relax.memory.kill_tensor %c
  // CHECK-NEXT: %d = relax.call_packed "g"(%twice)
  // CHECK-NEXT: %e = relax.call_packed "g"(%twice)
  // CHECK-NEXT: relax.vm.kill_object %twice
  // CHECK-NEXT: %r = relax.add %d, %e
  // CHECK-NEXT: relax.memory.kill_tensor %d
  // CHECK-NEXT: relax.memory.kill_tensor %e
  // CHECK-NEXT: relax.return %r
  %a = relax.nn.relu %x : (!t) -> !t
  %b = relax.nn.relu %x : (!t) -> !t
  %inner = relax.tuple(%b, %x) : !t, !t
  %outer = relax.tuple(%a, %inner) : !t, !p
  %c = relax.call_packed "f"(%outer) : (!relax.tuple<!t, !p>) -> !t
  %twice = relax.tuple(%c, %x) : !t, !t
  %d = relax.call_packed "g"(%twice) : (!p) -> !t
  %e = relax.call_packed "g"(%twice) : (!p) -> !t
  %r = relax.add %d, %e : (!t, !t) -> !t
  relax.return %r : !t
}
