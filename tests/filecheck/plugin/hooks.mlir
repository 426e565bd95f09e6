// RUN: xdsl-opt %s -p cse,canonicalize \
// RUN:   --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file -o %t && filecheck %s --check-prefix=ALL < %t
// RUN: not xdsl-opt %s -p no-such-pass 2>&1 | filecheck %s --check-prefix=UNKNOWN

// Stock passes and tools run with this package installed; the lines above use every
// form that the in-process runner and lit both understand.

// CHECK-LABEL: func.func @first
// CHECK: arith.constant
// CHECK-NOT: arith.constant
// CHECK-LABEL: func.func @second
// ALL-COUNT-2: arith.constant
// UNKNOWN: no-such-pass
func.func @first() -> (i32, i32) {
  %a = arith.constant 1 : i32
  %b = arith.constant 1 : i32
  func.return %a, %b : i32, i32
}

// -----

func.func @second() {
  func.return
}
