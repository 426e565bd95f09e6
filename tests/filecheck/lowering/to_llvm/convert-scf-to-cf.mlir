// RUN: xdsl-opt %s --allow-unregistered-dialect -p tvm-convert-scf-to-cf | filecheck %s

func.func @loop(%lb : index, %ub : index, %s : index, %x : f32) -> f32 {
  %r = scf.for %i = %lb to %ub step %s iter_args(%a = %x) -> (f32) {
    %y = arith.addf %a, %x : f32
    scf.yield %y : f32
  } {tvm_llvm.loop = #tvm_llvm.loop<{unroll.disable}>}
  func.return %r : f32
}

// CHECK: func.func @loop([[V0:%[A-Za-z0-9_]+]]: index, [[V1:%[A-Za-z0-9_]+]]: index, [[V2:%[A-Za-z0-9_]+]]: index, [[V3:%[A-Za-z0-9_]+]]: f32) -> f32 {
// CHECK-NEXT: cf.br ^bb1([[V0]], [[V3]] : index, f32)
// CHECK-NEXT: ^bb1([[V4:%[A-Za-z0-9_]+]]: index, [[V5:%[A-Za-z0-9_]+]]: f32):
// CHECK-NEXT: [[V6:%[A-Za-z0-9_]+]] = arith.cmpi slt, [[V4]], [[V1]] : index
// CHECK-NEXT: cf.cond_br [[V6]], ^bb2, ^bb3
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: [[V7:%[A-Za-z0-9_]+]] = arith.addf [[V5]], [[V3]] : f32
// CHECK-NEXT: [[V8:%[A-Za-z0-9_]+]] = arith.addi [[V4]], [[V2]] : index
// CHECK-NEXT: cf.br ^bb1([[V8]], [[V7]] : index, f32) {tvm_llvm.loop = #tvm_llvm.loop<{unroll.disable}>}
// CHECK-NEXT: ^bb3:
// CHECK-NEXT: func.return [[V5]] : f32

func.func @conditions(%c : i1, %x : i32) -> i32 {
  scf.if %c {
    "test.op"() : () -> ()
  }
  %r = scf.if %c -> (i32) {
    scf.yield %x : i32
  } else {
    %z = arith.constant 0 : i32
    scf.yield %z : i32
  }
  func.return %r : i32
}

// CHECK: func.func @conditions([[V0:%[A-Za-z0-9_]+]]: i1, [[V1:%[A-Za-z0-9_]+]]: i32) -> i32 {
// CHECK-NEXT: cf.cond_br [[V0]], ^bb1, ^bb2
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: "test.op"() : () -> ()
// CHECK-NEXT: cf.br ^bb2
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: cf.cond_br [[V0]], ^bb3, ^bb4
// CHECK-NEXT: ^bb3:
// CHECK-NEXT: cf.br ^bb5([[V1]] : i32)
// CHECK-NEXT: ^bb4:
// CHECK-NEXT: [[V2:%[A-Za-z0-9_]+]] = arith.constant 0 : i32
// CHECK-NEXT: cf.br ^bb5([[V2]] : i32)
// CHECK-NEXT: ^bb5([[V3:%[A-Za-z0-9_]+]]: i32):
// CHECK-NEXT: func.return [[V3]] : i32

func.func @while(%n : i64) -> i64 {
  %r = scf.while (%x = %n) : (i64) -> i64 {
    %c = "test.op"(%x) : (i64) -> i1
    scf.condition(%c) %x : i64
  } do {
  ^bb0(%y : i64):
    %z = arith.addi %y, %y : i64
    scf.yield %z : i64
  }
  func.return %r : i64
}

// CHECK: func.func @while([[V0:%[A-Za-z0-9_]+]]: i64) -> i64 {
// CHECK-NEXT: cf.br ^bb1([[V0]] : i64)
// CHECK-NEXT: ^bb1([[V1:%[A-Za-z0-9_]+]]: i64):
// CHECK-NEXT: [[V2:%[A-Za-z0-9_]+]] = "test.op"([[V1]]) : (i64) -> i1
// CHECK-NEXT: cf.cond_br [[V2]], ^bb2([[V1]] : i64), ^bb3([[V1]] : i64)
// CHECK-NEXT: ^bb2([[V3:%[A-Za-z0-9_]+]]: i64):
// CHECK-NEXT: [[V4:%[A-Za-z0-9_]+]] = arith.addi [[V3]], [[V3]] : i64
// CHECK-NEXT: cf.br ^bb1([[V4]] : i64)
// CHECK-NEXT: ^bb3([[V5:%[A-Za-z0-9_]+]]: i64):
// CHECK-NEXT: func.return [[V5]] : i64

func.func @parallel(%n : index, %m : index, %s : index, %x : f32) -> f32 {
  %r = "scf.parallel"(%n, %m, %s, %x) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
  ^bb0(%i : index):
    "scf.reduce"(%x) ({
    ^bb1(%l : f32, %e : f32):
      %p = arith.mulf %l, %e : f32
      scf.reduce.return %p : f32
    }) : (f32) -> ()
  }) : (index, index, index, f32) -> f32
  func.return %r : f32
}

