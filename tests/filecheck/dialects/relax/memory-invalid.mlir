// RUN: xdsl-opt %s --verify-diagnostics --split-input-file | filecheck %s

// CHECK: relax.memory.alloc_storage: -4 is no number of bytes
%s = relax.memory.alloc_storage -4 on 0 scope "global" dtype f32 : !relax.object

// -----

// CHECK: relax.memory.alloc_storage: device -2 is neither the host, -1, nor a virtual device
%s = relax.memory.alloc_storage 4 on -2 scope "global" dtype f32 : !relax.object

// -----

// CHECK: relax.memory.alloc_storage in @f uses the symbol 'n', which neither a parameter nor a relax.match_cast above defines
relax.func @f() -> !relax.object {
  %s = relax.memory.alloc_storage n on 0 scope "global" dtype f32 : !relax.object
  relax.return %s : !relax.object
}

// -----

// CHECK: relax.memory.alloc_tensor: the result must be a tensor of known shape and dtype, not tensor<?xf32>
func.func @f(%s: !relax.object) {
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> tensor<?xf32>
  func.return
}

// -----

// CHECK: relax.memory.alloc_tensor: the offset -8 is negative
func.func @f(%s: !relax.object) {
  %a = relax.memory.alloc_tensor %s at -8 : !relax.object -> tensor<4xf32>
  func.return
}

// -----

// CHECK: relax.memory.alloc_tensor: the tensor ends at byte 20 of a storage of 16 bytes
%s = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 : !relax.object
%a = relax.memory.alloc_tensor %s at 4 : !relax.object -> tensor<4xf32>

// -----

// CHECK: relax.memory.kill_tensor: operand 'tensor' must be a tensor, not !relax.object
func.func @f(%s: !relax.object) {
  relax.memory.kill_tensor %s : !relax.object
  func.return
}

// -----

// CHECK: relax.memory.kill_tensor in @f is impure; mark the function impure or give it the attribute relax.force_pure
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.memory.kill_tensor %x : tensor<4xf32>
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax.vm.kill_object in @f is impure and is in a dataflow block
relax.func impure @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.dataflow -> () {
    relax.vm.kill_object %x : tensor<4xf32>
    relax.output
  }
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax.memory.kill_storage in @f is impure
relax.func @f(%x: !relax.object) -> !relax.object {
  relax.memory.kill_storage %x : !relax.object
  relax.return %x : !relax.object
}

// -----

// CHECK: relax.memory.view: operand 'shape' must be a !relax.shape, not tensor<4xf32>
func.func @f(%x: tensor<4xf32>) {
  %v = relax.memory.view %x shape %x : tensor<4xf32> : tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----

// CHECK: relax.vm.alloc_storage: operand 'size' must have one dimension, the number of bytes, not !relax.shape<[4, 4]>
%n = relax.shape [4, 4]
%s = relax.vm.alloc_storage %n on 0 scope "global" dtype f32 : !relax.shape<[4, 4]> -> !relax.object

// -----

// CHECK: relax.vm.alloc_storage: device -3 is neither the host, -1, nor a virtual device
%n = relax.shape [4]
%s = relax.vm.alloc_storage %n on -3 scope "global" dtype f32 : !relax.shape<[4]> -> !relax.object

// -----

// CHECK: relax.vm.alloc_tensor: result must be tensor<4xf32>, but tensor<8xf32> is declared
func.func @f(%s: !relax.object, %o: !relax.prim<i64>, %n: !relax.shape<[4]>) {
  %a = relax.vm.alloc_tensor %s at %o shape %n dtype f32 : (!relax.object, !relax.prim<i64>, !relax.shape<[4]>) -> tensor<8xf32>
  func.return
}

// -----

// CHECK: relax.vm.alloc_tensor: operand 'offset' must be a !relax.prim<i64>, not !relax.prim<i32>
func.func @f(%s: !relax.object, %o: !relax.prim<i32>, %n: !relax.shape<[4]>) {
  %a = relax.vm.alloc_tensor %s at %o shape %n dtype f32 : (!relax.object, !relax.prim<i32>, !relax.shape<[4]>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: relax.vm.alloc_tensor: the offset -4 is negative
func.func @f(%s: !relax.object, %o: !relax.prim<i64, -4>, %n: !relax.shape<[4]>) {
  %a = relax.vm.alloc_tensor %s at %o shape %n dtype f32 : (!relax.object, !relax.prim<i64, -4>, !relax.shape<[4]>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: relax.vm.call_tir_dyn: the last argument must be a !relax.shape, not tensor<4xf32>
func.func @f(%x: tensor<4xf32>) {
  relax.vm.call_tir_dyn @p(%x) : tensor<4xf32>
  func.return
}

// -----

// CHECK: relax.vm.call_tir_dyn: the last argument must be a !relax.shape, not nothing
relax.vm.call_tir_dyn @p()

// -----

// CHECK: relax.vm.call_tir_dyn: argument 0 must be a tensor, not !relax.object
func.func @f(%x: !relax.object, %s: !relax.shape<[]>) {
  relax.vm.call_tir_dyn @p(%x, %s) : !relax.object, !relax.shape<[]>
  func.return
}
