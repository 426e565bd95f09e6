// RUN: xdsl-opt %s -p tir-inject-software-pipeline --verify-diagnostics --split-input-file | filecheck %s

// CASE: InjectSoftwarePipeline.18
// CHECK: tir.for in @same_stage: statement 1 ("use") depends on statement 0 ("fill") through buffer "B" in the same iteration, but the pipeline runs it earlier; change software_pipeline_stage or software_pipeline_order
tir.func @same_stage(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %c0 to %c8 annotations {software_pipeline_stage = [0 : i32, 0 : i32], software_pipeline_order = [1 : i32, 0 : i32]} {
    tir.block {
      %B = tir.alloc_buffer "B" : !tir.buffer<1xi32>
      tir.block "fill" {
        tir.store %i, %B[%c0] : i32
      }
      tir.block "use" {
        %x = tir.load %B[%c0] : i32
        tir.store %x, %A[%i] : i32
      }
    }
  }
}

// -----

// CASE: InjectSoftwarePipeline.18
// CHECK: tir.for in @later_stage: statement 1 depends on statement 0 through buffer "B" in the same iteration, but the pipeline runs it earlier; change software_pipeline_stage or software_pipeline_order
tir.func @later_stage(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %c0 to %c8 annotations {software_pipeline_stage = [1 : i32, 0 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
    tir.block {
      %B = tir.alloc_buffer "B" : !tir.buffer<1xi32>
      tir.store %i, %B[%c0] : i32
      %x = tir.load %B[%c0] : i32
      tir.store %x, %A[%i] : i32
    }
  }
}

// -----

// A buffer around the loop has one version, which the next iteration overwrites.
// CHECK: tir.for in @overwritten: statement 0 depends on statement 1 through a buffer an iteration later, but the pipeline runs it earlier; change software_pipeline_stage or software_pipeline_order
tir.func @overwritten(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %B = tir.alloc_buffer : !tir.buffer<1xi32>
  tir.for %i = %c0 to %c8 annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
    tir.store %i, %B[%c0] : i32
    %x = tir.load %B[%c0] : i32
    tir.store %x, %A[%i] : i32
  }
}

// -----

// CHECK: tir.for in @carried: statement 0 depends on statement 1 through buffer "A" 2 iterations later, but the pipeline runs it earlier; change software_pipeline_stage or software_pipeline_order
tir.func @carried(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %c0 to %c8 annotations {software_pipeline_stage = [0 : i32, 2 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
    %x = tir.load %A[%i] : i32
    tir.store %x, %B[%i] : i32
    %j = tir.add %i, %c2 : i32
    tir.store %i, %A[%j] : i32
  }
}

// -----

// Nobody knows what an external function does.
// CHECK: tir.for in @anything: statement 0 depends on statement 1 through memory an iteration later, but the pipeline runs it earlier; change software_pipeline_stage or software_pipeline_order
tir.func @anything(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %g = tir.string "g"
  tir.for %i = %c0 to %c8 annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
    tir.store %i, %A[%i] : i32
    %r = tir.call "call_extern"(%g, %i) : (!tir.handle, i32) -> i32
    tir.evaluate %r : i32
  }
}

// -----

// CASE: InjectSoftwarePipeline.18
// CHECK: tir.for in @same_order: software_pipeline_order gives two statements one place, [0, 0]; number them differently
tir.func @same_order(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %c0 to %c8 annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 0 : i32]} {
    tir.store %i, %A[%i] : i32
    tir.store %c0, %A[%i] : i32
  }
}

// -----

// CASE: InjectSoftwarePipeline.18
// CHECK: tir.for in @stage_only is annotated with software_pipeline_stage, but not with software_pipeline_order; a pipeline needs both
tir.func @stage_only(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32, 1 : i32]} {
    tir.evaluate
    tir.evaluate
  }
}

// -----

// CASE: InjectSoftwarePipeline.18
// CHECK: tir.for in @order_only is annotated with software_pipeline_order, but not with software_pipeline_stage; a pipeline needs both
tir.func @order_only(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n annotations {software_pipeline_order = [0 : i32, 1 : i32]} {
    tir.evaluate
    tir.evaluate
  }
}

// -----

// CASE: InjectSoftwarePipeline.18
// CHECK: tir.for in @length: software_pipeline_stage lists 3 numbers, [0, 0, 1], but the pipeline has 2 statements: "S", a statement; list one for each
tir.func @length(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32, 0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
    tir.block "S" {
      tir.evaluate
    }
    tir.evaluate
  }
}

