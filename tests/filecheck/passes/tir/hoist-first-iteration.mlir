// RUN: xdsl-opt -p tir-hoist-first-iteration --split-input-file %s | filecheck %s

// The beginning of a sum, at an index that the loop variable takes part in.
// CHECK-LABEL: tir.func @sum
tir.func @sum(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4x5xf32>
  %B = tir.match_buffer %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %c5 = tir.const 5 : i32
  %zero = tir.const 0.0 : f32
  // CHECK:      tir.for [[I:%.*]] = [[C0:%.*]] to
  tir.for %i = %c0 to %c4 {
    // CHECK-NEXT:   [[AT:%.*]] = tir.add [[I]], [[C0]]
    // CHECK-NEXT:   tir.store %{{.*}}, [[B:%.*]][[[AT]]]
    // CHECK-NEXT:   tir.for [[K:%.*]] = [[C0]] to
    // CHECK-NEXT:     tir.load [[B]][[[I]]]
    // CHECK-NOT:      tir.if
    tir.for %k = %c0 to %c5 {
      %first = tir.cmp eq %k, %c0 : i32
      %at = tir.add %i, %k : i32
      tir.if %first {
        tir.store %zero, %B[%at] : f32
      }
      %old = tir.load %B[%i] : f32
      %x = tir.load %A[%i, %k] : f32
      %new = tir.add %old, %x : f32
      tir.store %new, %B[%i] : f32
    }
  }
}

// -----

// It leaves two loops; a condition on others stays.
// CHECK-LABEL: tir.func @two
tir.func @two(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4x5x3xf32>
  %B = tir.match_buffer %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c3 = tir.const 3 : i32
  %c4 = tir.const 4 : i32
  %c5 = tir.const 5 : i32
  %zero = tir.const 0.0 : f32
  // CHECK:      tir.for [[I:%.*]] =
  tir.for %i = %c0 to %c4 {
    // CHECK:      [[SOME:%.*]] = tir.cmp lt [[I]]
    // CHECK-NEXT: tir.if [[SOME]] {
    // CHECK-NEXT:   tir.store
    // CHECK-NEXT: }
    // CHECK-NEXT: tir.for
    tir.for %k = %c0 to %c5 {
      // CHECK-NEXT: tir.for
      // CHECK-NOT:  tir.if
      tir.for %l = %c1 to %c1 + %c3 unrolled {
        %k0 = tir.cmp eq %k, %c0 : i32
        %l1 = tir.cmp eq %c1, %l : i32
        %both = tir.and %k0, %l1 : i1
        %some = tir.cmp lt %i, %c3 : i32
        %all = tir.and %some, %both : i1
        tir.if %all {
          tir.store %zero, %B[%i] : f32
        }
        %l0 = tir.sub %l, %c1 : i32
        %old = tir.load %B[%i] : f32
        %x = tir.load %A[%i, %k, %l0] : f32
        %new = tir.add %old, %x : f32
        tir.store %new, %B[%i] : f32
      }
    }
  }
}

// -----

// Left alone: after a load, with an else, in other iterations, of a loop that may not
// run, of one that is parallel, and where a load of the loop is used.
// CHECK-LABEL: tir.func @alone
// CHECK-COUNT-6: tir.if
tir.func @alone(%a: !tir.handle, %b: !tir.handle, %n: i32) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
  %B = tir.match_buffer %b : !tir.buffer<4xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  %c4 = tir.const 4 : i32
  tir.for %k = %c0 to %c4 {
    %old = tir.load %A[%c0] : i32
    %first = tir.cmp eq %k, %c0 : i32
    tir.if %first {
      tir.store %c1, %A[%c0] : i32
    }
    tir.store %old, %B[%k] : i32
  }
  tir.for %k = %c0 to %c4 {
    %first = tir.cmp eq %k, %c0 : i32
    tir.if %first {
      tir.store %c1, %A[%c0] : i32
    } else {
      tir.store %k, %B[%k] : i32
    }
  }
  tir.for %k = %c0 to %c4 {
    %second = tir.cmp eq %k, %c1 : i32
    tir.if %second {
      tir.store %c1, %A[%c0] : i32
    }
    tir.store %k, %B[%k] : i32
  }
  tir.for %k = %c0 to %n {
    %first = tir.cmp eq %k, %c0 : i32
    tir.if %first {
      tir.store %c1, %A[%c0] : i32
    }
    tir.store %k, %B[%c0] : i32
  }
  tir.for %k = %c0 to %c4 parallel {
    %first = tir.cmp eq %k, %c0 : i32
    tir.if %first {
      tir.store %c1, %A[%c1] : i32
    }
    tir.store %k, %B[%k] : i32
  }
  tir.for %k = %c0 to %c4 {
    %x = tir.load %A[%k] : i32
    %first = tir.cmp eq %k, %c0 : i32
    tir.if %first {
      tir.store %x, %B[%c0] : i32
    }
  }
}
