// RUN: xdsl-opt %s -p tir-verify-well-formed --split-input-file | filecheck %s

// BlockVarAccess: bindings, domains and predicate may use loops, and so may all of an
// opaque block; loops inside of a block are its own.

// CHECK-LABEL: tir.func @blocks
tir.func @blocks(%a: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<16xi32>
  %c0 = tir.const 0 : i32
  %twice = tir.add %n, %n : i32
  // CHECK: tir.for
  tir.for %i = %c0 to %n {
    %shifted = tir.add %i, %twice : i32
    %p = tir.cmp lt %i, %n : i32
    // CHECK: tir.block "B"
    tir.block "B" (%v : S in [%i to %i + %n] = %shifted) where %p {
      tir.writes %A[%v]
      tir.for %j = %c0 to %twice {
        %x = tir.add %j, %v : i32
        tir.store %x, %A[%v] : i32
        tir.block "inner" (%w : S in [%c0 to %n] = %j) {
          tir.store %w, %A[%v] : i32
        }
      }
    }
    tir.block "opaque" {
      tir.reads %A[%shifted]
      %x = tir.load %A[%shifted] : i32
      tir.evaluate %x : i32
    }
  }
  tir.launch_thread %t = "threadIdx.x" to %n {
    tir.block "thread" (%v : S in [%c0 to %n] = %t) {
      tir.evaluate %t : i32
    }
  }
}

// -----

// A symbolic extent may be used in an expression before the match that binds it, and
// in the layout of another parameter; one that nothing uses needs no match.

// CHECK-LABEL: tir.func @shapes
tir.func @shapes(%a: !tir.handle, %b: !tir.handle) {
  // CHECK: tir.shape_var "n"
  %n = tir.shape_var "n" : i32
  %unused = tir.shape_var "unused" : i32
  %s = tir.shape_var "s" : i32
  %o = tir.shape_var "o" : i32
  %twice = tir.add %n, %n : i32
  %A = tir.match_buffer %a [%twice] : !tir.buffer<?xf32>
  %B = tir.match_buffer %b [%n, %n] strides [%s, 1] offset %o : !tir.buffer<?x?xf32>
  tir.evaluate %twice : i32
  tir.evaluate %s : i32
  tir.evaluate %o : i32
  // CHECK: tir.block
  tir.block {
    %m = tir.shape_var "m" : i32
    %c0 = tir.const 0 : i32
    %V = tir.match_region %A[%c0 to %n] [%m] : !tir.buffer<?xf32>
    tir.block {
      %W = tir.match_region %V[%c0 to %m] [%m] : !tir.buffer<?xf32>
    }
    tir.evaluate %m : i32
  }
}

// -----

// One thread variable may be opened again.

// CHECK-LABEL: tir.func @threads
tir.func @threads(%n: i32, %m: i32) {
  tir.launch_thread %x = "threadIdx.x" to %n env "t" {
    tir.launch_thread %y = "threadIdx.x" to %n env "t" {
      // CHECK: tir.ret
      tir.ret
    }
  }
  tir.launch_thread %z = "threadIdx.y" to %n {
  }
}

// -----

// Functions have names of their own, and what is outside of functions is not looked at.

// CHECK-LABEL: tir.func @first
tir.func @first(%n: i32) {
  tir.launch_thread %x = "threadIdx.x" to %n env "t" {
  }
}
tir.func @second(%n: i32) {
  tir.launch_thread %x = "threadIdx.y" to %n env "t" {
  }
}
tir.func @declared(i32)
%B = "test.op"() : () -> !tir.buffer<4xf32>

// -----

// Openings that share a variable have extents that are provably equal.
// CHECK-LABEL: tir.func @equal_extents
tir.func @equal_extents(%n: i32) {
  %c1 = tir.const 1 : i32
  %0 = tir.add %n, %c1 : i32
  %1 = tir.add %c1, %n : i32
  tir.launch_thread %x = "threadIdx.x" to %0 env "t" {
    tir.launch_thread %y = "threadIdx.x" to %1 env "t" {
    }
  }
}

// CHECK-LABEL: tir.func @waits
tir.func @waits() {
  tir.attr "async_wait_queue_scope" (0 : i32) = 0 : i32 {
    tir.attr "async_wait_inflight_count" (0 : i32) = 1 : i32 {
    }
  }
}

// -----

// CHECK: builtin.module attributes {tir.module_attrs = {constants =
builtin.module attributes {tir.module_attrs = {constants = [dense<[1.0, 2.0]> : tensor<2xf32>]}} {
  tir.func @constant() {
    %p = tir.allocate_const 0 : i32 : !tir.ptr<f32>
  }
}
