// RUN: xdsl-opt %s -p relax-attach-global-symbol --verify-diagnostics | filecheck %s

// CHECK: relax-attach-global-symbol: tir.func @scale cannot be called @lib_scale, which the module has already; rename one, or choose another system_lib_prefix
builtin.module attributes {tir.module_attrs = {system_lib_prefix = "lib_"}} {
  tir.func @scale(%a: !tir.handle) {
  }
  relax.func @lib_scale(%x: tensor<4xf32>) -> tensor<4xf32> {
    relax.return %x : tensor<4xf32>
  }
}
