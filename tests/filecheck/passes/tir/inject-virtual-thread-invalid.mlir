// RUN: xdsl-opt %s -p tir-inject-virtual-thread --verify-diagnostics --split-input-file | filecheck %s

// CASE: InjectVirtualThread.9
// CHECK: tir.launch_thread in @extent: virtual threads need an extent that is a constant; specialize the function, or simplify it first
tir.func @extent(%n: i32) {
  tir.launch_thread %v = "vthread" to %n virtual {
    tir.evaluate %v : i32
  }
}

// -----

// CASE: InjectVirtualThread.9
// CHECK: tir.while in @repeated must not be in virtual threads; write a tir.for with a bound
tir.func @repeated(%q: i1) {
  %c2 = tir.const 2 : i32
  tir.launch_thread %v = "vthread" to %c2 virtual {
    tir.while {
      tir.yield %q : i1
    } do {
      tir.evaluate %v : i32
    }
  }
}

// -----

// CHECK: tir.ret in @returned must not be in virtual threads; return after the launch
tir.func @returned() -> i32 {
  %c2 = tir.const 2 : i32
  tir.launch_thread %v = "vthread" to %c2 virtual {
    tir.ret %v : i32
  }
}

// -----

// CHECK: tir.block "B" in @blocks must not be in virtual threads; run tir-lower-opaque-block and tir-flatten-buffer first
tir.func @blocks() {
  %c2 = tir.const 2 : i32
  tir.launch_thread %v = "vthread" to %c2 virtual {
    tir.block "B" {
      tir.evaluate %v : i32
    }
  }
}

// -----

// CASE: InjectVirtualThread.9
// CHECK: tir.allocate in @dimensions: memory that is multiplied for virtual threads has 2 dimensions, where one is needed; run tir-flatten-buffer first
tir.func @dimensions() {
  %c2 = tir.const 2 : i32
  tir.launch_thread %v = "vthread" to %c2 virtual {
    %p = tir.allocate [2, 2] : !tir.ptr<i32>
    %B = tir.decl_buffer %p : !tir.buffer<4xi32>
    tir.store %v, %B[%v] : i32
  }
}

// -----

// CASE: InjectVirtualThread.9
// CHECK: tir.decl_buffer in @view is on memory that is multiplied for virtual threads, with other dimensions, elements, strides or offset; declare it as the memory is allocated, or run tir-flatten-buffer first
tir.func @view() {
  %c2 = tir.const 2 : i32
  tir.launch_thread %v = "vthread" to %c2 virtual {
    %p = tir.allocate [4] : !tir.ptr<i32>
    %B = tir.decl_buffer %p : !tir.buffer<2x2xi32>
    tir.store %v, %B[%v, %v] : i32
  }
}

// -----

// CASE: InjectVirtualThread.9
// CHECK: tir.call in @bare uses the pointer of memory that is multiplied for virtual threads; pass it as a tir.access_ptr
tir.func @bare() {
  %c2 = tir.const 2 : i32
  %run = tir.string "Run"
  tir.launch_thread %v = "vthread" to %c2 virtual {
    %p = tir.allocate [4] : !tir.ptr<i32>
    tir.call "call_extern"(%run, %p, %v) : (!tir.handle, !tir.ptr<i32>, i32) -> ()
  }
}

// -----

// CHECK: tir.access_ptr in @elements counts in elements of 8 bytes, which do not divide memory that is multiplied for virtual threads; make its extent a multiple
tir.func @elements() {
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %run = tir.string "Run"
  tir.launch_thread %v = "vthread" to %c2 virtual {
    %p = tir.allocate [3] : !tir.ptr<i32>
    %q = tir.access_ptr w %p[%c0 to %c0 + %c2] : !tir.ptr<i64>
    tir.call "call_extern"(%run, %q, %v) : (!tir.handle, !tir.ptr<i64>, i32) -> ()
  }
}

// -----

// CHECK: tir.call in @barrier: tvm_storage_sync is among statements that depend on a virtual thread together, so each thread would meet the others alone; move it out
tir.func @barrier(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<2xi32>
  %c2 = tir.const 2 : i32
  %shared = tir.string "shared"
  tir.launch_thread %v = "vthread" to %c2 virtual {
    %x = tir.let %v : i32
    tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
    tir.store %x, %A[%v] : i32
  }
}
