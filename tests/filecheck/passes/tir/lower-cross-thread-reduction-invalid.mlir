// RUN: xdsl-opt %s -p tir-lower-cross-thread-reduction --split-input-file --verify-diagnostics | filecheck %s

// CASE: LowerCrossThreadReduction.17
tir.func @form(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    %C = tir.alloc_buffer "C" : !tir.buffer<8x8xf32>
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c8 {
        tir.for %k = %c0 to %c8 thread_binding "threadIdx.x" {
          tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) {
            tir.reads
            tir.writes %B[%vi, %vj]
            tir.init {
              tir.store %z, %B[%vi, %vj] : f32
            }
            %w = tir.load %A[%vi, %vk] : f32
            tir.store %w, %C[%vi, %vj] : f32
            %x = tir.load %B[%vi, %vj] : f32
            %y = tir.load %C[%vi, %vj] : f32
            %s = tir.add %x, %y : f32
            tir.store %s, %B[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK: tir.block "B" in @form: it reads memory after a store; let it compute all values first, and then store one to each buffer (condition 4)

// -----

tir.func @two(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    %C = tir.alloc_buffer "C" : !tir.buffer<8x8xf32>
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c8 {
        tir.for %k = %c0 to %c8 thread_binding "threadIdx.x" {
          tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) {
            tir.reads
            tir.writes %B[%vi, %vj]
            tir.init {
              tir.store %z, %B[%vi, %vj] : f32
            }
            %x = tir.load %B[%vi, %vj] : f32
            %y = tir.load %A[%vi, %vk] : f32
            %s = tir.add %x, %y : f32
            tir.store %s, %B[%vi, %vj] : f32
            tir.store %s, %C[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK: tir.block "B" in @two: it stores to other buffers than its init; update those that the init sets (condition 4)

// -----

// CASE: LowerCrossThreadReduction.18
tir.func @deep(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c8 {
      tir.for %k = %c0 to %c8 thread_binding "threadIdx.x" {
        tir.for %j = %c0 to %c8 {
          tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) {
            tir.reads
            tir.writes %B[%vi, %vj]
            tir.init {
              tir.store %z, %B[%vi, %vj] : f32
            }
            %x = tir.load %B[%vi, %vj] : f32
            %y = tir.load %A[%vi, %vk] : f32
            %s = tir.add %x, %y : f32
            tir.store %s, %B[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK: tir.block "B" in @deep: the loops it reduces over are not the innermost ones around it, tir.for is between; move it outward (condition 1)

// -----

tir.func @blocks(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c8 {
        tir.for %k = %c0 to %c8 thread_binding "blockIdx.x" {
          tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) {
            tir.reads
            tir.writes %B[%vi, %vj]
            tir.init {
              tir.store %z, %B[%vi, %vj] : f32
            }
            %x = tir.load %B[%vi, %vj] : f32
            %y = tir.load %A[%vi, %vk] : f32
            %s = tir.add %x, %y : f32
            tir.store %s, %B[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK: tir.block "B" in @blocks: it reduces over "blockIdx.x"; bind reduction loops to threadIdx only (condition 2)

// -----

tir.func @twice(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c8 thread_binding "threadIdx.x" {
        tir.for %k = %c0 to %c8 thread_binding "threadIdx.x" {
          tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) {
            tir.reads
            tir.writes %B[%vi, %vj]
            tir.init {
              tir.store %z, %B[%vi, %vj] : f32
            }
            %x = tir.load %B[%vi, %vj] : f32
            %y = tir.load %A[%vi, %vk] : f32
            %s = tir.add %x, %y : f32
            tir.store %s, %B[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK: tir.block "B" in @twice: "threadIdx.x" is bound twice around it; bind each axis once (condition 2)

// -----

tir.func @swapped(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c8 {
        tir.for %k = %c0 to %c8 thread_binding "threadIdx.x" {
          tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) {
            tir.reads
            tir.writes %B[%vi, %vj]
            tir.init {
              tir.store %z, %B[%vj, %vi] : f32
            }
            %x = tir.load %B[%vi, %vj] : f32
            %y = tir.load %A[%vi, %vk] : f32
            %s = tir.add %x, %y : f32
            tir.store %s, %B[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK: tir.block "B" in @swapped: its stores are not to one element of buffers of one shape; use the same indices in the init and in every update (condition 5)

// -----

tir.func @elsewhere(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c8 {
        tir.for %k = %c0 to %c8 thread_binding "threadIdx.x" {
          tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) {
            tir.reads
            tir.writes %B[%vi, %vj]
            tir.init {
              tir.store %z, %B[%vi, %vj] : f32
            }
            %x = tir.load %B[%vj, %vi] : f32
            %y = tir.load %A[%vi, %vk] : f32
            %s = tir.add %x, %y : f32
            tir.store %s, %B[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK: tir.block "B" in @elsewhere: it reads another element of "B" than it stores to; use the same indices (condition 5)

// -----

tir.func @minus(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c8 {
        tir.for %k = %c0 to %c8 thread_binding "threadIdx.x" {
          tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) {
            tir.reads
            tir.writes %B[%vi, %vj]
            tir.init {
              tir.store %z, %B[%vi, %vj] : f32
            }
            %x = tir.load %B[%vi, %vj] : f32
            %y = tir.load %A[%vi, %vk] : f32
            %s = tir.sub %x, %y : f32
            tir.store %s, %B[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK: tir.block "B" in @minus: its init and its update are those of no known commutative reducer; write the accumulator on the left, or register the reducer (condition 6)

// -----

tir.func @right(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c8 {
        tir.for %k = %c0 to %c8 thread_binding "threadIdx.x" {
          tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) {
            tir.reads
            tir.writes %B[%vi, %vj]
            tir.init {
              tir.store %z, %B[%vi, %vj] : f32
            }
            %x = tir.load %B[%vi, %vj] : f32
            %y = tir.load %A[%vi, %vk] : f32
            %s = tir.add %y, %x : f32
            tir.store %s, %B[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK: tir.block "B" in @right: its init and its update are those of no known commutative reducer; write the accumulator on the left, or register the reducer (condition 6)

// -----

tir.func @identity(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c8 {
        tir.for %k = %c0 to %c8 thread_binding "threadIdx.x" {
          %o = tir.const 1.0 : f32
    tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) {
            tir.reads
            tir.writes %B[%vi, %vj]
            tir.init {
              tir.store %o, %B[%vi, %vj] : f32
            }
            %x = tir.load %B[%vi, %vj] : f32
            %y = tir.load %A[%vi, %vk] : f32
            %s = tir.add %x, %y : f32
            tir.store %s, %B[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK: tir.block "B" in @identity: its init and its update are those of no known commutative reducer; write the accumulator on the left, or register the reducer (condition 6)

// -----

tir.func @twofold(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c8 {
        tir.for %k = %c0 to %c8 thread_binding "threadIdx.x" {
          tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) {
            tir.reads
            tir.writes %B[%vi, %vj]
            tir.init {
              tir.store %z, %B[%vi, %vj] : f32
            }
            %x = tir.load %B[%vi, %vj] : f32
            %y = tir.load %A[%vi, %vk] : f32
            %d = tir.add %x, %y : f32
            %s = tir.add %x, %d : f32
            tir.store %s, %B[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK: tir.block "B" in @twofold: its init and its update are those of no known commutative reducer; write the accumulator on the left, or register the reducer (condition 6)

// -----

tir.func @scopes(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    %L = tir.alloc_buffer "L" : !tir.buffer<8x8xf32, "local">
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c8 {
        tir.for %k = %c0 to %c8 thread_binding "threadIdx.x" {
          tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) {
            tir.reads
            tir.writes %B[%vi, %vj], %L[%vi, %vj]
            tir.init {
              tir.store %z, %B[%vi, %vj] : f32
              tir.store %z, %L[%vi, %vj] : f32
            }
            %x = tir.load %B[%vi, %vj] : f32
            %l = tir.load %L[%vi, %vj] : f32
            %y = tir.load %A[%vi, %vk] : f32
            %s = tir.add %x, %y : f32
            %t = tir.add %l, %y : f32
            tir.store %s, %B[%vi, %vj] : f32
            tir.store %t, %L[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK: tir.block "B" in @scopes: it reduces into memory of the threads and into memory that they share; use one kind (condition 7)

// -----

tir.func @after(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c8 {
        tir.for %k = %c0 to %c8 thread_binding "threadIdx.x" {
          tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) {
            tir.reads
            tir.writes %B[%vi, %vj]
            tir.init {
              tir.store %z, %B[%vi, %vj] : f32
            }
            %x = tir.load %B[%vi, %vj] : f32
            %y = tir.load %A[%vi, %vk] : f32
            %s = tir.add %x, %y : f32
            tir.store %s, %B[%vi, %vj] : f32
          }
          tir.block "after" {
            tir.reads
            tir.writes
            tir.evaluate %c0 : i32
          }
        }
      }
    }
  }
}
// CHECK: tir.block "B" in @after: tir.block is after it in the loops that it reduces over; move it after the loops (condition 8)

// -----

tir.func @init(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c8 {
        tir.for %k = %c0 to %c8 thread_binding "threadIdx.x" {
          tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) {
            tir.reads
            tir.writes %B[%vi, %vj]
            tir.init {
              tir.store %z, %B[%vi, %vj] : f32
              tir.store %z, %B[%vi, %vj] : f32
            }
            %x = tir.load %B[%vi, %vj] : f32
            %y = tir.load %A[%vi, %vk] : f32
            %s = tir.add %x, %y : f32
            tir.store %s, %B[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK: tir.block "B" in @init: its init stores to "B" more than once, or not always; store one value to each buffer (condition 3)

// -----

tir.func @init_if(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c8 {
        tir.for %k = %c0 to %c8 thread_binding "threadIdx.x" {
          tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) {
            tir.reads
            tir.writes %B[%vi, %vj]
            tir.init {
              %p = tir.cmp eq %vi, %vj : i32
              tir.if %p {
                tir.store %z, %B[%vi, %vj] : f32
              }
            }
            %x = tir.load %B[%vi, %vj] : f32
            %y = tir.load %A[%vi, %vk] : f32
            %s = tir.add %x, %y : f32
            tir.store %s, %B[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK: tir.block "B" in @init_if: its init holds tir.if; let it only store one value to each buffer (condition 3)

// -----

tir.func @partial(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.block "outer" {
      tir.reads
      tir.writes
      tir.for %i = %c0 to %c8 {
        tir.for %j = %c0 to %c8 {
          tir.for %ko = %c0 to %c2 {
            %y0 = tir.load %B[%i, %j] : f32
            tir.evaluate %y0 : f32
            tir.for %ki = %c0 to %c4 thread_binding "threadIdx.x" {
              %m = tir.mul %ko, %c4 : i32
              %k = tir.add %m, %ki : i32
              tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) {
                tir.reads
                tir.writes %B[%vi, %vj]
                tir.init {
                  tir.store %z, %B[%vi, %vj] : f32
                }
                %x = tir.load %B[%vi, %vj] : f32
                %y = tir.load %A[%vi, %vk] : f32
                %s = tir.add %x, %y : f32
                tir.store %s, %B[%vi, %vj] : f32
              }
            }
          }
        }
      }
    }
  }
}
// CHECK: tir.block "B" in @partial: tir.load in the loops that it reduces over uses what is not reduced yet; move it out of them (condition 9)

// -----

tir.func @unbound(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    %S = tir.alloc_buffer "S" : !tir.buffer<1xf32, "shared">
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c8 {
        tir.for %ko = %c0 to %c2 {
          tir.store %z, %S[%c0] : f32
          tir.for %ki = %c0 to %c4 thread_binding "threadIdx.x" {
            %m = tir.mul %ko, %c4 : i32
            %k = tir.add %m, %ki : i32
            tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) {
              tir.reads
              tir.writes %B[%vi, %vj]
              tir.init {
                tir.store %z, %B[%vi, %vj] : f32
              }
              %x = tir.load %B[%vi, %vj] : f32
              %y = tir.load %A[%vi, %vk] : f32
              %s = tir.add %x, %y : f32
              tir.store %s, %B[%vi, %vj] : f32
            }
          }
        }
      }
    }
  }
}
// CHECK: tir.block "B" in @unbound: tir.store in the loops that it reduces over would be run by all threads of "threadIdx.x"; bind a loop around it to this axis (condition 10)

// -----

tir.func @start(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c8 {
        tir.for %k = %c0 to %c8 thread_binding "threadIdx.x" {
          tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c1 to %c1 + %c8] = %k) {
            tir.reads
            tir.writes %B[%vi, %vj]
            tir.init {
              tir.store %z, %B[%vi, %vj] : f32
            }
            %x = tir.load %B[%vi, %vj] : f32
            %y = tir.load %A[%vi, %vk] : f32
            %s = tir.add %x, %y : f32
            tir.store %s, %B[%vi, %vj] : f32
          }
        }
      }
    }
  }
}
// CHECK: tir.block "B" in @start: a reduction variable starts at 0, its domain at 1, so that the init would never run; let both start at one value (condition 11)

// -----

tir.func @fused(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c64 = tir.const 64 : i32
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c8 {
      tir.for %k0 = %c0 to %c64 thread_binding "threadIdx.x" {
        %j = tir.floordiv %k0, %c8 : i32
        %k = tir.floormod %k0, %c8 : i32
        tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) {
          tir.reads
          tir.writes %B[%vi, %vj]
          tir.init {
            tir.store %z, %B[%vi, %vj] : f32
          }
          %x = tir.load %B[%vi, %vj] : f32
          %y = tir.load %A[%vi, %vk] : f32
          %s = tir.add %x, %y : f32
          tir.store %s, %B[%vi, %vj] : f32
        }
      }
    }
  }
}
// CHECK: tir.block "B" in @fused: a spatial variable is computed from a loop that it reduces over; split the loop (condition 12)

// -----

tir.func @computed(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %N = tir.alloc_buffer "N" : !tir.buffer<2xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c8 {
        tir.for %ko = %c0 to %c2 {
          %n = tir.load %N[%ko] : i32
          %p = tir.cmp lt %i, %n : i32
          tir.for %ki = %c0 to %c4 thread_binding "threadIdx.x" {
            %m = tir.mul %ko, %c4 : i32
            %k = tir.add %m, %ki : i32
            tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) where %p {
              tir.reads
              tir.writes %B[%vi, %vj]
              tir.init {
                tir.store %z, %B[%vi, %vj] : f32
              }
              %x = tir.load %B[%vi, %vj] : f32
              %y = tir.load %A[%vi, %vk] : f32
              %s = tir.add %x, %y : f32
              tir.store %s, %B[%vi, %vj] : f32
            }
          }
        }
      }
    }
  }
}
// CHECK: tir.block "B" in @computed: a range, an index or a condition is computed in the loops that it reduces over; compute it before them (condition 12)

// -----

tir.func @kernel(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    %L = tir.alloc_buffer "L" : !tir.buffer<8x8xf32, "local">
    tir.for %i = %c0 to %c8 {
      tir.for %j = %c0 to %c8 {
        tir.for %k = %c0 to %c8 thread_binding "threadIdx.x" {
          tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) {
            tir.reads
            tir.writes %L[%vi, %vj]
            tir.init {
              tir.store %z, %L[%vi, %vj] : f32
            }
            %x = tir.load %L[%vi, %vj] : f32
            %y = tir.load %A[%vi, %vk] : f32
            %s = tir.add %x, %y : f32
            tir.store %s, %L[%vi, %vj] : f32
          }
        }
      }
    }
    tir.block "C" {
      tir.reads %L[%c0, %c0]
      tir.writes
      %r = tir.load %L[%c0, %c0] : f32
      tir.store %r, %B[%c0, %c0] : f32
    }
  }
}
// CHECK: tir.load in @kernel: it reads outside of a kernel what the threads of the kernel have reduced in their own memory; reduce into memory that outlives the kernel

// -----

tir.func @no_block(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    %L = tir.alloc_buffer "L" : !tir.buffer<8x8xf32, "local">
    tir.for %bx = %c0 to %c1 thread_binding "blockIdx.x" {
      tir.for %i = %c0 to %c8 {
        tir.for %j = %c0 to %c8 {
          tir.for %k = %c0 to %c8 thread_binding "threadIdx.x" {
            tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) {
              tir.reads
              tir.writes %L[%vi, %vj]
              tir.init {
                tir.store %z, %L[%vi, %vj] : f32
              }
              %x = tir.load %L[%vi, %vj] : f32
              %y = tir.load %A[%vi, %vk] : f32
              %s = tir.add %x, %y : f32
              tir.store %s, %L[%vi, %vj] : f32
            }
          }
        }
      }
      %r = tir.load %L[%c0, %c0] : f32
      tir.store %r, %B[%c0, %c0] : f32
    }
  }
}
// CHECK: tir.load in @no_block: it reads what threads have reduced in their own memory, and is in no block; put it in a block

// -----

tir.func @both(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    %L = tir.alloc_buffer "L" : !tir.buffer<8x8xf32, "local">
    %M = tir.alloc_buffer "M" : !tir.buffer<8x8xf32, "local">
    tir.for %bx = %c0 to %c1 thread_binding "blockIdx.x" {
      tir.for %i = %c0 to %c8 {
        tir.for %j = %c0 to %c8 {
          tir.for %k = %c0 to %c8 thread_binding "threadIdx.x" {
            tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %c8] = %k) {
              tir.reads
              tir.writes %L[%vi, %vj]
              tir.init {
                tir.store %z, %L[%vi, %vj] : f32
              }
              %x = tir.load %L[%vi, %vj] : f32
              %y = tir.load %A[%vi, %vk] : f32
              %s = tir.add %x, %y : f32
              tir.store %s, %L[%vi, %vj] : f32
            }
          }
        }
      }
      tir.block "C" {
        tir.reads %L[%c0, %c0]
        tir.writes
        %r = tir.load %L[%c0, %c0] : f32
        tir.store %r, %B[%c0, %c0] : f32
        tir.store %r, %M[%c0, %c0] : f32
      }
    }
  }
}
// CHECK: tir.block "C" in @both: it writes memory of the threads and memory that they share, from what they have reduced in their own; make two blocks of it

// -----

tir.func @range(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x8xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x8xf32>
  %N = tir.alloc_buffer "N" : !tir.buffer<2xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c8 = tir.const 8 : i32
  %z = tir.const 0.0 : f32
  tir.block "root" {
    tir.reads
    tir.writes
    %L = tir.alloc_buffer "L" : !tir.buffer<8x8xf32, "local">
    tir.for %bx = %c0 to %c1 thread_binding "blockIdx.x" {
      %n = tir.load %N[%c0] : i32
      tir.for %i = %c0 to %c8 {
        tir.for %j = %c0 to %c8 {
          tir.for %k = %c0 to %n thread_binding "threadIdx.x" {
            tir.block "B" (%vi : S in [%c0 to %c8] = %i, %vj : S in [%c0 to %c8] = %j, %vk : R in [%c0 to %n] = %k) {
              tir.reads
              tir.writes %L[%vi, %vj]
              tir.init {
                tir.store %z, %L[%vi, %vj] : f32
              }
              %x = tir.load %L[%vi, %vj] : f32
              %y = tir.load %A[%vi, %vk] : f32
              %s = tir.add %x, %y : f32
              tir.store %s, %L[%vi, %vj] : f32
            }
          }
        }
      }
      tir.block "C" {
        tir.reads %L[%c0, %c0]
        tir.writes
        %r = tir.load %L[%c0, %c0] : f32
        tir.store %r, %B[%c0, %c0] : f32
      }
    }
  }
}
// CHECK: tir.block "C" in @range: it uses what threads have reduced whose range is computed in the kernel; compute it before the kernel
