// RUN: xdsl-opt %s -p tir-vectorize-loop --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p "tir-vectorize-loop{enable_buffer_level_predication=true}" --split-input-file | filecheck %s --check-prefix MASK
// RUN: xdsl-opt %s -p "tir-vectorize-loop{enable_buffer_level_predication=false}" --split-input-file | filecheck %s --check-prefix NOMASK
// RUN: xdsl-opt %s -p "tir-vectorize-loop{enable_vectorize=false}" --split-input-file | filecheck %s --check-prefix SERIAL
// CASE: VectorizeLoop.1, VectorizeLoop.17
tir.func @broadcast(%a: !tir.handle) attributes {global_symbol = "broadcast"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<25xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %one = tir.const 1.0 : f32
  tir.for %j = %c0 to %c4 vectorized {
    tir.store %one, %A[%j] : f32
  }
}
// CHECK-LABEL: tir.func @broadcast
// CHECK:           %[[V1:.*]] = tir.ramp %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK-NEXT:      %[[V2:.*]] = tir.broadcast %{{.*}} : vector<4xf32>
// CHECK-NEXT:      tir.store %[[V2]], %{{.*}}[%[[V1]]] : vector<4xf32>
// CHECK-NEXT:    }
// SERIAL-LABEL: tir.func @broadcast
// SERIAL:           tir.for %[[J:.*]] = %{{.*}} to %{{.*}} {
// SERIAL-NEXT:        tir.store %{{.*}}, %{{.*}}[%[[J]]] : f32
// SERIAL-NEXT:      }
// SERIAL-NEXT:    }

// -----

// CASE: VectorizeLoop.2
tir.func @element_vectors(%a: !tir.handle) attributes {global_symbol = "element_vectors"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xvector<4xf32>>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %one = tir.const 1.0 : f32
  %ones = tir.broadcast %one : vector<4xf32>
  tir.for %j = %c0 to %c4 vectorized {
    tir.store %ones, %A[%j] : vector<4xf32>
  }
}
// CHECK-LABEL: tir.func @element_vectors
// CHECK:           %[[ONES:.*]] = tir.broadcast %{{.*}} : vector<4xf32>
// CHECK:           %[[V1:.*]] = tir.ramp %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK:           %[[V3:.*]] = tir.broadcast %{{.*}} : vector<16xf32>
// CHECK-NEXT:      tir.store %[[V3]], %{{.*}}[%[[V1]]] : vector<16xf32>
// CHECK-NEXT:    }

// -----

