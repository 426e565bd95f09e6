// RUN: xdsl-opt %s -p 'relax-to-mixed-precision{out_dtype=bfloat16}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix DTYPE
// RUN: xdsl-opt %s -p 'relax-to-mixed-precision{fp16_input_names="w"}' --split-input-file --verify-diagnostics | filecheck %s

// DTYPE: relax-to-mixed-precision: out_dtype must be float16 or float32, not 'bfloat16'
// CHECK: relax-to-mixed-precision: no function has a parameter 'w' to become f16; give its name or its position
relax.func @none(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax-to-mixed-precision: parameter 0 of @integers is tensor<4xi32>, which cannot become f16; leave it out of fp16_input_names
relax.func @integers(%w: tensor<4xi32>) -> tensor<4xi32> {
  relax.return %w : tensor<4xi32>
}

// -----

// CHECK: relax-to-mixed-precision: relax.global_ref uses @referenced without calling it, and its parameters would change; use another function there
!f = !relax.func<(tensor<4xf32>) -> tensor<4xf32>>
relax.func @referenced(%w: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %w : tensor<4xf32>
}
relax.func @user() -> !f {
  %f = relax.global_ref @referenced : !f
  relax.return %f : !f
}

// -----

// CHECK: relax-to-mixed-precision: memory of parameter 0 of @written is written, which an f16 copy would not be; leave it out of fp16_input_names
relax.func impure @written(%w: tensor<4xf32>) -> tensor<4xf32> {
  relax.call_packed "my.write"(%w) : (tensor<4xf32>) -> ()
  relax.return %w : tensor<4xf32>
}