// -----

// CHECK: tir.for in @negative: software_pipeline_stage has a negative stage, [-1, 0]; count from 0
tir.func @negative(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n annotations {software_pipeline_stage = [-1 : i32, 0 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
    tir.evaluate
    tir.evaluate
  }
}

// -----

// CASE: InjectSoftwarePipeline.18
// CHECK: tir.for in @no_sequence: the body of a pipeline must be a sequence of statements, and has 1; take the annotations away
tir.func @no_sequence(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32], software_pipeline_order = [0 : i32]} {
    tir.block {
      tir.evaluate
    }
  }
}

// -----

// CASE: InjectSoftwarePipeline.18
// CHECK: tir.block "S" in @doubled: double_buffer_scope names written buffer 1, but the block declares 1 in tir.writes
tir.func @doubled(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  tir.block "S" annotations {double_buffer_scope = 1 : i32} {
    tir.reads
    tir.writes %A[%c0]
    tir.store %c0, %A[%c0] : i32
  }
}

// -----

// CHECK: tir.for in @parallel: a parallel loop does not run its iterations in order, so it cannot be a pipeline; annotate a serial loop
tir.func @parallel(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n parallel annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
    tir.evaluate
    tir.evaluate
  }
}

// -----

// CHECK: tir.launch_thread in @threads: a thread loop does not run its iterations in order, so it cannot be a pipeline; annotate a serial loop
tir.func @threads(%n: i32) {
  tir.launch_thread %t = "threadIdx.x" to %n annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
    tir.evaluate
    tir.evaluate
  }
}

// -----

// CHECK: tir.for in @narrow: a pipeline needs a loop variable of type i32 or i64, and this is ui8; cast it
tir.func @narrow(%n: ui8) {
  %c0 = tir.const 0 : ui8
  tir.for %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
    tir.evaluate
    tir.evaluate
  }
}

// -----

// CHECK: tir.block "S" in @iterated has iteration variables; run tir-convert-blocks-to-opaque first
tir.func @iterated(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
    tir.block "S" (%v : S in [%c0 to %n] = %i) {
      tir.evaluate
    }
    tir.evaluate
  }
}

// -----

// CHECK: tir.init in @init must be gone here; run tir-lower-init-block first
tir.func @init(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
    tir.block "S" {
      tir.init {
        tir.evaluate
      }
      tir.evaluate
    }
    tir.evaluate
  }
}

// -----

// CHECK: tir.match_region in @view must be gone here; run tir-lower-match-buffer first
tir.func @view(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
    tir.block "S" {
      %V = tir.match_region %A[%c0 to 4] : !tir.buffer<4xi32>
      tir.store %i, %V[%c0] : i32
    }
    tir.evaluate
  }
}

// -----

// CHECK: tir.ret in @left leaves a pipelined loop; let the loop run to its end
tir.func @left(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
    tir.evaluate
    tir.ret
  }
}

// -----

// CHECK: tir.allocate in @allocated is no buffer of a block; run this pass before tir-lower-opaque-block
tir.func @allocated(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
    %p = tir.allocate [4] : !tir.ptr<i32>
    tir.evaluate
    tir.evaluate
  }
}

// -----

// CHECK: tir.alloc_buffer in @sized: the size of a buffer that a pipelined loop allocates may differ between its iterations; allocate the most that one needs
tir.func @sized(%n: i32) {
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
    tir.block {
      %B = tir.alloc_buffer [%i] : !tir.buffer<?xi32>
      tir.evaluate
      tir.evaluate
    }
  }
}

// -----

// CHECK: tir.store in @crossing uses a value that another statement of the pipeline gets from an op with an effect; pass it on in a buffer
tir.func @crossing(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %g = tir.string "g"
  tir.for %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32, 0 : i32, 0 : i32], software_pipeline_order = [0 : i32, 1 : i32, 2 : i32]} {
    %r = tir.call "call_extern"(%g, %i) : (!tir.handle, i32) -> i32
    tir.evaluate
    tir.store %r, %A[%c0] : i32
  }
}

// -----

// CHECK: tir.for in @stale: statement 1 uses the value of a tir.load before statement 0, which may write what it reads; load it where it is used
tir.func @stale(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32, 0 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
    %x = tir.load %A[%c0] : i32
    tir.store %i, %A[%c0] : i32
    tir.store %x, %B[%c0] : i32
  }
}

