// RUN: xdsl-opt %s -p tir-convert-to-gpu --split-input-file --verify-diagnostics | filecheck %s

tir.func @f() {
  %c2 = tir.const 2 : i32
  tir.launch_thread %v = "vthread.x" to %c2 virtual {
  }
}
// CHECK: cannot lower 'tir.launch_thread': "vthread.x" is no axis of the hardware; run the pass that lowers virtual threads

// -----

tir.func @f() {
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  tir.launch_thread %b = "blockIdx.x" to %c2 {
    tir.launch_thread %t = "threadIdx.x" to %c2 {
    }
    tir.launch_thread %t = "threadIdx.x" to %c4 {
    }
  }
}
// CHECK: tir.launch_thread in @f_kernel: opens "threadIdx.x" with another extent than a launch before it

// -----

tir.func @f(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %c2 = tir.const 2 : i32
  tir.launch_thread %b = "blockIdx.x" to %c2 {
    %n = tir.load %A[%b] : i32
    tir.launch_thread %t = "threadIdx.x" to %n {
    }
  }
}
// CHECK: tir.launch_thread in @f_kernel: the size depends on what the kernel computes, which its caller, tir.call_func in @f, cannot know

// -----

tir.func @f() {
  %c1024 = tir.const 1024 : i32
  %c2 = tir.const 2 : i32
  tir.launch_thread %s = "threadIdx.x" to %c1024 {
    tir.launch_thread %t = "threadIdx.y" to %c2 {
    }
  }
}
// CHECK: cannot lower 'tir.launch_thread': a block of 1024 * 2 * 1 threads is larger than 1024

// -----

tir.func @f() {
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %x = tir.const 0.0 : f32
  tir.launch_thread %t = "threadIdx.x" to %c2 {
    %p = tir.allocate [65536] : !tir.ptr<f32, "shared">
    %P = tir.decl_buffer %p : !tir.buffer<65536xf32, "shared">
    tir.store %x, %P[%c0] : f32
  }
}
// CHECK: cannot lower 'tir.allocate': the kernel's shared memory of 262144 bytes or more exceeds 49152

// -----

tir.func @f() {
  %c2 = tir.const 2 : i32
  tir.launch_thread %t = "threadIdx.x" to %c2 {
    %p = tir.allocate [4] : !tir.ptr<f32>
  }
}
// CHECK: cannot lower 'tir.allocate': a kernel cannot allocate memory in the scope "global"

// -----

tir.func @f() {
  %c2 = tir.const 2 : i32
  %s = tir.string "global"
  tir.launch_thread %t = "threadIdx.x" to %c2 {
    tir.call "tvm_storage_sync"(%s) : (!tir.handle) -> ()
  }
}
// CHECK: cannot lower 'tir.call': there is no barrier for the scope "global"

// -----

tir.func @f() {
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  tir.for %t = %c0 to %c2 thread_binding "threadIdx.x" {
  }
}
// CHECK: cannot lower 'tir.for': the loop is bound to "threadIdx.x"; run tir-lower-opaque-block and tir-convert-to-gpu

// -----

tir.func @f(%m: ui32, %x: i8, %n: i32) {
  %c1 = tir.const 1 : i32
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %c12 = tir.const 12 : i32
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %y = tir.call "tvm_warp_shuffle_down"(%m, %x, %c1, %c32, %c32) : (ui32, i8, i32, i32, i32) -> i8
  }
}
// CHECK: cannot lower 'tir.call': "tvm_warp_shuffle_down" moves integers of 32 and 64 bits and f16, f32 and f64, not i8; cast the value first

// -----

tir.func @f(%m: ui32, %x: bf16, %n: i32) {
  %c1 = tir.const 1 : i32
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %c12 = tir.const 12 : i32
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %y = tir.call "tvm_warp_shuffle_down"(%m, %x, %c1, %c32, %c32) : (ui32, bf16, i32, i32, i32) -> bf16
  }
}
// CHECK: cannot lower 'tir.call': "tvm_warp_shuffle_down" moves integers of 32 and 64 bits and f16, f32 and f64, not bf16

