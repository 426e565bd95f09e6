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

// CHECK: cannot lower 'relax.func' @f: rank and dtype of the result, tensor<*xf32>, must be known
relax.func @f(%x: tensor<?xf32>) -> tensor<*xf32> {
  relax.return %x : tensor<?xf32>
}

// -----

// CHECK: cannot lower 'relax.func' @f: parameter 0 of type !relax.func<(tensor<4xf32>) -> tensor<4xf32>> cannot be passed as memory
relax.func @f(%x: !relax.func<(tensor<4xf32>) -> tensor<4xf32>>, %y: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %y : tensor<4xf32>
}

// -----

// CHECK: cannot lower 'relax.func' @f: the result of type !relax.shape<*> cannot be passed as memory
relax.func @f() -> !relax.shape<*> {
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

// -----

// CHECK: cannot lower 'relax.call_packed': "f" returns tensor<?xf32>, for which no memory can be made before the call; declare shape and dtype
relax.func impure @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relax.call_packed "f"(%x) : (tensor<4xf32>) -> tensor<?xf32>
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: cannot lower 'relax.call_builtin_with_ctx': "vm.f" is a function of the virtual machine, which compiled code does not have
relax.func impure @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.call_builtin_with_ctx "vm.f"(%x) : (tensor<4xf32>) -> ()
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: cannot lower 'relax.invoke_closure': the function that a tensor stands for is not known; call it by its name
relax.func impure @f(%c: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relax.invoke_closure %c(%c) : tensor<4xf32>, (tensor<4xf32>) -> tensor<4xf32>
  relax.return %0 : tensor<4xf32>
}

// -----

// CHECK: cannot lower 'relax.tensor_to_shape': the length of the tensor must be constant
relax.func @f(%x: tensor<?xi64>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relax.tensor_to_shape %x : (tensor<?xi64>) -> !relax.shape<*>
  relax.return %y : tensor<4xf32>
}

// -----

// CHECK: cannot lower 'relax.memory.alloc_tensor': the offset is no multiple
relax.func @f() -> tensor<4xf32> attributes {relax.force_pure} {
  %s = relax.memory.alloc_storage 64 on 0 scope "global" dtype f32 : !relax.object
  %0 = relax.memory.alloc_tensor %s at 2 : !relax.object -> tensor<4xf32>
  %1 = relax.memory.alloc_tensor %s at 0 : !relax.object -> tensor<4xf32>
  relax.return %0 : tensor<4xf32>
}

// -----

// CHECK: cannot lower 'relax.lambda': functions in functions are not lowered; run relax-lambda-lift first
!t = tensor<4xf32>
relax.func @f(%x: !t) -> !t {
  %g = relax.lambda(%y: !t) -> !t {
    relax.return %x : !t
  }
  %r = relax.call_indirect %g(%x) : !relax.func<(!t) -> !t>, (!t) -> !t
  relax.return %r : !t
}

// -----

// CHECK: cannot lower 'relax.builtin.stop_lift_params': it is a mark for passes, which have left it; drop it
relax.func @mark(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relax.builtin.stop_lift_params %x : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}

// -----

// CHECK: cannot lower 'relax.to_vdevice': tensors are not moved between devices; drop it
relax.func @move(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "relax.to_vdevice"(%x) <{dst_vdevice = #relax.vdevice<"llvm", 0, "global">}> : (tensor<4xf32>) -> tensor<4xf32, #relax.placed<[4], #relax.vdevice<"llvm", 0, "global">>>
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: cannot lower 'relax.call_pure_packed': @kernel is passed to the runtime, which calls public functions only; give it the attribute global_symbol
tir.func @kernel(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
}
relax.func @f() -> !relax.object {
  %k = relax.global_ref @kernel : !relax.object
  %0 = relax.call_pure_packed "my.make"(%k) : (!relax.object) -> !relax.object
  relax.return %0 : !relax.object
}

// -----

// CHECK: cannot lower 'relax.func' @f: parameter 0, tensor<4xindex>, holds index, which no machine code computes with
relax.func @f(%x: tensor<4xindex>) -> tensor<4xindex> {
  relax.return %x : tensor<4xindex>
}
