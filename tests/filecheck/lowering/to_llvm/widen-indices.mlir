// RUN: xdsl-opt %s --allow-unregistered-dialect -p tvm-widen-indices | filecheck %s

// A sum that is a place, in the width of places; what was narrow is gone.

func.func @place(%i : i32, %j : i32) -> index {
  %c8 = arith.constant 8 : i32
  %a = arith.muli %i, %c8 overflow<nsw> : i32
  %b = arith.addi %a, %j overflow<nsw> : i32
  %p = arith.index_cast %b : i32 to index
  func.return %p : index
}

// CHECK-LABEL: func.func @place(
// CHECK-SAME:    %[[I:.*]]: i32, %[[J:.*]]: i32)
// CHECK-NEXT:    %[[IW:.*]] = arith.index_cast %[[I]] : i32 to index
// CHECK-NEXT:    %[[JW:.*]] = arith.index_cast %[[J]] : i32 to index
// CHECK-NEXT:    %{{.*}} = arith.constant 8 : i32
// CHECK-NEXT:    %[[C8:.*]] = arith.constant 8 : index
// CHECK-NEXT:    %[[A:.*]] = arith.muli %[[IW]], %[[C8]] overflow<nsw> : index
// CHECK-NEXT:    %[[B:.*]] = arith.addi %[[A]], %[[JW]] overflow<nsw> : index
// CHECK-NEXT:    func.return %[[B]] : index

// What several places have in common is done once, before the loop that it is defined
// before. What is of other use stays.

func.func @shared(%i : i32, %lo : index, %hi : index, %s : index) {
  %a = arith.subi %i, %i overflow<nsw> : i32
  scf.for %k = %lo to %hi step %s {
    %j = arith.index_cast %k : index to i32
    %b = arith.addi %a, %j overflow<nsw> : i32
    %c = arith.addi %b, %b overflow<nsw> : i32
    %p = arith.index_cast %b : i32 to index
    %q = arith.index_cast %c : i32 to index
    "test.op"(%p, %q, %b) : (index, index, i32) -> ()
  }
  func.return
}

// CHECK-LABEL: func.func @shared(
// CHECK:         %[[IW:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK-NEXT:    %[[N:.*]] = arith.subi %{{.*}} overflow<nsw> : i32
// CHECK-NEXT:    %[[AW:.*]] = arith.subi %[[IW]], %[[IW]] overflow<nsw> : index
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      %[[J:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK-NEXT:      %[[JW:.*]] = arith.index_cast %[[J]] : i32 to index
// CHECK-NEXT:      %[[B:.*]] = arith.addi %[[N]], %[[J]] overflow<nsw> : i32
// CHECK-NEXT:      %[[BW:.*]] = arith.addi %[[AW]], %[[JW]] overflow<nsw> : index
// CHECK-NEXT:      %[[CW:.*]] = arith.addi %[[BW]], %[[BW]] overflow<nsw> : index
// CHECK-NEXT:      "test.op"(%[[BW]], %[[CW]], %[[B]])

// Sums that may overflow are computed as they are, and so are other operations; what is
// made of them is not.

func.func @wraps(%i : i32, %j : i32) -> index {
  %a = arith.addi %i, %j : i32
  %m = arith.maxsi %a, %j : i32
  %b = arith.addi %a, %m overflow<nsw> : i32
  %p = arith.index_cast %b : i32 to index
  func.return %p : index
}

// CHECK-LABEL: func.func @wraps(
// CHECK-SAME:    %[[I:.*]]: i32, %[[J:.*]]: i32)
// CHECK-NEXT:    %[[A:.*]] = arith.addi %[[I]], %[[J]] : i32
// CHECK-NEXT:    %[[AW:.*]] = arith.index_cast %[[A]] : i32 to index
// CHECK-NEXT:    %[[M:.*]] = arith.maxsi %[[A]], %{{.*}} : i32
// CHECK-NEXT:    %[[MW:.*]] = arith.index_cast %[[M]] : i32 to index
// CHECK-NEXT:    %[[B:.*]] = arith.addi %[[AW]], %[[MW]] overflow<nsw> : index
// CHECK-NEXT:    func.return %[[B]] : index

// Nothing is known of casts of results that may overflow, of bytes and to numbers.

func.func @other(%i : i32, %k : i8, %p : index) -> (index, index, i32) {
  %a = arith.addi %i, %i : i32
  %b = arith.addi %k, %k overflow<nsw> : i8
  %c = arith.addi %p, %p overflow<nsw> : index
  %x = arith.index_cast %a : i32 to index
  %y = arith.index_cast %b : i8 to index
  %z = arith.index_cast %c : index to i32
  func.return %x, %y, %z : index, index, i32
}

// CHECK-LABEL: func.func @other(
// CHECK-NEXT:    %{{.*}} = arith.addi %{{.*}} : i32
// CHECK-NEXT:    %{{.*}} = arith.addi %{{.*}} overflow<nsw> : i8
// CHECK-NEXT:    %{{.*}} = arith.addi %{{.*}} overflow<nsw> : index
// CHECK-NEXT:    %{{.*}} = arith.index_cast %{{.*}} : i32 to index
// CHECK-NEXT:    %{{.*}} = arith.index_cast %{{.*}} : i8 to index
// CHECK-NEXT:    %{{.*}} = arith.index_cast %{{.*}} : index to i32
// CHECK-NEXT:    func.return

// The variable of a loop is an index where one is made of it; other uses have an i32.

func.func @loop(%n : i32, %x : i32) {
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %r = scf.for %i = %c0 to %n step %c2 iter_args(%a = %x) -> (i32) : i32 {
    %p = arith.index_cast %i : i32 to index
    "test.op"(%p, %i) : (index, i32) -> ()
    scf.yield %a : i32
  }
  scf.for %i = %c0 to %n step %c2 : i32 {
    "test.op"(%i) : (i32) -> ()
  }
  func.return
}

// CHECK-LABEL: func.func @loop(
// CHECK:         %[[NW:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %[[NW]] step %{{.*}} iter_args(%{{.*}} = %{{.*}}) -> (i32) {
// CHECK-NEXT:      %[[NARROW:.*]] = arith.index_cast %[[I]] : index to i32
// CHECK-NEXT:      "test.op"(%[[I]], %[[NARROW]])
// CHECK:         scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %{{.*}} : i32 {
// CHECK-NEXT:      "test.op"(%[[J]])