// -----

tir.func @f(%m: ui32, %x: vector<2xf16>, %n: i32) {
  %c1 = tir.const 1 : i32
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %c12 = tir.const 12 : i32
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %y = tir.call "tvm_warp_shuffle_down"(%m, %x, %c1, %c32, %c32) : (ui32, vector<2xf16>, i32, i32, i32) -> vector<2xf16>
  }
}
// CHECK: cannot lower 'tir.call': "tvm_warp_shuffle_down" moves integers of 32 and 64 bits and f16, f32 and f64, not vector<2xf16>

// -----

tir.func @f(%m: ui32, %x: f32, %n: i32) {
  %c1 = tir.const 1 : i32
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %c12 = tir.const 12 : i32
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %y = tir.call "tvm_warp_shuffle_down"(%m, %x, %c1, %c12, %c32) : (ui32, f32, i32, i32, i32) -> f32
  }
}
// CHECK: cannot lower 'tir.call': the width of "tvm_warp_shuffle_down" must be a constant power of two of at most 32

// -----

tir.func @f(%m: ui32, %x: f32, %n: i32) {
  %c1 = tir.const 1 : i32
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %c12 = tir.const 12 : i32
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %y = tir.call "tvm_warp_shuffle_down"(%m, %x, %c1, %n, %c32) : (ui32, f32, i32, i32, i32) -> f32
  }
}
// CHECK: cannot lower 'tir.call': the width of "tvm_warp_shuffle_down" must be a constant power of two of at most 32

// -----

tir.func @f(%m: ui32, %x: f32, %n: i32) {
  %c1 = tir.const 1 : i32
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %c12 = tir.const 12 : i32
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %y = tir.call "tvm_warp_shuffle_down"(%m, %x, %c1, %c64, %c64) : (ui32, f32, i32, i32, i32) -> f32
  }
}
// CHECK: cannot lower 'tir.call': "tvm_warp_shuffle_down" is for warps of another size than 32; compile for the target cuda from the start

// -----

tir.func @f(%m: ui32, %x: f32, %n: i32) {
  %c1 = tir.const 1 : i32
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %c12 = tir.const 12 : i32
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %y = tir.call "tvm_warp_shuffle_down"(%c0, %x, %c1, %c32, %c32) : (i32, f32, i32, i32, i32) -> f32
  }
}
// CHECK: cannot lower 'tir.call': "tvm_warp_shuffle_down" has the mask 0, which is Metal's; compile for the target cuda from the start

// -----

tir.func @f(%x: f32) {
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  tir.launch_thread %t = "threadIdx.x" to %c2 {
    %p = tir.allocate [1] : !tir.ptr<f32, "local">
    %R = tir.decl_buffer %p : !tir.buffer<1xf32, "local">
    tir.thread_allreduce [%x] into [%R[%c0]] over [%t]
  }
}
// CHECK: cannot lower 'tir.thread_allreduce': the builtin "tvm_thread_allreduce" has no lowering; rewrite it in terms of others, or run the pass that lowers it, LowerThreadAllreduce

// -----

tir.func @f(%a: !tir.handle, %x: f32) {
  %c2 = tir.const 2 : i32
  %A = tir.match_buffer %a : !tir.buffer<2xf32>
  %p = tir.data %A : !tir.ptr<f32>
  tir.launch_thread %t = "threadIdx.x" to %c2 {
    tir.attr "volatile_scope" (%p) = 1 : i32 {
      tir.store %x, %A[%t] : f32
    }
  }
}
// CHECK: cannot lower 'tir.attr': the attribute "volatile_scope" has no meaning here; run its pass

// -----

