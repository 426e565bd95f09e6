// RUN: xdsl-opt %s -p tir-simplify{propagate_knowns_to_prove_conditional=true} --split-input-file | filecheck %s

// CASE: Simplify.15
// Zeros that are gathered leave zeros as they are.
tir.func @gather(%P_handle: !tir.handle, %Q_handle: !tir.handle, %K_handle: !tir.handle) attributes {tir.noalias = true, global_symbol = "gather", param_names = ["P_handle", "Q_handle", "K_handle"]} {
  %c0 = tir.const 0 : i32
  %c20 = tir.const 20 : i32
  %c4 = tir.const 4 : i32
  %c12 = tir.const 12 : i32
  %c2 = tir.const 2 : i32
  %c13 = tir.const 13 : i32
  %P = tir.match_buffer "P" %P_handle : !tir.buffer<20xi32>
  %Q = tir.match_buffer "Q" %Q_handle : !tir.buffer<20xi32>
  %K = tir.match_buffer "K" %K_handle : !tir.buffer<2xi32>
  tir.for "i" %i = %c0 to %c20 {
    %0 = tir.cmp le %c4, %i : i32
    %1 = tir.cmp lt %i, %c12 : i32
    %2 = tir.and %0, %1 : i1
    %3 = tir.load %P[%i] : i32
    %4 = tir.cmp eq %3, %c0 : i32
    %5 = tir.or %2, %4 : i1
    %6 = tir.call "assume"(%5) : (i1) -> i1
  }
  tir.for "i" %i_1 = %c0 to %c20 {
    tir.store %c0, %Q[%i_1] : i32
    tir.for "f" %f = %c0 to %c2 {
      %7 = tir.sub %i_1, %f : i32
      %8 = tir.cmp le %c0, %7 : i32
      tir.if %8 {
        %9 = tir.load %Q[%i_1] : i32
        %10 = tir.sub %i_1, %f : i32
        %11 = tir.load %P[%10] : i32
        %12 = tir.load %K[%f] : i32
        %13 = tir.mul %11, %12 : i32
        %14 = tir.add %9, %13 : i32
        tir.store %14, %Q[%i_1] : i32
      }
    }
  }
  tir.for "i" %i_2 = %c0 to %c20 {
    %15 = tir.cmp lt %i_2, %c4 : i32
    %16 = tir.cmp le %c13, %i_2 : i32
    %17 = tir.or %15, %16 : i1
    tir.if %17 {
      %18 = tir.load %Q[%i_2] : i32
      %19 = tir.cmp ne %18, %c0 : i32
      tir.if %19 {
        tir.store %c0, %Q[%i_2] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @gather
// CHECK-COUNT-4: tir.for
// CHECK-NOT:     tir.load
// CHECK:         tir.if
// CHECK-NEXT:      }

// -----

// CASE: Simplify.15
// Zeros that are scattered, likewise.
tir.func @scatter(%P_handle: !tir.handle, %Q_handle: !tir.handle, %K_handle: !tir.handle) attributes {tir.noalias = true, global_symbol = "scatter", param_names = ["P_handle", "Q_handle", "K_handle"]} {
  %c0 = tir.const 0 : i32
  %c20 = tir.const 20 : i32
  %c4 = tir.const 4 : i32
  %c12 = tir.const 12 : i32
  %c2 = tir.const 2 : i32
  %c13 = tir.const 13 : i32
  %P = tir.match_buffer "P" %P_handle : !tir.buffer<20xi32>
  %Q = tir.match_buffer "Q" %Q_handle : !tir.buffer<20xi32>
  %K = tir.match_buffer "K" %K_handle : !tir.buffer<2xi32>
  tir.for "i" %i = %c0 to %c20 {
    %0 = tir.cmp le %c4, %i : i32
    %1 = tir.cmp lt %i, %c12 : i32
    %2 = tir.and %0, %1 : i1
    %3 = tir.load %P[%i] : i32
    %4 = tir.cmp eq %3, %c0 : i32
    %5 = tir.or %2, %4 : i1
    %6 = tir.call "assume"(%5) : (i1) -> i1
  }
  tir.for "i" %i_1 = %c0 to %c20 {
    tir.store %c0, %Q[%i_1] : i32
  }
  tir.for "i" %i_2 = %c0 to %c20 {
    tir.for "f" %f = %c0 to %c2 {
      %7 = tir.add %i_2, %f : i32
      %8 = tir.cmp lt %7, %c20 : i32
      tir.if %8 {
        %9 = tir.add %i_2, %f : i32
        %10 = tir.load %Q[%9] : i32
        %11 = tir.load %P[%i_2] : i32
        %12 = tir.load %K[%f] : i32
        %13 = tir.mul %11, %12 : i32
        %14 = tir.add %10, %13 : i32
        %15 = tir.add %i_2, %f : i32
        tir.store %14, %Q[%15] : i32
      }
    }
  }
  tir.for "i" %i_3 = %c0 to %c20 {
    %16 = tir.cmp lt %i_3, %c4 : i32
    %17 = tir.cmp le %c13, %i_3 : i32
    %18 = tir.or %16, %17 : i1
    tir.if %18 {
      %19 = tir.load %Q[%i_3] : i32
      %20 = tir.cmp ne %19, %c0 : i32
      tir.if %20 {
        tir.store %c0, %Q[%i_3] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @scatter
// CHECK-COUNT-5: tir.for
// CHECK-NOT:     tir.load
// CHECK:         tir.if
// CHECK-NEXT:      }

// -----

// One element more is written.
tir.func @beyond(%P_handle: !tir.handle, %Q_handle: !tir.handle, %K_handle: !tir.handle) attributes {tir.noalias = true, global_symbol = "beyond", param_names = ["P_handle", "Q_handle", "K_handle"]} {
  %c0 = tir.const 0 : i32
  %c20 = tir.const 20 : i32
  %c4 = tir.const 4 : i32
  %c12 = tir.const 12 : i32
  %c2 = tir.const 2 : i32
  %P = tir.match_buffer "P" %P_handle : !tir.buffer<20xi32>
  %Q = tir.match_buffer "Q" %Q_handle : !tir.buffer<20xi32>
  %K = tir.match_buffer "K" %K_handle : !tir.buffer<2xi32>
  tir.for "i" %i = %c0 to %c20 {
    %0 = tir.cmp le %c4, %i : i32
    %1 = tir.cmp lt %i, %c12 : i32
    %2 = tir.and %0, %1 : i1
    %3 = tir.load %P[%i] : i32
    %4 = tir.cmp eq %3, %c0 : i32
    %5 = tir.or %2, %4 : i1
    %6 = tir.call "assume"(%5) : (i1) -> i1
  }
  tir.for "i" %i_1 = %c0 to %c20 {
    tir.store %c0, %Q[%i_1] : i32
  }
  tir.for "i" %i_2 = %c0 to %c20 {
    tir.for "f" %f = %c0 to %c2 {
      %7 = tir.add %i_2, %f : i32
      %8 = tir.cmp lt %7, %c20 : i32
      tir.if %8 {
        %9 = tir.add %i_2, %f : i32
        %10 = tir.load %Q[%9] : i32
        %11 = tir.load %P[%i_2] : i32
        %12 = tir.load %K[%f] : i32
        %13 = tir.mul %11, %12 : i32
        %14 = tir.add %10, %13 : i32
        %15 = tir.add %i_2, %f : i32
        tir.store %14, %Q[%15] : i32
      }
    }
  }
  tir.for "i" %i_3 = %c0 to %c20 {
    %16 = tir.cmp lt %i_3, %c4 : i32
    %17 = tir.cmp le %c12, %i_3 : i32
    %18 = tir.or %16, %17 : i1
    tir.if %18 {
      %19 = tir.load %Q[%i_3] : i32
      %20 = tir.cmp ne %19, %c0 : i32
      tir.if %20 {
        tir.store %c0, %Q[%i_3] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @beyond
// CHECK-COUNT-5: tir.for
// CHECK:         tir.cmp ne
// CHECK:         tir.store

// -----

// What is added to is another element.
tir.func @other_element(%P_handle: !tir.handle, %Q_handle: !tir.handle, %K_handle: !tir.handle) attributes {tir.noalias = true, global_symbol = "other_element", param_names = ["P_handle", "Q_handle", "K_handle"]} {
  %c0 = tir.const 0 : i32
  %c20 = tir.const 20 : i32
  %c4 = tir.const 4 : i32
  %c12 = tir.const 12 : i32
  %c2 = tir.const 2 : i32
  %c13 = tir.const 13 : i32
  %P = tir.match_buffer "P" %P_handle : !tir.buffer<20xi32>
  %Q = tir.match_buffer "Q" %Q_handle : !tir.buffer<20xi32>
  %K = tir.match_buffer "K" %K_handle : !tir.buffer<2xi32>
  tir.for "i" %i = %c0 to %c20 {
    %0 = tir.cmp le %c4, %i : i32
    %1 = tir.cmp lt %i, %c12 : i32
    %2 = tir.and %0, %1 : i1
    %3 = tir.load %P[%i] : i32
    %4 = tir.cmp eq %3, %c0 : i32
    %5 = tir.or %2, %4 : i1
    %6 = tir.call "assume"(%5) : (i1) -> i1
  }
  tir.for "i" %i_1 = %c0 to %c20 {
    tir.store %c0, %Q[%i_1] : i32
  }
  tir.for "i" %i_2 = %c0 to %c20 {
    tir.for "f" %f = %c0 to %c2 {
      %7 = tir.add %i_2, %f : i32
      %8 = tir.cmp lt %7, %c20 : i32
      tir.if %8 {
        %9 = tir.load %Q[%i_2] : i32
        %10 = tir.load %P[%i_2] : i32
        %11 = tir.load %K[%f] : i32
        %12 = tir.mul %10, %11 : i32
        %13 = tir.add %9, %12 : i32
        %14 = tir.add %i_2, %f : i32
        tir.store %13, %Q[%14] : i32
      }
    }
  }
  tir.for "i" %i_3 = %c0 to %c20 {
    %15 = tir.cmp lt %i_3, %c4 : i32
    %16 = tir.cmp le %c13, %i_3 : i32
    %17 = tir.or %15, %16 : i1
    tir.if %17 {
      %18 = tir.load %Q[%i_3] : i32
      %19 = tir.cmp ne %18, %c0 : i32
      tir.if %19 {
        tir.store %c0, %Q[%i_3] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @other_element
// CHECK-COUNT-5: tir.for
// CHECK:         tir.cmp ne
// CHECK:         tir.store

// -----

// A write of the padding in the loop.
tir.func @written(%P_handle: !tir.handle, %Q_handle: !tir.handle, %K_handle: !tir.handle) attributes {tir.noalias = true, global_symbol = "written", param_names = ["P_handle", "Q_handle", "K_handle"]} {
  %c0 = tir.const 0 : i32
  %c20 = tir.const 20 : i32
  %c4 = tir.const 4 : i32
  %c12 = tir.const 12 : i32
  %c2 = tir.const 2 : i32
  %c1 = tir.const 1 : i32
  %c13 = tir.const 13 : i32
  %P = tir.match_buffer "P" %P_handle : !tir.buffer<20xi32>
  %Q = tir.match_buffer "Q" %Q_handle : !tir.buffer<20xi32>
  %K = tir.match_buffer "K" %K_handle : !tir.buffer<2xi32>
  tir.for "i" %i = %c0 to %c20 {
    %0 = tir.cmp le %c4, %i : i32
    %1 = tir.cmp lt %i, %c12 : i32
    %2 = tir.and %0, %1 : i1
    %3 = tir.load %P[%i] : i32
    %4 = tir.cmp eq %3, %c0 : i32
    %5 = tir.or %2, %4 : i1
    %6 = tir.call "assume"(%5) : (i1) -> i1
  }
  tir.for "i" %i_1 = %c0 to %c20 {
    tir.store %c0, %Q[%i_1] : i32
    tir.for "f" %f = %c0 to %c2 {
      %7 = tir.sub %i_1, %f : i32
      %8 = tir.cmp le %c0, %7 : i32
      tir.if %8 {
        tir.store %c1, %P[%i_1] : i32
        %9 = tir.load %Q[%i_1] : i32
        %10 = tir.sub %i_1, %f : i32
        %11 = tir.load %P[%10] : i32
        %12 = tir.load %K[%f] : i32
        %13 = tir.mul %11, %12 : i32
        %14 = tir.add %9, %13 : i32
        tir.store %14, %Q[%i_1] : i32
      }
    }
  }
  tir.for "i" %i_2 = %c0 to %c20 {
    %15 = tir.cmp lt %i_2, %c4 : i32
    %16 = tir.cmp le %c13, %i_2 : i32
    %17 = tir.or %15, %16 : i1
    tir.if %17 {
      %18 = tir.load %Q[%i_2] : i32
      %19 = tir.cmp ne %18, %c0 : i32
      tir.if %19 {
        tir.store %c0, %Q[%i_2] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @written
// CHECK-COUNT-4: tir.for
// CHECK:         tir.cmp ne
// CHECK:         tir.store

// -----

// Without `tir.noalias` the sums may be in the padding, or in the factors.
tir.func @shared(%P_handle: !tir.handle, %Q_handle: !tir.handle, %K_handle: !tir.handle) attributes {global_symbol = "shared", param_names = ["P_handle", "Q_handle", "K_handle"]} {
  %c0 = tir.const 0 : i32
  %c20 = tir.const 20 : i32
  %c4 = tir.const 4 : i32
  %c12 = tir.const 12 : i32
  %c2 = tir.const 2 : i32
  %c13 = tir.const 13 : i32
  %P = tir.match_buffer "P" %P_handle : !tir.buffer<20xi32>
  %Q = tir.match_buffer "Q" %Q_handle : !tir.buffer<20xi32>
  %K = tir.match_buffer "K" %K_handle : !tir.buffer<2xi32>
  tir.for "i" %i = %c0 to %c20 {
    %0 = tir.cmp le %c4, %i : i32
    %1 = tir.cmp lt %i, %c12 : i32
    %2 = tir.and %0, %1 : i1
    %3 = tir.load %P[%i] : i32
    %4 = tir.cmp eq %3, %c0 : i32
    %5 = tir.or %2, %4 : i1
    %6 = tir.call "assume"(%5) : (i1) -> i1
  }
  tir.for "i" %i_1 = %c0 to %c20 {
    tir.store %c0, %Q[%i_1] : i32
    tir.for "f" %f = %c0 to %c2 {
      %7 = tir.sub %i_1, %f : i32
      %8 = tir.cmp le %c0, %7 : i32
      tir.if %8 {
        %9 = tir.load %Q[%i_1] : i32
        %10 = tir.sub %i_1, %f : i32
        %11 = tir.load %P[%10] : i32
        %12 = tir.load %K[%f] : i32
        %13 = tir.mul %11, %12 : i32
        %14 = tir.add %9, %13 : i32
        tir.store %14, %Q[%i_1] : i32
      }
    }
  }
  tir.for "i" %i_2 = %c0 to %c20 {
    %15 = tir.cmp lt %i_2, %c4 : i32
    %16 = tir.cmp le %c13, %i_2 : i32
    %17 = tir.or %15, %16 : i1
    tir.if %17 {
      %18 = tir.load %Q[%i_2] : i32
      %19 = tir.cmp ne %18, %c0 : i32
      tir.if %19 {
        tir.store %c0, %Q[%i_2] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @shared
// CHECK-COUNT-4: tir.for
// CHECK:         tir.cmp ne
// CHECK:         tir.store

// -----

// Zero times infinity is not zero.
tir.func @floats(%P_handle: !tir.handle, %Q_handle: !tir.handle, %K_handle: !tir.handle) attributes {tir.noalias = true, global_symbol = "floats", param_names = ["P_handle", "Q_handle", "K_handle"]} {
  %c0 = tir.const 0 : i32
  %c20 = tir.const 20 : i32
  %c4 = tir.const 4 : i32
  %c12 = tir.const 12 : i32
  %cst = tir.const 0.000000e+00 : f32
  %c2 = tir.const 2 : i32
  %c13 = tir.const 13 : i32
  %P = tir.match_buffer "P" %P_handle : !tir.buffer<20xf32>
  %Q = tir.match_buffer "Q" %Q_handle : !tir.buffer<20xf32>
  %K = tir.match_buffer "K" %K_handle : !tir.buffer<2xf32>
  tir.for "i" %i = %c0 to %c20 {
    %0 = tir.cmp le %c4, %i : i32
    %1 = tir.cmp lt %i, %c12 : i32
    %2 = tir.and %0, %1 : i1
    %3 = tir.load %P[%i] : f32
    %4 = tir.cmp eq %3, %cst : f32
    %5 = tir.or %2, %4 : i1
    %6 = tir.call "assume"(%5) : (i1) -> i1
  }
  tir.for "i" %i_1 = %c0 to %c20 {
    tir.store %cst, %Q[%i_1] : f32
    tir.for "f" %f = %c0 to %c2 {
      %7 = tir.sub %i_1, %f : i32
      %8 = tir.cmp le %c0, %7 : i32
      tir.if %8 {
        %9 = tir.load %Q[%i_1] : f32
        %10 = tir.sub %i_1, %f : i32
        %11 = tir.load %P[%10] : f32
        %12 = tir.load %K[%f] : f32
        %13 = tir.mul %11, %12 : f32
        %14 = tir.add %9, %13 : f32
        tir.store %14, %Q[%i_1] : f32
      }
    }
  }
  tir.for "i" %i_2 = %c0 to %c20 {
    %15 = tir.cmp lt %i_2, %c4 : i32
    %16 = tir.cmp le %c13, %i_2 : i32
    %17 = tir.or %15, %16 : i1
    tir.if %17 {
      %18 = tir.load %Q[%i_2] : f32
      %19 = tir.cmp ne %18, %cst : f32
      tir.if %19 {
        tir.store %cst, %Q[%i_2] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @floats
// CHECK-COUNT-4: tir.for
// CHECK:         tir.cmp ne
// CHECK:         tir.store

// -----

// All of the factor is added.
tir.func @plain(%P_handle: !tir.handle, %Q_handle: !tir.handle, %K_handle: !tir.handle) attributes {tir.noalias = true, global_symbol = "plain", param_names = ["P_handle", "Q_handle", "K_handle"]} {
  %c0 = tir.const 0 : i32
  %c20 = tir.const 20 : i32
  %c4 = tir.const 4 : i32
  %c12 = tir.const 12 : i32
  %c2 = tir.const 2 : i32
  %c13 = tir.const 13 : i32
  %P = tir.match_buffer "P" %P_handle : !tir.buffer<20xi32>
  %Q = tir.match_buffer "Q" %Q_handle : !tir.buffer<20xi32>
  %K = tir.match_buffer "K" %K_handle : !tir.buffer<2xi32>
  tir.for "i" %i = %c0 to %c20 {
    %0 = tir.cmp le %c4, %i : i32
    %1 = tir.cmp lt %i, %c12 : i32
    %2 = tir.and %0, %1 : i1
    %3 = tir.load %P[%i] : i32
    %4 = tir.cmp eq %3, %c0 : i32
    %5 = tir.or %2, %4 : i1
    %6 = tir.call "assume"(%5) : (i1) -> i1
  }
  tir.for "i" %i_1 = %c0 to %c20 {
    tir.store %c0, %Q[%i_1] : i32
    tir.for "f" %f = %c0 to %c2 {
      %7 = tir.sub %i_1, %f : i32
      %8 = tir.cmp le %c0, %7 : i32
      tir.if %8 {
        %9 = tir.load %Q[%i_1] : i32
        %10 = tir.load %K[%f] : i32
        %11 = tir.add %9, %10 : i32
        tir.store %11, %Q[%i_1] : i32
      }
    }
  }
  tir.for "i" %i_2 = %c0 to %c20 {
    %12 = tir.cmp lt %i_2, %c4 : i32
    %13 = tir.cmp le %c13, %i_2 : i32
    %14 = tir.or %12, %13 : i1
    tir.if %14 {
      %15 = tir.load %Q[%i_2] : i32
      %16 = tir.cmp ne %15, %c0 : i32
      tir.if %16 {
        tir.store %c0, %Q[%i_2] : i32
      }
    }
  }
}
// CHECK-LABEL: tir.func @plain
// CHECK-COUNT-4: tir.for
// CHECK:         tir.cmp ne
// CHECK:         tir.store
