// RUN: xdsl-opt %s -p relax-vm-shape-lower --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'relax-vm-shape-lower{emit_err_ctx=false}' --split-input-file | filecheck %s --check-prefix SHORT

// An extent that is a symbol is stored where it occurs first and compared from then on;
// an expression is skipped until its symbols are known and a function has computed it.

!d = tensor<?xf32, #relax.dims<[n * 2]>>
!x = tensor<?x3xf32, #relax.dims<[n, 3]>>

// SHORT-NOT: err_ctx
// CHECK: relax.func @main<n>({{.*}}) -> !relax.shape<[n * 2, 5]> attributes {{{.*}}relax.force_pure = true}
// CHECK-NEXT: %[[SIZE:.*]] = relax.prim_value 2 : i64
// CHECK-NEXT: %[[H:.*]] = relax.call_builtin_with_ctx "vm.builtin.alloc_shape_heap"(%[[SIZE]]) : {{.*}} -> tensor<2xi64>
// CHECK: relax.call_packed "vm.builtin.check_tensor_info"(%d, %{{.*}}) {err_ctx = "ErrorContext(fn=main, loc=param[0])"}
// CHECK: relax.call_packed "vm.builtin.check_tensor_info"(%x
// CHECK: %[[RANK:.*]] = relax.prim_value 1
// CHECK-NEXT: %[[SKIP:.*]] = relax.prim_value 2
// CHECK-NEXT: %[[NONE:.*]] = relax.prim_value 0
// CHECK-NEXT: relax.call_packed "vm.builtin.match_shape"(%d, %[[H]], %[[RANK]], %[[SKIP]], %[[NONE]])
// CHECK-NEXT: %[[RANK:.*]] = relax.prim_value 2
// CHECK-NEXT: %[[STORE:.*]] = relax.prim_value 1
// CHECK-NEXT: %[[SLOT:.*]] = relax.prim_value 1
// CHECK-NEXT: %[[EQUAL:.*]] = relax.prim_value 0
// CHECK-NEXT: %[[THREE:.*]] = relax.prim_value 3
// CHECK-NEXT: relax.call_packed "vm.builtin.match_shape"(%x, %[[H]], %[[RANK]], %[[STORE]], %[[SLOT]], %[[EQUAL]], %[[THREE]])
// CHECK-NEXT: relax.call impure @shape_func(%[[H]]) : (tensor<2xi64>) -> ()
// CHECK-NEXT: %[[RANK:.*]] = relax.prim_value 1
// CHECK-NEXT: %[[LOADED:.*]] = relax.prim_value 3
// CHECK-NEXT: %[[SLOT:.*]] = relax.prim_value 0
// CHECK-NEXT: relax.call_packed "vm.builtin.match_shape"(%d, %[[H]], %[[RANK]], %[[LOADED]], %[[SLOT]])
// CHECK: relax.call_packed "vm.builtin.make_shape"(%[[H]], %{{.*}}) : {{.*}} -> !relax.shape<[n * 2, 5]>
// CHECK-NEXT: relax.return
// CHECK: tir.func @shape_func(%{{.*}}: !tir.handle) attributes {tir.is_host_func}
// CHECK: tir.mul
relax.func @main<n>(%d: !d, %x: !x) -> !relax.shape<[n * 2, 5]> attributes {global_symbol = "main"} {
  %s = relax.shape [n * 2, 5]
  relax.return %s : !relax.shape<[n * 2, 5]>
}

// -----

// Numbers need no heap; static shapes stay as they are.

// CHECK-LABEL: relax.func @static
// CHECK-NEXT: %[[H:.*]] = relax.null_value
// CHECK: relax.call_packed "vm.builtin.check_tuple_info"
// CHECK: relax.call_packed "vm.builtin.match_shape"(%x, %[[H]]
// CHECK-NOT: make_shape
// CHECK: relax.shape [2]
relax.func @static(%x: tensor<4xf32>, %p: !relax.tuple<tensor<2xf32>>) -> !relax.shape<[2]> {
  %s = relax.shape [2]
  relax.return %s : !relax.shape<[2]>
}

// -----

// A cast stores what it defines; scalars of symbols are read from the heap. What a
// branch defines is not known in the other one.

!u = tensor<?xf32>
!k = tensor<?xf32, #relax.dims<[k]>>

// CHECK-LABEL: relax.func @casts
// CHECK: relax.if
// CHECK: relax.match_cast %u defines [k]
// CHECK: relax.call_packed "vm.builtin.match_shape"(%u
// CHECK-NEXT: relax.call impure @shape_func
// CHECK: relax.call_packed "vm.builtin.make_prim_value"({{.*}}) : {{.*}} -> !relax.prim<i64, k + 1>
// CHECK: } else {
// CHECK-NEXT: relax.match_cast %v defines [l]
// CHECK: relax.call_packed "vm.builtin.match_shape"(%v
// CHECK-NOT: relax.call impure
// CHECK: relax.yield
relax.func @casts(%c: tensor<i1>, %u: !u, %v: !u) -> !relax.prim<i64> {
  %r = relax.if %c : tensor<i1> -> !relax.prim<i64> {
    %a = relax.match_cast %u defines [k] : !u -> !k
    %s = relax.prim_value k + 1 : i64
    relax.yield %s : !relax.prim<i64, k + 1>
  } else {
    %b = relax.match_cast %v defines [l] : !u -> tensor<?xf32, #relax.dims<[l]>>
    %t = relax.prim_value l : i64
    relax.yield %t : !relax.prim<i64, l>
  }
  relax.return %r : !relax.prim<i64>
}

// -----

// Weights are checked only if they have symbols.

!s = tensor<?xf32, #relax.dims<[n]>>

// CHECK-LABEL: relax.func @weights
// CHECK: check_func_info"(%f
// CHECK: check_tensor_info"(%v
// CHECK-NOT: check_tensor_info"(%w
// CHECK: relax.return
relax.func @weights<n>(%f: !relax.func<(!s) -> !s>, %v: !s, %w: tensor<4xf32>) -> !s attributes {num_input = 1 : i64} {
  relax.return %v : !s
}