tir.func @f() attributes {target = #tir.target<"llvm">} {
  %c2 = tir.const 2 : i32
  tir.launch_thread %t = "threadIdx.x" to %c2 {
  }
}
// CHECK: tir.func @f: launches threads, and its target is llvm, which has none; bind the target cuda

// -----

tir.func @g() attributes {target = #tir.target<"cuda">, tir.is_global_func = true} {
}
tir.func @f() {
  %c2 = tir.const 2 : i32
  tir.launch_thread %t = "threadIdx.x" to %c2 {
    tir.call_func @g() : () -> ()
  }
}
// CHECK: cannot lower 'tir.call_func': a kernel calls @g; inline it, as tir-inline-private-functions does

// -----

tir.func @k(%a: !tir.handle) attributes {target = #tir.target<"cuda">, tir.is_global_func = true} {
  %A = tir.match_buffer %a : !tir.buffer<2xf32>
  %c2 = tir.const 2 : i32
  tir.launch_thread %t = "threadIdx.x" to %c2 {
  }
}
tir.func @f(%a: !tir.handle) {
  tir.call_func @k(%a) : (!tir.handle) -> ()
}
// CHECK: cannot lower 'tir.call': opaque handles cannot be passed; pass pointers

// -----

tir.func @f(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<64xf16>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c32 = tir.const 32 : i32
  %no = tir.const false
  %shape = tir.string "m16n8k32"
  %row = tir.string "row"
  %ta = tir.string "fp16"
  %layout = tir.string "col"
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %x = tir.allocate [8] : !tir.ptr<f16, "local">
    %p = tir.data %A : !tir.ptr<f16>
    %d = tir.call "ptx_mma"(%shape, %row, %layout, %ta, %ta, %ta, %x, %c0, %x, %c0, %x, %c0, %no) : (!tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "local">, i32, i1) -> f16
  }
}
// CHECK: cannot lower 'tir.call': there is no product m16n8k32 of f16; use one of m8n8k4, m16n8k8, m16n8k16

// -----

tir.func @f(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<64xf16>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c32 = tir.const 32 : i32
  %no = tir.const false
  %shape = tir.string "m16n8k16"
  %row = tir.string "row"
  %ta = tir.string "int2"
  %layout = tir.string "col"
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %x = tir.allocate [8] : !tir.ptr<f16, "local">
    %p = tir.data %A : !tir.ptr<f16>
    %d = tir.call "ptx_mma"(%shape, %row, %layout, %ta, %ta, %ta, %x, %c0, %x, %c0, %x, %c0, %no) : (!tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "local">, i32, i1) -> f16
  }
}
// CHECK: cannot lower 'tir.call': products of "int2" are not supported; use one of f16, bf16, tf32

// -----

tir.func @f(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<64xf16>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c32 = tir.const 32 : i32
  %no = tir.const false
  %shape = tir.string "m16n8k16"
  %row = tir.string "row"
  %ta = tir.string "bf16"
  %layout = tir.string "col"
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %x = tir.allocate [8] : !tir.ptr<f16, "local">
    %p = tir.data %A : !tir.ptr<f16>
    %d = tir.call "ptx_mma"(%shape, %row, %layout, %ta, %ta, %ta, %x, %c0, %x, %c0, %x, %c0, %no) : (!tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "local">, i32, i1) -> f16
  }
}
// CHECK: cannot lower 'tir.call': bf16 and bf16 do not multiply to bf16

// -----

tir.func @f(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<64xf16>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c32 = tir.const 32 : i32
  %no = tir.const false
  %shape = tir.string "m16n8k16"
  %row = tir.string "row"
  %ta = tir.string "fp16"
  %layout = tir.string "row"
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %x = tir.allocate [8] : !tir.ptr<f16, "local">
    %p = tir.data %A : !tir.ptr<f16>
    %d = tir.call "ptx_mma"(%shape, %row, %layout, %ta, %ta, %ta, %x, %c0, %x, %c0, %x, %c0, %no) : (!tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.handle, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "local">, i32, !tir.ptr<f16, "local">, i32, i1) -> f16
  }
}
// CHECK: cannot lower 'tir.call': m16n8k16 has A by row and B by column, not row and row

