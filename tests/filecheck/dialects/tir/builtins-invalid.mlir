// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

tir.func @f(%p: i32, %n: i32) {
  // CHECK: tir.access_ptr: the data must be a pointer, got i32; take the tir.data of a buffer
  %q = tir.access_ptr r %p[%n to %n + %n] : !tir.ptr<f32>
}

// -----

tir.func @f(%p: !tir.handle, %n: f32) {
  // CHECK: tir.access_ptr: the offset must be a scalar integer, got f32
  %q = tir.access_ptr r %p[%n to %n + %n] : !tir.ptr<f32>
}

// -----

tir.func @f(%p: !tir.handle, %n: i32, %m: vector<2xi32>) {
  // CHECK: tir.access_ptr: the extent must be a scalar integer, got vector<2xi32>
  %q = tir.access_ptr r %p[%n to %n + %m] : !tir.ptr<f32>
}

// -----

tir.func @f(%p: !tir.handle, %n: i32) {
  // CHECK: tir.access_ptr: offset and extent count elements of the result, and none is no type of an element
  %q = tir.access_ptr r %p[%n to %n + %n] : !tir.ptr<none>
}

// -----

tir.func @f(%p: !tir.ptr<f32, "shared">, %n: i32) {
  // CHECK: tir.access_ptr: data of type !tir.ptr<f32, "shared"> for a result of type !tir.ptr<f32>; both must be of one scope
  %q = tir.access_ptr r %p[%n to %n + %n] : !tir.ptr<f32>
}

// -----

tir.func @f(%p: !tir.handle, %n: i32) {
  // CHECK: Expected `r`, `w`, or `rw`
  %q = tir.access_ptr x %p[%n to %n + %n] : !tir.ptr<f32>
}

// -----

tir.func @f(%p: !tir.handle, %n: i32) {
  // CHECK: !tir.handle should be of base attribute tir.ptr
  %q = tir.access_ptr r %p[%n to %n + %n] : !tir.handle
}

// -----

tir.func @f(%t: i32) {
  // CHECK: tir.thread_allreduce: needs one destination for each source, got 0 sources and 0 destinations
  tir.thread_allreduce [] into [] over [%t]
}

// -----

tir.func @f(%x: f32, %t: i32) {
  %A = tir.alloc_buffer : !tir.buffer<f32>
  // CHECK: tir.thread_allreduce: needs one destination for each source, got 2 sources and 1 destinations
  tir.thread_allreduce [%x, %x] into [%A[]] over [%t]
}

// -----

tir.func @f(%x: f32, %t: i32) {
  %A = tir.alloc_buffer : !tir.buffer<1xf32>
  // CHECK: tir.thread_allreduce: the destinations have 1 indices, got 2
  tir.thread_allreduce [%x] into [%A[%t, %t]] over [%t]
}

// -----

tir.func @f(%x: f16, %t: i32) {
  %A = tir.alloc_buffer : !tir.buffer<1xf32>
  // CHECK: tir.thread_allreduce: a source of type f16 cannot go into an element of type f32
  tir.thread_allreduce [%x] into [%A[%t]] over [%t]
}

// -----

tir.func @f(%x: f32, %i: f32, %t: i32) {
  %A = tir.alloc_buffer : !tir.buffer<1xf32>
  // CHECK: tir.thread_allreduce: index 0 must be an integer, got f32
  tir.thread_allreduce [%x] into [%A[%i]] over [%t]
}

// -----

tir.func @f(%x: f32, %t: i32) {
  %A = tir.alloc_buffer : !tir.buffer<1xf32>
  // CHECK: tir.thread_allreduce: threads are thread variables or the constant 0, got a value of type f32
  tir.thread_allreduce [%x] into [%A[%t]] over [%x]
}

// -----

tir.func @f() {
  // CHECK: tir.reducer: an identity is an integer or a float of scalar type, and there is one at least, got []
  %r = "tir.reducer"() <{identity = []}> ({
    %c = tir.const 1 : i32
    tir.yield %c : i32
  }) : () -> !tir.reducer
}

// -----

tir.func @f() {
  // CHECK: expected an integer or a float, got "x"
  %r = tir.reducer (%x : f32, %y : f32) identity ["x"] {
    tir.yield %x : f32
  }
}

// -----

tir.func @f() {
  // CHECK: tir.reducer: identities of types f32 want two arguments of each, first all on the left, got f32, f16
  %r = tir.reducer (%x : f32, %y : f16) identity [0.0 : f32] {
    tir.yield %x : f32
  }
}

// -----

tir.func @f() {
  // CHECK: tir.reducer: the region must end in tir.yield
  %r = tir.reducer (%x : f32, %y : f32) identity [0.0 : f32] {
    "test.termop"() : () -> ()
  }
}

// -----

tir.func @f() {
  // CHECK: tir.reducer: the region yields f32, f32, the identities are of types f32
  %r = tir.reducer (%x : f32, %y : f32) identity [0.0 : f32] {
    tir.yield %x, %y : f32, f32
  }
}

// -----

tir.func @f() {
  %A = tir.alloc_buffer : !tir.buffer<f32>
  // CHECK: tir.reducer: the region only computes values, tir.load has an effect; compute the value before the reducer
  %r = tir.reducer (%x : f32, %y : f32) identity [0.0 : f32] {
    %z = tir.load %A[] : f32
    tir.yield %z : f32
  }
}

// -----

tir.func @f(%p: i1) {
  // CHECK: tir.if_then_else: the true region yields i1, i1, the result is i1
  %q = tir.if_then_else %p -> i1 {
    tir.yield %p, %p : i1, i1
  } else {
    tir.yield %p : i1
  }
}
