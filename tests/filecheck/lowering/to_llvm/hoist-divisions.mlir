// RUN: xdsl-opt %s --allow-unregistered-dialect -p tvm-hoist-divisions | filecheck %s

// Out of both loops and the condition; the sum is needed for it.

func.func @conditional(%x : i32, %n : i32, %c : i1, %lo : index, %hi : index, %s : index) {
  scf.for %i = %lo to %hi step %s {
    scf.for %j = %lo to %hi step %s {
      scf.if %c {
        %y = arith.addi %x, %n : i32
        %q = arith.divui %y, %n : i32
        "test.op"(%q) : (i32) -> ()
      }
    }
  }
  func.return
}

// CHECK-LABEL: func.func @conditional(
// CHECK-SAME:    %[[X:.*]]: i32, %[[N:.*]]: i32, %[[C:.*]]: i1, %
// CHECK-NEXT:    %[[Y:.*]] = arith.addi %[[X]], %[[N]] : i32
// CHECK-NEXT:    %[[D:.*]] = tvm_llvm.freeze %[[N]] : i32
// CHECK-NEXT:    %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-NEXT:    %[[BAD:.*]] = arith.cmpi eq, %[[D]], %[[ZERO]] : i32
// CHECK-NEXT:    %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-NEXT:    %[[SAFE:.*]] = arith.select %[[BAD]], %[[ONE]], %[[D]] : i32
// CHECK-NEXT:    %[[Q:.*]] = arith.divui %[[Y]], %[[SAFE]] : i32
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        scf.if %[[C]] {
// CHECK-NEXT:          "test.op"(%[[Q]])

// Signed divisions can overflow, too.

func.func @signed(%x : i8, %n : i8, %lo : index, %hi : index, %s : index) {
  "scf.parallel"(%lo, %hi, %s) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i : index):
    %r = arith.remsi %x, %n : i8
    "test.op"(%r) : (i8) -> ()
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// CHECK-LABEL: func.func @signed(
// CHECK-SAME:    %[[X:.*]]: i8, %[[N:.*]]: i8, %
// CHECK-NEXT:    %[[D:.*]] = tvm_llvm.freeze %[[N]] : i8
// CHECK:         %[[ZERO:.*]] = arith.cmpi eq, %[[D]], %{{.*}} : i8
// CHECK-NEXT:    %[[Y:.*]] = tvm_llvm.freeze %[[X]] : i8
// CHECK-NEXT:    %[[MIN:.*]] = arith.constant -128 : i8
// CHECK-NEXT:    %[[LEAST:.*]] = arith.cmpi eq, %[[Y]], %[[MIN]] : i8
// CHECK-NEXT:    %[[MINUS:.*]] = arith.constant -1 : i8
// CHECK-NEXT:    %[[NEG:.*]] = arith.cmpi eq, %[[D]], %[[MINUS]] : i8
// CHECK-NEXT:    %[[OVER:.*]] = arith.andi %[[NEG]], %[[LEAST]] : i1
// CHECK-NEXT:    %[[BAD:.*]] = arith.ori %[[ZERO]], %[[OVER]] : i1
// CHECK:         %[[SAFE:.*]] = arith.select %[[BAD]], %{{.*}}, %[[D]] : i8
// CHECK-NEXT:    %[[R:.*]] = arith.remsi %[[Y]], %[[SAFE]] : i8
// CHECK-NEXT:    "scf.parallel"
// CHECK:           "test.op"(%[[R]])

// As far as the operands allow; loads and loop variables stay where they are.

func.func @partly(%m : memref<4xi32>, %n : i32, %lo : index, %hi : index, %s : index) {
  scf.for %i = %lo to %hi step %s {
    %x = memref.load %m[%i] : memref<4xi32>
    scf.for %j = %lo to %hi step %s {
      %a = arith.divui %x, %n : i32
      %y = memref.load %m[%j] : memref<4xi32>
      %b = arith.divui %y, %n : i32
      "test.op"(%a, %b) : (i32, i32) -> ()
    }
  }
  func.return
}

// CHECK-LABEL: func.func @partly(
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      memref.load
// CHECK:           arith.divui
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        %[[Y:.*]] = memref.load
// CHECK-NEXT:        arith.divui %[[Y]], %{{.*}} : i32
// CHECK-NEXT:        "test.op"

// Constants, index, vectors, no loop, and regions of other operations.

func.func @alone(%x : i32, %n : i32, %k : index, %v : vector<4xi32>, %lo : index, %hi : index) {
  %q = arith.divui %x, %n : i32
  scf.for %i = %lo to %hi step %k {
    %c3 = arith.constant 3 : i32
    %a = arith.divui %x, %c3 : i32
    %b = arith.divui %lo, %k : index
    %c = arith.divui %v, %v : vector<4xi32>
    "test.region"() ({
      %d = arith.divui %x, %n : i32
      "test.op"(%a, %b, %c, %d) : (i32, index, vector<4xi32>, i32) -> ()
    }) : () -> ()
  }
  func.return
}

// CHECK-LABEL: func.func @alone(
// CHECK-NEXT:    arith.divui
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      arith.constant
// CHECK-NEXT:      arith.divui
// CHECK-NEXT:      arith.divui
// CHECK-NEXT:      arith.divui
// CHECK-NEXT:      "test.region"() ({
// CHECK-NEXT:        arith.divui