// -----

// CHECK: tir.alloc_buffer in @offset has an element offset, so it cannot have several versions; remove the offset
tir.func @offset(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
    tir.block {
      %B = tir.alloc_buffer offset %n : !tir.buffer<1xi32>
      tir.store %i, %B[%c0] : i32
      %x = tir.load %B[%c0] : i32
      tir.store %x, %A[%c0] : i32
    }
  }
}

// -----

// CHECK: tir.alloc_buffer in @columns: the strides do not show where it ends, so it cannot have several versions; let the outermost be the largest
tir.func @columns(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
    tir.block {
      %B = tir.alloc_buffer strides [1, 4] : !tir.buffer<4x4xi32>
      tir.store %i, %B[%c0, %c0] : i32
      %x = tir.load %B[%c0, %c0] : i32
      tir.store %x, %A[%c0] : i32
    }
  }
}

// -----

// CHECK: tir.store in @sum writes what its asynchronous statement reads; take the stage out of software_pipeline_async_stages
tir.func @sum(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32], software_pipeline_async_stages = [0 : i32]} {
    %x = tir.load %A[%c0] : i32
    %y = tir.add %x, %i : i32
    tir.store %y, %A[%c0] : i32
    tir.evaluate
  }
}

// -----

// CHECK: tir.store in @twice is asynchronous and cannot be shown to write each element once; take the stage out of software_pipeline_async_stages
tir.func @twice(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  tir.for %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32], software_pipeline_async_stages = [0 : i32]} {
    tir.for %j = %c0 to %n {
      %h = tir.floordiv %j, %c2 : i32
      tir.store %j, %A[%h] : i32
    }
    tir.evaluate
  }
}

// -----

// CHECK: tir.call in @barrier is in an asynchronous stage, where only loads and stores may be; take the stage out of software_pipeline_async_stages
tir.func @barrier(%n: i32) {
  %c0 = tir.const 0 : i32
  %shared = tir.string "shared"
  tir.for %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32, 0 : i32], software_pipeline_order = [0 : i32, 1 : i32], software_pipeline_async_stages = [0 : i32]} {
    tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()
    tir.evaluate
  }
}

// -----

// CHECK: tir.call in @unknown_fragment: no builtin says how large the fragments of its buffer are, which the pipeline needs several versions of; load or fill them in this function
tir.func @unknown_fragment(%n: i32) {
  %c0 = tir.const 0 : i32
  %acc = tir.alloc_buffer : !tir.buffer<16x16xf32, "wmma.accumulator">
  tir.for %i = %c0 to %n annotations {software_pipeline_stage = [0 : i32, 1 : i32], software_pipeline_order = [0 : i32, 1 : i32]} {
    tir.block {
      %F = tir.alloc_buffer : !tir.buffer<16x16xf16, "wmma.matrix_a">
      %zero = tir.const 0.0 : f16
      tir.store %zero, %F[%c0, %c0] : f16
      tir.block {
        tir.reads %F[%c0 to 16, %c0 to 16], %acc[%c0 to 16, %c0 to 16]
        tir.writes %acc[%c0 to 16, %c0 to 16]
        %f = tir.data %F : !tir.ptr<f16, "wmma.matrix_a">
        %p = tir.data %acc : !tir.ptr<f32, "wmma.accumulator">
        %d = tir.call "tvm_mma_sync"(%p, %c0, %f, %c0, %f, %c0, %p, %c0) : (!tir.ptr<f32, "wmma.accumulator">, i32, !tir.ptr<f16, "wmma.matrix_a">, i32, !tir.ptr<f16, "wmma.matrix_a">, i32, !tir.ptr<f32, "wmma.accumulator">, i32) -> !tir.handle
      }
    }
  }
}

// -----

// CHECK: tir.for in @many_stages: software_pipeline_stage has the stage 9223372036854775807, and buffers as many versions; use stages up to 1024
tir.func @many_stages(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %c0 to %c8 annotations {software_pipeline_stage = [0, 9223372036854775807], software_pipeline_order = [0, 1]} {
    tir.block {
      %B = tir.alloc_buffer "B" : !tir.buffer<1xi32>
      tir.store %i, %B[%c0] : i32
      %x = tir.load %B[%c0] : i32
      tir.store %x, %A[%i] : i32
    }
  }
}
