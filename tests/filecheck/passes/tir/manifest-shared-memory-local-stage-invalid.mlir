// RUN: xdsl-opt %s -p tir-manifest-shared-memory-local-stage --verify-diagnostics --split-input-file | filecheck %s

// CASE: ManifestSharedMemoryLocalStage.4
// CHECK: tir.block "B" in @no_store: a block marked by tir.manifest_shared_memory_local_stage is one store, and this one holds 0; split it
tir.func @no_store(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.block "B" annotations {tir.manifest_shared_memory_local_stage = 1 : i32} {
    %x = tir.load %A[%c0] : f32
  }
}

// -----

// CHECK: tir.block "B" in @two_stores: a block marked by tir.manifest_shared_memory_local_stage is one store, and this one holds 2; split it
tir.func @two_stores(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %S = tir.alloc_buffer : !tir.buffer<8xf32, "shared">
  tir.block "B" annotations {tir.manifest_shared_memory_local_stage = 1 : i32} {
    %x = tir.load %A[%c0] : f32
    tir.store %x, %S[%c0] : f32
    tir.store %x, %S[%c0] : f32
  }
}

// -----

// CHECK: tir.block "B" in @statements: a block marked by tir.manifest_shared_memory_local_stage is one store, and this one holds tir.for; move it out
tir.func @statements(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %S = tir.alloc_buffer : !tir.buffer<8xf32, "shared">
  tir.block "B" annotations {tir.manifest_shared_memory_local_stage = 1 : i32} {
    tir.for %i = %c0 to %c8 {
      %x = tir.load %A[%i] : f32
      tir.store %x, %S[%i] : f32
    }
  }
}

// -----

// CHECK: tir.block "B" in @to_global: a block marked by tir.manifest_shared_memory_local_stage stores to shared memory, and this one to global; remove the annotation
tir.func @to_global(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %S = tir.alloc_buffer : !tir.buffer<8xf32>
  tir.for %i = %c0 to %c8 {
    tir.block "B" annotations {tir.manifest_shared_memory_local_stage = 1 : i32} {
      %x = tir.load %A[%i] : f32
      tir.store %x, %S[%i] : f32
    }
  }
}

// -----

// CHECK: tir.block "B" in @in_unrolled: tir.manifest_shared_memory_local_stage allows only serial and vectorized loops around it, and there is one of kind unrolled; put the allocation of the target inside of that
tir.func @in_unrolled(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %S = tir.alloc_buffer : !tir.buffer<8xf32, "shared">
  tir.for %i = %c0 to %c8 unrolled {
    tir.block "B" annotations {tir.manifest_shared_memory_local_stage = 1 : i32} {
      %x = tir.load %A[%i] : f32
      tir.store %x, %S[%i] : f32
    }
  }
}

// -----

// CHECK: tir.block "B" in @in_parallel: tir.manifest_shared_memory_local_stage allows only serial and vectorized loops around it, and there is one of kind parallel; put the allocation of the target inside of that
tir.func @in_parallel(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %S = tir.alloc_buffer : !tir.buffer<8xf32, "shared">
  tir.for %i = %c0 to %c8 parallel {
    tir.block "B" annotations {tir.manifest_shared_memory_local_stage = 1 : i32} {
      %x = tir.load %A[%i] : f32
      tir.store %x, %S[%i] : f32
    }
  }
}

// -----

// CHECK: tir.block "B" in @in_thread_binding: tir.manifest_shared_memory_local_stage allows only serial and vectorized loops around it, and there is one of kind thread_binding; put the allocation of the target inside of that
tir.func @in_thread_binding(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %S = tir.alloc_buffer : !tir.buffer<8xf32, "shared">
  tir.for %i = %c0 to %c8 thread_binding "threadIdx.x" {
    tir.block "B" annotations {tir.manifest_shared_memory_local_stage = 1 : i32} {
      %x = tir.load %A[%i] : f32
      tir.store %x, %S[%i] : f32
    }
  }
}

// -----