// CHECK: func.func @parallel([[V0:%[A-Za-z0-9_]+]]: index, [[V1:%[A-Za-z0-9_]+]]: index, [[V2:%[A-Za-z0-9_]+]]: index, [[V3:%[A-Za-z0-9_]+]]: f32) -> f32 {
// CHECK-NEXT: cf.br ^bb1([[V0]], [[V3]] : index, f32)
// CHECK-NEXT: ^bb1([[V4:%[A-Za-z0-9_]+]]: index, [[V5:%[A-Za-z0-9_]+]]: f32):
// CHECK-NEXT: [[V6:%[A-Za-z0-9_]+]] = arith.cmpi slt, [[V4]], [[V1]] : index
// CHECK-NEXT: cf.cond_br [[V6]], ^bb2, ^bb6
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: cf.br ^bb3
// CHECK-NEXT: ^bb3:
// CHECK-NEXT: cf.br ^bb4
// CHECK-NEXT: ^bb4:
// CHECK-NEXT: [[V7:%[A-Za-z0-9_]+]] = arith.mulf [[V5]], [[V3]] : f32
// CHECK-NEXT: cf.br ^bb5([[V7]] : f32)
// CHECK-NEXT: ^bb5([[V8:%[A-Za-z0-9_]+]]: f32):
// CHECK-NEXT: [[V9:%[A-Za-z0-9_]+]] = arith.addi [[V4]], [[V2]] : index
// CHECK-NEXT: cf.br ^bb1([[V9]], [[V8]] : index, f32)
// CHECK-NEXT: ^bb6:
// CHECK-NEXT: func.return [[V5]] : f32

func.func @switch(%k : index) -> i32 {
  %r = scf.index_switch %k -> i32
  case 2 {
    %a = arith.constant 20 : i32
    scf.yield %a : i32
  }
  default {
    %e = arith.constant 99 : i32
    scf.yield %e : i32
  }
  func.return %r : i32
}

// CHECK: func.func @switch([[V0:%[A-Za-z0-9_]+]]: index) -> i32 {
// CHECK-NEXT: [[V1:%[A-Za-z0-9_]+]] = arith.index_cast [[V0]] : index to i64
// CHECK-NEXT: cf.switch [[V1]] : i64, [
// CHECK-NEXT: default: ^bb1,
// CHECK-NEXT: 2: ^bb2
// CHECK-NEXT: ]
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: [[V2:%[A-Za-z0-9_]+]] = arith.constant 99 : i32
// CHECK-NEXT: cf.br ^bb3([[V2]] : i32)
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: [[V3:%[A-Za-z0-9_]+]] = arith.constant 20 : i32
// CHECK-NEXT: cf.br ^bb3([[V3]] : i32)
// CHECK-NEXT: ^bb3([[V4:%[A-Za-z0-9_]+]]: i32):
// CHECK-NEXT: func.return [[V4]] : i32

func.func @region(%x : i32) -> i32 {
  %r = scf.execute_region -> (i32) {
    cf.br ^end(%x : i32)
  ^end(%d : i32):
    scf.yield %d : i32
  }
  func.return %r : i32
}

// CHECK: func.func @region([[V0:%[A-Za-z0-9_]+]]: i32) -> i32 {
// CHECK-NEXT: cf.br ^bb1
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: cf.br ^end([[V0]] : i32)
// CHECK-NEXT: ^end([[V1:%[A-Za-z0-9_]+]]: i32):
// CHECK-NEXT: cf.br ^bb3([[V1]] : i32)
// CHECK-NEXT: ^bb3([[V2:%[A-Za-z0-9_]+]]: i32):
// CHECK-NEXT: func.return [[V2]] : i32

func.func @foreign(%c : i1) {
  "test.single_block"() ({
    scf.if %c {
      "test.op"() : () -> ()
    }
  }) : () -> ()
  func.return
}

