// RUN: xdsl-opt %s -p tir-inject-double-buffer --verify-diagnostics --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p "tir-inject-double-buffer{split_loop=3}" --verify-diagnostics --split-input-file | filecheck %s --check-prefix ODD

// CASE: InjectDoubleBuffer.6
// CHECK: tir.attr in @no_loop: double_buffer_scope must be directly in a serial loop, and is in tir.func; move it there
// ODD: tir.attr in @no_loop: a loop cannot be split by 3 for two halves; set split_loop to 0, 1 or an even number
tir.func @no_loop(%n: i32) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %p = tir.allocate [4] : !tir.ptr<i32>
  %B = tir.decl_buffer %p : !tir.buffer<4xi32>
  tir.attr "double_buffer_scope" (%p) = 1 : i32 {
    tir.store %n, %B[%c0] : i32
  }
}

// -----

// CHECK: tir.attr in @parallel_loop: double_buffer_scope must be directly in a serial loop, and is in a parallel loop; move it there
tir.func @parallel_loop(%n: i32) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.for %i = %c0 to %n parallel {
    %p = tir.allocate [4] : !tir.ptr<i32>
    %B = tir.decl_buffer %p : !tir.buffer<4xi32>
    tir.attr "double_buffer_scope" (%p) = 1 : i32 {
      tir.store %n, %B[%c0] : i32
    }
  }
}

// -----

// CHECK: tir.attr in @condition: double_buffer_scope must be directly in a serial loop, and is in tir.if; move it there
tir.func @condition(%n: i32) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %q = tir.cmp lt %c0, %n : i32
  tir.for %i = %c0 to %n {
    %p = tir.allocate [4] : !tir.ptr<i32>
    %B = tir.decl_buffer %p : !tir.buffer<4xi32>
    tir.if %q {
    tir.attr "double_buffer_scope" (%p) = 1 : i32 {
      tir.store %n, %B[%c0] : i32
    }
    }
  }
}

// -----

// CASE: InjectDoubleBuffer.6
// CHECK: tir.allocate in @dimensions: double-buffered memory has 2 dimensions, where one is needed; run tir-flatten-buffer first
tir.func @dimensions(%n: i32) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.for %i = %c0 to %n {
    %p = tir.allocate [2, 2] : !tir.ptr<i32>
    %B = tir.decl_buffer %p : !tir.buffer<4xi32>
    tir.attr "double_buffer_scope" (%p) = 1 : i32 {
      tir.store %n, %B[%c0] : i32
    }
  }
}

// -----

// CASE: InjectDoubleBuffer.6
// CHECK: tir.allocate in @index: double-buffered memory has a buffer of other dimensions, elements, strides or offset; declare it as it is allocated
tir.func @index(%n: i32) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.for %i = %c0 to %n {
    %p = tir.allocate [4] : !tir.ptr<i32>
    %B = tir.decl_buffer %p : !tir.buffer<2x2xi32>
    tir.attr "double_buffer_scope" (%p) = 1 : i32 {
      tir.store %n, %B[%c0, %c0] : i32
    }
  }
}

// -----

// CASE: InjectDoubleBuffer.6
// CHECK: tir.store in @outside writes double-buffered memory outside of its double_buffer_scope; move it there
tir.func @outside(%n: i32) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.for %i = %c0 to %n {
    %p = tir.allocate [4] : !tir.ptr<i32>
    %B = tir.decl_buffer %p : !tir.buffer<4xi32>
    tir.attr "double_buffer_scope" (%p) = 1 : i32 {
      tir.store %n, %B[%c0] : i32
    }
    tir.store %i, %B[%c1] : i32
  }
}

// -----

// CASE: InjectDoubleBuffer.6
// CHECK: tir.load in @before reads double-buffered memory before the double_buffer_scope that fills it; move it after
tir.func @before(%n: i32) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.for %i = %c0 to %n {
    %p = tir.allocate [4] : !tir.ptr<i32>
    %B = tir.decl_buffer %p : !tir.buffer<4xi32>
    %x = tir.load %B[%c0] : i32
    tir.evaluate %x : i32
    tir.attr "double_buffer_scope" (%p) = 1 : i32 {
      tir.store %n, %B[%c0] : i32
    }
  }
}

// -----

// CASE: InjectDoubleBuffer.6
// CHECK: tir.for in @start must start at 0 to be split for double buffering; shift it, or set split_loop to 0
tir.func @start(%n: i32) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.for %i = %c1 to %c1 + %n {
    %p = tir.allocate [4] : !tir.ptr<i32>
    %B = tir.decl_buffer %p : !tir.buffer<4xi32>
    tir.attr "double_buffer_scope" (%p) = 1 : i32 {
      tir.store %n, %B[%c0] : i32
    }
  }
}

