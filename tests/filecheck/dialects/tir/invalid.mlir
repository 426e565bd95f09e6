// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

tir.func @f(%a: !tir.handle) {
  // CHECK: tir.match_buffer: !tir.buffer<?xf32> has 1 dynamic extents, but 0 are given
  %A = tir.match_buffer %a : !tir.buffer<?xf32>
}

// -----

tir.func @f(%a: !tir.handle) {
  // CHECK: tir.match_buffer: a buffer of rank 2 needs 2 strides or none, got 1
  %A = tir.match_buffer %a strides [1] : !tir.buffer<4x4xf32>
}

// -----

tir.func @f(%a: !tir.handle, %n: i32) {
  // CHECK: tir.match_buffer: stride operands need static_strides to say where they stand
  %A = "tir.match_buffer"(%a, %n) <{operandSegmentSizes = array<i32: 1, 0, 1, 0>}> : (!tir.handle, i32) -> !tir.buffer<4xf32>
}

// -----

tir.func @f(%a: !tir.handle) {
  // CHECK: tir.match_buffer: 1 strides are dynamic, but 0 are given
  %A = "tir.match_buffer"(%a) <{static_strides = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!tir.handle) -> !tir.buffer<4xf32>
}

// -----

tir.func @f(%a: !tir.handle) {
  // CHECK: tir.match_buffer: axis separators must ascend within 0 and 1, got [2]
  %A = tir.match_buffer %a {axis_separators = array<i64: 2>} : !tir.buffer<4xf32>
}

// -----

tir.func @f(%a: !tir.handle) {
  // CHECK: tir.match_buffer: data_alignment must be positive, got 0
  %A = tir.match_buffer %a {data_alignment = 0 : i32} : !tir.buffer<4xf32>
}

// -----

tir.func @f(%a: !tir.handle) {
  tir.scope {
    // CHECK: tir.match_buffer: must be in the body of a tir.func itself
    %A = tir.match_buffer %a : !tir.buffer<4xf32>
  }
}

// -----

tir.func @f(%a: !tir.handle) {
  %h = tir.string "no parameter"
  // CHECK: tir.match_buffer: must match a parameter of the function
  %A = tir.match_buffer %h : !tir.buffer<4xf32>
}

// -----

// CHECK: tir.func @f: parameter 0 is matched by more than one buffer
tir.func @f(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  %B = tir.match_buffer %a : !tir.buffer<4xf32>
}

// -----

tir.func @f(%p: !tir.ptr<f32, "shared">) {
  // CHECK: tir.decl_buffer: a buffer in scope "global" cannot view a pointer in scope "shared"
  %A = tir.decl_buffer %p : !tir.buffer<4xf32>
}

// -----

tir.func @f(%a: !tir.handle, %i: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4x4xf32>
  // CHECK: tir.match_region: the region must have the rank of !tir.buffer<4x4xf32>, got 1 dimensions
  %V = tir.match_region %A[%i] : !tir.buffer<4xf32>
}

// -----

tir.func @f(%a: !tir.handle, %i: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  // CHECK: tir.match_region: a view of rank 2 cannot match a region of rank 1
  %V = tir.match_region %A[%i] : !tir.buffer<1x1xf32>
}

// -----

tir.func @f(%a: !tir.handle, %i: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  // CHECK: tir.match_region: !tir.buffer<1xi32> must have element type and scope of its source !tir.buffer<4xf32>
  %V = tir.match_region %A[%i] : !tir.buffer<1xi32>
}

// -----

tir.func @f(%a: !tir.handle, %i: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  // CHECK: tir.match_region: every dynamic extent of the region needs one operand
  %V = "tir.match_region"(%A, %i) <{static_extents = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>}> : (!tir.buffer<4xf32>, i32) -> !tir.buffer<1xf32>
}

// -----

tir.func @f() {
  // CHECK: tir.allocate: 1 extents are dynamic, but 0 are given
  %p = "tir.allocate"() <{static_extents = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 0, 0>}> : () -> !tir.ptr<f32>
}

// -----

tir.func @f() {
  // CHECK: tir.allocate_const: contents of type i32 for a pointer of type !tir.ptr<f32>
  %p = tir.allocate_const dense<1> : tensor<2xi32> : !tir.ptr<f32>
}

// -----

tir.func @f() {
  // CHECK: tir.allocate_const: the contents must be a dense attribute, or an index into the module's constants
  %p = tir.allocate_const "name" "contents" : !tir.ptr<f32>
}

