// RUN: xdsl-opt %s -p relax-convert-to-memref | filecheck %s

!n = tensor<?x4xf32, #relax.dims<[n, 4]>>
!d = tensor<?x?xf32, #relax.dims<[n, m]>>

// Equal constants are one global.
// CHECK: "memref.global"() <{sym_name = "constant_0", type = memref<2xi8>, initial_value = dense<[1, 2]> : tensor<2xi8>, sym_visibility = "private", constant, alignment = 64 : i64}>
// CHECK-NOT: "memref.global"

// CHECK-LABEL: func.func private @double(
tir.func @double(%a: !tir.handle, %b: !tir.handle) {
  %n = tir.shape_var "n" : i64
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?x4xf32>
  %B = tir.match_buffer "B" %b [%n] : !tir.buffer<?x4xf32>
}

// What is returned is written in place, the rest is allocated and released.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x4xf32>, %[[R:[a-z0-9]+]]: memref<?x4xf32> {llvm.noalias}, %[[N:[a-z0-9]+]]: i64)
// CHECK: %[[I:[0-9]+]] = arith.index_cast %[[N]] : i64 to index
// CHECK: %[[M:[0-9]+]] = memref.alloc(%[[I]]) : memref<?x4xf32>
// CHECK-NEXT: %[[P:[0-9]+]] = builtin.unrealized_conversion_cast %[[M]] : memref<?x4xf32> to !llvm.ptr
// CHECK-NEXT: %[[A:[0-9]+]] = llvm.ptrtoint %[[P]] : !llvm.ptr to i64
// CHECK-NEXT: %[[E:[0-9]+]] = arith.cmpi ne, %[[A]], %{{.*}} : i64
// CHECK-NEXT: %[[S:[0-9]+]] = arith.index_cast %[[I]] : index to i64
// CHECK-NEXT: %[[F:[0-9]+]] = arith.sitofp %[[S]] : i64 to f64
// CHECK-NEXT: %[[G:[0-9]+]] = arith.mulf %[[F]], %{{.*}} : f64
// CHECK-NEXT: %[[L:[0-9]+]] = arith.cmpf olt, %[[G]], %{{.*}} : f64
// CHECK-NEXT: %[[O:[0-9]+]] = arith.andi %[[L]], %[[E]] : i1
// CHECK-NEXT: cf.assert %[[O]], "out of memory: relax.builtin.alloc_tensor in @chain needs n * 16 bytes"
// CHECK: func.call @double(%[[X]], %[[M]], %{{.*}})
// CHECK: func.call @double(%[[M]], %[[R]], %{{.*}})
// CHECK-NEXT: memref.dealloc %[[M]]
// CHECK-NEXT: func.return
relax.func @chain<n>(%x: !n) -> !n
    attributes {global_symbol = "chain", relax.force_pure} {
  %0 = relax.builtin.alloc_tensor on 0 scope "global" : !n
  relax.call impure @double(%x, %0) : (!n, !n) -> ()
  %1 = relax.builtin.alloc_tensor on 0 scope "global" : !n
  relax.call impure @double(%0, %1) : (!n, !n) -> ()
  relax.return %1 : !n
}

