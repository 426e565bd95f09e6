// RUN: xdsl-opt %s -p relax-dataflow-use-inplace-calls --split-input-file --allow-unregistered-dialect | filecheck %s
// RUN: xdsl-opt %s -p relax-dataflow-use-inplace-calls,relax-legalize-ops,relax-to-non-dataflow,relax-call-tir-rewrite,relax-static-plan-block-memory,relax-lower-alloc-tensor,relax-kill-after-last-use --split-input-file --allow-unregistered-dialect | filecheck %s --check-prefix LOWER

// Broadcasting. A parameter is never written, nor an operand that is smaller than the
// result; two equal calls share a function; the legalized functions are gone.
// CASE: DataflowUseInplaceCalls.9, DataflowUseInplaceCalls.11

// CHECK-LABEL: relax.func @main
// CHECK: %z = relax.add %x, %y
// CHECK-NEXT: %a = relax.call_tir_inplace @add_inplace(%z, %y) inplace [0] : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %q = relax.call_tir_inplace @multiply_inplace(%a, %y) inplace [0]
// CHECK-NEXT: %r = relax.subtract %y, %y
// CHECK-NEXT: %s = relax.call_tir_inplace @subtract_inplace(%r, %r) inplace [1]
// CHECK-NEXT: %m = relax.call_tir_inplace @multiply_inplace(%q, %s) inplace [0]
// CHECK-NEXT: relax.output %m
// CHECK: tir.func @add_inplace(%[[A:.*]]: !tir.handle, %[[B:.*]]: !tir.handle) attributes {tir.noalias = true, param_names = ["A", "B"]}
// CHECK-DAG: %A = tir.match_buffer "A" %[[A]] {{.*}} : !tir.buffer<2x3xf32>
// CHECK-DAG: %B = tir.match_buffer "B" %[[B]] {{.*}} : !tir.buffer<1x3xf32>
// CHECK: tir.block "T_add"
// CHECK-NEXT: tir.reads %A[%[[I:.*]], %[[J:.*]]], %B[%{{.*}}, %[[J]]]
// CHECK-NEXT: tir.writes %A[%[[I]], %[[J]]]
// CHECK-NEXT: tir.load %A[%[[I]], %[[J]]]
// CHECK-NEXT: tir.load %B[%{{.*}}, %[[J]]]
// CHECK-NEXT: tir.add
// CHECK-NEXT: tir.store %{{.*}}, %A[%[[I]], %[[J]]]
// CHECK: tir.func @multiply_inplace
// A tensor that is given twice is no reason to believe that parameters are different.
// CHECK: tir.func @subtract_inplace(%{{.*}}: !tir.handle, %{{.*}}: !tir.handle) attributes {param_names = ["A", "B"]}
// CHECK-NOT: tir.func

// LOWER-LABEL: relax.func @main
// LOWER: %z = relax.memory.alloc_tensor
// LOWER-NEXT: kill_storage
// LOWER-NEXT: relax.call impure @add(%x, %y, %z)
// LOWER-NEXT: relax.call impure @add_inplace(%z, %y)
// LOWER-NEXT: relax.call impure @multiply_inplace(%z, %y)
// LOWER: relax.call impure @subtract(%y, %y, %r)
// LOWER-NEXT: relax.call impure @subtract_inplace(%r, %r)
// LOWER-NEXT: relax.call impure @multiply_inplace(%z, %r)
// LOWER: relax.return %z
!t = tensor<2x3xf32>
!u = tensor<1x3xf32>
relax.func @main(%x: !t, %y: !u) -> !t {
  %o = relax.dataflow -> (!t) {
    %z = relax.add %x, %y : (!t, !u) -> !t
    %a = relax.add %z, %y : (!t, !u) -> !t
    %q = relax.multiply %a, %y : (!t, !u) -> !t
    %r = relax.subtract %y, %y : (!u, !u) -> !u
    %s = relax.subtract %r, %r : (!u, !u) -> !u
    %m = relax.multiply %q, %s : (!t, !u) -> !t
    relax.output %m : !t
  }
  relax.return %o : !t
}

// -----

// An operand that is read several times for one element.
// CASE: DataflowUseInplaceCalls.10

