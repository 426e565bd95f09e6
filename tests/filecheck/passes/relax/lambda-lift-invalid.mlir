// RUN: not xdsl-opt %s -p relax-lambda-lift 2>&1 | filecheck %s

// CHECK: relax-lambda-lift: relax.lambda has the global_symbol 'main', which another function of the module has; rename one of them
!t = tensor<4xf32>
relax.func @main(%x: !t) -> !t attributes {global_symbol = "main"} {
  %f = relax.lambda(%y: !t) -> !t attributes {global_symbol = "main"} {
    relax.return %y : !t
  }
  relax.return %x : !t
}
