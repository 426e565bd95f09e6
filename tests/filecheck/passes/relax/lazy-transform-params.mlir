// RUN: xdsl-opt %s -p relax-lazy-transform-params --split-input-file | filecheck %s
// RUN: xdsl-opt %s -p 'relax-lazy-transform-params{fset_item="" fget_item="my.get" extra_get_item_params=7}' --split-input-file | filecheck %s --check-prefix RETURN

!w = tensor<2x3xf32>
!t = tensor<3x2xf32>

// CHECK: relax.func impure @main_transform_params() -> !relax.tuple<>
// CHECK-NEXT: %[[I:.*]] = relax.prim_value 1 : i64
// CHECK-NEXT: %[[O:.*]] = relax.call_packed "get_item"(%[[I]])
// CHECK-NEXT: %[[W:.*]] = relax.match_cast %[[O]] : !relax.object -> tensor<2x3xf32>
// CHECK-NEXT: relax.vm.kill_object %[[O]]
// CHECK-NEXT: %[[T:.*]] = relax.permute_dims %[[W]]
// CHECK-NEXT: relax.memory.kill_tensor %[[W]]
// CHECK-NEXT: %[[J:.*]] = relax.prim_value 0 : i64
// CHECK-NEXT: relax.call_packed "set_item"(%[[J]], %[[T]]) : {{.*}} -> ()
// CHECK-NEXT: relax.memory.kill_tensor %[[T]]
// CHECK-NEXT: relax.prim_value 0
// CHECK-NEXT: relax.call_packed "get_item"
// CHECK: relax.call_packed "set_item"
// CHECK: %[[R:.*]] = relax.tuple()
// CHECK-NEXT: relax.return %[[R]]
// RETURN: relax.func impure @main_transform_params() -> !relax.tuple<tensor<3x2xf32>, tensor<2x3xf32>>
// RETURN: %[[S:.*]] = relax.prim_value 7
// RETURN-NEXT: %[[I:.*]] = relax.prim_value 1
// RETURN-NEXT: relax.call_packed "my.get"(%[[S]], %[[I]])
// RETURN-NOT: set_item
// RETURN: relax.return
relax.func @main_transform_params(%params: !relax.tuple<!w, !w>) -> !relax.tuple<!t, !w> attributes {global_symbol = "main_transform_params", num_input = 0 : i64} {
  %r = relax.dataflow -> (!relax.tuple<!t, !w>) {
    %b = relax.get_item %params[1] : !relax.tuple<!w, !w> -> !w
    %t = relax.permute_dims %b axes [1, 0] : (!w) -> !t
    %a = relax.get_item %params[0] : !relax.tuple<!w, !w> -> !w
    %p = relax.tuple(%t, %a) : !t, !w
    relax.output %p : !relax.tuple<!t, !w>
  }
  relax.return %r : !relax.tuple<!t, !w>
}

// -----

// Parameters that are no tuples are numbered through, and a tuple may be used whole.

!w = tensor<4xf32>

// CHECK: relax.func impure @transform_params(%x: tensor<4xf32>) -> !relax.tuple<>
// CHECK-DAG: relax.prim_value 2
// CHECK-DAG: relax.prim_value 1
// CHECK: %[[T:.*]] = relax.tuple(%{{.*}}, %{{.*}})
// CHECK-NEXT: relax.call_packed "my.use"(%[[T]])
relax.func impure @transform_params(%x: !w, %a: !w, %params: !relax.tuple<!w, !w>) -> !w attributes {num_input = 1 : i64} {
  relax.call_packed "my.use"(%params) : (!relax.tuple<!w, !w>) -> ()
  %s = relax.add %x, %a : (!w, !w) -> !w
  relax.return %s : !w
}
// CHECK: relax.func @other(%w: tensor<4xf32>)
relax.func @other(%w: !w) -> !w attributes {num_input = 0 : i64} {
  relax.return %w : !w
}