// -----

tir.func @f(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  // CHECK: tir.data: the result must be !tir.ptr<f32>, got !tir.ptr<i32>
  %p = tir.data %A : !tir.ptr<i32>
}

// -----

tir.func @f(%a: !tir.handle, %i: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  // CHECK: tir.address_of: the result must be !tir.ptr<f32>, got !tir.ptr<i32>
  %p = tir.address_of %A[%i] : !tir.ptr<i32>
}

// -----

tir.func @f(%a: !tir.handle, %i: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4x4xf32>
  // CHECK: tir.load: !tir.buffer<4x4xf32> has rank 2, but 1 indices are given
  %x = tir.load %A[%i] : f32
}

// -----

tir.func @f(%a: !tir.handle, %i: f32) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  // CHECK: tir.load: index 0 must be an integer, got f32
  %x = tir.load %A[%i] : f32
}

// -----

tir.func @f(%a: !tir.handle, %i: i32, %v: vector<4xi32>) {
  %A = tir.match_buffer %a : !tir.buffer<4x4xf32>
  // CHECK: tir.load: only the last index may be a vector, index 0 is vector<4xi32>
  %x = tir.load %A[%v, %i] : vector<4xf32>
}

// -----

tir.func @f(%a: !tir.handle, %v: vector<[4]xi32>) {
  %A = tir.match_buffer %a : !tir.buffer<4xvector<[2]xf32>>
  // CHECK: tir.load: index and element must not both be scalable vectors
  %x = tir.load %A[%v] : vector<[8]xf32>
}

// -----

tir.func @f(%a: !tir.handle, %i: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  // CHECK: tir.load: !tir.buffer<4xf32> at these indices has type f32, not f16
  %x = tir.load %A[%i] : f16
}

// -----

tir.func @f(%a: !tir.handle, %i: i32, %p: vector<2xi1>) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  // CHECK: tir.load: the predicate must be i1, got vector<2xi1>
  %x = tir.load %A[%i] if %p : f32
}

// -----

tir.func @f(%a: !tir.handle, %i: i32, %x: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  // CHECK: tir.store: !tir.buffer<4xf32> at these indices has type f32, not i32
  tir.store %x, %A[%i] : i32
}

// -----

tir.func @f(%i: i32) {
  // CHECK: a value of type !tir.buffer<4xf32> must be defined by an op such as tir.match_buffer or tir.alloc_buffer, not by test.op
  %A = "test.op"() : () -> !tir.buffer<4xf32>
  %x = tir.load %A[%i] : f32
}

// -----

tir.func @f(%i: i32) {
  // CHECK: expected a !tir.buffer, got i32
  %x = tir.load %i[%i] : f32
}

// -----

tir.func @f() {
  // CHECK: %undefined is not defined above this use
  tir.evaluate
  tir.if %undefined {
  }
}

// -----

tir.func @f() {
  // CHECK: tir.shape_var: must be a scalar integer, got f32
  %n = tir.shape_var "n" : f32
}

// -----

// CHECK: tir.func @f: parameters and results must be scalars, vectors, handles or pointers, got index
tir.func @f(%n: index) {
}

// -----

// CHECK: tir.func @f: at most one result, got 2
tir.func @f() -> (i32, i32) {
}

// -----

// CHECK: tir.func @f: param_names must name every parameter
tir.func @f(%n: i32) attributes {param_names = []} {
}

// -----

// CHECK: tir.func @f: the body's arguments must be the parameters i32
"tir.func"() <{sym_name = "f", function_type = (i32) -> ()}> ({
^bb0(%n: i64):
  "tir.evaluate"() : () -> ()
}) : () -> ()

// -----

// CHECK: tir.buffer element type must be an integer of at most 64 bits, a float that TVM has, a custom dtype, a handle, a pointer or a rank-1 vector of 2 to 65535 lanes, got index
"test.op"() {t = !tir.buffer<4xindex>} : () -> ()

// -----

// CHECK: tir.buffer scope must not be empty, leave it out for "global"
"test.op"() {t = !tir.buffer<4xf32, "">} : () -> ()

// -----

tir.func @f(%n: i32, %m: i64) {
  // CHECK: tir.for: minimum and extent must have one type, got i32 and i64
  tir.for %i = %n to %n + %m {
  }
}

// -----

tir.func @f(%n: i32) {
  // CHECK: a range that does not start at the constant 0 is written `%lo to %lo + %extent`
  tir.for %i = %n to %n {
  }
}

