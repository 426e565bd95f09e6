// RUN: xdsl-opt %s --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file | xdsl-opt --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file --print-op-generic | xdsl-opt --split-input-file | filecheck %s

// Functions, their symbols and attributes; a symbol may be used before its definition.

// CHECK-LABEL: relax.func @main<n, m>(%x: tensor<?x?xf32, #relax.dims<[n + 1, m]>>, %s: !relax.shape<[n]>) -> tensor<?x?xf32, #relax.dims<[n + 1, m]>> attributes {global_symbol = "main", num_input = 1 : i64} {
relax.func @main<n, m>(%x: tensor<?x?xf32, #relax.dims<[n + 1, m]>>, %s: !relax.shape<[n]>) -> tensor<?x?xf32, #relax.dims<[n + 1, m]>> attributes {global_symbol = "main", num_input = 1 : i64} {
  // CHECK-NEXT: relax.return %x : tensor<?x?xf32, #relax.dims<[n + 1, m]>>
  relax.return %x : tensor<?x?xf32, #relax.dims<[n + 1, m]>>
}

// CHECK: relax.func impure @effects() -> !relax.tuple<> {
relax.func impure @effects() -> !relax.tuple<> {
  // CHECK-NEXT: %{{.*}} = relax.tuple()
  // CHECK-NEXT: relax.return %{{.*}} : !relax.tuple<>
  %v = relax.tuple()
  relax.return %v : !relax.tuple<>
}

// -----

// Types: unknown dimensions, rank and dtype; every normal form of a dimension.

// CHECK-LABEL: relax.func @types<n, m>
relax.func @types<n, m>(
  // CHECK-SAME: %a: tensor<?x?xf32>
  %a: tensor<?x?xf32>,
  // CHECK-SAME: %b: tensor<*xf32>
  %b: tensor<*xf32>,
  // CHECK-SAME: %c: tensor<?x4x!relax.any>
  %c: tensor<?x4x!relax.any>,
  // CHECK-SAME: %d: tensor<*x!relax.any>
  %d: tensor<*x!relax.any>,
  // CHECK-SAME: %e: tensor<?x?x?xf32, #relax.dims<[n, ?, m]>>
  %e: tensor<?x?x?xf32, #relax.dims<[n, ?, m]>>,
  // CHECK-SAME: %f: tensor<?x8xf32, #relax.placed<[n, 8], #relax.vdevice<"cuda", 1, "global">>>
  %f: tensor<?x8xf32, #relax.placed<[n, 8], #relax.vdevice<"cuda", 1, "global">>>,
  // CHECK-SAME: %g: tensor<8xf32, #relax.placed<[8], #relax.vdevice<any, 0, "shared">>>
  %g: tensor<8xf32, #relax.placed<[8], #relax.vdevice<any, 0, "shared">>>,
  // CHECK-SAME: %h: !relax.object, %i: !relax.shape<*>, %j: !relax.shape<[?, 4]>, %k: !relax.shape<[]>
  %h: !relax.object, %i: !relax.shape<*>, %j: !relax.shape<[?, 4]>, %k: !relax.shape<[]>,
  // CHECK-SAME: %l: !relax.prim<f32>, %o: !relax.prim<i64, m + n * 2 - 1>
  %l: !relax.prim<f32>, %o: !relax.prim<i64, m - 1 + 2 * n>,
  // CHECK-SAME: %p: !relax.tuple<tensor<4xf32>, !relax.tuple<>>
  %p: !relax.tuple<tensor<4xf32>, !relax.tuple<>>,
  // CHECK-SAME: %q: !relax.func<(tensor<4xf32>) -> !relax.object, impure>, %r: !relax.func<? -> tensor<4xf32>>
  %q: !relax.func<(tensor<4xf32>) -> !relax.object, impure>, %r: !relax.func<? -> tensor<4xf32>>,
  // CHECK-SAME: %s: !relax.shape<[(n + 3) floordiv 4, m floormod 8, m * n, min(n, 128), max(m, n), -n + 1]>
  %s: !relax.shape<[(3 + n) floordiv 4, (m + 16) floormod 8, n * m, min(128, n), max(n, m), 1 - n]>,
  // CHECK-SAME: %t: !relax.shape<[n * (m floordiv 2), (n floordiv 2) * 3, 7]>
  %t: !relax.shape<[n * (m floordiv 2), n floordiv 2 * 3, 7 * min(4, max(0, 1))]>
) -> tensor<*xf32> {
  relax.return %b : tensor<*xf32>
}

