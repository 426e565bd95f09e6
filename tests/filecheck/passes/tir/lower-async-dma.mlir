// RUN: xdsl-opt %s -p tir-lower-async-dma --split-input-file | filecheck %s

// CASE: LowerAsyncDMA.3
// CASE: LowerAsyncDMA.6
tir.func @one(%a: !tir.handle, %o: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<128xi8>
  %O = tir.match_buffer "O" %o : !tir.buffer<128xi8>
  %c0 = tir.const 0 : i32
  %c128 = tir.const 128 : i32
  %m = tir.allocate [128] : !tir.ptr<i8, "global.vtcm">
  %V = tir.decl_buffer "V" %m : !tir.buffer<128xi8, "global.vtcm">
  tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
    tir.for %i = %c0 to %c128 {
      %x = tir.load %A[%i] : i8
      tir.store %x, %V[%i] : i8
    }
  }
  tir.attr "async_wait_queue_scope" (%c0) = 0 : i32 {
    tir.attr "async_wait_inflight_count" (%c0) = 0 : i32 {
      tir.for %i = %c0 to %c128 {
        %x = tir.load %V[%i] : i8
        %y = tir.add %x, %x : i8
        tir.store %y, %O[%i] : i8
      }
    }
  }
}
// CHECK-LABEL: tir.func @one
// CHECK:         %[[A:.*]] = tir.match_buffer "A"
// CHECK:         %[[V:.*]] = tir.decl_buffer "V"
// CHECK-NEXT:    tir.attr "async_commit_queue_scope" (%{{.*}}) = 0 : i32 {
// CHECK-NEXT:      %[[D0:.*]] = tir.const 0 : i32
// CHECK-NEXT:      %[[D:.*]] = tir.address_of %[[V]][%[[D0]]]
// CHECK-NEXT:      %[[S:.*]] = tir.address_of %[[A]][%{{.*}}]
// CHECK-NEXT:      %[[Q:.*]] = tir.const 0 : i32
// CHECK-NEXT:      %[[N:.*]] = tir.const 128 : i32
// CHECK-NEXT:      %[[B:.*]] = tir.const 0 : i32
// CHECK-NEXT:      tir.call "dma_copy"(%[[Q]], %[[D]], %[[S]], %[[N]], %[[B]]) : (i32, !tir.ptr<i8, "global.vtcm">, !tir.ptr<i8>, i32, i32) -> i32
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[C:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[Q:.*]] = tir.const 0 : i32
// CHECK-NEXT:    tir.call "dma_wait"(%[[Q]], %[[C]]) : (i32, i32) -> i32
// CHECK-NEXT:    tir.for
// CHECK-NOT:     async_wait

// -----