// -----

tir.func @f(%n: i32, %m: i32) {
  // CHECK: the value before the `+` must be the one before the `to`
  tir.for %i = %n to %m + %n {
  }
}

// -----

tir.func @f(%n: i32) {
  %c0 = tir.const 0 : i32
  // CHECK: expected an operand as extent, got a literal
  tir.for %i = %c0 to 4 {
  }
}

// -----

tir.func @f(%n: i32) {
  // CHECK: tir.for: the body must have one argument of type i32
  "tir.for"(%n, %n) <{kind = #tir<for_kind serial>}> ({
    "tir.evaluate"() : () -> ()
  }) : (i32, i32) -> ()
}

// -----

tir.func @f(%n: i32) {
  // CHECK: tir.for: a thread tag is given exactly for loops of kind thread_binding
  "tir.for"(%n, %n) <{kind = #tir<for_kind thread_binding>}> ({
  ^bb0(%i: i32):
    "tir.evaluate"() : () -> ()
  }) : (i32, i32) -> ()
}

// -----

tir.func @f(%n: i32) {
  // CHECK: tir.while: the condition region must end in a tir.yield of an i1
  tir.while {
    tir.yield %n : i32
  } do {
  }
}

// -----

tir.func @f(%n: i32) {
  // CHECK: tir.attr: the value must be either an operand or an attribute
  "tir.attr"() <{key = "k", node_attr = 0 : i32, operandSegmentSizes = array<i32: 0, 0>}> ({
    "tir.evaluate"() : () -> ()
  }) : () -> ()
}

// -----

tir.func @f(%n: i32) {
  // CHECK: tir.launch_thread: "threadIdx.x" is no virtual thread axis
  tir.launch_thread %t = "threadIdx.x" to %n virtual {
  }
}

// -----

tir.func @f(%n: i32) {
  // CHECK: tir.launch_thread: the body must have one argument of type i32
  "tir.launch_thread"(%n) <{tag = "threadIdx.x"}> ({
    "tir.evaluate"() : () -> ()
  }) : (i32) -> ()
}

// -----

tir.func @f(%n: i32) {
  // CHECK: tir.let: a value of type i32 cannot be bound as i64
  %x = tir.let %n : i32 -> i64
}

// -----

tir.func @f() {
  %n = "test.op"() : () -> index
  // CHECK: tir.let: index is no TIR dtype; use an integer, a float, a handle, a pointer or a rank-1 vector
  %x = tir.let %n : index
}

// -----

tir.func @f(%p: i1) {
  // CHECK: tir.assert: the message must be either a string or an operand
  "tir.assert"(%p) : (i1) -> ()
}

// -----

tir.func @f(%n: i32, %m: i64) {
  // CHECK: tir.block: an iteration variable, its domain and its binding must have one type, got i32, i64
  tir.block (%v : S in [%n to %n + %n] = %m) {
  }
}

// -----

tir.func @f(%n: i32) {
  // CHECK: tir.block: kinds, domains, bindings and arguments must be one per iteration variable
  "tir.block"(%n) <{name = "", iter_kinds = [], operandSegmentSizes = array<i32: 1, 0, 0, 0>}> ({
    "tir.evaluate"() : () -> ()
  }) : (i32) -> ()
}

// -----

tir.func @f(%n: i32) {
  // CHECK: tir.block: iter_names must name every variable
  "tir.block"() <{name = "", iter_kinds = [], iter_names = ["i"], operandSegmentSizes = array<i32: 0, 0, 0, 0>}> ({
    "tir.evaluate"() : () -> ()
  }) : () -> ()
}

// -----

tir.func @f() {
  // CHECK: tir.block: more than one tir.reads
  tir.block {
    tir.reads
    tir.reads
  }
}

// -----

tir.func @f(%p: i1) {
  // CHECK: tir.block: tir.init must be before the statements of the body
  tir.block {
    tir.if %p {
    }
    tir.init {
    }
  }
}

// -----

tir.func @f() {
  // CHECK: 'tir.reads' expects parent op 'tir.block'
  tir.reads
}

// -----

tir.func @f(%a: !tir.handle, %i: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4x4xf32>
  tir.block {
    // CHECK: a region of !tir.buffer<4x4xf32> has 2 dimensions, got 1
    tir.reads %A[%i]
  }
}

// -----