// CHECK-LABEL: relax.func @main
// CHECK: relax.call_tir_inplace @silu_inplace(%z) inplace [0]
// CHECK: tir.func @silu_inplace(%[[A:.*]]: !tir.handle) attributes {tir.noalias = true
// CHECK: tir.match_buffer "A" %[[A]]
// CHECK: tir.block "silu"
// CHECK: tir.load %A[%[[I:.*]]]
// CHECK: tir.store %{{.*}}, %A[%[[I]]]
!t = tensor<4xf32>
relax.func @main(%x: !t) -> !t {
  %o = relax.dataflow -> (!t) {
    %z = relax.add %x, %x : (!t, !t) -> !t
    %a = relax.nn.silu %z : (!t) -> !t
    relax.output %a : !t
  }
  relax.return %o : !t
}

// -----

// Symbolic dimensions.
// CASE: DataflowUseInplaceCalls.12

// CHECK-LABEL: relax.func @main
// CHECK: %z = relax.add %x, %y
// CHECK-NEXT: %a = relax.call_tir_inplace @add_inplace(%z, %y) inplace [0]
// CHECK-NEXT: %s = relax.call_tir_inplace @subtract_inplace(%a, %a) inplace [1]
// CHECK-NEXT: relax.output %s
// CHECK: tir.func @add_inplace
// CHECK-DAG: %[[M:.*]] = tir.shape_var "a"
// CHECK-DAG: %[[N:.*]] = tir.shape_var "b"
// CHECK: tir.match_buffer "A" %{{.*}} [%[[M]], %[[N]]] : !tir.buffer<?x?xf32>
!t = tensor<?x?xf32, #relax.dims<[a, b]>>
relax.func @main<a, b>(%x: !t, %y: !t) -> !t {
  %o = relax.dataflow -> (!t) {
    %z = relax.add %x, %y : (!t, !t) -> !t
    %a = relax.add %z, %y : (!t, !t) -> !t
    %s = relax.subtract %a, %a : (!t, !t) -> !t
    relax.output %s : !t
  }
  relax.return %o : !t
}

// -----

// A shape that inference does not know.
// CASE: DataflowUseInplaceCalls.13

// CHECK-LABEL: relax.func @main
// CHECK: relax.add
// CHECK-NEXT: relax.add
// CHECK-NOT: tir.func
!t = tensor<?x?xf32, #relax.dims<[a, b]>>
!u = tensor<?x?xf32, #relax.dims<[c, d]>>
relax.func @main<a, b, c, d>(%x: !t, %y: !u) -> tensor<?x?xf32> {
  %o = relax.dataflow -> (tensor<?x?xf32>) {
    %z = relax.add %x, %y : (!t, !u) -> tensor<?x?xf32>
    %a = relax.add %z, %y : (tensor<?x?xf32>, !u) -> tensor<?x?xf32>
    relax.output %a : tensor<?x?xf32>
  }
  relax.return %o : tensor<?x?xf32>
}

// -----

// Operands that are needed later: by themselves, as outputs, under another name, in a
// tuple, and as a field of a tuple that is taken later.
// CASE: DataflowUseInplaceCalls.14