// -----

// CHECK: tir.attr in @twice: the memory is marked twice; keep one double_buffer_scope around all that fills it
tir.func @twice(%n: i32) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.for %i = %c0 to %n {
    %p = tir.allocate [4] : !tir.ptr<i32>
    %B = tir.decl_buffer %p : !tir.buffer<4xi32>
    tir.attr "double_buffer_scope" (%p) = 1 : i32 {
      tir.store %n, %B[%c0] : i32
    }
    tir.attr "double_buffer_scope" (%p) = 1 : i32 {
      tir.store %n, %B[%c0] : i32
    }
  }
}

// -----

// CHECK: tir.allocate in @far: double-buffered memory must be allocated in the loop around its scope; move the tir.allocate
tir.func @far(%n: i32) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %p = tir.allocate [4] : !tir.ptr<i32>
  %B = tir.decl_buffer %p : !tir.buffer<4xi32>
  tir.for %i = %c0 to %n {
    tir.attr "double_buffer_scope" (%p) = 1 : i32 {
      tir.store %n, %B[%c0] : i32
    }
  }
}

// -----

// CHECK: tir.attr in @block_memory: what double_buffer_scope marks is not made by a tir.allocate; run tir-lower-opaque-block first, or mark memory of the function
tir.func @block_memory(%n: i32) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.for %i = %c0 to %n {
    %B = tir.alloc_buffer "B" : !tir.buffer<4xi32>
    %p = tir.data %B : !tir.ptr<i32>
    tir.attr "double_buffer_scope" (%p) = 1 : i32 {
      tir.store %n, %B[%c0] : i32
    }
  }
}

// -----

// CHECK: tir.allocate in @extent: double-buffered memory has an extent or condition that its loop computes; move it in front
tir.func @extent(%n: i32) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.for %i = %c0 to %n {
    %m = tir.add %i, %c1 : i32
    %p = tir.allocate [%m] : !tir.ptr<i32>
    %B = tir.decl_buffer %p [%m] : !tir.buffer<?xi32>
    tir.attr "double_buffer_scope" (%p) = 1 : i32 {
      tir.store %n, %B[%c0] : i32
    }
  }
}

// -----

// CHECK: tir.attr in @shared_memory: what fills the buffer and the rest of the loop share memory that one of them writes, so it cannot run an iteration ahead; separate their memory
tir.func @shared_memory(%a: !tir.handle, %n: i32) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  tir.for %i = %c0 to %n {
    %x = tir.load %A[%c0] : i32
    %p = tir.allocate [4] : !tir.ptr<i32>
    %B = tir.decl_buffer %p : !tir.buffer<4xi32>
    tir.attr "double_buffer_scope" (%p) = 1 : i32 {
      tir.store %x, %B[%c0] : i32
    }
    %y = tir.load %B[%c0] : i32
    %z = tir.add %y, %c1 : i32
    tir.store %z, %A[%c0] : i32
  }
}

// -----

// CHECK: tir.allocate in @local_memory cannot be computed an iteration ahead, and the double_buffer_scope needs it; move it into the scope or out of the loop
tir.func @local_memory(%n: i32) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.for %i = %c0 to %n {
    %q = tir.allocate [1] : !tir.ptr<i32>
    %Q = tir.decl_buffer %q : !tir.buffer<1xi32>
    tir.store %i, %Q[%c0] : i32
    %p = tir.allocate [4] : !tir.ptr<i32>
    %B = tir.decl_buffer %p : !tir.buffer<4xi32>
    tir.attr "double_buffer_scope" (%p) = 1 : i32 {
      %x = tir.load %Q[%c0] : i32
      tir.store %x, %B[%c0] : i32
    }
  }
}

// -----

// CHECK: tir.attr in @nested: double_buffer_scope must be directly in a serial loop, and is in tir.attr; move it there
tir.func @nested(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n {
    %p = tir.allocate [4] : !tir.ptr<i32>
    %B = tir.decl_buffer %p : !tir.buffer<4xi32>
    %q = tir.allocate [4] : !tir.ptr<i32>
    %C = tir.decl_buffer %q : !tir.buffer<4xi32>
    tir.attr "double_buffer_scope" (%p) = 1 : i32 {
      tir.attr "double_buffer_scope" (%q) = 1 : i32 {
        tir.store %n, %C[%c0] : i32
      }
      tir.store %n, %B[%c0] : i32
    }
  }
}
