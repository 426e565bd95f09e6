// RUN: xdsl-opt %s -p relax-fuse-tir --split-input-file --verify-diagnostics | filecheck %s

// CHECK: relax-fuse-tir: relax.func @fused holds relax.nn.relu, which is no part of a kernel; it may hold calls of TIR functions and tuples of their results
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "main"} {
  %r = relax.call @fused(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %r : tensor<4xf32>
}
relax.func @fused(%x: tensor<4xf32>) -> tensor<4xf32> attributes {Primitive = 1 : i32} {
  %c = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %c : tensor<4xf32>
}

// -----

// CHECK: relax-fuse-tir: relax.func @fused returns a parameter or a constant as it is; use that itself
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "main"} {
  %r = relax.call @fused(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %r : tensor<4xf32>
}
relax.func @fused(%x: tensor<4xf32>) -> tensor<4xf32> attributes {Primitive = 1 : i32} {
  %c = relax.constant dense<1.0> : tensor<4xf32>
  relax.return %c : tensor<4xf32>
}

// -----

// CHECK: relax-fuse-tir: relax.func @fused writes a constant in place; copy it first
tir.func @clear(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %zero = tir.const 0.0 : f32
  tir.store %zero, %A[%c0] : f32
}
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "main"} {
  %r = relax.call @fused(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %r : tensor<4xf32>
}
relax.func @fused(%x: tensor<4xf32>) -> tensor<4xf32> attributes {Primitive = 1 : i32} {
  %c = relax.constant dense<1.0> : tensor<4xf32>
  %r = relax.call_tir_inplace @clear(%c) inplace [0] : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %r : tensor<4xf32>
}

// -----

// CHECK: relax-fuse-tir: relax.func @fused returns a parameter or a constant as it is; use that itself
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "main"} {
  %r = relax.call @fused(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %r : tensor<4xf32>
}
relax.func @fused(%x: tensor<4xf32>) -> tensor<4xf32> attributes {Primitive = 1 : i32} {
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax-fuse-tir: relax.func @fused returns one tensor twice; return it once
tir.func @copy(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
}
relax.func @main(%x: tensor<4xf32>) -> !relax.tuple<tensor<4xf32>, tensor<4xf32>> attributes {global_symbol = "main"} {
  %r = relax.call @fused(%x) : (tensor<4xf32>) -> !relax.tuple<tensor<4xf32>, tensor<4xf32>>
  relax.return %r : !relax.tuple<tensor<4xf32>, tensor<4xf32>>
}
relax.func @fused(%x: tensor<4xf32>) -> !relax.tuple<tensor<4xf32>, tensor<4xf32>> attributes {Primitive = 1 : i32} {
  %a = relax.call_tir @copy(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %r = relax.tuple(%a, %a) : tensor<4xf32>, tensor<4xf32>
  relax.return %r : !relax.tuple<tensor<4xf32>, tensor<4xf32>>
}

// -----

// CHECK: relax-fuse-tir: relax.func @fused returns !relax.shape<[4]>, which is no tensor or tuple of tensors of known shape
relax.func @main(%x: tensor<4xf32>) -> !relax.shape<[4]> attributes {global_symbol = "main"} {
  %r = relax.call @fused(%x) : (tensor<4xf32>) -> !relax.shape<[4]>
  relax.return %r : !relax.shape<[4]>
}
relax.func @fused(%x: tensor<4xf32>) -> !relax.shape<[4]> attributes {Primitive = 1 : i32} {
  %s = relax.shape [4]
  relax.return %s : !relax.shape<[4]>
}

// -----

// CHECK: relax-fuse-tir: relax.func @fused holds relax.call_tir that cannot be merged: @copy is no tir.func with a body
tir.func @copy(%a: !tir.handle, %b: !tir.handle)
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "main"} {
  %r = relax.call @fused(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %r : tensor<4xf32>
}
relax.func @fused(%x: tensor<4xf32>) -> tensor<4xf32> attributes {Primitive = 1 : i32} {
  %a = relax.call_tir @copy(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %a : tensor<4xf32>
}

// -----

// CHECK: relax-fuse-tir: relax.func @fused holds relax.call_tir that cannot be merged: a parameter of @copy is not matched once to a compact buffer in global memory
tir.func @copy(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a strides [2] : !tir.buffer<4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
}
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "main"} {
  %r = relax.call @fused(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %r : tensor<4xf32>
}
relax.func @fused(%x: tensor<4xf32>) -> tensor<4xf32> attributes {Primitive = 1 : i32} {
  %a = relax.call_tir @copy(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %a : tensor<4xf32>
}

// -----

// CHECK: relax-fuse-tir: relax.func @fused holds relax.call_tir that cannot be merged: tensor<?xf32, #relax.dims<[n]>> is not proved to have the shape of the parameter of @copy
tir.func @copy(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
}
relax.func @main<n>(%x: tensor<?xf32, #relax.dims<[n]>>) -> tensor<4xf32> attributes {global_symbol = "main"} {
  %r = relax.call @fused(%x) : (tensor<?xf32, #relax.dims<[n]>>) -> tensor<4xf32>
  relax.return %r : tensor<4xf32>
}
relax.func @fused<n>(%x: tensor<?xf32, #relax.dims<[n]>>) -> tensor<4xf32> attributes {Primitive = 1 : i32} {
  %a = relax.call_tir @copy(%x) : (tensor<?xf32, #relax.dims<[n]>>) -> tensor<4xf32>
  relax.return %a : tensor<4xf32>
}

// -----

// CHECK: relax-fuse-tir: relax.func @fused is called with tensors that do not tell n; use relax.match_cast on them
tir.func @copy(%a: !tir.handle, %b: !tir.handle, %n: i64) {
  %c2 = tir.const 2 : i64
  %l = tir.mul %n, %c2 : i64
  %A = tir.match_buffer "A" %a [%l] : !tir.buffer<?xf32>
  %B = tir.match_buffer "B" %b [%l] : !tir.buffer<?xf32>
}
relax.func @main(%x: tensor<8xf32>, %s: !relax.shape<[?]>) -> tensor<8xf32> attributes {global_symbol = "main"} {
  %r = relax.call @fused(%x, %s) : (tensor<8xf32>, !relax.shape<[?]>) -> tensor<8xf32>
  relax.return %r : tensor<8xf32>
}
relax.func @fused<n>(%x: tensor<?xf32, #relax.dims<[n * 2]>>, %s: !relax.shape<[n]>) -> tensor<?xf32, #relax.dims<[n * 2]>> attributes {Primitive = 1 : i32} {
  %a = relax.call_tir @copy(%x) [n] : (tensor<?xf32, #relax.dims<[n * 2]>>) -> tensor<?xf32, #relax.dims<[n * 2]>>
  relax.return %a : tensor<?xf32, #relax.dims<[n * 2]>>
}

// -----

// CHECK: relax-fuse-tir: relax.func @fused holds relax.call_tir that cannot be merged: @first returns by tir.ret; let it end at its last statement
tir.func @first(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %x = tir.load %A[%c0] : f32
  tir.store %x, %B[%c0] : f32
  tir.ret
}
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "main"} {
  %r = relax.call @fused(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %r : tensor<4xf32>
}
relax.func @fused(%x: tensor<4xf32>) -> tensor<4xf32> attributes {Primitive = 1 : i32} {
  %a = relax.call_tir @first(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = relax.call_tir @first(%a) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %b : tensor<4xf32>
}