// CHECK-LABEL: relax.func @used_again
// CHECK-NOT: call_tir_inplace
!t = tensor<4xf32>
relax.func @used_again(%x: !t) -> !t {
  %o = relax.dataflow -> (!t) {
    %z = relax.add %x, %x : (!t, !t) -> !t
    %a = relax.nn.relu %z : (!t) -> !t
    %b = relax.matmul %z, %a : (!t, !t) -> tensor<f32>
    %r = relax.add %x, %b : (!t, tensor<f32>) -> !t
    relax.output %r : !t
  }
  relax.return %o : !t
}
// CHECK-LABEL: relax.func @output
// CHECK-NOT: call_tir_inplace
relax.func @output(%x: !t) -> !t {
  %o:2 = relax.dataflow -> (!t, !t) {
    %z = relax.add %x, %x : (!t, !t) -> !t
    %a = relax.nn.relu %z : (!t) -> !t
    relax.output %a, %z : !t, !t
  }
  relax.return %o#0 : !t
}
// CHECK-LABEL: relax.func @other_name
// CHECK-NOT: call_tir_inplace
relax.func @other_name(%x: !t) -> !t {
  %o:2 = relax.dataflow -> (!t, !t) {
    %z = relax.add %x, %x : (!t, !t) -> !t
    %y = relax.alias %z : !t -> !t
    %a = relax.nn.relu %z : (!t) -> !t
    relax.output %a, %y : !t, !t
  }
  relax.return %o#0 : !t
}
// CHECK-LABEL: relax.func @in_tuple
// CHECK-NOT: call_tir_inplace
relax.func @in_tuple(%x: !t) -> !relax.tuple<!t, !t> {
  %o:2 = relax.dataflow -> (!t, !relax.tuple<!t, !t>) {
    %z = relax.add %x, %x : (!t, !t) -> !t
    %y = relax.tuple(%x, %z) : !t, !t
    %a = relax.nn.relu %z : (!t) -> !t
    relax.output %a, %y : !t, !relax.tuple<!t, !t>
  }
  relax.return %o#1 : !relax.tuple<!t, !t>
}
// CHECK-LABEL: relax.func @field
// CHECK-NOT: call_tir_inplace @relu_inplace
// CHECK: relax.call_tir_inplace @add_inplace(%a, %f) inplace [1]
// CHECK-NOT: call_tir_inplace @relu_inplace
// CHECK: tir.func @add_inplace
relax.func @field(%x: !t) -> !t {
  %o = relax.dataflow -> (!t) {
    %z = relax.add %x, %x : (!t, !t) -> !t
    %y = relax.tuple(%z, %z) : !t, !t
    %a = relax.nn.relu %z : (!t) -> !t
    %f = relax.get_item %y[0] : !relax.tuple<!t, !t> -> !t
    %b = relax.add %a, %f : (!t, !t) -> !t
    relax.output %b : !t
  }
  relax.return %o : !t
}

// -----

// Parameters, values from outside, and what calls may return of them. A call that only
// sees what is made in the block may return nothing else.
// CASE: DataflowUseInplaceCalls.15

// CHECK-LABEL: relax.func @main
// CHECK-COUNT-5: relax.nn.relu
// CHECK: %f = relax.call_tir_inplace @relu_inplace(%e)
!t = tensor<4xf32>
relax.func @main(%x: !t) -> !t {
  %y = relax.add %x, %x : (!t, !t) -> !t
  %o:6 = relax.dataflow -> (!t, !t, !t, !t, !t, !t) {
    %a = relax.nn.relu %x : (!t) -> !t
    %b = relax.nn.relu %y : (!t) -> !t
    %c = relax.call @f(%x) : (!t) -> !t
    %c1 = relax.nn.relu %c : (!t) -> !t
    %d = relax.call_pure_packed "g"(%x) : (!t) -> !t
    %d1 = relax.nn.relu %d : (!t) -> !t
    %k = relax.constant dense<-2.0> : !t
    %l = relax.nn.relu %k : (!t) -> !t
    %z = relax.add %x, %x : (!t, !t) -> !t
    %e = relax.call @f(%z) : (!t) -> !t
    %f = relax.nn.relu %e : (!t) -> !t
    relax.output %a, %b, %c1, %d1, %l, %f : !t, !t, !t, !t, !t, !t
  }
  relax.return %o#5 : !t
}
relax.func @f(%x: !t) -> !t {
  relax.return %x : !t
}

// -----

// Operators that are not computed in place, and operands that do not fit.
// CASE: DataflowUseInplaceCalls.16