tir.func @f(%a: !tir.handle, %i: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4x4xf32>
  tir.block {
    // CHECK: tir.writes: the buffers have 2 dimensions together, but 1 minima and 1 extents are given
    "tir.writes"(%A, %i) <{static_extents = array<i64: 1>, operandSegmentSizes = array<i32: 1, 1, 0>}> : (!tir.buffer<4x4xf32>, i32) -> ()
  }
}

// -----

tir.func @f(%a: !tir.handle, %i: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  tir.block {
    // CHECK: tir.writes: every dynamic extent needs one operand
    "tir.writes"(%A, %i) <{static_extents = array<i64: -9223372036854775808>, operandSegmentSizes = array<i32: 1, 1, 0>}> : (!tir.buffer<4xf32>, i32) -> ()
  }
}

// -----

tir.func @f() {
  // CHECK: tir.const: a value of type i32 for a result of type i64
  %0 = "tir.const"() <{value = 0 : i32}> : () -> i64
}

// -----

tir.func @f() {
  // CHECK: tir.const: the value must be an integer or a float of scalar type, got a value of type index
  %0 = "tir.const"() <{value = 0 : index}> : () -> index
}

// -----

tir.func @f() {
  // CHECK: expected an integer or a float, got "text"
  %0 = tir.const "text"
}

// -----

tir.func @f(%a: !tir.handle) {
  // CHECK: tir.add: operands must be integers or floats, got !tir.handle
  %0 = tir.add %a, %a : !tir.handle
}

// -----

tir.func @f(%a: i32) {
  // CHECK: tir.and: operands must be i1, got i32
  %0 = tir.and %a, %a : i32
}

// -----

tir.func @f(%a: i32) {
  // CHECK: tir.not: the operand must be i1, got i32
  %0 = tir.not %a : i32
}

// -----

