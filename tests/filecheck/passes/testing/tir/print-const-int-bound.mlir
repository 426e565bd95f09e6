// RUN: xdsl-tvm opt %s -p tir-test-print-const-int-bound | filecheck %s

// CHECK-LABEL: tir.func @loops
tir.func @loops(%a: i32, %n: i32) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  %c10 = tir.const 10 : i32
  // CHECK: tir.evaluate %{{.*}} {const_int_bound = "[-2147483648, 2147483647]"}
  tir.evaluate %a : i32
  tir.for %i = %c0 to %c10 {
    %x = tir.mul %i, %c4 : i32
    // CHECK: tir.evaluate %{{.*}} {const_int_bound = "[0, 36]"}
    tir.evaluate %x : i32
    %y = tir.sub %x, %c10 : i32
    %z = tir.floormod %y, %c4 : i32
    // CHECK: tir.evaluate %{{.*}} {const_int_bound = "[0, 3]"}
    tir.evaluate %z : i32
    %t = tir.mod %y, %c4 : i32
    // CHECK: tir.evaluate %{{.*}} {const_int_bound = "[-3, 3]"}
    tir.evaluate %t : i32
  }
  // A loop that runs says that its extent is positive.
  tir.for %j = %c1 to %c1 + %n {
    // CHECK: tir.evaluate %{{.*}} {const_int_bound = "[1, 2147483647]"}
    tir.evaluate %n : i32
    // CHECK: tir.evaluate %{{.*}} {const_int_bound = "[1, 2147483647]"}
    tir.evaluate %j : i32
  }
}

// CHECK-LABEL: tir.func @conditions
tir.func @conditions(%a: i32, %b: i32) {
  %c4 = tir.const 4 : i32
  %c10 = tir.const 10 : i32
  %low = tir.cmp ge %a, %c4 : i32
  %high = tir.cmp lt %a, %c10 : i32
  %both = tir.and %low, %high : i1
  tir.if %both {
    // CHECK: tir.evaluate %{{.*}} {const_int_bound = "[4, 9]"}
    tir.evaluate %a : i32
  } else {
    // CHECK: tir.evaluate %{{.*}} {const_int_bound = "[-2147483648, 2147483647]"}
    tir.evaluate %a : i32
  }
  tir.if %low {
  } else {
    // CHECK: tir.evaluate %{{.*}} {const_int_bound = "[-2147483648, 3]"}
    tir.evaluate %a : i32
  }
  %positive = tir.cmp lt %c4, %b : i32
  tir.assert %positive, "b is small"
  // CHECK: tir.evaluate %{{.*}} {const_int_bound = "[5, 2147483647]"}
  tir.evaluate %b : i32
}

// CHECK-LABEL: tir.func @sizes
tir.func @sizes() {
  %n = tir.shape_var "n" size_var : i64
  %m = tir.shape_var "m" : i64
  // CHECK: tir.evaluate %{{.*}} {const_int_bound = "[0, +inf]"}
  tir.evaluate %n : i64
  // CHECK: tir.evaluate %{{.*}} {const_int_bound = "[-inf, +inf]"}
  tir.evaluate %m : i64
  %c1 = tir.const 1 : i64
  %let = tir.let %c1 : i64
  // CHECK: tir.evaluate %{{.*}} {const_int_bound = "[1, 1]"}
  tir.evaluate %let : i64
  // CHECK: tir.evaluate{{$}}
  tir.evaluate
}

// CHECK-LABEL: tir.func @threads_and_blocks
tir.func @threads_and_blocks(%n: i32) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c7 = tir.const 7 : i32
  %c64 = tir.const 64 : i32
  tir.launch_thread %tx = "threadIdx.x" to %c64 {
    // CHECK: tir.evaluate %{{.*}} {const_int_bound = "[0, 63]"}
    tir.evaluate %tx : i32
    %late = tir.cmp ge %tx, %c7 : i32
    tir.block "b" (%v : S in [%c0 to %c64] = %tx) where %late {
      // CHECK: tir.evaluate %{{.*}} {const_int_bound = "[0, 63]"}
      tir.evaluate %v : i32
      // CHECK: tir.evaluate %{{.*}} {const_int_bound = "[7, 63]"}
      tir.evaluate %tx : i32
    }
    %bounded = tir.if_then_else %late -> i32 {
      // CHECK: tir.evaluate %{{.*}} {const_int_bound = "[7, 63]"}
      tir.evaluate %tx : i32
      tir.yield %tx : i32
    } else {
      // CHECK: tir.evaluate %{{.*}} {const_int_bound = "[0, 6]"}
      tir.evaluate %tx : i32
      tir.yield %c1 : i32
    }
    // A branch that does more than compute is not looked into.
    // CHECK: tir.evaluate %{{.*}} {const_int_bound = "[-2147483648, 2147483647]"}
    tir.evaluate %bounded : i32
    %lazy = tir.if_then_else %late -> i32 {
      tir.yield %tx : i32
    } else {
      tir.yield %c1 : i32
    }
    // CHECK: tir.evaluate %{{.*}} {const_int_bound = "[0, 63]"}
    tir.evaluate %lazy : i32
  }
}
