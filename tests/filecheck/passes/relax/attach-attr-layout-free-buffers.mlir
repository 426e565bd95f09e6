// RUN: xdsl-opt %s -p relax-attach-attr-layout-free-buffers --split-input-file --allow-unregistered-dialect | filecheck %s

// CASE: AttachAttrLayoutFreeBuffers.1
// A parameter after the inputs; the copy takes the place of the original.

!t = tensor<4x4xf32>
// CHECK: relax.func @main(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>)
relax.func @main(%x: !t, %y: !t) -> !t attributes {global_symbol = "main", num_input = 1 : i64} {
  // CHECK: relax.call_tir @matmul1(%x, %y)
  %r = relax.call_tir @matmul(%x, %y) : (!t, !t) -> !t
  relax.return %r : !t
}
// CHECK-NOT: @matmul(
// CHECK: tir.func @matmul1(%{{.*}}: !tir.handle, %{{.*}}: !tir.handle, %{{.*}}: !tir.handle) attributes {tir.noalias = true, layout_free_buffers = [1 : i32]} {
// CHECK-COUNT-3: tir.match_buffer
tir.func @matmul(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {tir.noalias = true} {
  %A = tir.match_buffer %a : !tir.buffer<4x4xf32>
  %B = tir.match_buffer %b : !tir.buffer<4x4xf32>
  %C = tir.match_buffer %c : !tir.buffer<4x4xf32>
}

// -----

// CASE: AttachAttrLayoutFreeBuffers.2, AttachAttrLayoutFreeBuffers.11
// A constant, whether TVM would have it inline or bound to a variable.

!t = tensor<4xf32>
// CHECK-LABEL: relax.func @constant
relax.func @constant(%x: !t) -> !t attributes {global_symbol = "constant", num_input = 1 : i64} {
  // CHECK: relax.call_tir @matmul1(%x, %{{.*}})
  %c = relax.constant dense<1.0> : tensor<4xf32>
  %r = relax.dataflow -> (!t) {
    %m = relax.call_tir @matmul(%x, %c) : (!t, !t) -> !t
    relax.output %m : !t
  }
  relax.return %r : !t
}
// CHECK: tir.func @matmul1({{.*}}layout_free_buffers = [1 : i32]
tir.func @matmul(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
}

// -----

// CASE: AttachAttrLayoutFreeBuffers.3
// Two calls with one list share a copy; @equal is structurally equal to @matmul.

!t = tensor<4xf32>
// CHECK-LABEL: relax.func @shared
relax.func @shared(%x: !t, %w1: !t, %w2: !t) -> !t attributes {global_symbol = "shared", num_input = 1 : i64} {
  // CHECK-NEXT: %a = relax.call_tir @matmul1(%x, %w1)
  // CHECK-NEXT: %b = relax.call_tir @matmul1(%a, %w2)
  // CHECK-NEXT: %c = relax.call_tir @matmul1(%b, %w2)
  %a = relax.call_tir @matmul(%x, %w1) : (!t, !t) -> !t
  %b = relax.call_tir @matmul(%a, %w2) : (!t, !t) -> !t
  %c = relax.call_tir @equal(%b, %w2) : (!t, !t) -> !t
  relax.return %c : !t
}
// CHECK: tir.func @matmul1
// CHECK-NOT: tir.func
tir.func @matmul(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
}
tir.func @equal(%x: !tir.handle, %y: !tir.handle, %z: !tir.handle) {
}

// -----

// CASE: AttachAttrLayoutFreeBuffers.4
// Other lists, other copies; a name that is taken is passed over.

!t = tensor<4xf32>
// CHECK-LABEL: relax.func @patterns
relax.func @patterns(%x: !t, %w1: !t, %w2: !t) -> !t attributes {global_symbol = "patterns", num_input = 1 : i64} {
  // CHECK-NEXT: %a = relax.call_tir @matmul1(%x, %w1)
  // CHECK-NEXT: %b = relax.call_tir @matmul3(%w2, %a)
  %a = relax.call_tir @matmul(%x, %w1) : (!t, !t) -> !t
  %b = relax.call_tir @matmul(%w2, %a) : (!t, !t) -> !t
  relax.return %b : !t
}
tir.func @matmul(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
}
tir.func @matmul2(%a: !tir.handle) attributes {global_symbol = "matmul2"} {
}
// CHECK: tir.func @matmul2
// CHECK: tir.func @matmul1({{.*}}layout_free_buffers = [1 : i32]
// CHECK: tir.func @matmul3({{.*}}layout_free_buffers = [0 : i32]

// -----

// CASE: AttachAttrLayoutFreeBuffers.5
// Without num_input and constants the list is empty.

!t = tensor<4xf32>
// CHECK-LABEL: relax.func @nothing
relax.func @nothing(%x: !t, %y: !t) -> !t attributes {global_symbol = "nothing"} {
  // CHECK-NEXT: relax.call_tir @f1(%x, %y)
  %a = relax.call_tir @f(%x, %y) : (!t, !t) -> !t
  relax.return %a : !t
}
// CHECK: tir.func @f1({{.*}}layout_free_buffers = []
// CHECK-NOT: tir.func
tir.func @f(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
}

// -----

// CASE: AttachAttrLayoutFreeBuffers.6, AttachAttrLayoutFreeBuffers.7
// Several positions, a weight given twice; all parameters free, and none.

!t = tensor<4xf32>
// CHECK-LABEL: relax.func @several
relax.func @several(%x: !t, %w: !t) -> !t attributes {global_symbol = "several", num_input = 1 : i64} {
  // CHECK: relax.call_tir @f1(%x, %w, %c)
  // CHECK: relax.call_tir @f1(%{{.*}}, %w, %w)
  %c = relax.constant dense<1.0> : tensor<4xf32>
  %a = relax.call_tir @f(%x, %w, %c) : (!t, !t, !t) -> !t
  %b = relax.call_tir @f(%a, %w, %w) : (!t, !t, !t) -> !t
  relax.return %b : !t
}
// CHECK-LABEL: relax.func @all
relax.func @all(%x: !t, %w: !t) -> !t attributes {global_symbol = "all", num_input = 0 : i64} {
  // CHECK-NEXT: relax.call_tir @f2(%w, %x, %w)
  %a = relax.call_tir @f(%w, %x, %w) : (!t, !t, !t) -> !t
  relax.return %a : !t
}
// CHECK-LABEL: relax.func @none
relax.func @none(%x: !t, %w: !t) -> !t attributes {global_symbol = "none", num_input = 3 : i64} {
  // CHECK-NEXT: relax.call_tir @f3(%w, %x, %w)
  %a = relax.call_tir @f(%w, %x, %w) : (!t, !t, !t) -> !t
  relax.return %a : !t
}
// CHECK: tir.func @f1({{.*}}layout_free_buffers = [1 : i32, 2 : i32]
// CHECK: tir.func @f2({{.*}}layout_free_buffers = [0 : i32, 1 : i32, 2 : i32]
// CHECK: tir.func @f3({{.*}}layout_free_buffers = []
tir.func @f(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle, %d: !tir.handle) {
}

// -----

// CASE: AttachAttrLayoutFreeBuffers.8
// In a branch, outside of dataflow blocks, and in a function that another one calls.

!t = tensor<4xf32>
// CHECK-LABEL: relax.func @branch
relax.func @branch(%c: tensor<i1>, %x: !t, %w: !t) -> !t attributes {global_symbol = "branch", num_input = 2 : i64} {
  // CHECK: relax.call_tir @f1(%x, %w)
  // CHECK: relax.call @inner(%x, %w)
  %r = relax.if %c : tensor<i1> -> !t {
    %a = relax.call_tir @f(%x, %w) : (!t, !t) -> !t
    relax.yield %a : !t
  } else {
    %a = relax.call @inner(%x, %w) : (!t, !t) -> !t
    relax.yield %a : !t
  }
  relax.return %r : !t
}
relax.func @inner(%x: !t, %w: !t) -> !t attributes {num_input = 1 : i64} {
  // CHECK: relax.call_tir @f2(%w, %x)
  %a = relax.call_tir @f(%w, %x) : (!t, !t) -> !t
  relax.return %a : !t
}
tir.func @f(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
}
// CHECK: tir.func @f1({{.*}}layout_free_buffers = [1 : i32]
// CHECK: tir.func @f2({{.*}}layout_free_buffers = [0 : i32]

// -----

// CASE: AttachAttrLayoutFreeBuffers.9
// A public function stays, and its copy is private; so does what is only declared.

!t = tensor<4xf32>
// CHECK-LABEL: relax.func @public
relax.func @public(%x: !t) -> !t attributes {global_symbol = "public", num_input = 0 : i64} {
  // CHECK-NEXT: relax.call_tir @f1(%x)
  // CHECK-NEXT: relax.call_tir @declared(%{{.*}})
  %a = relax.call_tir @f(%x) : (!t) -> !t
  %b = relax.call_tir @declared(%a) : (!t) -> !t
  relax.return %b : !t
}
// CHECK: tir.func @f(%{{.*}}: !tir.handle, %{{.*}}: !tir.handle) attributes {global_symbol = "f"}
// CHECK: tir.func @declared(!tir.handle, !tir.handle)
// CHECK: tir.func @f1(%{{.*}}: !tir.handle, %{{.*}}: !tir.handle) attributes {layout_free_buffers = [0 : i32]}
tir.func @f(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "f"} {
}
tir.func @declared(!tir.handle, !tir.handle)

// -----

// CASE: AttachAttrLayoutFreeBuffers.10
// Another name of a weight, or what is computed from one, is not the weight.

!t = tensor<4xf32>
// CHECK-LABEL: relax.func @names
relax.func @names(%w: !t, %p: !relax.tuple<!t, !t>) -> !t attributes {global_symbol = "names", num_input = 0 : i64} {
  // CHECK: relax.call_tir @f1(%w1, %w2, %w3, %w4)
  %w1 = relax.alias %w : !t -> !t
  %s = relax.shape [4]
  %w2 = relax.reshape %w, %s : (!t, !relax.shape<[4]>) -> !t
  %w3 = relax.get_item %p[0] : !relax.tuple<!t, !t> -> !t
  %w4 = relax.match_cast %w : !t -> !t
  %a = relax.call_tir @f(%w1, %w2, %w3, %w4) : (!t, !t, !t, !t) -> !t
  relax.return %a : !t
}
// CHECK: tir.func @f1({{.*}}layout_free_buffers = []
tir.func @f(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle, %d: !tir.handle, %e: !tir.handle) {
}

// -----

// CASE: AttachAttrLayoutFreeBuffers.12, AttachAttrLayoutFreeBuffers.13
// Other calls and operators stay as they are, and what they call.

!t = tensor<4xf32>
// CHECK-LABEL: relax.func impure @others
relax.func impure @others(%x: !t, %w: !t) -> !t attributes {global_symbol = "others", num_input = 1 : i64} {
  // CHECK-NEXT: %[[O:.*]] = relax.builtin.alloc_tensor
  // CHECK-NEXT: relax.call impure @by_call(%x, %[[O]])
  // CHECK-NEXT: %[[A:.*]] = relax.add %[[O]], %w
  // CHECK-NEXT: %[[B:.*]] = relax.call_tir_inplace @in_place(%[[A]], %w) inplace [0]
  // CHECK-NEXT: %[[C:.*]] = relax.call_tir_with_grad @with_grad(%[[B]], %w)
  // CHECK-NEXT: %[[D:.*]] = relax.call_dps_packed "packed"(%[[C]], %w)
  // CHECK-NEXT: %[[E:.*]] = relax.call_packed "packed"(%[[D]], %w)
  // CHECK-NEXT: relax.return %[[E]]
  %o = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
  relax.call impure @by_call(%x, %o) : (!t, !t) -> ()
  %a = relax.add %o, %w : (!t, !t) -> !t
  %b = relax.call_tir_inplace @in_place(%a, %w) inplace [0] : (!t, !t) -> !t
  %c = relax.call_tir_with_grad @with_grad(%b, %w) grad "gradient" {} : (!t, !t) -> !t
  %d = relax.call_dps_packed "packed"(%c, %w) : (!t, !t) -> !t
  %e = relax.call_packed "packed"(%d, %w) : (!t, !t) -> !t
  relax.return %e : !t
}
// CHECK: tir.func @by_call(%{{.*}}: !tir.handle, %{{.*}}: !tir.handle) {
tir.func @by_call(%a: !tir.handle, %b: !tir.handle) {
}
// CHECK: tir.func @in_place(%{{.*}}: !tir.handle, %{{.*}}: !tir.handle) {
tir.func @in_place(%a: !tir.handle, %b: !tir.handle) {
}
// CHECK: tir.func @with_grad(%{{.*}}: !tir.handle, %{{.*}}: !tir.handle, %{{.*}}: !tir.handle) {
tir.func @with_grad(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
}

// -----

// What a call may write is not known before the program runs, under any name: %v is
// passed on as a field of a tuple, %u through branches, %c to an unknown operation, %i is
// written in place.

!t = tensor<4xf32>
// CHECK-LABEL: relax.func impure @written
relax.func impure @written(%b: tensor<i1>, %w: !t, %v: !t, %u: !t, %i: !t) -> !t attributes {global_symbol = "written", num_input = 1 : i64} {
  // CHECK: relax.call_tir @f1(%w, %v, %u, %c, %d, %i)
  %c = relax.constant dense<1.0> : tensor<4xf32>
  %d = relax.constant dense<2.0> : tensor<4xf32>
  %a = relax.call_tir @f(%w, %v, %u, %c, %d, %i) : (!t, !t, !t, !t, !t, !t) -> !t
  %p = relax.dataflow -> (!relax.tuple<!t, !t>) {
    %t = relax.tuple(%v, %a) : !t, !t
    relax.output %t : !relax.tuple<!t, !t>
  }
  %q = relax.get_item %p[0] : !relax.tuple<!t, !t> -> !t
  %r = relax.if %b : tensor<i1> -> !t {
    relax.yield %u : !t
  } else {
    relax.yield %a : !t
  }
  relax.call impure @write(%q) : (!t) -> ()
  relax.call impure @write(%r) : (!t) -> ()
  "strange.op"(%c) : (!t) -> ()
  %j = relax.call_tir_inplace @in_place(%i, %w) inplace [0] : (!t, !t) -> !t
  relax.print "{}"(%w) : (!t) -> ()
  relax.return %a : !t
}
// CHECK: tir.func @f1({{.*}}layout_free_buffers = [0 : i32, 4 : i32]
tir.func @f(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle, %d: !tir.handle, %e: !tir.handle, %g: !tir.handle, %h: !tir.handle) {
}
tir.func @in_place(%a: !tir.handle, %b: !tir.handle) {
}
tir.func @write(%a: !tir.handle) {
}

// -----

// Symbolic dimensions that no buffer tells are passed on.

!t = tensor<?xf32, #relax.dims<[n]>>
// CHECK-LABEL: relax.func @symbolic
relax.func @symbolic<n>(%x: !t, %w: !t) -> !t attributes {global_symbol = "symbolic", num_input = 1 : i64} {
  // CHECK-NEXT: relax.call_tir @f1(%x, %w) [n + 1]
  %a = relax.call_tir @f(%x, %w) [n + 1] : (!t, !t) -> !t
  relax.return %a : !t
}
// CHECK: tir.func @f1({{.*}}layout_free_buffers = [1 : i32]
tir.func @f(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle, %n: i64) {
}

// -----

// CASE: AttachAttrLayoutFreeBuffers.16
// Nothing to do.

// CHECK: builtin.module {
// CHECK-NEXT: tir.func @f(%{{.*}}: !tir.handle) attributes {global_symbol = "f"} {
builtin.module {
  tir.func @f(%a: !tir.handle) attributes {global_symbol = "f"} {
  }
}

// -----

// CHECK: builtin.module {
// CHECK-NEXT: }
builtin.module {
}

// -----

// CASE: AttachAttrLayoutFreeBuffers.17
// Functions with the right list are called as they are, and copies are shared with
// functions that have it.

!t = tensor<4xf32>
// CHECK-LABEL: relax.func @again
relax.func @again(%x: !t, %w: !t) -> !t attributes {global_symbol = "again", num_input = 1 : i64} {
  // CHECK-NEXT: relax.call_tir @f1(%x, %w)
  // CHECK-NEXT: relax.call_tir @f1(%{{.*}}, %w)
  // CHECK-NEXT: relax.call_tir @f11(%w, %{{.*}})
  %a = relax.call_tir @f1(%x, %w) : (!t, !t) -> !t
  %b = relax.call_tir @f(%a, %w) : (!t, !t) -> !t
  %c = relax.call_tir @f1(%w, %b) : (!t, !t) -> !t
  relax.return %c : !t
}
// CHECK: tir.func @f1({{.*}}layout_free_buffers = [1 : i32]
// CHECK-NEXT: }
// CHECK-NEXT: tir.func @f11({{.*}}layout_free_buffers = [0 : i32]
tir.func @f1(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {layout_free_buffers = [1 : i32]} {
}
tir.func @f(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
}

// -----

// What a function that is called writes in place is not known, what it reads is.

!t = tensor<4xf32>
// CHECK-LABEL: relax.func @by_a_call
relax.func @by_a_call(%v: !t, %w: !t) -> !t attributes {global_symbol = "by_a_call", num_input = 0 : i64} {
  // CHECK: relax.call_tir @f1(%v, %w)
  %a = relax.call_tir @f(%v, %w) : (!t, !t) -> !t
  %b = relax.call @writes(%v) : (!t) -> !t
  %c = relax.call @reads(%w) : (!t) -> !t
  %d = relax.add %b, %c : (!t, !t) -> !t
  %e = relax.add %a, %d : (!t, !t) -> !t
  relax.return %e : !t
}
relax.func @writes(%x: !t) -> !t {
  %0 = relax.call_tir_inplace @in_place(%x) inplace [0] : (!t) -> !t
  relax.return %0 : !t
}
relax.func @reads(%x: !t) -> !t {
  %0 = relax.add %x, %x : (!t, !t) -> !t
  relax.return %0 : !t
}
tir.func @f(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
}
tir.func @in_place(%a: !tir.handle) {
}
// CHECK: tir.func @f1({{.*}}layout_free_buffers = [1 : i32]