// CHECK: tir.block "B" in @shared_loop: tir.store shares a loop with a block marked by tir.manifest_shared_memory_local_stage; split the loop
tir.func @shared_loop(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %S = tir.alloc_buffer : !tir.buffer<8xf32, "shared">
  tir.for %i = %c0 to %c8 {
    tir.block "B" annotations {tir.manifest_shared_memory_local_stage = 1 : i32} {
      %x = tir.load %A[%i] : f32
      tir.store %x, %S[%i] : f32
    }
    %y = tir.load %A[%i] : f32
    tir.store %y, %A[%c0] : f32
  }
}

// -----

// CHECK: tir.block "B" in @far: tir.manifest_shared_memory_local_stage needs a target that the next block around it allocates; move the tir.alloc_buffer there
tir.func @far(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %S = tir.alloc_buffer : !tir.buffer<8xf32, "shared">
  tir.block "inner" {
    tir.for %i = %c0 to %c8 {
      tir.block "B" annotations {tir.manifest_shared_memory_local_stage = 1 : i32} {
      %x = tir.load %A[%i] : f32
      tir.store %x, %S[%i] : f32
    }
    }
  }
}

// -----

// CHECK: tir.block "B" in @condition: tir.manifest_shared_memory_local_stage allows only loops up to the next block, and there is tir.if; move it out
tir.func @condition(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %S = tir.alloc_buffer : !tir.buffer<8xf32, "shared">
  %p = tir.cmp lt %n, %c8 : i32
  tir.for %i = %c0 to %c8 {
    tir.if %p {
      tir.block "B" annotations {tir.manifest_shared_memory_local_stage = 1 : i32} {
      %x = tir.load %A[%i] : f32
      tir.store %x, %S[%i] : f32
    }
    }
  }
}

// -----

// CHECK: tir.block "B" in @iterations has iteration variables; run tir-convert-blocks-to-opaque first
tir.func @iterations(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %S = tir.alloc_buffer : !tir.buffer<8xf32, "shared">
  tir.for %i = %c0 to %c8 {
    tir.block "B" (%v : S in [%c0 to %c8] = %i) annotations {tir.manifest_shared_memory_local_stage = 1 : i32} {
      %x = tir.load %A[%v] : f32
      tir.store %x, %S[%v] : f32
    }
  }
}

// -----

// CHECK: tir.block "B" in @masked: a block marked by tir.manifest_shared_memory_local_stage stores one element, without a mask; let a loop run over the lanes
tir.func @masked(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %S = tir.alloc_buffer : !tir.buffer<8xf32, "shared">
  tir.block "B" annotations {tir.manifest_shared_memory_local_stage = 1 : i32} {
    %one = tir.const 1 : i32
    %r = tir.ramp %c0, %one : vector<4xi32>
    %x = tir.load %A[%r] : vector<4xf32>
    tir.store %x, %S[%r] : vector<4xf32>
  }
}

// -----

// CHECK: tir.block "B" in @of_itself: what a block marked by tir.manifest_shared_memory_local_stage stores may be read from its target; read it from a buffer of its own
tir.func @of_itself(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %S = tir.alloc_buffer : !tir.buffer<8xf32, "shared">
  tir.for %i = %c0 to %c8 {
    tir.block "B" annotations {tir.manifest_shared_memory_local_stage = 1 : i32} {
      %x = tir.load %S[%c0] : f32
      tir.store %x, %S[%i] : f32
    }
  }
}

// -----

// CHECK: tir.block "B" in @extent: tir.manifest_shared_memory_local_stage needs loops whose extents are computed before them; move the extent out, or make it a constant
tir.func @extent(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %S = tir.alloc_buffer : !tir.buffer<8xf32, "shared">
  tir.for %j = %c0 to %c8 {
    tir.for %i = %c0 to %j {
    tir.block "B" annotations {tir.manifest_shared_memory_local_stage = 1 : i32} {
      %x = tir.load %A[%i] : f32
      tir.store %x, %S[%i] : f32
    }
    }
  }
}
