// RUN: xdsl-opt -p canonicalize,cse,dce %s | filecheck %s

// What must not be rewritten.

// CHECK-LABEL: relax.func @other_types(
relax.func @other_types(%a: tensor<2x4xf32>, %b: tensor<?x?xf32>, %s: !relax.shape<[?, ?]>)
    -> !relax.tuple<tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>> {
  // A result of another type, and shapes that are not known to be the same.
  // CHECK-NEXT: relax.astype
  // CHECK-NEXT: relax.reshape
  // CHECK-NEXT: relax.broadcast_to
  %c = relax.astype %a dtype f32 : (tensor<2x4xf32>) -> tensor<?x?xf32>
  %d = relax.reshape %b, %s : (tensor<?x?xf32>, !relax.shape<[?, ?]>) -> tensor<?x?xf32>
  %e = relax.broadcast_to %b, %s : (tensor<?x?xf32>, !relax.shape<[?, ?]>) -> tensor<?x?xf32>
  %t = relax.tuple(%c, %d, %e) : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>
  relax.return %t : !relax.tuple<tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>>
}

// CHECK-LABEL: relax.func @square(
// The types are the same, the elements are not.
relax.func @square(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: relax.permute_dims
  %b = relax.permute_dims %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
  relax.return %b : tensor<4x4xf32>
}

// CHECK-LABEL: relax.func @narrow(
relax.func @narrow(%a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: relax.astype
  // CHECK-NEXT: relax.astype
  %b = relax.astype %a dtype f16 : (tensor<4xf32>) -> tensor<4xf16>
  %c = relax.astype %b dtype f32 : (tensor<4xf16>) -> tensor<4xf32>
  relax.return %c : tensor<4xf32>
}

// CHECK-LABEL: relax.func @other_fields(
relax.func @other_fields(%t: !relax.tuple<tensor<4xf32>, tensor<4xf32>>)
    -> !relax.tuple<tensor<4xf32>, tensor<4xf32>> {
  // CHECK-COUNT-2: relax.get_item
  // CHECK-NEXT: relax.tuple
  %a = relax.get_item %t[0] : !relax.tuple<tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>
  %b = relax.get_item %t[1] : !relax.tuple<tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>
  %u = relax.tuple(%b, %a) : tensor<4xf32>, tensor<4xf32>
  relax.return %u : !relax.tuple<tensor<4xf32>, tensor<4xf32>>
}

// CHECK-LABEL: relax.func @first_field(
relax.func @first_field(%t: !relax.tuple<tensor<4xf32>, tensor<4xf32>>)
    -> !relax.tuple<tensor<4xf32>> {
  // CHECK-NEXT: relax.get_item
  // CHECK-NEXT: relax.tuple
  %a = relax.get_item %t[0] : !relax.tuple<tensor<4xf32>, tensor<4xf32>> -> tensor<4xf32>
  %u = relax.tuple(%a) : tensor<4xf32>
  relax.return %u : !relax.tuple<tensor<4xf32>>
}

tir.func private @scale(%p: !tir.handle) {
  %A = tir.match_buffer %p : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2.0 : f32
  %x = tir.load %A[%c0] : f32
  %y = tir.mul %x, %c2 : f32
  tir.store %y, %A[%c0] : f32
}

// CHECK-LABEL: relax.func @written_copy(
// The copy is written, the tensor is not.
relax.func @written_copy(%a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: relax.add
  // CHECK-NEXT: relax.astype
  // CHECK-NEXT: relax.call_tir_inplace
  %b = relax.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = relax.astype %b dtype f32 : (tensor<4xf32>) -> tensor<4xf32>
  %d = relax.call_tir_inplace @scale(%c) inplace [0] : (tensor<4xf32>) -> tensor<4xf32>
  %e = relax.add %b, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %e : tensor<4xf32>
}

// CHECK-LABEL: relax.func @written_tensor(
// The tensor is written, under another name, and the copy is not.
relax.func @written_tensor(%a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: relax.permute_dims
  // CHECK-NEXT: relax.tuple
  %b = relax.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = relax.permute_dims %b : (tensor<4xf32>) -> tensor<4xf32>
  %t = relax.tuple(%b, %a) : tensor<4xf32>, tensor<4xf32>
  %r = relax.dataflow -> (!relax.tuple<tensor<4xf32>, tensor<?xf32>>) {
    %u = relax.alias %t : !relax.tuple<tensor<4xf32>, tensor<4xf32>>
      -> !relax.tuple<tensor<4xf32>, tensor<?xf32>>
    relax.output %u : !relax.tuple<tensor<4xf32>, tensor<?xf32>>
  }
  %f = relax.get_item %r[0] : !relax.tuple<tensor<4xf32>, tensor<?xf32>> -> tensor<4xf32>
  %d = relax.call_tir_inplace @scale(%f) inplace [0] : (tensor<4xf32>) -> tensor<4xf32>
  %e = relax.add %c, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %e : tensor<4xf32>
}

// CHECK-LABEL: relax.func @between_permutations(
relax.func @between_permutations(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {
  // CHECK: relax.permute_dims
  // CHECK: relax.permute_dims
  %b = relax.add %a, %a : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %c = relax.permute_dims %b : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %d = relax.call_tir_inplace @scale2(%b) inplace [0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %e = relax.permute_dims %c : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %f = relax.add %d, %e : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  relax.return %f : tensor<2x2xf32>
}

tir.func private @scale2(%p: !tir.handle) {
  %A = tir.match_buffer %p : !tir.buffer<2x2xf32>
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2.0 : f32
  %x = tir.load %A[%c0, %c0] : f32
  %y = tir.mul %x, %c2 : f32
  tir.store %y, %A[%c0, %c0] : f32
}

// CHECK-LABEL: relax.func @called_function(
// A function that is called may write its arguments.
relax.func @called_function(%a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: relax.astype
  %b = relax.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c = relax.astype %b dtype f32 : (tensor<4xf32>) -> tensor<4xf32>
  %d = relax.call @in_place(%c) : (tensor<4xf32>) -> tensor<4xf32>
  %e = relax.add %b, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %e : tensor<4xf32>
}

relax.func @in_place(%a: tensor<4xf32>) -> tensor<4xf32> {
  %b = relax.call_tir_inplace @scale(%a) inplace [0] : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %b : tensor<4xf32>
}

// CHECK-LABEL: relax.func impure @impure_calls(
// CHECK-COUNT-2: relax.call_packed "print"
relax.func impure @impure_calls(%a: tensor<4xf32>) -> tensor<4xf32> {
  %b = relax.call_packed "print"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %c = relax.call_packed "print"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %a : tensor<4xf32>
}