tir.func @f(%a: i32, %b: i64) {
  // CHECK: tir.cmp: operands must have one type, got i32 and i64
  %0 = "tir.cmp"(%a, %b) <{predicate = #tir<cmp_predicate lt>}> : (i32, i64) -> i1
}

// -----

tir.func @f(%a: i32) {
  // CHECK: tir.cmp: the result must be i1, got i32
  %0 = "tir.cmp"(%a, %a) <{predicate = #tir<cmp_predicate lt>}> : (i32, i32) -> i32
}

// -----

tir.func @f(%p: vector<2xi1>, %x: f32) {
  // CHECK: tir.select: the condition must be i1, scalar or with the lanes of the values, got vector<2xi1> for values of type f32
  %0 = tir.select %p, %x, %x : vector<2xi1>, f32
}

// -----

tir.func @f(%p: i1, %x: f32) {
  // CHECK: tir.if_then_else: the false region must end in tir.yield
  %0 = tir.if_then_else %p -> f32 {
    tir.yield %x : f32
  } else {
    "test.termop"() : () -> ()
  }
}

// -----

tir.func @f(%p: i1, %x: f32, %y: f16) {
  // CHECK: tir.if_then_else: the false region yields f16, the result is f32
  %0 = tir.if_then_else %p -> f32 {
    tir.yield %x : f32
  } else {
    tir.yield %y : f16
  }
}

// -----

tir.func @f(%x: vector<4xf32>) {
  // CHECK: tir.cast: vector<4xf32> and vector<2xi32> must have the same lanes
  %0 = tir.cast %x : vector<4xf32> to vector<2xi32>
}

// -----

tir.func @f(%h: !tir.handle) {
  // CHECK: tir.cast: operands must be integers or floats, got !tir.handle
  %0 = tir.cast %h : !tir.handle to i64
}

// -----

tir.func @f(%x: i32) {
  // CHECK: tir.ramp: the result must be a vector of 2 lanes or more, got i32
  %0 = tir.ramp %x, %x : i32
}

// -----

tir.func @f(%x: i32) {
  // CHECK: tir.broadcast: vector<2x2xi32> is no TIR dtype
  %0 = "tir.broadcast"(%x) : (i32) -> vector<2x2xi32>
}

// -----

tir.func @f(%x: vector<4xi32>, %y: vector<4xf32>, %i: i32) {
  // CHECK: tir.shuffle: vectors must have fixed lanes of one element type, got vector<4xf32> beside i32
  %0 = tir.shuffle [%x, %y] [%i] : i32
}

// -----

tir.func @f(%x: vector<4xi32>, %i: i32) {
  // CHECK: tir.shuffle: the result must be vector<2xi32>, got i32
  %0 = tir.shuffle [%x] [%i, %i] : i32
}

// -----

tir.func @f(%x: vector<4xi32>, %i: f32) {
  // CHECK: tir.shuffle: indices must be integers
  %0 = tir.shuffle [%x] [%i] : i32
}

// -----

tir.func @f() {
  // CHECK: tir.shuffle: needs a vector and an index at least
  %0 = tir.shuffle [] [] : i32
}

// -----

tir.func @f(%x: f32) {
  // CHECK: tir.call: name the builtin without the prefix, as in "exp", got "tir.exp"
  %0 = tir.call "tir.exp"(%x) : (f32) -> f32
}

// -----

tir.func @f(%x: f32) {
  // CHECK: tir.call_func: no function @nowhere in the module
  tir.call_func @nowhere(%x) : (f32) -> ()
}

// -----

tir.func @g(%x: f32) {
}
tir.func @f(%x: i32) {
  // CHECK: tir.call_func: @g has type (f32) -> (), called with (i32) -> ()
  tir.call_func @g(%x) : (i32) -> ()
}

// -----

tir.func @f(%a: !tir.handle, %i: i32) {
  %A = tir.match_buffer %a {data_alignment = 64 : i32} : !tir.buffer<4xf32>
  // CHECK: tir.match_region: data_alignment 48 must divide that of the source, which is 64
  %V = tir.match_region %A[%i] {data_alignment = 48 : i32} : !tir.buffer<1xf32>
}

// -----

tir.func @f(%a: !tir.handle, %i: i32) {
  %A = tir.match_buffer %a {buffer_kind = #tir<buffer_kind auto_broadcast>} : !tir.buffer<4xf32>
  // CHECK: tir.match_region: a buffer of kind auto_broadcast can neither be matched nor match; both must be of the default kind
  %V = tir.match_region %A[%i] : !tir.buffer<1xf32>
}

// -----

tir.func @f(%a: !tir.handle, %i: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4x4xf32>
  // CHECK: tir.match_region: dimension 0 of the region, which the view lacks, must have extent 1, got 2
  %V = tir.match_region %A[%i to %i + 2, %i to %i + 4] : !tir.buffer<4xf32>
}

// -----

tir.func @f(%a: !tir.handle, %i: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4x4xf32>
  %c4 = tir.const 4 : i32
  // CHECK: tir.match_region: dimension 0 of the view has extent 3, but that of the region is 4
  %V = tir.match_region %A[%i, %i to %i + %c4] : !tir.buffer<3xf32>
}

// -----

tir.func @f(%p: i1, %n: i64) {
  // CHECK: tir.assert: a message that is an operand must be an i32, got i64
  tir.assert %p, %n
}

// -----

tir.func @f(%a: i32) {
  // CHECK: vector<1xi32>
  %v = tir.broadcast %a : vector<1xi32>
}

// -----

// CHECK: tir.func: the attribute 'target' must be a target, as in #tir.target<"cuda", arch = "sm_80">, got "cuda"
tir.func @f() attributes {target = "cuda"} {
}

// -----

tir.func @f(%n: i32) {
  // CHECK: tir.attr: the key 'thread_extent' is not written so; write tir.launch_thread
  tir.attr "thread_extent" ("threadIdx.x") = %n {
  }
}

// -----

tir.func @f(%n: i32) {
  // CHECK: tir.launch_thread: unknown thread axis 'threadIdx.w' (did you mean 'threadIdx.
  tir.launch_thread %t = "threadIdx.w" to %n {
  }
}

// -----

// CHECK: unknown target kind 'cud' (did you mean 'cuda'?)
tir.func @f() attributes {target = #tir.target<"cud">} {
}

// -----

// CHECK: tir.func @f: operand 0 of tir.evaluate, %y of tir.mul, is not defined where it is used
tir.func @f(%x: i32) {
  tir.evaluate %y : i32
  %y = tir.mul %x, %x : i32
}

// -----

// CHECK: tir.allocate: negative extent -2
tir.func @f() {
  %p = tir.allocate [4, -2] : !tir.ptr<f32>
}

// -----

// CHECK: tir.reads: the extent 300 of a region is no value of ui8, the type of its minimum; use a wider type
tir.func @f(%a: !tir.handle, %i: ui8) {
  %A = tir.match_buffer %a : !tir.buffer<300xf32>
  tir.block {
    tir.reads %A[%i to %i + 300]
  }
}
