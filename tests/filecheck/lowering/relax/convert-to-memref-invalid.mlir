// RUN: xdsl-opt %s -p relax-convert-to-memref --split-input-file --verify-diagnostics | filecheck %s

!t = tensor<4xf32>

// CHECK: cannot lower 'relax.add': the operator is not legalized; run relax-legalize-ops first
relax.func @f(%x: !t) -> !t {
  %0 = relax.add %x, %x : (!t, !t) -> !t
  relax.return %0 : !t
}

// -----

!t = tensor<4xf32>

// CHECK: cannot lower 'relax.dataflow': dataflow blocks are not lowered; run relax-to-non-dataflow first
relax.func @f(%x: !t) -> !t {
  %0 = relax.dataflow -> (!t) {
    relax.output %x : !t
  }
  relax.return %0 : !t
}

// -----

!t = tensor<4xf32>

// CHECK: cannot lower 'relax.call_tir': @g is not called in place; run relax-call-tir-rewrite first
tir.func @g(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  %B = tir.match_buffer %b : !tir.buffer<4xf32>
}
relax.func @f(%x: !t) -> !t {
  %0 = relax.call_tir @g(%x) : (!t) -> !t
  relax.return %0 : !t
}

// -----

// CHECK: cannot lower 'relax.func' @f: the shape of the result, tensor<?xf32>, is not known; declare its dimensions
relax.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  relax.return %x : tensor<?xf32>
}

// -----

// CHECK: cannot lower 'relax.func' @f: parameter 0 of type !relax.object cannot be passed as memory
relax.func @f(%x: !relax.object, %y: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %y : tensor<4xf32>
}

// -----

// CHECK: cannot lower 'relax.func' @f: the result of type !relax.shape<[4]> cannot be passed as memory
relax.func @f() -> !relax.shape<[4]> {
  %0 = relax.shape [4]
  relax.return %0 : !relax.shape<[4]>
}

// -----

// CHECK: cannot lower 'relax.call': argument 0 of @g has strides or an offset; use a compact buffer
tir.func @g(%a: !tir.handle) {
  %A = tir.match_buffer %a strides [2] : !tir.buffer<4xf32>
}
relax.func impure @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.call impure @g(%x) : (tensor<4xf32>) -> ()
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: cannot lower 'relax.call': argument 0 of @g must be of i32, not f32
tir.func @g(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xi32>
}
relax.func impure @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.call impure @g(%x) : (tensor<4xf32>) -> ()
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: cannot lower 'relax.call': @g is a func.func; a tir.func or relax.func can be called, so run relax-convert-to-memref before tir-convert-to-memref
func.func private @g(memref<4xf32>)
relax.func impure @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.call impure @g(%x) : (tensor<4xf32>) -> ()
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: cannot lower 'relax.builtin.alloc_tensor': memory on device 1, scope "global", is not the CPU's; use device 0, "global"
relax.func @f() -> tensor<4xf32> {
  %0 = relax.builtin.alloc_tensor on 1 scope "global" : tensor<4xf32>
  relax.return %0 : tensor<4xf32>
}