// CASE: VectorizeLoop.3
tir.func @branches(%a: !tir.handle, %n: i32, %x: i32) attributes {global_symbol = "branches"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<25xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %one = tir.const 1.0 : f32
  %two = tir.const 2.0 : f32
  tir.for %i = %c0 to %c4 vectorized {
    %p = tir.cmp lt %x, %n : i32
    tir.if %p {
      %y = tir.load %A[%i] : f32
      %z = tir.add %y, %one : f32
      tir.store %z, %A[%i] : f32
    } else {
      %q = tir.cmp lt %i, %n : i32
      tir.if %q {
        tir.store %two, %A[%i] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @branches
// CHECK:           %[[P:.*]] = tir.cmp lt %{{.*}}, %{{.*}} : i32
// CHECK:           %[[V1:.*]] = tir.ramp %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK-NEXT:      tir.if %[[P]] {
// CHECK-NEXT:        %[[Y:.*]] = tir.load %{{.*}}[%[[V1]]] : vector<4xf32>
// CHECK-NEXT:        %[[V2:.*]] = tir.broadcast %{{.*}} : vector<4xf32>
// CHECK-NEXT:        %[[V3:.*]] = tir.add %[[Y]], %[[V2]] : vector<4xf32>
// CHECK-NEXT:        tir.store %[[V3]], %{{.*}}[%[[V1]]] : vector<4xf32>
// CHECK-NEXT:      } else {
// CHECK-NEXT:        tir.for "i.s" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:          %[[Q:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:          tir.if %[[Q]] {
// CHECK-NEXT:            tir.store %{{.*}}, %{{.*}}[%[[I]]] : f32
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// -----

// CASE: VectorizeLoop.5
tir.func @lets(%a: !tir.handle) attributes {global_symbol = "lets"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %one = tir.const 1.0 : f32
  %two = tir.const 2.0 : f32
  tir.for %i = %c0 to %c4 vectorized {
    %x = tir.load %A[%i] : f32
    %y = tir.add %x, %one : f32
    %v = tir.let "v" %y : f32
    %z = tir.add %v, %two : f32
    tir.store %z, %A[%i] : f32
  }
}
// CHECK-LABEL: tir.func @lets
// CHECK:           %[[V1:.*]] = tir.ramp %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK-NEXT:      %[[X:.*]] = tir.load %{{.*}}[%[[V1]]] : vector<4xf32>
// CHECK-NEXT:      %[[V2:.*]] = tir.broadcast %{{.*}} : vector<4xf32>
// CHECK-NEXT:      %[[V3:.*]] = tir.add %[[X]], %[[V2]] : vector<4xf32>
// CHECK-NEXT:      %[[V:.*]] = tir.let "v" %[[V3]] : vector<4xf32>
// CHECK-NEXT:      %[[V4:.*]] = tir.broadcast %{{.*}} : vector<4xf32>
// CHECK-NEXT:      %[[V5:.*]] = tir.add %[[V]], %[[V4]] : vector<4xf32>
// CHECK-NEXT:      tir.store %[[V5]], %{{.*}}[%[[V1]]] : vector<4xf32>
// CHECK-NEXT:    }

// -----

// CASE: VectorizeLoop.6
tir.func @conditions(%a: !tir.handle, %n: i32) attributes {global_symbol = "conditions"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %one = tir.const 1.0 : f32
  tir.for "i" %i = %c0 to %c4 vectorized {
    %p = tir.cmp le %i, %n : i32
    tir.if %p {
      tir.store %one, %A[%i] : f32
    }
  }
  tir.for "i" %i = %c0 to %c4 vectorized {
    %p = tir.cmp ge %i, %n : i32
    tir.if %p {
      tir.store %one, %A[%i] : f32
    }
  }
}
// CHECK-LABEL: tir.func @conditions
// CHECK:           tir.for "i.s" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[P:.*]] = tir.cmp le %[[I]], %{{.*}} : i32
// CHECK-NEXT:        tir.if %[[P]] {
// CHECK-NEXT:          tir.store %{{.*}}, %{{.*}}[%[[I]]] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.for "i.s" %[[I_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[P_1:.*]] = tir.cmp ge %[[I_1]], %{{.*}} : i32
// CHECK-NEXT:        tir.if %[[P_1]] {
// CHECK-NEXT:          tir.store %{{.*}}, %{{.*}}[%[[I_1]]] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// -----

// CASE: VectorizeLoop.7
tir.func @choices(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "choices"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %zero = tir.const 0.0 : f32
  %one = tir.const 1.0 : f32
  tir.for "i" %i = %c0 to %c4 vectorized {
    %p = tir.cmp gt %i, %c0 : i32
    %x = tir.load %A[%i] : f32
    %y = tir.if_then_else %p -> f32 {
      %z = tir.add %x, %one : f32
      tir.yield %z : f32
    } else {
      tir.yield %x : f32
    }
    tir.store %y, %A[%i] : f32
  }
  tir.for %i0 = %c0 to %c2 {
    tir.for %j = %c0 to %c4 vectorized {
      %p = tir.cmp gt %i0, %c0 : i32
      %row = tir.mul %i0, %c4 : i32
      %at = tir.add %row, %j : i32
      %y = tir.if_then_else %p -> f32 {
        %x = tir.load %B[%at] : f32
        tir.yield %x : f32
      } else {
        tir.yield %zero : f32
      }
      tir.store %y, %B[%at] : f32
    }
  }
}
// CHECK-LABEL: tir.func @choices
// CHECK:           tir.for "i.s" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[P:.*]] = tir.cmp gt %[[I]], %{{.*}} : i32
// CHECK-NEXT:        %[[X:.*]] = tir.load %{{.*}}[%[[I]]] : f32
// CHECK-NEXT:        %[[Y:.*]] = tir.if_then_else %[[P]] -> f32 {
// CHECK-NEXT:          %[[Z:.*]] = tir.add %[[X]], %{{.*}} : f32
// CHECK-NEXT:          tir.yield %[[Z]] : f32
// CHECK-NEXT:        } else {
// CHECK-NEXT:          tir.yield %[[X]] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:        tir.store %[[Y]], %{{.*}}[%[[I]]] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.for %[[I0:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[P_1:.*]] = tir.cmp gt %[[I0]], %{{.*}} : i32
// CHECK-NEXT:        %[[ROW:.*]] = tir.mul %[[I0]], %{{.*}} : i32
// CHECK:             %[[V1:.*]] = tir.ramp %[[ROW]], %{{.*}} : vector<4xi32>
// CHECK-NEXT:        %[[Y_1:.*]] = tir.if_then_else %[[P_1]] -> vector<4xf32> {
// CHECK-NEXT:          %[[X_1:.*]] = tir.load %{{.*}}[%[[V1]]] : vector<4xf32>
// CHECK-NEXT:          tir.yield %[[X_1]] : vector<4xf32>
// CHECK-NEXT:        } else {
// CHECK-NEXT:          %[[V2:.*]] = tir.broadcast %{{.*}} : vector<4xf32>
// CHECK-NEXT:          tir.yield %[[V2]] : vector<4xf32>
// CHECK-NEXT:        }
// CHECK-NEXT:        tir.store %[[Y_1]], %{{.*}}[%[[V1]]] : vector<4xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// -----

// CASE: VectorizeLoop.8
tir.func @let_in_branch(%a: !tir.handle, %n: i32) attributes {global_symbol = "let_in_branch"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %one = tir.const 1.0 : f32
  tir.for "i" %i = %c0 to %c4 vectorized {
    %p = tir.cmp lt %i, %n : i32
    tir.if %p {
      %x = tir.load %A[%i] : f32
      %q = tir.cmp lt %i, %n : i32
      %y = tir.if_then_else %q -> f32 {
        %z = tir.add %x, %one : f32
        tir.yield %z : f32
      } else {
        tir.yield %x : f32
      }
      %v = tir.let "v" %y : f32
      tir.store %v, %A[%i] : f32
    }
  }
}
// CHECK-LABEL: tir.func @let_in_branch
// CHECK:           tir.for "i.s" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[P:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:        tir.if %[[P]] {
// CHECK-NEXT:          %[[X:.*]] = tir.load %{{.*}}[%[[I]]] : f32
// CHECK-NEXT:          %[[Q:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:          %[[Y:.*]] = tir.if_then_else %[[Q]] -> f32 {
// CHECK-NEXT:            %[[Z:.*]] = tir.add %[[X]], %{{.*}} : f32
// CHECK-NEXT:            tir.yield %[[Z]] : f32
// CHECK-NEXT:          } else {
// CHECK-NEXT:            tir.yield %[[X]] : f32
// CHECK-NEXT:          }
// CHECK-NEXT:          %[[V:.*]] = tir.let "v" %[[Y]] : f32
// CHECK-NEXT:          tir.store %[[V]], %{{.*}}[%[[I]]] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// -----

// CASE: VectorizeLoop.9
tir.func @operators(%a: !tir.handle, %b: !tir.handle, %s: f32) attributes {global_symbol = "operators"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %yes = tir.const true
  tir.for "i" %i = %c0 to %c4 vectorized {
    %x = tir.load %A[%i] : f32
    %y = tir.add %x, %s : f32
    %y1 = tir.sub %s, %y : f32
    %y2 = tir.mul %y1, %s : f32
    %y3 = tir.min %y2, %s : f32
    %y4 = tir.max %s, %y3 : f32
    %bits = tir.call "reinterpret"(%y4) : (f32) -> i32
    %p = tir.cmp lt %y, %s : f32
    %q = tir.cmp eq %i, %c1 : i32
    %r = tir.and %p, %q : i1
    %t = tir.or %r, %yes : i1
    %u = tir.not %t : i1
    %cast = tir.cast %y : f32 to i32
    %z = tir.select %yes, %bits, %cast : i1, i32
    %w = tir.select %u, %z, %c1 : i1, i32
    %left = tir.sub %c4, %i : i32
    %twice = tir.mul %left, %c4 : i32
    %v = tir.add %w, %twice : i32
    tir.store %v, %B[%i] : i32
  }
}
// CHECK-LABEL: tir.func @operators
// CHECK:           %[[V1:.*]] = tir.ramp %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK-NEXT:      %[[X:.*]] = tir.load %{{.*}}[%[[V1]]] : vector<4xf32>
// CHECK-NEXT:      %[[V2:.*]] = tir.broadcast %{{.*}} : vector<4xf32>
// CHECK-NEXT:      %[[V3:.*]] = tir.add %[[X]], %[[V2]] : vector<4xf32>
// CHECK-NEXT:      %[[V4:.*]] = tir.cmp lt %[[V3]], %[[V2]] : vector<4xf32>
// CHECK-NEXT:      %[[V5:.*]] = tir.broadcast %{{.*}} : vector<4xi32>
// CHECK-NEXT:      %[[V6:.*]] = tir.cmp eq %[[V1]], %[[V5]] : vector<4xi32>
// CHECK-NEXT:      %[[V7:.*]] = tir.and %[[V4]], %[[V6]] : vector<4xi1>
// CHECK-NEXT:      %[[V8:.*]] = tir.broadcast %{{.*}} : vector<4xi1>
// CHECK-NEXT:      %[[V9:.*]] = tir.or %[[V7]], %[[V8]] : vector<4xi1>
// CHECK-NEXT:      %[[V10:.*]] = tir.not %[[V9]] : vector<4xi1>
// CHECK-NEXT:      %[[V11:.*]] = tir.sub %[[V2]], %[[V3]] : vector<4xf32>
// CHECK-NEXT:      %[[V12:.*]] = tir.mul %[[V11]], %[[V2]] : vector<4xf32>
// CHECK-NEXT:      %[[V13:.*]] = tir.min %[[V12]], %[[V2]] : vector<4xf32>
// CHECK-NEXT:      %[[V14:.*]] = tir.max %[[V2]], %[[V13]] : vector<4xf32>
// CHECK-NEXT:      %[[V15:.*]] = tir.call "reinterpret"(%[[V14]]) : (vector<4xf32>) -> vector<4xi32>
// CHECK-NEXT:      %[[V16:.*]] = tir.cast %[[V3]] : vector<4xf32> to vector<4xi32>
// CHECK-NEXT:      %[[V17:.*]] = tir.select %[[V8]], %[[V15]], %[[V16]] : vector<4xi1>, vector<4xi32>
// CHECK-NEXT:      %[[V18:.*]] = tir.select %[[V10]], %[[V17]], %[[V5]] : vector<4xi1>, vector<4xi32>
// CHECK:           %[[V21:.*]] = tir.ramp %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK-NEXT:      %[[V22:.*]] = tir.add %[[V18]], %[[V21]] : vector<4xi32>
// CHECK-NEXT:      tir.store %[[V22]], %{{.*}}[%[[V1]]] : vector<4xi32>
// CHECK-NEXT:    }

// -----

// What depends on other iterations stays serial; memory in the loop has room for all lanes.
tir.func @dependent(%a: !tir.handle, %b: !tir.handle, %n: i32) attributes {global_symbol = "dependent"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<9xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<9xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 vectorized {
    %j = tir.add %i, %c1 : i32
    %x = tir.load %A[%i] : i32
    tir.store %x, %A[%j] : i32
  }
  tir.for %i = %c0 to %c4 vectorized {
    %x = tir.load %A[%c0] : i32
    %y = tir.load %B[%i] : i32
    %z = tir.add %x, %y : i32
    tir.store %z, %A[%c0] : i32
  }
  tir.for %i = %c0 to %c4 vectorized {
    %y = tir.load %B[%i] : i32
    tir.store %y, %A[%c0] : i32
  }
  tir.for %i = %c1 to %c1 + %c4 vectorized {
    %y = tir.load %B[%i] : i32
    %z = tir.mul %y, %i : i32
    tir.store %z, %A[%i] : i32
  }
  tir.for %i = %c0 to %c4 vectorized {
    %p = tir.allocate "T" [2] : !tir.ptr<i32, "local">
    %T = tir.decl_buffer "T" %p : !tir.buffer<2xi32, "local">
    %y = tir.load %B[%i] : i32
    tir.store %y, %T[%c0] : i32
    tir.store %n, %T[%c1] : i32
    %u = tir.load %T[%c0] : i32
    tir.store %u, %A[%i] : i32
  }
  tir.for %i = %c0 to %c4 vectorized {
    tir.for %k = %c0 to %c1 vectorized {
      %y = tir.load %B[%i] : i32
      %z = tir.add %y, %k : i32
      tir.store %z, %A[%i] : i32
    }
  }
  tir.for %i = %c0 to %c4 vectorized {
    %y = tir.load %B[%i] : i32
    %z = tir.call "clz"(%y) : (i32) -> i32
    %w = tir.call "popcount"(%y) : (i32) -> i32
    tir.store %w, %B[%i] : i32
    tir.store %z, %A[%i] : i32
  }
}
// CHECK-LABEL: tir.func @dependent
// CHECK:           tir.for %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[J:.*]] = tir.add %[[I]], %{{.*}} : i32
// CHECK-NEXT:        %[[X:.*]] = tir.load %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:        tir.store %[[X]], %{{.*}}[%[[J]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.for %[[I_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[X_1:.*]] = tir.load %{{.*}}[%{{.*}}] : i32
// CHECK-NEXT:        %[[Y:.*]] = tir.load %{{.*}}[%[[I_1]]] : i32
// CHECK-NEXT:        %[[Z:.*]] = tir.add %[[X_1]], %[[Y]] : i32
// CHECK-NEXT:        tir.store %[[Z]], %{{.*}}[%{{.*}}] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.for "i.s" %[[I_2:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[Y_1:.*]] = tir.load %{{.*}}[%[[I_2]]] : i32
// CHECK-NEXT:        tir.store %[[Y_1]], %{{.*}}[%{{.*}}] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[V0:.*]] = tir.ramp %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK-NEXT:      %[[Y_2:.*]] = tir.load %{{.*}}[%[[V0]]] : vector<4xi32>
// CHECK-NEXT:      %[[V1:.*]] = tir.mul %[[Y_2]], %[[V0]] : vector<4xi32>
// CHECK-NEXT:      tir.store %[[V1]], %{{.*}}[%[[V0]]] : vector<4xi32>
// CHECK-NEXT:      tir.scope {
// CHECK-NEXT:        %[[P:.*]] = tir.allocate "T" [8] : !tir.ptr<i32, "local">
// CHECK-NEXT:        %[[T:.*]] = tir.decl_buffer "T" %[[P]] : !tir.buffer<8xi32, "local">
// CHECK:             %[[V3:.*]] = tir.ramp %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK-NEXT:        %[[Y_3:.*]] = tir.load %{{.*}}[%[[V3]]] : vector<4xi32>
// CHECK-NEXT:        tir.store %[[Y_3]], %[[T]][%[[V3]]] : vector<4xi32>
// CHECK-NEXT:        %[[V4:.*]] = tir.ramp %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK-NEXT:        %[[V5:.*]] = tir.broadcast %{{.*}} : vector<4xi32>
// CHECK-NEXT:        tir.store %[[V5]], %[[T]][%[[V4]]] : vector<4xi32>
// CHECK-NEXT:        %[[U:.*]] = tir.load %[[T]][%[[V3]]] : vector<4xi32>
// CHECK-NEXT:        tir.store %[[U]], %{{.*}}[%[[V3]]] : vector<4xi32>
// CHECK-NEXT:      }
// CHECK:           %[[V7:.*]] = tir.ramp %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK-NEXT:      tir.for %[[K:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[Y_4:.*]] = tir.load %{{.*}}[%[[V7]]] : vector<4xi32>
// CHECK-NEXT:        %[[V8:.*]] = tir.broadcast %[[K]] : vector<4xi32>
// CHECK-NEXT:        %[[V9:.*]] = tir.add %[[Y_4]], %[[V8]] : vector<4xi32>
// CHECK-NEXT:        tir.store %[[V9]], %{{.*}}[%[[V7]]] : vector<4xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.for %[[I_3:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[Y_5:.*]] = tir.load %{{.*}}[%[[I_3]]] : i32
// CHECK-NEXT:        %[[Z_1:.*]] = tir.call "clz"(%[[Y_5]]) : (i32) -> i32
// CHECK-NEXT:        %[[W:.*]] = tir.call "popcount"(%[[Y_5]]) : (i32) -> i32
// CHECK-NEXT:        tir.store %[[W]], %{{.*}}[%[[I_3]]] : i32
// CHECK-NEXT:        tir.store %[[Z_1]], %{{.*}}[%[[I_3]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// -----

// CASE: VectorizeLoop.10, VectorizeLoop.11
tir.func @predicated(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "predicated"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<14xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<14xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c14 = tir.const 14 : i32
  %one = tir.const 1.0 : f32
  tir.for %i0 = %c0 to %c4 {
    tir.for "i1" %i1 = %c0 to %c4 vectorized {
      %row = tir.mul %i0, %c4 : i32
      %at = tir.add %row, %i1 : i32
      %p = tir.cmp lt %at, %c14 : i32
      tir.if %p {
        %x = tir.load %A[%at] : f32
        %y = tir.add %x, %one : f32
        tir.store %y, %B[%at] : f32
        tir.store %y, %A[%at] : f32
      }
    }
  }
  tir.for %i0 = %c0 to %c4 {
    tir.for "i1" %i1 = %c0 to %c4 vectorized {
      %row = tir.mul %i0, %c4 : i32
      %at = tir.add %row, %i1 : i32
      %p = tir.cmp lt %at, %c14 : i32
      tir.if %p {
        %x = tir.load %A[%i0] : f32
        %y = tir.add %x, %one : f32
        tir.store %y, %B[%at] : f32
      }
      %q = tir.cmp gt %c14, %at : i32
      tir.if %q {
        tir.store %one, %B[%at] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @predicated
// CHECK:           tir.for %[[I0:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[ROW:.*]] = tir.mul %[[I0]], %{{.*}} : i32
// CHECK-NEXT:        tir.for "i1.s" %[[I1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:          %[[AT:.*]] = tir.add %[[ROW]], %[[I1]] : i32
// CHECK-NEXT:          %[[P:.*]] = tir.cmp lt %[[AT]], %{{.*}} : i32
// CHECK-NEXT:          tir.if %[[P]] {
// CHECK-NEXT:            %[[X:.*]] = tir.load %{{.*}}[%[[AT]]] : f32
// CHECK-NEXT:            %[[Y:.*]] = tir.add %[[X]], %{{.*}} : f32
// CHECK-NEXT:            tir.store %[[Y]], %{{.*}}[%[[AT]]] : f32
// CHECK-NEXT:            tir.store %[[Y]], %{{.*}}[%[[AT]]] : f32
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.for %[[I0_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[ROW_1:.*]] = tir.mul %[[I0_1]], %{{.*}} : i32
// CHECK-NEXT:        tir.for "i1.s" %[[I1_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:          %[[AT_1:.*]] = tir.add %[[ROW_1]], %[[I1_1]] : i32
// CHECK-NEXT:          %[[P_1:.*]] = tir.cmp lt %[[AT_1]], %{{.*}} : i32
// CHECK-NEXT:          tir.if %[[P_1]] {
// CHECK-NEXT:            %[[X_1:.*]] = tir.load %{{.*}}[%[[I0_1]]] : f32
// CHECK-NEXT:            %[[Y_1:.*]] = tir.add %[[X_1]], %{{.*}} : f32
// CHECK-NEXT:            tir.store %[[Y_1]], %{{.*}}[%[[AT_1]]] : f32
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:        tir.for "i1.s" %[[I1_2:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:          %[[AT_2:.*]] = tir.add %[[ROW_1]], %[[I1_2]] : i32
// CHECK-NEXT:          %[[Q:.*]] = tir.cmp gt %{{.*}}, %[[AT_2]] : i32
// CHECK-NEXT:          tir.if %[[Q]] {
// CHECK-NEXT:            tir.store %{{.*}}, %{{.*}}[%[[AT_2]]] : f32
// CHECK-NEXT:          }
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// MASK-LABEL: tir.func @predicated
// MASK:           tir.for %[[I0:.*]] = %{{.*}} to %{{.*}} {
// MASK-NEXT:        %[[ROW:.*]] = tir.mul %[[I0]], %{{.*}} : i32
// MASK-NEXT:        %[[V0:.*]] = tir.call "get_active_lane_mask"(%[[ROW]], %{{.*}}) : (i32, i32) -> vector<4xi1>
// MASK:             %[[V2:.*]] = tir.ramp %[[ROW]], %{{.*}} : vector<4xi32>
// MASK-NEXT:        %[[X:.*]] = tir.load %{{.*}}[%[[V2]]] if %[[V0]] : vector<4xf32>
// MASK-NEXT:        %[[V3:.*]] = tir.broadcast %{{.*}} : vector<4xf32>
// MASK-NEXT:        %[[V4:.*]] = tir.add %[[X]], %[[V3]] : vector<4xf32>
// MASK-NEXT:        tir.store %[[V4]], %{{.*}}[%[[V2]]] if %[[V0]] : vector<4xf32>
// MASK-NEXT:        tir.store %[[V4]], %{{.*}}[%[[V2]]] if %[[V0]] : vector<4xf32>
// MASK-NEXT:      }
// MASK-NEXT:      tir.for %[[I0_1:.*]] = %{{.*}} to %{{.*}} {
// MASK-NEXT:        %[[ROW_1:.*]] = tir.mul %[[I0_1]], %{{.*}} : i32
// MASK-NEXT:        tir.for "i1.s" %[[I1:.*]] = %{{.*}} to %{{.*}} {
// MASK-NEXT:          %[[AT:.*]] = tir.add %[[ROW_1]], %[[I1]] : i32
// MASK-NEXT:          %[[P:.*]] = tir.cmp lt %[[AT]], %{{.*}} : i32
// MASK-NEXT:          tir.if %[[P]] {
// MASK-NEXT:            %[[X_1:.*]] = tir.load %{{.*}}[%[[I0_1]]] : f32
// MASK-NEXT:            %[[Y:.*]] = tir.add %[[X_1]], %{{.*}} : f32
// MASK-NEXT:            tir.store %[[Y]], %{{.*}}[%[[AT]]] : f32
// MASK-NEXT:          }
// MASK-NEXT:        }
// MASK-NEXT:        tir.for "i1.s" %[[I1_1:.*]] = %{{.*}} to %{{.*}} {
// MASK-NEXT:          %[[AT_1:.*]] = tir.add %[[ROW_1]], %[[I1_1]] : i32
// MASK-NEXT:          %[[Q:.*]] = tir.cmp gt %{{.*}}, %[[AT_1]] : i32
// MASK-NEXT:          tir.if %[[Q]] {
// MASK-NEXT:            tir.store %{{.*}}, %{{.*}}[%[[AT_1]]] : f32
// MASK-NEXT:          }
// MASK-NEXT:        }
// MASK-NEXT:      }
// MASK-NEXT:    }

// -----

// CASE: VectorizeLoop.1, VectorizeLoop.4, VectorizeLoop.5, VectorizeLoop.6, VectorizeLoop.10, VectorizeLoop.12
tir.func @scalable(%a: !tir.handle, %n: i32, %x: i32) attributes {global_symbol = "scalable", target = #tir.target<"llvm", "mtriple" = "aarch64-linux-gnu", "mattr" = ["+sve"]>} {
  %A = tir.match_buffer "A" %a : !tir.buffer<25xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %one = tir.const 1.0 : f32
  %two = tir.const 2.0 : f32
  %vs = tir.call "vscale"() : () -> i32
  %lanes = tir.mul %vs, %c4 : i32
  tir.for "i" %i = %c0 to %lanes vectorized {
    %p = tir.cmp lt %x, %n : i32
    tir.if %p {
      %y = tir.load %A[%i] : f32
      %z = tir.add %y, %one : f32
      %v = tir.let "v" %z : f32
      tir.store %v, %A[%i] : f32
    } else {
      %q = tir.cmp lt %i, %n : i32
      tir.if %q {
        tir.store %two, %A[%i] : f32
      }
    }
    %r = tir.cmp ge %i, %n : i32
    tir.if %r {
      tir.store %one, %A[%i] : f32
    }
  }
}
// CHECK-LABEL: tir.func @scalable
// CHECK:           %[[VS:.*]] = tir.call "vscale"() : () -> i32
// CHECK-NEXT:      %[[LANES:.*]] = tir.mul %[[VS]], %{{.*}} : i32
// CHECK-NEXT:      %[[P:.*]] = tir.cmp lt %{{.*}}, %{{.*}} : i32
// CHECK:           %[[V1:.*]] = tir.ramp %{{.*}}, %{{.*}} : vector<{{\[}}4]xi32>
// CHECK-NEXT:      tir.if %[[P]] {
// CHECK-NEXT:        %[[Y:.*]] = tir.load %{{.*}}[%[[V1]]] : vector<{{\[}}4]xf32>
// CHECK-NEXT:        %[[V2:.*]] = tir.broadcast %{{.*}} : vector<{{\[}}4]xf32>
// CHECK-NEXT:        %[[V3:.*]] = tir.add %[[Y]], %[[V2]] : vector<{{\[}}4]xf32>
// CHECK-NEXT:        %[[V:.*]] = tir.let "v" %[[V3]] : vector<{{\[}}4]xf32>
// CHECK-NEXT:        tir.store %[[V]], %{{.*}}[%[[V1]]] : vector<{{\[}}4]xf32>
// CHECK-NEXT:      } else {
// CHECK-NEXT:        %[[V4:.*]] = tir.call "get_active_lane_mask"(%{{.*}}, %{{.*}}) : (i32, i32) -> vector<{{\[}}4]xi1>
// CHECK-NEXT:        %[[V5:.*]] = tir.broadcast %{{.*}} : vector<{{\[}}4]xf32>
// CHECK-NEXT:        tir.store %[[V5]], %{{.*}}[%[[V1]]] if %[[V4]] : vector<{{\[}}4]xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.for "i.s" %[[I:.*]] = %{{.*}} to %[[LANES]] {
// CHECK-NEXT:        %[[R:.*]] = tir.cmp ge %[[I]], %{{.*}} : i32
// CHECK-NEXT:        tir.if %[[R]] {
// CHECK-NEXT:          tir.store %{{.*}}, %{{.*}}[%[[I]]] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// -----

tir.func @target_scope(%a: !tir.handle, %n: i32) attributes {global_symbol = "target_scope"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %one = tir.const 1.0 : f32
  tir.attr "target" (#tir.target<"llvm", "mtriple" = "aarch64-linux-gnu", "mattr" = ["+sve"]>) = 0 : i32 {
    tir.for "i" %i = %c0 to %c4 vectorized {
      %q = tir.cmp lt %i, %n : i32
      tir.if %q {
        tir.store %one, %A[%i] : f32
      }
    }
  }
  tir.for "i" %i = %c0 to %c4 vectorized {
    %q = tir.cmp lt %i, %n : i32
    tir.if %q {
      tir.store %one, %A[%i] : f32
    }
  }
}
// CHECK-LABEL: tir.func @target_scope
// CHECK:           tir.attr "target" (#tir.target<"llvm", mattr = ["+sve"], mtriple = "aarch64-linux-gnu">) = 0 : i32 {
// CHECK-NEXT:        %[[V0:.*]] = tir.call "get_active_lane_mask"(%{{.*}}, %{{.*}}) : (i32, i32) -> vector<4xi1>
// CHECK:             %[[V2:.*]] = tir.ramp %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK-NEXT:        %[[V3:.*]] = tir.broadcast %{{.*}} : vector<4xf32>
// CHECK-NEXT:        tir.store %[[V3]], %{{.*}}[%[[V2]]] if %[[V0]] : vector<4xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.for "i.s" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[Q:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// CHECK-NEXT:        tir.if %[[Q]] {
// CHECK-NEXT:          tir.store %{{.*}}, %{{.*}}[%[[I]]] : f32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// NOMASK-LABEL: tir.func @target_scope
// NOMASK:           tir.attr "target" (#tir.target<"llvm", mattr = ["+sve"], mtriple = "aarch64-linux-gnu">) = 0 : i32 {
// NOMASK-NEXT:        tir.for "i.s" %[[I:.*]] = %{{.*}} to %{{.*}} {
// NOMASK-NEXT:          %[[Q:.*]] = tir.cmp lt %[[I]], %{{.*}} : i32
// NOMASK-NEXT:          tir.if %[[Q]] {
// NOMASK-NEXT:            tir.store %{{.*}}, %{{.*}}[%[[I]]] : f32
// NOMASK-NEXT:          }
// NOMASK-NEXT:        }
// NOMASK-NEXT:      }
// NOMASK-NEXT:      tir.for "i.s" %[[I_1:.*]] = %{{.*}} to %{{.*}} {
// NOMASK-NEXT:        %[[Q_1:.*]] = tir.cmp lt %[[I_1]], %{{.*}} : i32
// NOMASK-NEXT:        tir.if %[[Q_1]] {
// NOMASK-NEXT:          tir.store %{{.*}}, %{{.*}}[%[[I_1]]] : f32
// NOMASK-NEXT:        }
// NOMASK-NEXT:      }
// NOMASK-NEXT:    }

// -----

// CASE: VectorizeLoop.13
tir.func @llvm(%a: !tir.handle) attributes {global_symbol = "llvm"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %B = tir.alloc_buffer "B" : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %count = tir.const 1 : ui32
  %sqrt = tir.string "llvm.sqrt"
  %lround = tir.string "llvm.lround"
  tir.for %i = %c0 to %c4 vectorized {
    %x = tir.load %A[%i] : f32
    %y = tir.call "call_llvm_pure_intrin"(%sqrt, %count, %x) : (!tir.handle, ui32, f32) -> f32
    tir.store %y, %A[%i] : f32
    %z = tir.call "call_llvm_pure_intrin"(%lround, %y) : (!tir.handle, f32) -> i32
    tir.store %z, %B[%i] : i32
  }
}
// CHECK-LABEL: tir.func @llvm
// CHECK:           %[[B:.*]] = tir.alloc_buffer "B" : !tir.buffer<4xi32>
// CHECK:           %[[V1:.*]] = tir.ramp %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK-NEXT:      %[[X:.*]] = tir.load %{{.*}}[%[[V1]]] : vector<4xf32>
// CHECK-NEXT:      %[[Y:.*]] = tir.call "call_llvm_pure_intrin"(%{{.*}}, %{{.*}}, %[[X]]) : (!tir.handle, ui32, vector<4xf32>) -> vector<4xf32>
// CHECK-NEXT:      tir.store %[[Y]], %{{.*}}[%[[V1]]] : vector<4xf32>
// CHECK-NEXT:      %[[Z:.*]] = tir.call "call_llvm_pure_intrin"(%{{.*}}, %[[Y]]) : (!tir.handle, vector<4xf32>) -> vector<4xi32>
// CHECK-NEXT:      tir.store %[[Z]], %[[B]][%[[V1]]] : vector<4xi32>
// CHECK-NEXT:    }

// -----

tir.func @textures(%p: !tir.ptr<f32, "global.texture">, %q: !tir.ptr<f32, "global.texture">) attributes {global_symbol = "textures"} {
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 vectorized {
    %x = tir.call "texture2d_load"(%p, %c0, %c0, %i) : (!tir.ptr<f32, "global.texture">, i32, i32, i32) -> f32
    tir.call "texture2d_store"(%q, %c0, %c0, %x) : (!tir.ptr<f32, "global.texture">, i32, i32, f32) -> ()
  }
}
// CHECK-LABEL: tir.func @textures
// CHECK:           %[[V1:.*]] = tir.ramp %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK-NEXT:      %[[X:.*]] = tir.call "texture2d_load"(%{{.*}}, %{{.*}}, %{{.*}}, %[[V1]]) : (!tir.ptr<f32, "global.texture">, i32, i32, vector<4xi32>) -> vector<4xf32>
// CHECK-NEXT:      tir.call "texture2d_store"(%{{.*}}, %{{.*}}, %{{.*}}, %[[X]]) : (!tir.ptr<f32, "global.texture">, i32, i32, vector<4xf32>) -> ()
// CHECK-NEXT:    }

// -----

tir.func @once(%a: !tir.handle, %n: i32) attributes {global_symbol = "once"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<10xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %cm1 = tir.const -1 : i32
  tir.for %i = %n to %n + %c1 vectorized annotations {pragma_import_c = "int x;"} {
    tir.for %j = %c0 to %c4 vectorized {
      tir.store %i, %A[%j] : i32
    }
  }
  tir.for %i = %c0 to %cm1 vectorized {
    tir.store %i, %A[%i] : i32
  }
}
// CHECK-LABEL: tir.func @once
// CHECK:           tir.attr "pragma_import_c" (0 : i32) = "int x;" {
// CHECK:             %[[V1:.*]] = tir.ramp %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK-NEXT:        %[[V2:.*]] = tir.broadcast %{{.*}} : vector<4xi32>
// CHECK-NEXT:        tir.store %[[V2]], %{{.*}}[%[[V1]]] : vector<4xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.for %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        tir.store %[[I]], %{{.*}}[%[[I]]] : i32
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// -----

// A ramp in each iteration becomes one that is longer, if they are after each other.
tir.func @slices(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "slices"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<16xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4x4xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  tir.for "i" %i = %c0 to %c4 vectorized {
    %base = tir.mul %i, %c4 : i32
    %slice = tir.ramp %base, %c1 : vector<4xi32>
    %x = tir.load %A[%slice] : vector<4xi32>
    %y = tir.add %x, %x : vector<4xi32>
    tir.store %y, %A[%slice] : vector<4xi32>
  }
  // Each lane has a vector of its own.
  tir.for "i" %i = %c0 to %c4 vectorized {
    %own = tir.broadcast %i : vector<4xi32>
    %inner = tir.ramp %c0, %c1 : vector<4xi32>
    tir.store %own, %B[%i, %inner] : vector<4xi32>
  }
  tir.for "i" %i = %c0 to %c4 vectorized {
    %z = tir.load %A[%i] : i32
    tir.for %k = %c0 to %c4 {
      tir.store %z, %B[%k, %i] : i32
    }
  }
  tir.for "i" %i = %c0 to %c4 vectorized {
    tir.for %k = %c0 to %i {
      tir.store %k, %B[%k, %i] : i32
    }
  }
}
// CHECK-LABEL: tir.func @slices
// CHECK:           %[[V0:.*]] = tir.ramp %{{.*}}, %{{.*}} : vector<16xi32>
// CHECK-NEXT:      %[[X:.*]] = tir.load %{{.*}}[%[[V0]]] : vector<16xi32>
// CHECK-NEXT:      %[[V1:.*]] = tir.add %[[X]], %[[X]] : vector<16xi32>
// CHECK-NEXT:      tir.store %[[V1]], %{{.*}}[%[[V0]]] : vector<16xi32>
// CHECK-NEXT:      %[[INNER:.*]] = tir.ramp %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK-NEXT:      tir.for "i.s" %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        %[[OWN:.*]] = tir.broadcast %[[I]] : vector<4xi32>
// CHECK-NEXT:        tir.store %[[OWN]], %{{.*}}[%[[I]], %[[INNER]]] : vector<4xi32>
// CHECK-NEXT:      }
// CHECK:           %[[V3:.*]] = tir.ramp %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK-NEXT:      %[[Z:.*]] = tir.load %{{.*}}[%[[V3]]] : vector<4xi32>
// CHECK-NEXT:      tir.for %[[K:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        tir.store %[[Z]], %{{.*}}[%[[K]], %[[V3]]] : vector<4xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:      tir.for "i.s" %[[I_1:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:        tir.for %[[K_1:.*]] = %{{.*}} to %[[I_1]] {
// CHECK-NEXT:          tir.store %[[K_1]], %{{.*}}[%[[K_1]], %[[I_1]]] : i32
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }

// -----

// The index is shown to be other in each lane, so reading and writing at it is no conflict.
tir.func @mods(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "mods"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<64xi64>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c8 = tir.const 8 : i32
  %c16 = tir.const 16 : i32
  tir.for %i = %c0 to %c16 {
    tir.for "v" %v = %c0 to %c4 vectorized {
      %r = tir.mul %i, %c4 : i32
      %f = tir.add %r, %v : i32
      %d = tir.floordiv %f, %c8 : i32
      %m = tir.floormod %f, %c8 : i32
      %d8 = tir.mul %d, %c8 : i32
      %at = tir.add %d8, %m : i32
      %x = tir.load %A[%at] : i32
      %y = tir.add %x, %v : i32
      tir.store %y, %A[%at] : i32
      %w = tir.cast %f : i32 to i64
      tir.store %w, %B[%w] : i64
    }
  }
}
// CHECK-LABEL: tir.func @mods
// CHECK:         tir.for
// CHECK-NEXT:      %[[R:.*]] = tir.mul
// CHECK:           %[[F:.*]] = tir.ramp %[[R]], %{{.*}} : vector<4xi32>
// CHECK:           tir.floordiv %[[F]], %{{.*}} : vector<4xi32>
// CHECK:           tir.floormod %[[F]], %{{.*}} : vector<4xi32>
// CHECK:           %[[X:.*]] = tir.load %{{.*}}[%[[AT:.*]]] : vector<4xi32>
// CHECK:           tir.store %{{.*}}, %{{.*}}[%[[AT]]] : vector<4xi32>
// CHECK:           %[[W:.*]] = tir.ramp %{{.*}}, %{{.*}} : vector<4xi64>
// CHECK-NEXT:      tir.store %[[W]], %{{.*}}[%[[W]]] : vector<4xi64>