// The callee's symbols are passed; the result goes where it is returned.
// CHECK-LABEL: func.func private @static(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<3x4xf32>, %[[R:[a-z0-9]+]]: memref<3x4xf32> {llvm.noalias})
// CHECK-NEXT: %[[C:[0-9]+]] = arith.constant 3 : i64
// CHECK-NEXT: %[[A:[0-9]+]] = "memref.cast"(%[[X]])
// CHECK-NEXT: %[[B:[0-9]+]] = "memref.cast"(%[[R]])
// CHECK-NEXT: func.call @chain(%[[A]], %[[B]], %[[C]]) : (memref<?x4xf32>, memref<?x4xf32>, i64) -> ()
// CHECK-NEXT: func.return
relax.func @static(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = relax.call @chain(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  relax.return %0 : tensor<3x4xf32>
}

// Unknown extents are passed after the symbols.
// CHECK-LABEL: func.func private @checks(
// CHECK-SAME: %{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>, %{{.*}}: memref<?x4xf32> {llvm.noalias}, %[[N:[a-z0-9]+]]: i64, %[[U:[0-9]+]]: i64, %[[V:[0-9]+]]: i64)
// CHECK: %[[NI:[0-9]+]] = arith.index_cast %[[N]]
// CHECK-NEXT: %[[UI:[0-9]+]] = arith.index_cast %[[U]]
// CHECK-NEXT: %[[VI:[0-9]+]] = arith.index_cast %[[V]]
// CHECK-NEXT: %[[E:[0-9]+]] = arith.cmpi eq, %[[NI]], %[[UI]] : index
// CHECK-NEXT: cf.assert %[[E]], "relax.match_cast in @checks: the value is no tensor<?x4xf32, #relax.dims<[n, 4]>>"
// CHECK-NEXT: %[[F:[0-9]+]] = arith.cmpi eq, %{{.*}}, %[[VI]] : index
// CHECK-NEXT: cf.assert %[[F]]
// CHECK-NOT: cf.assert
relax.func @checks<n>(%x: tensor<?x?xf32>, %y: tensor<?xf32, #relax.dims<[n]>>) -> !n {
  %0 = relax.match_cast %x : tensor<?x?xf32> -> !n
  relax.return %0 : !n
}

// Tuples are flattened, inputs and constants copied.
// CHECK-LABEL: func.func private @tuples(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<2xi8>, %[[A:[a-z0-9]+]]: memref<2xi8> {llvm.noalias}, %[[B:[a-z0-9]+]]: memref<2xi8> {llvm.noalias}, %[[C:[a-z0-9]+]]: memref<2xi8> {llvm.noalias})
// CHECK-NEXT: %[[G:[0-9]+]] = memref.get_global @constant_0 : memref<2xi8>
// CHECK-NEXT: %[[H:[0-9]+]] = memref.get_global @constant_0 : memref<2xi8>
// CHECK-NEXT: "memref.copy"(%[[G]], %[[A]])
// CHECK-NEXT: "memref.copy"(%[[X]], %[[B]])
// CHECK-NEXT: "memref.copy"(%[[H]], %[[C]])
// CHECK-NEXT: func.return
!i = tensor<2xui8>
relax.func @tuples(%p: !relax.tuple<!i>)
    -> !relax.tuple<!i, !relax.tuple<!i, !i>> {
  %x = relax.get_item %p[0] : !relax.tuple<!i> -> !i
  %0 = relax.constant dense<[1, 2]> : !i
  %1 = relax.constant dense<[1, 2]> : !i
  %2 = relax.tuple(%x, %1) : !i, !i
  %3 = relax.tuple(%0, %2) : !i, !relax.tuple<!i, !i>
  relax.return %3 : !relax.tuple<!i, !relax.tuple<!i, !i>>
}

// A branch hands over its own memory, or a copy.
// CHECK-LABEL: func.func private @branches(
// CHECK-SAME: %[[C:[a-z0-9]+]]: memref<i1>, %[[X:[a-z0-9]+]]: memref<?x4xf32>,
// CHECK: %[[B:[0-9]+]] = memref.load %[[C]][] : memref<i1>
// CHECK-NEXT: %[[R:[0-9]+]] = scf.if %[[B]] -> (memref<?x4xf32>) {
// CHECK-NEXT: %[[T:[0-9]+]] = memref.alloc
// CHECK: func.call @double(%[[X]], %[[T]],
// CHECK-NEXT: scf.yield %[[T]]
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[F:[0-9]+]] = memref.alloc
// CHECK: scf.for
// CHECK: scf.yield %[[F]]
// CHECK: memref.dealloc %[[R]]
// CHECK-NEXT: func.return
relax.func @branches<n>(%c: tensor<i1>, %x: !n) -> !n attributes {relax.force_pure} {
  %r = relax.if %c : tensor<i1> -> !n {
    %0 = relax.builtin.alloc_tensor on 0 scope "global" : !n
    relax.call impure @double(%x, %0) : (!n, !n) -> ()
    relax.yield %0 : !n
  } else {
    relax.yield %x : !n
  }
  relax.return %r : !n
}

// A scalar result is returned; expressions of symbols are computed, and checked to fit.
// CHECK-LABEL: func.func private @scalars(
// CHECK-SAME: %{{.*}}: i64, %[[N:[a-z0-9_]+]]: i64) -> i32
// CHECK: %[[I:[0-9]+]] = arith.index_cast %[[N]] : i64 to index
// CHECK-NEXT: %[[A:[0-9]+]] = arith.addi %[[I]], %{{.*}} : index
// CHECK-NEXT: %[[Q:[0-9]+]] = arith.floordivsi %[[A]], %{{.*}} : index
// CHECK-NEXT: %[[R:[0-9]+]] = arith.index_cast %[[Q]] : index to i32
// CHECK-NEXT: %[[W:[0-9]+]] = arith.index_cast %[[R]] : i32 to index
// CHECK-NEXT: %[[H:[0-9]+]] = arith.cmpi eq, %[[W]], %[[Q]] : index
// CHECK-NEXT: cf.assert %[[H]], "relax.prim_value in @scalars: (n + 3) floordiv 4 is no i32"
// CHECK-NEXT: func.return %[[R]] : i32
relax.func @scalars<n>(%n: !relax.prim<i64, n>)
    -> !relax.prim<i32, (n + 3) floordiv 4> {
  %0 = relax.prim_value (n + 3) floordiv 4 : i32
  relax.return %0 : !relax.prim<i32, (n + 3) floordiv 4>
}