// -----

// Leaves, tuples, casts.

// CHECK-LABEL: relax.func @values
relax.func @values<n>(%x: tensor<?x4xf32, #relax.dims<[n, 4]>>, %u: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK-NEXT: %{{.*}} = relax.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %c = relax.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK-NEXT: %{{.*}} = relax.constant {note = 1 : i64} dense<7> : tensor<i8>
  %d = relax.constant {note = 1} dense<7> : tensor<i8>
  // CHECK-NEXT: %{{.*}} = relax.shape [n * 4, 1] {note}
  %s = relax.shape [n * 4, 1] {note}
  // CHECK-NEXT: %{{.*}} = relax.prim_value n + 1 : i64
  %p = relax.prim_value n + 1 : i64
  // CHECK-NEXT: %{{.*}} = relax.prim_value -3 : i32 {note}
  %q = relax.prim_value -3 : i32 {note}
  // CHECK-NEXT: %{{.*}} = relax.prim_value 2.500000e+00 : f32
  %r = relax.prim_value 2.5 : f32
  // CHECK-NEXT: %{{.*}} = relax.prim_value -2.500000e+00 : f16
  %e = relax.prim_value -2.5 : f16
  // CHECK-NEXT: %[[T:.*]] = relax.tuple(%x, %{{.*}}) : tensor<?x4xf32, #relax.dims<[n, 4]>>, tensor<2xf32>
  %t = relax.tuple(%x, %c) : tensor<?x4xf32, #relax.dims<[n, 4]>>, tensor<2xf32>
  // CHECK-NEXT: %{{.*}} = relax.get_item %[[T]][1] : !relax.tuple<tensor<?x4xf32, #relax.dims<[n, 4]>>, tensor<2xf32>> -> tensor<2xf32>
  %g = relax.get_item %t[1] : !relax.tuple<tensor<?x4xf32, #relax.dims<[n, 4]>>, tensor<2xf32>> -> tensor<2xf32>
  // CHECK-NEXT: %{{.*}} = relax.alias %x : tensor<?x4xf32, #relax.dims<[n, 4]>> -> tensor<?x?xf32>
  %a = relax.alias %x : tensor<?x4xf32, #relax.dims<[n, 4]>> -> tensor<?x?xf32>
  // CHECK-NEXT: %{{.*}} = relax.match_cast %u defines [k] : tensor<?xf32> -> tensor<?xf32, #relax.dims<[k]>>
  %m = relax.match_cast %u defines [k] : tensor<?xf32> -> tensor<?xf32, #relax.dims<[k]>>
  // CHECK-NEXT: %{{.*}} = relax.match_cast %{{.*}} : !relax.shape<[n * 4, 1]> -> !relax.shape<[k * n, 1]>
  %o = relax.match_cast %s : !relax.shape<[n * 4, 1]> -> !relax.shape<[k * n, 1]>
  // CHECK-NEXT: %{{.*}} = relax.builtin.alloc_tensor on -1 scope "shared" : tensor<?xf32, #relax.dims<[k]>>
  %w = relax.builtin.alloc_tensor on -1 scope "shared" : tensor<?xf32, #relax.dims<[k]>>
  relax.return %u : tensor<?xf32>
}

// -----

// Dataflow and conditionals. Symbols that a dataflow block defines stay visible.

