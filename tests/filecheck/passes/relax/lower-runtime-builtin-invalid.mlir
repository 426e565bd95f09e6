// RUN: xdsl-opt %s -p relax-lower-runtime-builtin --split-input-file --verify-diagnostics | filecheck %s

// CHECK: relax-lower-runtime-builtin: relax.builtin.alloc_tensor allocates by itself; run relax-lower-alloc-tensor first
relax.func @alloc() -> tensor<4xf32> {
  %a = relax.builtin.alloc_tensor on 0 scope "global" : tensor<4xf32>
  relax.return %a : tensor<4xf32>
}

// -----

// CHECK: relax-lower-runtime-builtin: relax.shape_of is in a dataflow block, which holds no impure call; run relax-to-non-dataflow first
relax.func @block(%x: tensor<4xf32>) -> !relax.shape<[4]> {
  %r = relax.dataflow -> (!relax.shape<[4]>) {
    %s = relax.shape_of %x : (tensor<4xf32>) -> !relax.shape<[4]>
    relax.output %s : !relax.shape<[4]>
  }
  relax.return %r : !relax.shape<[4]>
}

// -----

// CHECK: relax-lower-runtime-builtin: relax.to_vdevice copies to {{.*}}, which has no target; give the device one
!g = tensor<4xf32, #relax.placed<[4], #relax.vdevice<any, 0, "global">>>
relax.func @device(%x: tensor<4xf32>) -> !g {
  %y = relax.to_vdevice %x to #relax.vdevice<any, 0, "global"> : (tensor<4xf32>) -> !g
  relax.return %y : !g
}