// CHECK: func.func @foreign([[V0:%[A-Za-z0-9_]+]]: i1) {
// CHECK-NEXT: "test.single_block"() ({
// CHECK-NEXT: scf.if [[V0]] {
// CHECK-NEXT: "test.op"() : () -> ()
// CHECK: func.return

// A loop that runs is tested at its end; its results are what it yields last.

func.func @runs(%x : f32, %c : i1) -> (f32, f32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c8 = arith.constant 8 : i32
  %r, %s = scf.for %i = %c0 to %c8 step %c1 iter_args(%a = %x, %b = %x) -> (f32, f32) : i32 {
    %y = scf.if %c -> (f32) {
      scf.yield %a : f32
    } else {
      %z = arith.addf %a, %x : f32
      scf.yield %z : f32
    }
    scf.yield %y, %a : f32, f32
  } {tvm_llvm.loop = #tvm_llvm.loop<{unroll.disable}>}
  func.return %r, %s : f32, f32
}

// CHECK: func.func @runs([[X:%.*]]: f32, [[C:%.*]]: i1) -> (f32, f32) {
// CHECK-NEXT: [[C0:%.*]] = arith.constant 0
// CHECK-NEXT: [[C1:%.*]] = arith.constant 1
// CHECK-NEXT: [[C8:%.*]] = arith.constant 8
// CHECK-NEXT: cf.br ^[[BODY:bb[0-9]+]]([[C0]], [[X]], [[X]] : i32, f32, f32)
// CHECK-NEXT: ^[[BODY]]([[I:%.*]]: i32, [[A:%.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: cf.cond_br [[C]], ^[[THEN:bb[0-9]+]], ^[[ELSE:bb[0-9]+]]
// CHECK-NEXT: ^[[THEN]]:
// CHECK-NEXT: cf.br ^[[JOIN:bb[0-9]+]]([[A]] : f32)
// CHECK-NEXT: ^[[ELSE]]:
// CHECK-NEXT: [[Z:%.*]] = arith.addf [[A]], [[X]]
// CHECK-NEXT: cf.br ^[[JOIN]]([[Z]] : f32)
// CHECK-NEXT: ^[[JOIN]]([[Y:%.*]]: f32):
// CHECK-NEXT: [[N:%.*]] = arith.addi [[I]], [[C1]] overflow<nsw> : i32
// CHECK-NEXT: [[AGAIN:%.*]] = arith.cmpi slt, [[N]], [[C8]] : i32
// CHECK-NEXT: cf.cond_br [[AGAIN]], ^[[BODY]]([[N]], [[Y]], [[A]] : i32, f32, f32), ^[[END:bb[0-9]+]] {tvm_llvm.loop = #tvm_llvm.loop<{unroll.disable}>}
// CHECK-NEXT: ^[[END]]:
// CHECK-NEXT: func.return [[Y]], [[A]]

// One that does not run, and one whose variable may overflow, are tested at their head.

func.func @may_not_run() {
  %c0 = arith.constant 0 : i8
  %c1 = arith.constant 1 : i8
  %c2 = arith.constant 2 : i8
  %c127 = arith.constant 127 : i8
  scf.for %i = %c1 to %c0 step %c1 : i8 {
    "test.op"() : () -> ()
  }
  scf.for %i = %c0 to %c127 step %c2 : i8 {
    "test.op"() : () -> ()
  }
  func.return
}

// CHECK: func.func @may_not_run
// CHECK-COUNT-2: "test.op"() : () -> ()
// CHECK-NEXT: arith.addi
// CHECK-NEXT: cf.br

// Loops of kernels are tested at their head, too.

"gpu.module"() <{sym_name = "kernels"}> ({
  "gpu.func"() <{function_type = () -> (), kernel}> ({
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    scf.for %i = %c0 to %c8 step %c1 : i32 {
      "test.op"(%i) : (i32) -> ()
    }
    "gpu.return"() : () -> ()
  }) {sym_name = "kernel"} : () -> ()
}) : () -> ()

// CHECK: "gpu.func"
// CHECK: cf.br ^[[HEAD:bb[0-9]+]](%{{.*}} : i32)
// CHECK-NEXT: ^[[HEAD]]([[I:%.*]]: i32):
// CHECK-NEXT: [[MORE:%.*]] = arith.cmpi slt, [[I]], %{{.*}} : i32
// CHECK-NEXT: cf.cond_br [[MORE]]
