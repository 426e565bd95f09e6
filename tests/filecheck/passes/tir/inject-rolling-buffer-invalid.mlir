// RUN: xdsl-opt %s -p tir-inject-rolling-buffer --verify-diagnostics --split-input-file | filecheck %s

// CASE: InjectRollingBuffer.5
// CHECK: tir.buffer_realize in @still: a rolling buffer has bounds that no loop around it moves; let a minimum depend on one
tir.func @still(%x: i32) {
  %c0 = tir.const 0 : i32
  %T = tir.buffer_realize bounds [%c0 to %c0 + 2] annotations {"rolling_buffer_scope" = true} : !tir.buffer<4xi32>
  tir.store %x, %T[%c0] : i32
}

// -----

// CASE: InjectRollingBuffer.5
// CHECK: tir.buffer_realize in @shifted: a rolling buffer needs bounds that start at a constant, or at the variable of a loop, times and divided by constants; rewrite the minimum
tir.func @shifted(%x: i32) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.for %i = %c0 to %c1 {
    %low = tir.add %i, %c1 : i32
    %T = tir.buffer_realize bounds [%low to %low + 2] annotations {"rolling_buffer_scope" = true} : !tir.buffer<4xi32>
    tir.store %x, %T[%low] : i32
  }
}

// -----

// The attribute is an annotation of the buffer, so that none is without one.
// CASE: InjectRollingBuffer.5
// CHECK: tir.attr: the key 'rolling_buffer_scope' is not written so; write an annotation of the tir.buffer_realize, annotations {rolling_buffer_scope = …}
tir.func @no_realize(%p: !tir.ptr<i32>) {
  tir.attr "rolling_buffer_scope" (%p) = true {
    tir.evaluate %p : !tir.ptr<i32>
  }
}

// -----

// CASE: InjectRollingBuffer.5
// CHECK: tir.load in @masked accesses a rolling buffer under a predicate; put it in a tir.if
tir.func @masked(%q: vector<2xi1>) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.for %i = %c0 to %c1 {
    %T = tir.buffer_realize bounds [%i to %i + 2] annotations {"rolling_buffer_scope" = true} : !tir.buffer<4xi32>
    %place = tir.ramp %i, %c1 : vector<2xi32>
    %x = tir.load %T[%place] if %q : vector<2xi32>
  }
}

// -----

// CHECK: tir.data in @address uses a rolling buffer, and neither loads from it nor stores to it; use an element
tir.func @address() {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.for %i = %c0 to %c1 {
    %T = tir.buffer_realize bounds [%i to %i + 2] annotations {"rolling_buffer_scope" = true} : !tir.buffer<4xi32>
    %p = tir.data %T : !tir.ptr<i32>
  }
}

// -----

// CHECK: tir.buffer_realize in @extent: a rolling buffer needs bounds with extents that are constants; simplify first
tir.func @extent(%n: i32) {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.for %i = %c0 to %c1 {
    %T = tir.buffer_realize bounds [%i to %i + %n] annotations {"rolling_buffer_scope" = true} : !tir.buffer<4xi32>
  }
}

// -----

// CHECK: tir.buffer_realize in @diagonal: a rolling buffer has two bounds that one loop moves; use a loop for each of them
tir.func @diagonal() {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.for %i = %c0 to %c1 {
    %T = tir.buffer_realize bounds [%i to %i + 2, %i to %i + 2] annotations {"rolling_buffer_scope" = true} : !tir.buffer<4x4xi32>
  }
}

// -----

// CHECK: tir.buffer_realize in @unordered: a rolling buffer goes by a parallel loop, whose iterations have no order; make it serial
tir.func @unordered() {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.for %i = %c0 to %c1 parallel {
    %T = tir.buffer_realize bounds [%i to %i + 2] annotations {"rolling_buffer_scope" = true} : !tir.buffer<4xi32>
  }
}

// -----

// CHECK: tir.buffer_realize in @condition: a rolling buffer must be directly in the loops that move its bounds, and is in tir.if there; move it out
tir.func @condition() {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.for %i = %c0 to %c1 {
    %q = tir.cmp lt %i, %c1 : i32
    tir.if %q {
      %T = tir.buffer_realize bounds [%i to %i + 2] annotations {"rolling_buffer_scope" = true} : !tir.buffer<4xi32>
    }
  }
}

// -----

// CHECK: tir.buffer_realize in @other_loop: a rolling buffer must be directly in the loops that move its bounds, and is in tir.for there; move it out
tir.func @other_loop() {
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  tir.for %i = %c0 to %c3 {
    tir.for %j = %c0 to %c3 {
      %T = tir.buffer_realize bounds [%i to %i + 2] annotations {"rolling_buffer_scope" = true} : !tir.buffer<4xi32>
    }
  }
}

// -----

// CHECK: tir.buffer_realize in @triangle: a rolling buffer goes by loops of which the outermost computes the bounds of tir.for; make them the same in each iteration
tir.func @triangle() {
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  tir.for %i = %c0 to %c3 {
    tir.for %j = %c0 to %i {
      %T = tir.buffer_realize bounds [%i to %i + 2, %j to %j + 2] annotations {"rolling_buffer_scope" = true} : !tir.buffer<4x4xi32>
    }
  }
}

// -----

// CHECK: tir.buffer_realize in @exists: a rolling buffer has extents or a condition that its loop computes; move them out
tir.func @exists() {
  %c0 = tir.const 0 : i32
  %c3 = tir.const 3 : i32
  tir.for %i = %c0 to %c3 {
    %q = tir.cmp lt %i, %c3 : i32
    %T = tir.buffer_realize bounds [%i to %i + 2] if %q annotations {"rolling_buffer_scope" = true} : !tir.buffer<4xi32>
  }
}