// Two loops are one copy; two copies are a group.
// CASE: LowerAsyncDMA.4
// CASE: LowerAsyncDMA.8
tir.func @group(%a: !tir.handle, %b: !tir.handle, %o: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<64xf32>
  %O = tir.match_buffer "O" %o : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  %m = tir.allocate [128] : !tir.ptr<f32, "global.vtcm">
  %V = tir.decl_buffer "V" %m : !tir.buffer<128xf32, "global.vtcm">
  %m2 = tir.allocate [128] : !tir.ptr<f32, "global.vtcm">
  %D = tir.decl_buffer "D" %m2 : !tir.buffer<128xf32, "global.vtcm">
  tir.attr "async_commit_queue_scope" (%c0) = 2 : i32 {
    tir.for %i = %c0 to %c16 {
      %j = tir.add %i, %c16 : i32
      %k = tir.add %i, %c32 : i32
      %x = tir.load %A[%k] : f32
      tir.store %x, %V[%j] : f32
    }
    tir.for %i = %c0 to %c16 {
      %j0 = tir.add %c64, %i : i32
      %j = tir.add %j0, %c16 : i32
      %k0 = tir.add %c1, %i : i32
      %k = tir.add %k0, %c32 : i32
      %x = tir.load %A[%k] : f32
      tir.store %x, %V[%j] : f32
    }
  }
  tir.attr "async_commit_queue_scope" (%c0) = 2 : i32 {
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c8 {
        %r = tir.mul %i, %c8 : i32
        %k = tir.add %r, %j : i32
        %to = tir.add %k, %c64 : i32
        %x = tir.load %B[%k] : f32
        tir.store %x, %D[%to] : f32
      }
    }
  }
  tir.attr "async_wait_queue_scope" (%c0) = 2 : i32 {
    tir.attr "async_wait_inflight_count" (%c0) = 1 : i32 {
      tir.for %i = %c0 to %c16 {
        %j = tir.add %i, %c16 : i32
        %x = tir.load %V[%j] : f32
        tir.store %x, %O[%i] : f32
      }
    }
  }
  tir.attr "async_wait_queue_scope" (%c0) = 2 : i32 {
    tir.attr "async_wait_inflight_count" (%c0) = %c0 {
      tir.for %i = %c0 to %c16 {
        %j = tir.add %i, %c64 : i32
        %x = tir.load %D[%j] : f32
        %y = tir.load %O[%i] : f32
        %z = tir.add %x, %y : f32
        tir.store %z, %O[%i] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @group
// CHECK:         %[[A:.*]] = tir.match_buffer "A"
// CHECK:         %[[V:.*]] = tir.decl_buffer "V"
// CHECK:         %[[D:.*]] = tir.decl_buffer "D"
// CHECK-NEXT:    %[[Q:.*]] = tir.const 2 : i32
// CHECK-NEXT:    tir.call "dma_start_group"(%[[Q]]) : (i32) -> i32
// CHECK-NEXT:    tir.attr "async_commit_queue_scope"
// CHECK-NEXT:      %[[N:.*]] = tir.const 16 : i32
// CHECK-NEXT:      tir.address_of %[[V]][%[[N]]]
// CHECK-NEXT:      %[[N:.*]] = tir.const 32 : i32
// CHECK-NEXT:      tir.address_of %[[A]][%[[N]]]
// CHECK-NEXT:      tir.const 2 : i32
// CHECK-NEXT:      tir.const 64 : i32
// CHECK-NEXT:      tir.const 0 : i32
// CHECK-NEXT:      tir.call "dma_copy"
// CHECK-NEXT:      %[[N:.*]] = tir.const 80 : i32
// CHECK-NEXT:      tir.address_of %[[V]][%[[N]]]
// CHECK-NEXT:      %[[N:.*]] = tir.const 33 : i32
// CHECK-NEXT:      tir.address_of %[[A]][%[[N]]]
// CHECK-NEXT:      tir.const 2 : i32
// CHECK-NEXT:      tir.const 64 : i32
// CHECK-NEXT:      tir.const 0 : i32
// CHECK-NEXT:      tir.call "dma_copy"
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[Q:.*]] = tir.const 2 : i32
// CHECK-NEXT:    tir.call "dma_end_group"(%[[Q]]) : (i32) -> i32
// CHECK-NEXT:    tir.attr "async_commit_queue_scope"
// CHECK-NEXT:      %[[N:.*]] = tir.const 64 : i32
// CHECK-NEXT:      tir.address_of %[[D]][%[[N]]]
// CHECK:           tir.const 256 : i32
// CHECK:           tir.call "dma_copy"
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[N:.*]] = tir.const 1 : i32
// CHECK-NEXT:    %[[Q:.*]] = tir.const 2 : i32
// CHECK-NEXT:    tir.call "dma_wait"(%[[Q]], %[[N]]) : (i32, i32) -> i32
// CHECK-NEXT:    tir.for

// -----

// Rows of a matrix: one transfer a row.
// CASE: LowerAsyncDMA.9
tir.func @rows(%a: !tir.handle, %o: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<128xf32>
  %O = tir.match_buffer "O" %o : !tir.buffer<64xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c16 = tir.const 16 : i32
  %c32 = tir.const 32 : i32
  %c64 = tir.const 64 : i32
  %m = tir.allocate [64] : !tir.ptr<f32, "global.vtcm">
  %V = tir.decl_buffer "V" %m : !tir.buffer<64xf32, "global.vtcm">
  tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
    tir.for %i = %c0 to %c4 {
      tir.for %j = %c0 to %c16 {
        %r = tir.mul %i, %c16 : i32
        %p = tir.add %r, %j : i32
        %r2 = tir.mul %i, %c32 : i32
        %p2 = tir.add %r2, %j : i32
        %x = tir.load %A[%p2] : f32
        tir.store %x, %V[%p] : f32
      }
    }
  }
  tir.attr "async_wait_queue_scope" (%c0) = 0 : i32 {
    tir.attr "async_wait_inflight_count" (%c0) = 0 : i32 {
      tir.for %i = %c0 to %c64 {
        %x = tir.load %V[%i] : f32
        tir.store %x, %O[%i] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @rows
// CHECK:         %[[A:.*]] = tir.match_buffer "A"
// CHECK:         %[[V:.*]] = tir.decl_buffer "V"
// CHECK-NEXT:    tir.attr "async_commit_queue_scope"
// CHECK-NEXT:      tir.for %[[I:.*]] =
// CHECK:             %[[TO:.*]] = tir.mul %[[I]]
// CHECK-NEXT:        tir.address_of %[[V]][%[[TO]]]
// CHECK:             %[[FROM:.*]] = tir.mul %[[I]]
// CHECK-NEXT:        tir.address_of %[[A]][%[[FROM]]]
// CHECK:             tir.const 64 : i32
// CHECK:             tir.call "dma_copy"
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK:         tir.call "dma_wait"

// -----

// An attribute in the commit scope makes a group, also of one copy.
// CASE: LowerAsyncDMA.10
tir.func @attribute(%a: !tir.handle, %o: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %O = tir.match_buffer "O" %o : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  %m = tir.allocate [16] : !tir.ptr<f32, "global.vtcm">
  %V = tir.decl_buffer "V" %m : !tir.buffer<16xf32, "global.vtcm">
  tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
    tir.attr "async_scope" (%c0) = 1 : i32 {
      tir.for %i = %c0 to %c16 {
        %x = tir.load %A[%i] : f32
        tir.store %x, %V[%i] : f32
      }
    }
  }
  tir.attr "async_wait_queue_scope" (%c0) = 0 : i32 {
    tir.attr "async_wait_inflight_count" (%c0) = 0 : i32 {
      tir.for %i = %c0 to %c16 {
        %x = tir.load %V[%i] : f32
        tir.store %x, %O[%i] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @attribute
// CHECK:         tir.call "dma_start_group"
// CHECK-NEXT:    tir.attr "async_commit_queue_scope"
// CHECK-NEXT:      tir.attr "async_scope"
// CHECK:             tir.call "dma_copy"
// CHECK:         tir.call "dma_end_group"
// CHECK:         tir.call "dma_wait"

// -----

// CASE: LowerAsyncDMA.5
tir.func @stays(%a: !tir.handle, %o: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %O = tir.match_buffer "O" %o : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c15 = tir.const 15 : i32
  %c16 = tir.const 16 : i32
  %m = tir.allocate [16] : !tir.ptr<f32, "global.vtcm">
  %V = tir.decl_buffer "V" %m : !tir.buffer<16xf32, "global.vtcm">
  tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
    tir.for %i = %c0 to %c16 {
      %j = tir.sub %c15, %i : i32
      %x = tir.load %A[%j] : f32
      tir.store %x, %V[%i] : f32
    }
  }
  tir.attr "async_wait_queue_scope" (%c0) = 0 : i32 {
    tir.attr "async_wait_inflight_count" (%c0) = 0 : i32 {
      tir.for %i = %c0 to %c16 {
        %x = tir.load %V[%i] : f32
        tir.store %x, %O[%i] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @stays
// CHECK-NOT:     dma_
// CHECK:         tir.attr "async_commit_queue_scope"
// CHECK-NEXT:      tir.for
// CHECK-NOT:     dma_
// CHECK:         tir.attr "async_wait_queue_scope"
// CHECK-NEXT:      tir.attr "async_wait_inflight_count"
// CHECK-NOT:     dma_

// -----

// A wait counts groups: a scope without transfers commits an empty one. A transfer that
// may not run is in a group, and one of unknown size has no negative one.
tir.func @groups_are_counted(%a: !tir.handle, %o: !tir.handle, %n: i32) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %O = tir.match_buffer "O" %o : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c5 = tir.const 5 : i32
  %c15 = tir.const 15 : i32
  %c16 = tir.const 16 : i32
  %zero = tir.const 0.0 : f32
  %m = tir.allocate [16] : !tir.ptr<f32, "global.vtcm">
  %V = tir.decl_buffer "V" %m : !tir.buffer<16xf32, "global.vtcm">
  %m2 = tir.allocate [16] : !tir.ptr<f32, "global.vtcm">
  %W = tir.decl_buffer "W" %m2 : !tir.buffer<16xf32, "global.vtcm">
  tir.for %i = %c0 to %c16 {
    tir.store %zero, %V[%i] : f32
  }
  %some = tir.cmp lt %n, %c5 : i32
  tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
    tir.if %some {
      tir.for %i = %c0 to %n {
        %x = tir.load %A[%i] : f32
        tir.store %x, %V[%i] : f32
      }
    }
  }
  tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
    tir.for %i = %c0 to %c16 {
      %j = tir.sub %c15, %i : i32
      %x = tir.load %A[%j] : f32
      tir.store %x, %W[%i] : f32
    }
  }
  tir.attr "async_wait_queue_scope" (%c0) = 0 : i32 {
    tir.attr "async_wait_inflight_count" (%c0) = 1 : i32 {
      tir.for %i = %c0 to %c16 {
        %x = tir.load %V[%i] : f32
        tir.store %x, %O[%i] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @groups_are_counted
// CHECK:         tir.call "dma_start_group"
// CHECK-NEXT:    tir.attr "async_commit_queue_scope"
// CHECK-NEXT:      tir.if
// CHECK:             %[[N:.*]] = tir.max %{{.*}}, %{{.*}} : i32
// CHECK:             %[[SIZE:.*]] = tir.mul %[[N]]
// CHECK:             tir.call "dma_copy"(%{{.*}}, %{{.*}}, %{{.*}}, %[[SIZE]], %{{.*}})
// CHECK:         tir.call "dma_end_group"
// CHECK-NEXT:    tir.attr "async_commit_queue_scope"
// CHECK-NEXT:      tir.for
// CHECK:         }
// CHECK:         tir.call "dma_start_group"
// CHECK-NEXT:    tir.const
// CHECK-NEXT:    tir.call "dma_end_group"
// CHECK:         tir.call "dma_wait"

// -----

// Copies in threads, within one memory, and outside of commit scopes stay.
tir.func @others(%a: !tir.handle, %o: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xf32>
  %O = tir.match_buffer "O" %o : !tir.buffer<16xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    %x = tir.load %A[%i] : f32
    tir.store %x, %O[%i] : f32
  }
  tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
    tir.for %i = %c0 to %c8 {
      %j = tir.add %i, %c1 : i32
      %x = tir.load %O[%j] : f32
      tir.store %x, %O[%i] : f32
    }
  }
  tir.launch_thread %tx = "threadIdx.x" to %c1 {
    %s = tir.allocate [16] : !tir.ptr<f32, "shared">
    %S = tir.decl_buffer "S" %s : !tir.buffer<16xf32, "shared">
    tir.attr "async_commit_queue_scope" (%c0) = 0 : i32 {
      tir.for %i = %c0 to %c16 {
        %x = tir.load %A[%i] : f32
        tir.store %x, %S[%i] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @others
// CHECK-NOT:     dma_