// CHECK-LABEL: relax.func @main
// CHECK-NOT: call_tir_inplace
!t = tensor<4xf32>
!a = tensor<4x!relax.any>
relax.func @main(%x: !t, %y: tensor<2x2xf32>) -> !t {
  %o:5 = relax.dataflow -> (!t, tensor<4xi1>, tensor<f32>, tensor<2x2xf32>, !a) {
    %z = relax.add %x, %x : (!t, !t) -> !t
    %e = relax.exp %z : (!t) -> !t
    %v = relax.add %x, %x : (!t, !t) -> !t
    %g = relax.greater %v, %x : (!t, !t) -> tensor<4xi1>
    %p = relax.add %x, %x : (!t, !t) -> !t
    %q = relax.matmul %p, %p : (!t, !t) -> tensor<f32>
    %i = relax.call_tir @id(%e) : (!t) -> !t
    %w = relax.add %q, %q : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %m = relax.add %w, %y : (tensor<f32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %n = relax.add %x, %x : (!t, !t) -> !a
    %l = relax.nn.relu %n : (!a) -> !a
    relax.output %i, %g, %q, %m, %l : !t, tensor<4xi1>, tensor<f32>, tensor<2x2xf32>, !a
  }
  relax.return %o#0 : !t
}
tir.func @id(%a: !tir.handle, %b: !tir.handle)

// -----

// Nothing happens outside of dataflow blocks.
// CASE: DataflowUseInplaceCalls.17

// CHECK-LABEL: relax.func @main
// CHECK: relax.nn.relu
// CHECK: tir.func @only
// CHECK-NOT: tir.func
!t = tensor<4xf32>
relax.func @main(%x: !t) -> !t {
  %z = relax.add %x, %x : (!t, !t) -> !t
  %a = relax.nn.relu %z : (!t) -> !t
  relax.return %a : !t
}
tir.func @only(%a: !tir.handle) {
}

// -----

// Of several operands the last is written; one that is given twice at its last place. In a
// chain each result takes the place of the one before. An output of the block is no
// operand to write, but may be written over one.
// CASE: DataflowUseInplaceCalls.18, DataflowUseInplaceCalls.20, DataflowUseInplaceCalls.21

// CHECK-LABEL: relax.func @main
// CHECK: %a = relax.call_tir_inplace @add_inplace(%z, %y) inplace [1]
// CHECK-NEXT: %b = relax.call_tir_inplace @add_inplace1(%a, %a) inplace [1]
// CHECK-NEXT: %c = relax.call_tir_inplace @relu_inplace(%b) inplace [0]
// CHECK-NEXT: %d = relax.call_tir_inplace @relu_inplace(%c) inplace [0]
// CHECK-NEXT: relax.output %d
// CHECK: tir.func @add_inplace(%{{.*}}) attributes {tir.noalias = true
// CHECK: tir.store %{{.*}}, %B
// CHECK: tir.func @add_inplace1(%{{.*}}) attributes {param_names
// CHECK: tir.store %{{.*}}, %B
!t = tensor<4xf32>
relax.func @main(%x: !t) -> !t {
  %o = relax.dataflow -> (!t) {
    %z = relax.add %x, %x : (!t, !t) -> !t
    %y = relax.multiply %x, %x : (!t, !t) -> !t
    %a = relax.add %z, %y : (!t, !t) -> !t
    %b = relax.add %a, %a : (!t, !t) -> !t
    %c = relax.nn.relu %b : (!t) -> !t
    %d = relax.nn.relu %c : (!t) -> !t
    relax.output %d : !t
  }
  relax.return %o : !t
}

// -----

// A cast is another name, before an operator and after it.
// CASE: DataflowUseInplaceCalls.19

// CHECK-LABEL: relax.func @main
// CHECK: %y = relax.match_cast %z
// CHECK-NEXT: %a = relax.call_tir_inplace @relu_inplace(%y) inplace [0]
// CHECK-NEXT: %b = relax.match_cast %a
!t = tensor<?xf32, #relax.dims<[n]>>
relax.func @main<n>(%x: !t) -> tensor<4xf32> {
  %o = relax.dataflow -> (tensor<4xf32>) {
    %z = relax.add %x, %x : (!t, !t) -> !t
    %y = relax.match_cast %z : !t -> !t
    %a = relax.nn.relu %y : (!t) -> !t
    %b = relax.match_cast %a : !t -> tensor<4xf32>
    relax.output %b : tensor<4xf32>
  }
  relax.return %o : tensor<4xf32>
}

// -----

// What a function captures is needed as long as the function.
// CASE: DataflowUseInplaceCalls.22

// CHECK-LABEL: relax.func @main
// CHECK: %a = relax.nn.relu %z
// CHECK: %b = relax.call_tir_inplace @add_inplace(%a, %g) inplace [1]
!t = tensor<4xf32>
relax.func @main(%x: !t) -> !t {
  %o = relax.dataflow -> (!t) {
    %z = relax.add %x, %x : (!t, !t) -> !t
    %f = relax.make_closure @lifted(%z) : (!t) -> !relax.object
    %a = relax.nn.relu %z : (!t) -> !t
    %g = relax.invoke_pure_closure %f() : !relax.object, () -> !t
    %b = relax.add %a, %g : (!t, !t) -> !t
    relax.output %b : !t
  }
  relax.return %o : !t
}
relax.func @lifted(%x: !t) -> !t {
  relax.return %x : !t
}

// -----

// A function literal needs what it captures as long as it is called.

// CHECK-LABEL: relax.func @literal
// CHECK: %a = relax.nn.relu %z
// CHECK: relax.call_tir_inplace @{{.*}}(%a)
!t = tensor<4xf32>
relax.func @literal(%x: !t) -> !t {
  %o:2 = relax.dataflow -> (!t, !t) {
    %z = relax.add %x, %x : (!t, !t) -> !t
    %f = relax.lambda "inner"(%y: !t) -> !t {
      %w = relax.add %y, %z : (!t, !t) -> !t
      relax.return %w : !t
    }
    %a = relax.nn.relu %z : (!t) -> !t
    %b = relax.nn.relu %a : (!t) -> !t
    %g = relax.call_indirect %f(%x) : !relax.func<(!t) -> !t>, (!t) -> !t
    %h = relax.nn.relu %g : (!t) -> !t
    relax.output %b, %h : !t, !t
  }
  relax.return %o#1 : !t
}

// -----

// Each block is looked at by itself, in branches as well.
// CASE: DataflowUseInplaceCalls.23

// CHECK-LABEL: relax.func @main
// CHECK: %a = relax.add %x, %x
// CHECK: relax.if
// CHECK: %b = relax.nn.relu %o
// CHECK-NEXT: %e = relax.call_tir_inplace @relu_inplace(%b)
// CHECK: %f = relax.nn.relu %r
!t = tensor<4xf32>
relax.func @main(%x: !t, %c: tensor<i1>) -> !t {
  %o = relax.dataflow -> (!t) {
    %a = relax.add %x, %x : (!t, !t) -> !t
    relax.output %a : !t
  }
  %r = relax.if %c : tensor<i1> -> !t {
    %i = relax.dataflow -> (!t) {
      %b = relax.nn.relu %o : (!t) -> !t
      %e = relax.nn.relu %b : (!t) -> !t
      relax.output %e : !t
    }
    relax.yield %i : !t
  } else {
    relax.yield %x : !t
  }
  %s = relax.dataflow -> (!t) {
    %f = relax.nn.relu %r : (!t) -> !t
    relax.output %f : !t
  }
  relax.return %s : !t
}

// -----

// An operator that is not legalized: it is declared to return more than its inference
// proves.
// CASE: DataflowUseInplaceCalls.24

// CHECK-LABEL: relax.func @main
// CHECK: relax.add %z, %y
// CHECK-NOT: tir.func
!t = tensor<?xf32, #relax.dims<[n]>>
!u = tensor<?xf32, #relax.dims<[m]>>
relax.func @main<n, m>(%x: !t, %y: !u) -> !t {
  %o = relax.dataflow -> (!t) {
    %z = relax.add %x, %x : (!t, !t) -> !t
    %a = relax.add %z, %y : (!t, !u) -> !t
    relax.output %a : !t
  }
  relax.return %o : !t
}

// -----

// Constants are never written, wherever they stand and whatever becomes of them.
// CASE: DataflowUseInplaceCalls.25

// CHECK-LABEL: relax.func @main
// CHECK: %a = relax.call_tir_inplace @[[F:.*]](%z{{.*}}) inplace [0]
// CHECK-NEXT: %b = relax.call_tir_inplace @[[G:.*]]({{.*}}%a) inplace {{\[[01]\]}}
// CHECK-NEXT: %d = relax.add %c, %c
!t = tensor<2x3xf32>
!s = tensor<f32>
relax.func @main(%x: !t) -> !t {
  %o:2 = relax.dataflow -> (!t, !s) {
    %c = relax.constant dense<2.0> : !s
    %z = relax.add %x, %x : (!t, !t) -> !t
    %a = relax.add %z, %c : (!t, !s) -> !t
    %b = relax.add %c, %a : (!s, !t) -> !t
    %d = relax.add %c, %c : (!s, !s) -> !s
    relax.output %b, %d : !t, !s
  }
  relax.return %o#0 : !t
}

// -----

// What may become a view is memory of its operand, and so are tensors on one storage.

// CHECK-LABEL: relax.func @main
// CHECK: %a = relax.nn.relu %y
// CHECK: %b = relax.call_tir_inplace @{{.*}}(%a, %z) inplace [1]
// CHECK: %d = relax.nn.relu %u
// CHECK: %e = relax.call_tir_inplace @{{.*}}(%d, %w) inplace [1]
!t = tensor<4xf32>
relax.func @main(%x: !t) -> !t {
  %s = relax.shape [4]
  %o:2 = relax.dataflow -> (!t, !t) {
    %z = relax.add %x, %x : (!t, !t) -> !t
    %y = relax.reshape %z, %s : (!t, !relax.shape<[4]>) -> !t
    %a = relax.nn.relu %y : (!t) -> !t
    %b = relax.add %a, %z : (!t, !t) -> !t
    %w = relax.multiply %x, %x : (!t, !t) -> !t
    %u = relax.memory.view %w shape %s : !relax.shape<[4]> : !t -> !t
    %d = relax.nn.relu %u : (!t) -> !t
    %e = relax.add %d, %w : (!t, !t) -> !t
    relax.output %b, %e : !t, !t
  }
  relax.return %o#0 : !t
}

// -----

// Two views of one tensor: writing one changes elements of the other that are read later.

// CHECK-LABEL: relax.func @main
// CHECK-NOT: call_tir_inplace
!t = tensor<4xf32>
!p = !relax.prim<i64, 4>
!s = !relax.shape<[3]>
relax.func @main(%x: !t) -> tensor<3xf32> {
  %s = relax.shape [3]
  %f = relax.prim_value 4 : i64
  %o = relax.dataflow -> (tensor<3xf32>) {
    %z = relax.add %x, %x : (!t, !t) -> !t
    %y = relax.memory.view %z shape %s : !s : !t -> tensor<3xf32>
    %u = relax.memory.view %z shape %s : !s at %f : !p : !t -> tensor<3xf32>
    %a = relax.add %y, %u : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    relax.output %a : tensor<3xf32>
  }
  relax.return %o : tensor<3xf32>
}

// -----

// Symbols that no buffer tells follow after the outputs.

// CHECK-LABEL: relax.func @symbols
// CHECK: %a = relax.call_tir_inplace @relu_inplace(%z) [n] inplace [0]
// CHECK: tir.func @relu_inplace(%{{.*}}: !tir.handle, %{{.*}}: i64)
// LOWER-LABEL: relax.func @symbols
// LOWER: relax.call impure @add(
// LOWER-NEXT: %[[N:.*]] = relax.prim_value n : i64
// LOWER-NEXT: relax.call impure @relu_inplace(%z, %[[N]])
!t = tensor<?xf32, #relax.dims<[n * 2]>>
relax.func @symbols<n>(%x: !t, %y: tensor<?xf32, #relax.dims<[n]>>) -> !t {
  %o = relax.dataflow -> (!t) {
    %z = relax.add %x, %x : (!t, !t) -> !t
    %a = relax.nn.relu %z : (!t) -> !t
    relax.output %a : !t
  }
  relax.return %o : !t
}

// -----

// A name that is taken, and an operation of another dialect that may keep what it sees.

// CHECK-LABEL: relax.func @main
// CHECK: "test.op"(%z)
// CHECK: %a = relax.nn.relu %z
// CHECK: %b = relax.call_tir_inplace @relu1_inplace1(%a)
!t = tensor<4xf32>
relax.func @main(%x: !t) -> !t {
  %o = relax.dataflow -> (!t) {
    %z = relax.add %x, %x : (!t, !t) -> !t
    "test.op"(%z) : (!t) -> ()
    %a = relax.nn.relu %z : (!t) -> !t
    %b = relax.nn.relu %a : (!t) -> !t
    relax.output %b : !t
  }
  relax.return %o : !t
}
tir.func @relu(%a: !tir.handle)
tir.func @relu1_inplace(%a: !tir.handle)