// -----

tir.func @f(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<64xf16>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c32 = tir.const 32 : i32
  %no = tir.const false
  %shape = tir.string "m16n8k16"
  %row = tir.string "row"
  %ta = tir.string ".b16"
  %layout = tir.string "row"
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %x = tir.allocate [8] : !tir.ptr<f16, "local">
    %p = tir.data %A : !tir.ptr<f16>
    %d = tir.call "ptx_cp_async"(%p, %c0, %p, %c0, %c8) : (!tir.ptr<f16>, i32, !tir.ptr<f16>, i32, i32) -> f16
  }
}
// CHECK: cannot lower 'tir.call': operand 0 of "ptx_cp_async" must point to shared memory

// -----

tir.func @early(%x: i32) {
  %c1 = tir.const 1 : i32
  tir.launch_thread %t = "threadIdx.x" to %c1 {
    tir.call "ptx_wait_barrier"(%c1) : (i32) -> ()
  }
}

// CHECK: cannot lower 'tir.call': "ptx_wait_barrier" is before "create_barriers"; create the barriers first

// -----

tir.func @shapeless(%x: i32) {
  %c1 = tir.const 1 : i32
  tir.launch_thread %t = "threadIdx.x" to %c1 {
    %f = tir.allocate [256] : !tir.ptr<f32, "wmma.accumulator">
  }
}

// CHECK: cannot lower 'tir.allocate': fragments need their shape as an annotation; run tir-infer-fragment

// -----

tir.func @elements(%x: i32) {
  %c1 = tir.const 1 : i32
  tir.launch_thread %t = "threadIdx.x" to %c1 {
    %f = tir.allocate [256] annotations {fragment_shape = "16, 16, 16"} : !tir.ptr<f32, "wmma.accumulator">
    %F = tir.decl_buffer %f : !tir.buffer<256xf32, "wmma.accumulator">
    %v = tir.load %F[%c1] : f32
  }
}

// CHECK: cannot lower 'tir.load': the elements of a fragment are not accessed one by one; store it in memory

// -----

tir.func @tile(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<256xf32>
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %p = tir.data %A : !tir.ptr<f32>
  tir.launch_thread %t = "threadIdx.x" to %c1 {
    %r = tir.allocate [8] : !tir.ptr<f32, "local">
    tir.call "mma_store"(%c8, %c8, %p, %r, %c1, %c8) : (i32, i32, !tir.ptr<f32>, !tir.ptr<f32, "local">, i32, i32) -> ()
  }
}

// CHECK: cannot lower 'tir.call': "mma_store" stores 16 rows and columns, not 8 and 8

// -----

tir.func @bulk(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<256xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %p = tir.data %A : !tir.ptr<f32>
  tir.launch_thread %t = "threadIdx.x" to %c1 {
    %s = tir.allocate [8] : !tir.ptr<f32, "shared">
    tir.call "create_barriers"(%c1) : (i32) -> ()
    tir.call "ptx_cp_async_bulk"(%s, %c0, %p, %c0, %c8, %c0) : (!tir.ptr<f32, "shared">, i32, !tir.ptr<f32>, i32, i32, i32) -> ()
  }
}

// CHECK: cannot lower 'tir.call': "ptx_cp_async_bulk" copies a multiple of 16 bytes, not 8

// -----

tir.func @f(%m: ui32, %x: i64) {
  %c32 = tir.const 32 : i32
  %add = tir.string "add"
  tir.launch_thread %t = "threadIdx.x" to %c32 {
    %y = tir.call "ptx_redux_sync"(%add, %m, %x) : (!tir.handle, ui32, i64) -> i64
  }
}
// CHECK: cannot lower 'tir.call': "ptx_redux_sync" combines integers of 32 bits, not i64; use shuffles
