// RUN: not xdsl-opt %s -p relax-verify-well-formed 2>&1 | filecheck %s

// CHECK: relax.func breaks GlobalSymbol: @main has the global_symbol "other"; give both one name, as relax-normalize-global-var does
!t = tensor<4xf32>
relax.func @main(%x: !t) -> !t attributes {global_symbol = "other"} {
  relax.return %x : !t
}