// Memory with two dynamic extents has one.
// CHECK-LABEL: func.func private @flat(
// CHECK-SAME: memref<?xf32>, %{{.*}}: memref<?xf32> {llvm.noalias}, %{{.*}}: i64, %{{.*}}: i64)
relax.func @flat<n, m>(%x: !d) -> !d {
  relax.return %x : !d
}

// CHECK-LABEL: func.func @foreign(%x: f32) -> f32
func.func @foreign(%x: f32) -> f32 {
  func.return %x : f32
}

// Several tensors on one storage; it is released after the last name of it.
// CHECK-LABEL: func.func private @storage(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<4xf32>, %[[R:[a-z0-9]+]]: memref<4xf32> {llvm.noalias})
// CHECK: %[[C:[0-9]+]] = arith.constant 0 : index
// CHECK: %[[C16:[0-9]+]] = arith.constant 16 : index
// CHECK: %[[S:[0-9a-z]+]] = memref.alloc() : memref<32xi8>
// CHECK: %[[A:[0-9a-z]+]] = memref.view %[[S]][%[[C]]][] : memref<32xi8> to memref<4xf32>
// CHECK: func.call @flat4(%[[X]], %[[A]])
// CHECK: %[[B:[0-9a-z]+]] = memref.view %[[S]][%[[C16]]][] : memref<32xi8> to memref<4xf32>
// CHECK-NEXT: func.call @flat4(%[[A]], %[[B]])
// CHECK-NEXT: func.call @flat4(%[[B]], %[[R]])
// CHECK-NEXT: memref.dealloc %[[S]]
// CHECK-NEXT: func.call @flat4(%[[X]], %[[X]])
// CHECK-NEXT: func.return
!s = tensor<4xf32>
tir.func @flat4(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
}
relax.func @storage(%x: !s) -> !s attributes {relax.force_pure} {
  %s = relax.memory.alloc_storage 32 on 0 scope "global" dtype f32 : !relax.object
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> !s
  relax.call impure @flat4(%x, %a) : (!s, !s) -> ()
  %b = relax.memory.alloc_tensor %s at 16 : !relax.object -> !s
  relax.memory.kill_storage %s : !relax.object
  relax.call impure @flat4(%a, %b) : (!s, !s) -> ()
  relax.memory.kill_tensor %a : !s
  // The storage of what is returned is that of the caller.
  %t = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 : !relax.object
  %r = relax.memory.alloc_tensor %t at 0 : !relax.object -> !s
  relax.memory.kill_storage %t : !relax.object
  relax.call impure @flat4(%b, %r) : (!s, !s) -> ()
  relax.memory.kill_tensor %b : !s
  relax.call impure @flat4(%x, %x) : (!s, !s) -> ()
  relax.return %r : !s
}

// The memory of the result has another tensor before, in bytes.
// CHECK-LABEL: func.func private @shared_with_result(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<4xf32>, %[[R:[a-z0-9]+]]: memref<4xf32> {llvm.noalias})
// CHECK: %[[P:.*]] = builtin.unrealized_conversion_cast %[[R]] : memref<4xf32> to !llvm.ptr
// CHECK: %[[S:.*]] = builtin.unrealized_conversion_cast %[[P]] : !llvm.ptr to memref<16xi8>
// CHECK: %[[A:[0-9a-z]+]] = memref.view %[[S]][{{.*}}][] : memref<16xi8> to memref<4xf32>
// CHECK: func.call @flat4(%[[X]], %[[A]])
// CHECK: %[[B:[0-9a-z_]+]] = memref.alloc() : memref<4xf32>
// CHECK: func.call @flat4(%[[A]], %[[B]])
// CHECK: func.call @flat4(%[[B]], %[[R]])
// CHECK-NEXT: memref.dealloc %[[B]]
// CHECK-NEXT: func.return
relax.func @shared_with_result(%x: !s) -> !s attributes {relax.force_pure} {
  %s = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 : !relax.object
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> !s
  relax.call impure @flat4(%x, %a) : (!s, !s) -> ()
  %b = relax.builtin.alloc_tensor on 0 scope "global" : !s
  relax.call impure @flat4(%a, %b) : (!s, !s) -> ()
  relax.memory.kill_tensor %a : !s
  %r = relax.memory.alloc_tensor %s at 0 : !relax.object -> !s
  relax.memory.kill_storage %s : !relax.object
  relax.call impure @flat4(%b, %r) : (!s, !s) -> ()
  relax.memory.kill_tensor %b : !s
  relax.return %r : !s
}
