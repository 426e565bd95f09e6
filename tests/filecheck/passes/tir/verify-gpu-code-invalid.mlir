// RUN: xdsl-opt %s -p 'tir-verify-gpu-code{max_threads_per_block=64 max_thread_x=32 max_thread_y=16 max_thread_z=8 max_vthread=2 max_shared_memory_per_block=256 max_local_memory_per_block=32 max_vector_bytes=16 max_kernels=2}' --split-input-file --verify-diagnostics | filecheck %s

tir.func @threads() {
  %c8 = tir.const 8 : i32
  %c2 = tir.const 2 : i32
  tir.launch_thread %b = "blockIdx.x" to %c8 {
    tir.launch_thread %x = "threadIdx.x" to %c8 {
      tir.launch_thread %y = "threadIdx.y" to %c8 {
        tir.launch_thread %v = "vthread" to %c2 virtual {
        }
      }
    }
  }
}
// CHECK: tir.launch_thread in @threads has 128 threads, more than max_threads_per_block = 64

// -----

tir.func @x() {
  %c33 = tir.const 33 : i32
  tir.launch_thread %x = "threadIdx.x" to %c33 {
  }
}
// CHECK: tir.launch_thread in @x has extent 33 on axis threadIdx.x, more than max_thread_x = 32

// -----

tir.func @y() {
  %c17 = tir.const 17 : i32
  tir.launch_thread %y = "threadIdx.y" to %c17 {
  }
}
// CHECK: tir.launch_thread in @y has extent 17 on axis threadIdx.y, more than max_thread_y = 16

// -----

// The axis is told by its tag, in loops as well.
tir.func @z() {
  %c0 = tir.const 0 : i32
  %c9 = tir.const 9 : i32
  tir.for %tx = %c0 to %c9 thread_binding "threadIdx.z" {
  }
}
// CHECK: tir.for in @z has extent 9 on axis threadIdx.z, more than max_thread_z = 8

// -----

tir.func @virtual() {
  %c3 = tir.const 3 : i32
  tir.launch_thread %v = "vthread.y" to %c3 virtual {
  }
}
// CHECK: tir.launch_thread in @virtual has extent 3 on axis vthread.y, more than max_vthread = 2

// -----

tir.func @shared() {
  %c1 = tir.const 1 : i32
  tir.launch_thread %x = "threadIdx.x" to %c1 {
    %s = tir.allocate [32] : !tir.ptr<f32, "shared">
    %d = tir.allocate [33] : !tir.ptr<vector<4xi8>, "shared.dyn">
  }
}
// CHECK: tir.launch_thread in @shared has 260 bytes of shared memory, more than max_shared_memory_per_block = 256

// -----

// Strides make room.
tir.func @buffer() {
  %c1 = tir.const 1 : i32
  tir.launch_thread %x = "threadIdx.x" to %c1 {
    %B = tir.alloc_buffer strides [17, 1] : !tir.buffer<4x16xf32, "shared">
  }
}
// CHECK: tir.launch_thread in @buffer has 272 bytes of shared memory, more than max_shared_memory_per_block = 256

// -----

tir.func @local() {
  %c1 = tir.const 1 : i32
  tir.launch_thread %x = "threadIdx.x" to %c1 {
    %l = tir.allocate [17] : !tir.ptr<f16, "local">
  }
}
// CHECK: tir.launch_thread in @local has 34 bytes of local memory, more than max_local_memory_per_block = 32

// -----

tir.func @vector_memory() {
  %c1 = tir.const 1 : i32
  tir.launch_thread %x = "threadIdx.x" to %c1 {
    %l = tir.allocate [1] : !tir.ptr<vector<8xf32>, "local">
  }
}
// CHECK: tir.allocate in @vector_memory has data of type vector<8xf32>, 32 bytes, more than max_vector_bytes = 16

// -----

tir.func @vector_buffer() {
  %c1 = tir.const 1 : i32
  tir.launch_thread %x = "threadIdx.x" to %c1 {
    %l = tir.alloc_buffer : !tir.buffer<1xvector<8xf32>, "local">
  }
}
// CHECK: tir.alloc_buffer in @vector_buffer has data of type vector<8xf32>, 32 bytes, more than max_vector_bytes = 16

// -----

tir.func @vector_cast(%h: vector<8xf16>) {
  %c1 = tir.const 1 : i32
  tir.launch_thread %x = "threadIdx.x" to %c1 {
    %f = tir.cast %h : vector<8xf16> to vector<8xf32>
  }
}
// CHECK: tir.cast in @vector_cast has data of type vector<8xf32>, 32 bytes, more than max_vector_bytes = 16

// -----

tir.func @vector_load(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<8xvector<8xf32>>
  %c1 = tir.const 1 : i32
  tir.launch_thread %x = "threadIdx.x" to %c1 {
    %l = tir.load %A[%x] : vector<8xf32>
  }
}
// CHECK: tir.load in @vector_load has data of type vector<8xf32>, 32 bytes, more than max_vector_bytes = 16

// -----

tir.func @vector_store(%a: !tir.handle, %v: vector<8xf32>) {
  %A = tir.match_buffer %a : !tir.buffer<8xvector<8xf32>>
  %c1 = tir.const 1 : i32
  tir.launch_thread %x = "threadIdx.x" to %c1 {
    tir.store %v, %A[%x] : vector<8xf32>
  }
}
// CHECK: tir.store in @vector_store has data of type vector<8xf32>, 32 bytes, more than max_vector_bytes = 16

// -----

tir.func @vector_index(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<64xi8>
  %c2 = tir.const 2 : i32
  tir.launch_thread %x = "threadIdx.x" to %c2 {
    %r = tir.ramp %x, %c2 : vector<8xi32>
    %l = tir.load %A[%r] : vector<8xi8>
  }
}
// CHECK: tir.load in @vector_index has an index of type vector<8xi32>, 32 bytes, more than max_vector_bytes = 16

// -----

tir.func @kernels() {
  %c1 = tir.const 1 : i32
  tir.launch_thread %x = "threadIdx.x" to %c1 {
  }
  tir.launch_thread %y = "blockIdx.x" to %c1 {
  }
  tir.scope {
    tir.launch_thread %z = "vthread" to %c1 virtual {
    }
  }
}
// CHECK: tir.launch_thread in @kernels is kernel 3 of its function, more than max_kernels = 2

// -----

tir.func @symbolic(%n: i32) {
  tir.launch_thread %x = "threadIdx.x" to %n {
  }
}
// CHECK: tir.launch_thread in @symbolic: the extent of axis threadIdx.x must be a constant integer

// -----

tir.func @reopened() {
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  tir.launch_thread %b = "blockIdx.x" to %c1 {
    tir.launch_thread %x = "threadIdx.x" to %c8 {
    }
    tir.launch_thread %x = "threadIdx.x" to %c1 {
    }
  }
}
// CHECK: tir.launch_thread in @reopened opens axis threadIdx.x with extent 1, but its kernel already has it with extent 8; launch a kernel for each