// CHECK-LABEL: relax.func @regions
relax.func @regions<n>(%x: tensor<?xf32, #relax.dims<[n]>>, %c: tensor<i1>, %d: !relax.prim<i1>) -> tensor<?xf32> {
  // CHECK-NEXT: %[[A:.*]], %[[B:.*]] = relax.dataflow -> (tensor<?xf32, #relax.dims<[n]>>, tensor<?xf32, #relax.dims<[k]>>) attributes {note} {
  // CHECK:        relax.output %{{.*}}, %{{.*}} : tensor<?xf32, #relax.dims<[n]>>, tensor<?xf32, #relax.dims<[k]>>
  // CHECK-NEXT: }
  %a, %b = relax.dataflow -> (tensor<?xf32, #relax.dims<[n]>>, tensor<?xf32, #relax.dims<[k]>>) attributes {note} {
    %r = relax.nn.relu %x : (tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32, #relax.dims<[n]>>
    %m = relax.match_cast %r defines [k] : tensor<?xf32, #relax.dims<[n]>> -> tensor<?xf32, #relax.dims<[k]>>
    relax.output %r, %m : tensor<?xf32, #relax.dims<[n]>>, tensor<?xf32, #relax.dims<[k]>>
  }
  // CHECK: relax.dataflow -> () {
  // CHECK-NEXT: relax.output
  relax.dataflow -> () {
    relax.output
  }
  // CHECK: %{{.*}} = relax.if %c : tensor<i1> -> tensor<?xf32> {
  // CHECK-NEXT: relax.yield %[[A]] : tensor<?xf32, #relax.dims<[n]>>
  // CHECK-NEXT: } else {
  // CHECK-NEXT: relax.yield %[[B]] : tensor<?xf32, #relax.dims<[k]>>
  // CHECK-NEXT: }
  %i = relax.if %c : tensor<i1> -> tensor<?xf32> {
    relax.yield %a : tensor<?xf32, #relax.dims<[n]>>
  } else {
    relax.yield %b : tensor<?xf32, #relax.dims<[k]>>
  }
  // CHECK: relax.if %d : !relax.prim<i1> -> !relax.object {
  %j = relax.if %d : !relax.prim<i1> -> !relax.object {
    relax.yield %x : tensor<?xf32, #relax.dims<[n]>>
  } else {
    relax.yield %d : !relax.prim<i1>
  }
  relax.return %i : tensor<?xf32>
}

// -----

// Calls. The result of a call is solved from the arguments.

tir.func @p(%a: !tir.handle, %b: !tir.handle, %n: i64) {
}
tir.func @q(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
  %m = tir.shape_var "m" : i64
  %n = tir.shape_var "n" : i64
  %A = tir.match_buffer %a [%m] : !tir.buffer<?xf32>
  %C = tir.match_buffer %c [%n] : !tir.buffer<?xi8>
}
relax.func @callee<k>(%x: tensor<?xf32, #relax.dims<[k]>>) -> tensor<?xf32, #relax.dims<[k * 2]>> {
  // CHECK: relax.call_tir @p(%x) [k * 2] : (tensor<?xf32, #relax.dims<[k]>>) -> tensor<?xf32, #relax.dims<[k * 2]>>
  %r = relax.call_tir @p(%x) [k + k] : (tensor<?xf32, #relax.dims<[k]>>) -> tensor<?xf32, #relax.dims<[k * 2]>>
  relax.return %r : tensor<?xf32, #relax.dims<[k * 2]>>
}
// CHECK-LABEL: relax.func impure @calls
relax.func impure @calls<n>(%x: tensor<?xf32, #relax.dims<[n + 1]>>, %s: !relax.shape<[n]>) -> tensor<?xf32> {
  // CHECK-NEXT: relax.call_tir @q(%x) : (tensor<?xf32, #relax.dims<[n + 1]>>) -> !relax.tuple<tensor<f32>, tensor<4xi8>>
  %t = relax.call_tir @q(%x) : (tensor<?xf32, #relax.dims<[n + 1]>>) -> !relax.tuple<tensor<f32>, tensor<4xi8>>
  // CHECK-NEXT: %[[Y:.*]] = relax.call @callee(%x) : (tensor<?xf32, #relax.dims<[n + 1]>>) -> tensor<?xf32, #relax.dims<[n * 2 + 2]>>
  %y = relax.call @callee(%x) : (tensor<?xf32, #relax.dims<[n + 1]>>) -> tensor<?xf32, #relax.dims<[n * 2 + 2]>>
  // CHECK-NEXT: relax.call impure @p(%x, %[[Y]]) {note} : (tensor<?xf32, #relax.dims<[n + 1]>>, tensor<?xf32, #relax.dims<[n * 2 + 2]>>) -> ()
  relax.call impure @p(%x, %y) {note} : (tensor<?xf32, #relax.dims<[n + 1]>>, tensor<?xf32, #relax.dims<[n * 2 + 2]>>) -> ()
  // CHECK-NEXT: relax.call impure @calls
  %z = relax.call impure @calls(%x, %s) : (tensor<?xf32, #relax.dims<[n + 1]>>, !relax.shape<[n]>) -> tensor<?xf32>
  relax.return %z : tensor<?xf32>
}

// CHECK-LABEL: relax.func @forced
relax.func @forced(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.force_pure = true} {
  relax.call impure @p(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> ()
  relax.return %x : tensor<4xf32>
}

// -----

// Operators, inside a function of another dialect.

// CHECK-LABEL: func.func @operators
func.func @operators(%x: tensor<4x8xf32>, %v: tensor<8xf32>, %w: tensor<8x2xf32>, %p: !relax.prim<f32>) {
  // CHECK-NEXT: relax.add %x, %v : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %0 = relax.add %x, %v : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: relax.subtract %x, %p : (tensor<4x8xf32>, !relax.prim<f32>) -> tensor<4x8xf32>
  %1 = relax.subtract %x, %p : (tensor<4x8xf32>, !relax.prim<f32>) -> tensor<4x8xf32>
  // CHECK-NEXT: relax.multiply %p, %p : (!relax.prim<f32>, !relax.prim<f32>) -> !relax.prim<f32>
  %2 = relax.multiply %p, %p : (!relax.prim<f32>, !relax.prim<f32>) -> !relax.prim<f32>
  // CHECK-NEXT: relax.divide %x, %x {note} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = relax.divide %x, %x {note} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: relax.matmul %x, %w : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %4 = relax.matmul %x, %w : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  // CHECK-NEXT: relax.matmul %x, %v out_dtype f64 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4xf64>
  %5 = relax.matmul %x, %v out_dtype f64 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4xf64>
  // CHECK-NEXT: relax.permute_dims %x : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %6 = relax.permute_dims %x : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: relax.permute_dims %x axes [-1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %7 = relax.permute_dims %x axes [-1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: %[[S:.*]] = relax.shape [32]
  %s = relax.shape [32]
  // CHECK-NEXT: relax.reshape %x, %[[S]] : (tensor<4x8xf32>, !relax.shape<[32]>) -> tensor<32xf32>
  %8 = relax.reshape %x, %s : (tensor<4x8xf32>, !relax.shape<[32]>) -> tensor<32xf32>
  // CHECK-NEXT: relax.sum %x axis [1] keepdims : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %9 = relax.sum %x axis [1] keepdims : (tensor<4x8xf32>) -> tensor<4x1xf32>
  // CHECK-NEXT: relax.max %x keepdims : (tensor<4x8xf32>) -> tensor<1x1xf32>
  %10 = relax.max %x keepdims : (tensor<4x8xf32>) -> tensor<1x1xf32>
  // CHECK-NEXT: relax.mean %x : (tensor<4x8xf32>) -> tensor<f32>
  %11 = relax.mean %x : (tensor<4x8xf32>) -> tensor<f32>
  // CHECK-NEXT: relax.nn.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %12 = relax.nn.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: relax.nn.gelu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %13 = relax.nn.gelu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: relax.nn.softmax %x axis -1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %14 = relax.nn.softmax %x axis -1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: relax.nn.layer_norm %x, %v, %v axes [-1] epsilon 1.000000e-05 : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %15 = relax.nn.layer_norm %x, %v, %v axes [-1] epsilon 1.0e-05 : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: relax.nn.layer_norm %x, %x, %x axes [0, 1] epsilon 1.000000e-03 no_center no_scale
  %16 = relax.nn.layer_norm %x, %x, %x axes [0, 1] epsilon 1.0e-03 no_center no_scale : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // A declared type may be more general, and more precise where nothing is proven.
  // CHECK-NEXT: relax.nn.relu %x : (tensor<4x8xf32>) -> tensor<*x!relax.any>
  %17 = relax.nn.relu %x : (tensor<4x8xf32>) -> tensor<*x!relax.any>
  // CHECK-NEXT: relax.nn.relu %{{.*}} : (tensor<*x!relax.any>) -> tensor<4x8xf32>
  %18 = relax.nn.relu %17 : (tensor<*x!relax.any>) -> tensor<4x8xf32>
  func.return
}
