// RUN: xdsl-opt %s -p "tir-hoist-if-then-else" --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p "tir-hoist-if-then-else{support_block_scope_hosting=true}" --split-input-file | filecheck %s --check-prefix BLOCK
// RUN: xdsl-opt %s -p "tir-hoist-if-then-else{variant=basic support_block_scope_hosting=true}" --split-input-file | filecheck %s --check-prefix BASIC

// CASE: HoistIfThenElse.1
tir.func @likely(%A_handle: !tir.handle, %B_handle: !tir.handle) attributes {global_symbol = "likely", param_names = ["A_handle", "B_handle"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c2 = tir.const 2 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4xi32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<4xi32>
  tir.for "i" %i = %c0 to %c4 {
    tir.for "j" %j = %c0 to %c4 {
      tir.for "k" %k = %c0 to %c4 {
        %0 = tir.cmp lt %i, %c2 : i32
        %1 = tir.call "likely"(%0) : (i1) -> i1
        tir.if %1 {
          tir.store %k, %A[%i] : i32
        } else {
          tir.store %j, %A[%i] : i32
        }
      }
    }
  }
  tir.for "i" %i_1 = %c0 to %c4 {
    tir.for "j" %j_1 = %c0 to %c4 {
      %2 = tir.cmp lt %i_1, %c2 : i32
      %3 = tir.call "likely"(%2) : (i1) -> i1
      tir.if %3 {
        tir.store %j_1, %B[%i_1] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @likely
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:    %[[V1:.*]] = tir.call "likely"(%[[V0]]) : (i1) -> i1
// CHECK-NEXT:    tir.if %[[V1]] {
// CHECK-NEXT:      tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        tir.for "k" %[[K:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:          tir.store %[[K]], %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    } else {
// CHECK-NEXT:      tir.for "j" %[[J_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        tir.for "k" %[[K_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:          tir.store %[[J_1]], %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  tir.for "i" %[[I_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V2:.*]] = tir.cmp lt %[[I_1]], %{{.*}} : i32
// CHECK-NEXT:    %[[V3:.*]] = tir.call "likely"(%[[V2]]) : (i1) -> i1
// CHECK-NEXT:    tir.if %[[V3]] {
// CHECK-NEXT:      tir.for "j" %[[J_2:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        tir.store %[[J_2]], %{{.*}}[%[[I_1]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// CASE: HoistIfThenElse.2
tir.func @sums(%A_handle: !tir.handle) attributes {global_symbol = "sums", param_names = ["A_handle"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c2 = tir.const 2 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4xi32>
  tir.for "i" %i = %c0 to %c4 {
    tir.for "j" %j = %c0 to %c4 {
      tir.for "k" %k = %c0 to %c4 {
        %0 = tir.add %i, %j : i32
        %1 = tir.cmp lt %0, %c2 : i32
        tir.if %1 {
          tir.store %k, %A[%i] : i32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @sums
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      %[[V0:.*]] = tir.add %[[I]], %[[J]] : i32
// CHECK-NEXT:      %[[V1:.*]] = tir.cmp lt %[[V0]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V1]] {
// CHECK-NEXT:        tir.for "k" %[[K:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:          tir.store %[[K]], %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// CASE: HoistIfThenElse.3
tir.func @behind_a_store(%A_handle: !tir.handle, %B_handle: !tir.handle) attributes {global_symbol = "behind_a_store", param_names = ["A_handle", "B_handle"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c2 = tir.const 2 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4xi32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<4xi32>
  tir.for "i" %i = %c0 to %c4 {
    tir.for "j" %j = %c0 to %c4 {
      tir.store %i, %B[%j] : i32
      tir.for "k" %k = %c0 to %c4 {
        %0 = tir.cmp lt %i, %c2 : i32
        tir.if %0 {
          tir.store %k, %A[%i] : i32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @behind_a_store
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      tir.store %[[I]], %{{.*}}[%[[J]]] : i32
// CHECK-NEXT:      %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V0]] {
// CHECK-NEXT:        tir.for "k" %[[K:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:          tir.store %[[K]], %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// CASE: HoistIfThenElse.4
tir.func @below_threads(%A_handle: !tir.handle) attributes {global_symbol = "below_threads", param_names = ["A_handle"]} {
  %c4 = tir.const 4 : i32
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  %c9 = tir.const 9 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4x4x8x9xi32>
  tir.launch_thread %bx = "blockIdx.x" to %c4 {
    tir.launch_thread %tx = "threadIdx.x" to %c4 {
      tir.for "i" %i = %c0 to %c8 {
        tir.for "j" %j = %c0 to %c9 {
          tir.for "k" %k = %c0 to %c4 {
            %0 = tir.cmp lt %i, %c4 : i32
            %1 = tir.cmp ge %j, %c8 : i32
            %2 = tir.or %0, %1 : i1
            tir.if %2 {
              tir.store %k, %A[%bx, %tx, %i, %j] : i32
            }
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @below_threads
// CHECK:       tir.launch_thread %[[BX:.*]] = "blockIdx.x" to %{{.*}} {
// CHECK-NEXT:    tir.launch_thread %[[TX:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK-NEXT:      tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:          %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:          %[[V1:.*]] = tir.cmp eq %[[J]], %{{.*}} : i32
// CHECK-NEXT:          %[[V2:.*]] = tir.or %[[V0]], %[[V1]] : i1
// CHECK-NEXT:          tir.if %[[V2]] {
// CHECK-NEXT:            tir.for "k" %[[K:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:              tir.store %[[K]], %{{.*}}[%[[BX]], %[[TX]], %[[I]], %[[J]]] : i32
// CHECK-NEXT:            }
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// CASE: HoistIfThenElse.5
tir.func @nested(%A_handle: !tir.handle, %B_handle: !tir.handle) attributes {global_symbol = "nested", param_names = ["A_handle", "B_handle"]} {
  %c0 = tir.const 0 : i32
  %c6 = tir.const 6 : i32
  %c10 = tir.const 10 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<6x10xi32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<6x10xi32>
  tir.for "i" %i = %c0 to %c6 {
    tir.for "j" %j = %c0 to %c10 {
      %0 = tir.cmp ge %i, %c3 : i32
      tir.if %0 {
        tir.store %i, %B[%i, %j] : i32
        tir.for "k" %k = %c0 to %c4 {
          tir.for "l" %l = %c0 to %c4 {
            %1 = tir.cmp lt %i, %c4 : i32
            %2 = tir.cmp ge %j, %c8 : i32
            %3 = tir.or %1, %2 : i1
            tir.if %3 {
              tir.store %k, %A[%i, %j] : i32
            } else {
              tir.store %l, %A[%i, %j] : i32
            }
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @nested
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.cmp le %{{.*}}, %[[I]] : i32
// CHECK-NEXT:    tir.if %[[V0]] {
// CHECK-NEXT:      tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        tir.store %[[I]], %{{.*}}[%[[I]], %[[J]]] : i32
// CHECK-NEXT:        %[[V1:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:        %[[V2:.*]] = tir.cmp le %{{.*}}, %[[J]] : i32
// CHECK-NEXT:        %[[V3:.*]] = tir.or %[[V1]], %[[V2]] : i1
// CHECK-NEXT:        tir.if %[[V3]] {
// CHECK-NEXT:          tir.for "k" %[[K:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:            tir.for "l" %[[L:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:              tir.store %[[K]], %{{.*}}[%[[I]], %[[J]]] : i32
// CHECK-NEXT:            }
// CHECK-NEXT:          }
// CHECK-NEXT:        } else {
// CHECK-NEXT:          tir.for "k" %[[K_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:            tir.for "l" %[[L_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:              tir.store %[[L_1]], %{{.*}}[%[[I]], %[[J]]] : i32
// CHECK-NEXT:            }
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// CASE: HoistIfThenElse.6
tir.func @siblings(%A_handle: !tir.handle, %B_handle: !tir.handle, %n: i32) attributes {global_symbol = "siblings", param_names = ["A_handle", "B_handle", "n"]} {
  %c0 = tir.const 0 : i32
  %c6 = tir.const 6 : i32
  %c10 = tir.const 10 : i32
  %c4 = tir.const 4 : i32
  %c3 = tir.const 3 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<6x10xi32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<6x10xi32>
  tir.for "i" %i = %c0 to %c6 {
    tir.for "j" %j = %c0 to %c10 {
      %0 = tir.cmp lt %i, %c4 : i32
      tir.if %0 {
        tir.store %i, %A[%i, %j] : i32
      }
      tir.store %j, %B[%i, %j] : i32
      %1 = tir.load %A[%i, %j] : i32
      %2 = tir.load %B[%i, %j] : i32
      %3 = tir.add %1, %2 : i32
      tir.store %3, %A[%i, %j] : i32
    }
  }
  tir.for "i" %i_1 = %c0 to %c6 {
    tir.for "j" %j_1 = %c0 to %c10 {
      %4 = tir.cmp ge %n, %c3 : i32
      tir.if %4 {
        %5 = tir.load %A[%i_1, %j_1] : i32
        %6 = tir.add %5, %n : i32
        tir.store %6, %A[%i_1, %j_1] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @siblings
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V0]] {
// CHECK-NEXT:        tir.store %[[I]], %{{.*}}[%[[I]], %[[J]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.store %[[J]], %{{.*}}[%[[I]], %[[J]]] : i32
// CHECK-NEXT:      %[[V1:.*]] = tir.load %{{.*}}[%[[I]], %[[J]]] : i32
// CHECK-NEXT:      %[[V2:.*]] = tir.load %{{.*}}[%[[I]], %[[J]]] : i32
// CHECK-NEXT:      %[[V3:.*]] = tir.add %[[V1]], %[[V2]] : i32
// CHECK-NEXT:      tir.store %[[V3]], %{{.*}}[%[[I]], %[[J]]] : i32
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  %[[V4:.*]] = tir.cmp le %{{.*}}, %{{.*}} : i32
// CHECK-NEXT:  tir.if %[[V4]] {
// CHECK-NEXT:    tir.for "i" %[[I_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      tir.for "j" %[[J_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[V5:.*]] = tir.load %{{.*}}[%[[I_1]], %[[J_1]]] : i32
// CHECK-NEXT:        %[[V6:.*]] = tir.add %[[V5]], %{{.*}} : i32
// CHECK-NEXT:        tir.store %[[V6]], %{{.*}}[%[[I_1]], %[[J_1]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// CASE: HoistIfThenElse.7
tir.func @one_by_one(%A_handle: !tir.handle) attributes {global_symbol = "one_by_one", param_names = ["A_handle"]} {
  %c0 = tir.const 0 : i32
  %c6 = tir.const 6 : i32
  %c3 = tir.const 3 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<6x6xi32>
  tir.for "i" %i = %c0 to %c6 {
    tir.for "j" %j = %c0 to %c6 {
      tir.for "k" %k = %c0 to %c6 {
        %0 = tir.cmp le %c3, %i : i32
        tir.if %0 {
          %1 = tir.cmp le %c3, %j : i32
          tir.if %1 {
            tir.store %k, %A[%i, %j] : i32
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @one_by_one
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.cmp le %{{.*}}, %[[I]] : i32
// CHECK-NEXT:    tir.if %[[V0]] {
// CHECK-NEXT:      tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[V1:.*]] = tir.cmp le %{{.*}}, %[[J]] : i32
// CHECK-NEXT:        tir.if %[[V1]] {
// CHECK-NEXT:          tir.for "k" %[[K:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:            tir.store %[[K]], %{{.*}}[%[[I]], %[[J]]] : i32
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// CASE: HoistIfThenElse.8
tir.func @stays(%A_handle: !tir.handle, %B_handle: !tir.handle) attributes {global_symbol = "stays", param_names = ["A_handle", "B_handle"]} {
  %c0 = tir.const 0 : i32
  %c6 = tir.const 6 : i32
  %c3 = tir.const 3 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<6x6xi32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<6xi32>
  tir.for "i" %i = %c0 to %c6 {
    tir.for "k" %k = %c0 to %c6 {
      %0 = tir.cmp lt %k, %c3 : i32
      tir.if %0 {
        tir.store %k, %A[%i, %k] : i32
      }
    }
  }
  tir.for "i" %i_1 = %c0 to %c6 {
    tir.for "k" %k_1 = %c0 to %c6 {
      tir.store %i_1, %A[%i_1, %k_1] : i32
      %1 = tir.cmp lt %i_1, %c3 : i32
      tir.if %1 {
        tir.store %k_1, %A[%i_1, %k_1] : i32
      }
    }
  }
  tir.for "tx" %tx = %c0 to %c6 thread_binding "threadIdx.x" {
    tir.for "k" %k_2 = %c0 to %c6 {
      %2 = tir.add %tx, %k_2 : i32
      %3 = tir.cmp lt %2, %c3 : i32
      tir.if %3 {
        tir.store %k_2, %B[%tx] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @stays
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    tir.for "k" %[[K:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      %[[V0:.*]] = tir.cmp lt %[[K]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V0]] {
// CHECK-NEXT:        tir.store %[[K]], %{{.*}}[%[[I]], %[[K]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  tir.for "i" %[[I_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    tir.for "k" %[[K_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      tir.store %[[I_1]], %{{.*}}[%[[I_1]], %[[K_1]]] : i32
// CHECK-NEXT:      %[[V1:.*]] = tir.cmp lt %[[I_1]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V1]] {
// CHECK-NEXT:        tir.store %[[K_1]], %{{.*}}[%[[I_1]], %[[K_1]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  tir.for "tx" %[[TX:.*]] = %{{.*}} to %{{.*}} thread_binding "threadIdx.x" {
// CHECK-NEXT:    tir.for "k" %[[K_2:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      %[[V2:.*]] = tir.add %[[TX]], %[[K_2]] : i32
// CHECK-NEXT:      %[[V3:.*]] = tir.cmp lt %[[V2]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V3]] {
// CHECK-NEXT:        tir.store %[[K_2]], %{{.*}}[%[[TX]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// CASE: HoistIfThenElse.9
tir.func @threads(%A_handle: !tir.handle, %n: i32) attributes {global_symbol = "threads", param_names = ["A_handle", "n"]} {
  %c4 = tir.const 4 : i32
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4x4xi32>
  tir.launch_thread %bx = "blockIdx.x" to %c4 {
    tir.launch_thread %tx = "threadIdx.x" to %c4 {
      tir.for "i" %i = %c0 to %c4 {
        tir.for "j" %j = %c0 to %c4 {
          %0 = tir.cmp lt %tx, %c3 : i32
          tir.if %0 {
            %1 = tir.add %tx, %n : i32
            %2 = tir.cmp lt %1, %c4 : i32
            tir.if %2 {
              %3 = tir.add %tx, %i : i32
              %4 = tir.cmp lt %3, %c3 : i32
              tir.if %4 {
                tir.store %j, %A[%bx, %tx] : i32
              }
            }
          }
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @threads
// CHECK:       tir.launch_thread %[[BX:.*]] = "blockIdx.x" to %{{.*}} {
// CHECK-NEXT:    tir.launch_thread %[[TX:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK-NEXT:      tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:          %[[V0:.*]] = tir.cmp lt %[[TX]], %{{.*}} : i32
// CHECK-NEXT:          tir.if %[[V0]] {
// CHECK-NEXT:            %[[V1:.*]] = tir.add %[[TX]], %{{.*}} : i32
// CHECK-NEXT:            %[[V2:.*]] = tir.cmp lt %[[V1]], %{{.*}} : i32
// CHECK-NEXT:            tir.if %[[V2]] {
// CHECK-NEXT:              %[[V3:.*]] = tir.add %[[TX]], %[[I]] : i32
// CHECK-NEXT:              %[[V4:.*]] = tir.cmp lt %[[V3]], %{{.*}} : i32
// CHECK-NEXT:              tir.if %[[V4]] {
// CHECK-NEXT:                tir.store %[[J]], %{{.*}}[%[[BX]], %[[TX]]] : i32
// CHECK-NEXT:              }
// CHECK-NEXT:            }
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}
// BLOCK-LABEL: tir.func @threads
// BLOCK:       tir.launch_thread %[[BX:.*]] = "blockIdx.x" to %{{.*}} {
// BLOCK-NEXT:    tir.launch_thread %[[TX:.*]] = "threadIdx.x" to %{{.*}} {
// BLOCK-NEXT:      %[[V0:.*]] = tir.cmp lt %[[TX]], %{{.*}} : i32
// BLOCK-NEXT:      tir.if %[[V0]] {
// BLOCK-NEXT:        %[[V1:.*]] = tir.add %[[TX]], %{{.*}} : i32
// BLOCK-NEXT:        %[[V2:.*]] = tir.cmp lt %[[V1]], %{{.*}} : i32
// BLOCK-NEXT:        tir.if %[[V2]] {
// BLOCK-NEXT:          tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// BLOCK-NEXT:            %[[V3:.*]] = tir.add %[[TX]], %[[I]] : i32
// BLOCK-NEXT:            %[[V4:.*]] = tir.cmp lt %[[V3]], %{{.*}} : i32
// BLOCK-NEXT:            tir.if %[[V4]] {
// BLOCK-NEXT:              tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// BLOCK-NEXT:                tir.store %[[J]], %{{.*}}[%[[BX]], %[[TX]]] : i32
// BLOCK-NEXT:              }
// BLOCK-NEXT:            }
// BLOCK-NEXT:          }
// BLOCK-NEXT:        }
// BLOCK-NEXT:      }
// BLOCK-NEXT:    }
// BLOCK-NEXT:  }
// BLOCK-NEXT:}
// BASIC-LABEL: tir.func @threads
// BASIC:       tir.launch_thread %[[BX:.*]] = "blockIdx.x" to %{{.*}} {
// BASIC-NEXT:    tir.launch_thread %[[TX:.*]] = "threadIdx.x" to %{{.*}} {
// BASIC-NEXT:      tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// BASIC-NEXT:        tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// BASIC-NEXT:          %[[V0:.*]] = tir.cmp lt %[[TX]], %{{.*}} : i32
// BASIC-NEXT:          tir.if %[[V0]] {
// BASIC-NEXT:            %[[V1:.*]] = tir.add %[[TX]], %{{.*}} : i32
// BASIC-NEXT:            %[[V2:.*]] = tir.cmp lt %[[V1]], %{{.*}} : i32
// BASIC-NEXT:            tir.if %[[V2]] {
// BASIC-NEXT:              %[[V3:.*]] = tir.add %[[TX]], %[[I]] : i32
// BASIC-NEXT:              %[[V4:.*]] = tir.cmp lt %[[V3]], %{{.*}} : i32
// BASIC-NEXT:              tir.if %[[V4]] {
// BASIC-NEXT:                tir.store %[[J]], %{{.*}}[%[[BX]], %[[TX]]] : i32
// BASIC-NEXT:              }
// BASIC-NEXT:            }
// BASIC-NEXT:          }
// BASIC-NEXT:        }
// BASIC-NEXT:      }
// BASIC-NEXT:    }
// BASIC-NEXT:  }
// BASIC-NEXT:}

// -----

// CASE: HoistIfThenElse.10
tir.func @loads(%A_handle: !tir.handle, %data_handle: !tir.handle) attributes {global_symbol = "loads", param_names = ["A_handle", "data_handle"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c3 = tir.const 3 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4x4xi32>
  %data = tir.match_buffer "data" %data_handle : !tir.buffer<4xi32>
  tir.for "i" %i = %c0 to %c4 {
    tir.for "j" %j = %c0 to %c4 {
      %0 = tir.load %data[%i] : i32
      %1 = tir.cmp lt %0, %c3 : i32
      tir.if %1 {
        tir.store %j, %A[%i, %j] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @loads
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      %[[V0:.*]] = tir.load %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:      %[[V1:.*]] = tir.cmp lt %[[V0]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V1]] {
// CHECK-NEXT:        tir.store %[[J]], %{{.*}}[%[[I]], %[[J]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}
// BLOCK-LABEL: tir.func @loads
// BLOCK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// BLOCK-NEXT:    tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// BLOCK-NEXT:      %[[V0:.*]] = tir.load %{{.*}}[%[[I]]] : i32
// BLOCK-NEXT:      %[[V1:.*]] = tir.cmp lt %[[V0]], %{{.*}} : i32
// BLOCK-NEXT:      tir.if %[[V1]] {
// BLOCK-NEXT:        tir.store %[[J]], %{{.*}}[%[[I]], %[[J]]] : i32
// BLOCK-NEXT:      }
// BLOCK-NEXT:    }
// BLOCK-NEXT:  }
// BLOCK-NEXT:}

// -----

// CASE: HoistIfThenElse.11
tir.func @expressions(%A_handle: !tir.handle, %B_handle: !tir.handle, %n: i32) attributes {tir.HoistIfThenElseExprWithBlock = 1 : i32, global_symbol = "expressions", param_names = ["A_handle", "B_handle", "n"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c2 = tir.const 2 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4x4xi32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<4x4xi32>
  tir.for "i" %i = %c0 to %c4 {
    tir.for "j" %j = %c0 to %c4 {
      %0 = tir.cmp lt %i, %c2 : i32
      %1 = tir.if_then_else %0 -> i32 {
        tir.yield %n : i32
      } else {
        tir.yield %j : i32
      }
      tir.store %1, %A[%i, %j] : i32
    }
  }
  tir.for "i" %i_1 = %c0 to %c4 {
    tir.for "j" %j_1 = %c0 to %c4 {
      %2 = tir.cmp lt %i_1, %c2 : i32
      tir.if %2 {
        tir.store %n, %B[%i_1, %j_1] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @expressions
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:    tir.if %[[V0]] {
// CHECK-NEXT:      tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    } else {
// CHECK-NEXT:      tir.for "j" %[[J_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        tir.store %[[J_1]], %{{.*}}[%[[I]], %[[J_1]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  tir.for "i" %[[I_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    tir.for "j" %[[J_2:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      %[[V1:.*]] = tir.cmp lt %[[I_1]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V1]] {
// CHECK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I_1]], %[[J_2]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}
// BASIC-LABEL: tir.func @expressions
// BASIC:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// BASIC-NEXT:    tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// BASIC-NEXT:      %[[V0:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// BASIC-NEXT:      %[[V1:.*]] = tir.if_then_else %[[V0]] -> i32 {
// BASIC-NEXT:        tir.yield %{{.*}} : i32
// BASIC-NEXT:      } else {
// BASIC-NEXT:        tir.yield %[[J]] : i32
// BASIC-NEXT:      }
// BASIC-NEXT:      tir.store %[[V1]], %{{.*}}[%[[I]], %[[J]]] : i32
// BASIC-NEXT:    }
// BASIC-NEXT:  }
// BASIC-NEXT:  tir.for "i" %[[I_1:.*]] = %{{.*}} to %{{.*}} {
// BASIC-NEXT:    %[[V2:.*]] = tir.cmp lt %[[I_1]], %{{.*}} : i32
// BASIC-NEXT:    tir.if %[[V2]] {
// BASIC-NEXT:      tir.for "j" %[[J_1:.*]] = %{{.*}} to %{{.*}} {
// BASIC-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I_1]], %[[J_1]]] : i32
// BASIC-NEXT:      }
// BASIC-NEXT:    }
// BASIC-NEXT:  }
// BASIC-NEXT:}

// -----

// CASE: HoistIfThenElse.12
tir.func @threads_inside(%A_handle: !tir.handle, %n: i32) attributes {global_symbol = "threads_inside", param_names = ["A_handle", "n"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c3 = tir.const 3 : i32
  %c8 = tir.const 8 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4x8xi32>
  tir.for "i" %i = %c0 to %c4 {
    tir.launch_thread %tx = "threadIdx.x" to %c4 {
      %0 = tir.cmp lt %n, %c3 : i32
      tir.if %0 {
        tir.store %n, %A[%i, %tx] : i32
      }
    }
    tir.launch_thread %tx_1 = "threadIdx.x" to %c8 {
      %1 = tir.cmp lt %i, %c3 : i32
      tir.if %1 {
        tir.store %i, %A[%i, %tx_1] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @threads_inside
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    tir.launch_thread %[[TX:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK-NEXT:      %[[V0:.*]] = tir.cmp lt %{{.*}}, %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V0]] {
// CHECK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I]], %[[TX]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.launch_thread %[[TX_1:.*]] = "threadIdx.x" to %{{.*}} {
// CHECK-NEXT:      %[[V1:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V1]] {
// CHECK-NEXT:        tir.store %[[I]], %{{.*}}[%[[I]], %[[TX_1]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}
// BLOCK-LABEL: tir.func @threads_inside
// BLOCK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// BLOCK-NEXT:    %[[V0:.*]] = tir.cmp lt %{{.*}}, %{{.*}} : i32
// BLOCK-NEXT:    tir.if %[[V0]] {
// BLOCK-NEXT:      tir.launch_thread %[[TX:.*]] = "threadIdx.x" to %{{.*}} {
// BLOCK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I]], %[[TX]]] : i32
// BLOCK-NEXT:      }
// BLOCK-NEXT:    }
// BLOCK-NEXT:    %[[V1:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// BLOCK-NEXT:    tir.if %[[V1]] {
// BLOCK-NEXT:      tir.launch_thread %[[TX_1:.*]] = "threadIdx.x" to %{{.*}} {
// BLOCK-NEXT:        tir.store %[[I]], %{{.*}}[%[[I]], %[[TX_1]]] : i32
// BLOCK-NEXT:      }
// BLOCK-NEXT:    }
// BLOCK-NEXT:  }
// BLOCK-NEXT:}

// -----

// CASE: HoistIfThenElse.13
tir.func @across_an_attribute(%A_handle: !tir.handle, %n: i32) attributes {global_symbol = "across_an_attribute", param_names = ["A_handle", "n"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c3 = tir.const 3 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4xi32>
  tir.for "i" %i = %c0 to %c4 {
    %0 = tir.data %A : !tir.ptr<i32>
    tir.attr "storage_alignment" (%0) = 128 : i32 {
      tir.for "j" %j = %c0 to %c4 {
        %1 = tir.cmp lt %n, %c3 : i32
        tir.if %1 {
          tir.store %j, %A[%i] : i32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @across_an_attribute
// CHECK:       tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:    %[[V0:.*]] = tir.data %{{.*}} : !tir.ptr<i32>
// CHECK-NEXT:    tir.attr "storage_alignment" (%[[V0]]) = 128 : i32 {
// CHECK-NEXT:      %[[V1:.*]] = tir.cmp lt %{{.*}}, %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V1]] {
// CHECK-NEXT:        tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:          tir.store %[[J]], %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}
// BLOCK-LABEL: tir.func @across_an_attribute
// BLOCK:       %[[V0:.*]] = tir.cmp lt %{{.*}}, %{{.*}} : i32
// BLOCK-NEXT:  tir.if %[[V0]] {
// BLOCK-NEXT:    tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// BLOCK-NEXT:      %[[V1:.*]] = tir.data %{{.*}} : !tir.ptr<i32>
// BLOCK-NEXT:      tir.attr "storage_alignment" (%[[V1]]) = 128 : i32 {
// BLOCK-NEXT:        tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// BLOCK-NEXT:          tir.store %[[J]], %{{.*}}[%[[I]]] : i32
// BLOCK-NEXT:        }
// BLOCK-NEXT:      }
// BLOCK-NEXT:    }
// BLOCK-NEXT:  }
// BLOCK-NEXT:}

// -----

// The other branch of an `if` around the condition is kept.
tir.func @other_branch(%A_handle: !tir.handle, %n: i32) attributes {global_symbol = "other_branch", param_names = ["A_handle", "n"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4xi32>
  tir.for "i" %i = %c0 to %c4 {
    %0 = tir.cmp lt %i, %c2 : i32
    tir.if %0 {
      tir.store %n, %A[%i] : i32
    } else {
      %1 = tir.cmp lt %n, %c3 : i32
      tir.if %1 {
        tir.store %i, %A[%i] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @other_branch
// CHECK:       %[[V0:.*]] = tir.cmp lt %{{.*}}, %{{.*}} : i32
// CHECK-NEXT:  tir.if %[[V0]] {
// CHECK-NEXT:    tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      %[[V1:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V1]] {
// CHECK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:      } else {
// CHECK-NEXT:        tir.store %[[I]], %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  } else {
// CHECK-NEXT:    tir.for "i" %[[I_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      %[[V2:.*]] = tir.cmp lt %[[I_1]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V2]] {
// CHECK-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[I_1]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// A division by what may be zero stays after the condition that guards it.
tir.func @divides(%A_handle: !tir.handle, %n: i32, %m: i32) attributes {global_symbol = "divides", param_names = ["A_handle", "n", "m"]} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c3 = tir.const 3 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4xi32>
  tir.for "i" %i = %c0 to %c4 {
    %0 = tir.cmp gt %m, %c3 : i32
    tir.if %0 {
      %1 = tir.sub %m, %c3 : i32
      %2 = tir.div %n, %1 : i32
      %3 = tir.cmp lt %2, %c3 : i32
      tir.if %3 {
        tir.store %i, %A[%i] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @divides
// CHECK:       %[[V0:.*]] = tir.cmp lt %{{.*}}, %{{.*}} : i32
// CHECK-NEXT:  tir.if %[[V0]] {
// CHECK-NEXT:    tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      %[[V1:.*]] = tir.sub %{{.*}}, %{{.*}} : i32
// CHECK-NEXT:      %[[V2:.*]] = tir.div %{{.*}}, %[[V1]] : i32
// CHECK-NEXT:      %[[V3:.*]] = tir.cmp lt %[[V2]], %{{.*}} : i32
// CHECK-NEXT:      tir.if %[[V3]] {
// CHECK-NEXT:        tir.store %[[I]], %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}

// -----

// Threads that meet inside of a loop are not kept apart.
tir.func @meet(%A_handle: !tir.handle, %B_handle: !tir.handle) attributes {global_symbol = "meet", param_names = ["A_handle", "B_handle"]} {
  %c4 = tir.const 4 : i32
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %A = tir.match_buffer "A" %A_handle : !tir.buffer<4xi32>
  %B = tir.match_buffer "B" %B_handle : !tir.buffer<4xi32>
  tir.launch_thread %tx = "threadIdx.x" to %c4 {
    tir.for "i" %i = %c0 to %c4 {
      tir.for "j" %j = %c0 to %c2 {
        %0 = tir.load %B[%i] : i32
        %1 = tir.cmp lt %0, %c3 : i32
        tir.if %1 {
          %2 = tir.string "shared"
          %3 = tir.call "tvm_storage_sync"(%2) : (!tir.handle) -> i32
        } else {
          %4 = tir.cmp lt %tx, %c2 : i32
          tir.if %4 {
            tir.store %i, %A[%tx] : i32
          }
        }
      }
    }
  }
}
// BLOCK-LABEL: tir.func @meet
// BLOCK:       tir.launch_thread %[[TX:.*]] = "threadIdx.x" to %{{.*}} {
// BLOCK-NEXT:    tir.for "i" %[[I:.*]] = %{{.*}} to %{{.*}} {
// BLOCK-NEXT:      tir.for "j" %[[J:.*]] = %{{.*}} to %{{.*}} {
// BLOCK-NEXT:        %[[V0:.*]] = tir.load %{{.*}}[%[[I]]] : i32
// BLOCK-NEXT:        %[[V1:.*]] = tir.cmp lt %[[V0]], %{{.*}} : i32
// BLOCK-NEXT:        tir.if %[[V1]] {
// BLOCK-NEXT:          %[[V2:.*]] = tir.string "shared"
// BLOCK-NEXT:          %[[V3:.*]] = tir.call "tvm_storage_sync"(%[[V2]]) : (!tir.handle) -> i32
// BLOCK-NEXT:        } else {
// BLOCK-NEXT:          %[[V4:.*]] = tir.cmp lt %[[TX]], %{{.*}} : i32
// BLOCK-NEXT:          tir.if %[[V4]] {
// BLOCK-NEXT:            tir.store %[[I]], %{{.*}}[%[[TX]]] : i32
// BLOCK-NEXT:          }
// BLOCK-NEXT:        }
// BLOCK-NEXT:      }
// BLOCK-NEXT:    }
// BLOCK-NEXT:  }
// BLOCK-NEXT:}
