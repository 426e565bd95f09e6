// RUN: xdsl-opt %s --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file | xdsl-opt --split-input-file | filecheck %s
// RUN: xdsl-opt %s --split-input-file --print-op-generic | xdsl-opt --split-input-file | filecheck %s

tir.func @scale(%a: !tir.handle, %b: !tir.handle, %n: i64) {
  %A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>
  %B = tir.match_buffer %b [%n] : !tir.buffer<?xf32>
}
tir.func @two(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  %B = tir.match_buffer %b : !tir.buffer<4xi8>
  %C = tir.match_buffer %c : !tir.buffer<2xf32>
}
// CHECK-LABEL: relax.func @functions_of_the_module
relax.func @functions_of_the_module<n>(%x: tensor<?xf32, #relax.dims<[n]>>, %y: tensor<?xf32, #relax.dims<[n]>>, %a: tensor<4xf32>, %b: tensor<4xi8>) -> !relax.object {
  // The second argument is the output: it has no further parameter.
  // CHECK-NEXT: %{{.*}} = relax.call_tir_inplace @scale(%x, %y) [n] inplace [1] : (tensor<?xf32, #relax.dims<[n]>>, tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32, #relax.dims<[n]>>
  %0 = relax.call_tir_inplace @scale(%x, %y) [n] inplace [1] : (tensor<?xf32, #relax.dims<[n]>>, tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32, #relax.dims<[n]>>
  // A new tensor and an argument.
  // CHECK-NEXT: relax.call_tir_inplace @two(%a, %b) inplace [-1, 1] : (tensor<4xf32>, tensor<4xi8>) -> !relax.tuple<tensor<2xf32>, tensor<4xi8>>
  %1 = relax.call_tir_inplace @two(%a, %b) inplace [-1, 1] : (tensor<4xf32>, tensor<4xi8>) -> !relax.tuple<tensor<2xf32>, tensor<4xi8>>
  // CHECK-NEXT: relax.call_tir_with_grad @scale(%x) [n] grad "scale_grad" {factor = 2 : i64} attributes {note} : (tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32, #relax.dims<[n]>>
  %2 = relax.call_tir_with_grad @scale(%x) [n] grad "scale_grad" {factor = 2} attributes {note} : (tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32, #relax.dims<[n]>>
  // CHECK-NEXT: %[[C:.*]] = relax.make_closure @functions_of_the_module(%x, %y, %a, %b) : (tensor<?xf32, #relax.dims<[n]>>, tensor<?xf32, #relax.dims<[n]>>, tensor<4xf32>, tensor<4xi8>) -> !relax.object
  %c = relax.make_closure @functions_of_the_module(%x, %y, %a, %b) : (tensor<?xf32, #relax.dims<[n]>>, tensor<?xf32, #relax.dims<[n]>>, tensor<4xf32>, tensor<4xi8>) -> !relax.object
  // CHECK-NEXT: %[[R:.*]] = relax.invoke_pure_closure %[[C]]() : !relax.object, () -> !relax.object
  %r = relax.invoke_pure_closure %c() : !relax.object, () -> !relax.object
  relax.return %r : !relax.object
}

// -----

// CHECK-LABEL: relax.func impure @functions_of_the_runtime
relax.func impure @functions_of_the_runtime<n>(%x: tensor<?xf32, #relax.dims<[n]>>, %i: tensor<2xi64>, %p: !relax.prim<i1>) -> !relax.object {
  // CHECK-NEXT: relax.call_packed "f"(%x) : (tensor<?xf32, #relax.dims<[n]>>) -> ()
  relax.call_packed "f"(%x) : (tensor<?xf32, #relax.dims<[n]>>) -> ()
  // CHECK-NEXT: %[[O:.*]] = relax.call_packed "f"() {note} : () -> !relax.object
  %o = relax.call_packed "f"() {note} : () -> !relax.object
  // CHECK-NEXT: relax.call_pure_packed "g"(%x, %[[O]]) : (tensor<?xf32, #relax.dims<[n]>>, !relax.object) -> tensor<?xf32>
  %0 = relax.call_pure_packed "g"(%x, %o) : (tensor<?xf32, #relax.dims<[n]>>, !relax.object) -> tensor<?xf32>
  // CHECK-NEXT: relax.call_inplace_packed "h"(%{{.*}}, %x) inplace [1] : (!relax.object, tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32>
  %1 = relax.call_inplace_packed "h"(%o, %x) inplace [1] : (!relax.object, tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32>
  // CHECK-NEXT: relax.call_inplace_packed "h"(%x) inplace [-1, 0] : (tensor<?xf32, #relax.dims<[n]>>) -> !relax.tuple<!relax.object, tensor<?xf32>>
  %2 = relax.call_inplace_packed "h"(%x) inplace [-1, 0] : (tensor<?xf32, #relax.dims<[n]>>) -> !relax.tuple<!relax.object, tensor<?xf32>>
  // CHECK-NEXT: relax.call_dps_packed "d"(%x) : (tensor<?xf32, #relax.dims<[n]>>) -> !relax.tuple<tensor<?xf32, #relax.dims<[n]>>, tensor<i8>>
  %3 = relax.call_dps_packed "d"(%x) : (tensor<?xf32, #relax.dims<[n]>>) -> !relax.tuple<tensor<?xf32, #relax.dims<[n]>>, tensor<i8>>
  // CHECK-NEXT: relax.call_builtin_with_ctx "b"(%p) : (!relax.prim<i1>) -> ()
  relax.call_builtin_with_ctx "b"(%p) : (!relax.prim<i1>) -> ()
  // CHECK-NEXT: relax.invoke_closure %{{.*}}(%x) : !relax.object, (tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32>
  %4 = relax.invoke_closure %o(%x) : !relax.object, (tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32>
  // CHECK-NEXT: %[[N:.*]] = relax.null_value : !relax.object
  %5 = relax.null_value : !relax.object
  // CHECK-NEXT: relax.print "hello"() : () -> ()
  relax.print "hello"() : () -> ()
  // CHECK-NEXT: relax.print "{} {}"(%x, %p) : (tensor<?xf32, #relax.dims<[n]>>, !relax.prim<i1>) -> ()
  relax.print "{} {}"(%x, %p) : (tensor<?xf32, #relax.dims<[n]>>, !relax.prim<i1>) -> ()
  // CHECK-NEXT: relax.assert_op %p, ""() : !relax.prim<i1>, () -> ()
  relax.assert_op %p, ""() : !relax.prim<i1>, () -> ()
  // CHECK-NEXT: %[[S:.*]] = relax.shape_of %x : (tensor<?xf32, #relax.dims<[n]>>) -> !relax.shape<[n]>
  %s = relax.shape_of %x : (tensor<?xf32, #relax.dims<[n]>>) -> !relax.shape<[n]>
  // CHECK-NEXT: relax.shape_to_tensor %[[S]] : (!relax.shape<[n]>) -> tensor<1xi64>
  %t = relax.shape_to_tensor %s : (!relax.shape<[n]>) -> tensor<1xi64>
  // CHECK-NEXT: relax.tensor_to_shape %i : (tensor<2xi64>) -> !relax.shape<[?, ?]>
  %u = relax.tensor_to_shape %i : (tensor<2xi64>) -> !relax.shape<[?, ?]>
  // CHECK-NEXT: relax.return %[[N]]
  relax.return %5 : !relax.object
}
