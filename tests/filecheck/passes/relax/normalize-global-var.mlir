// RUN: xdsl-opt %s -p relax-normalize-global-var --split-input-file | filecheck %s

// CASE: NormalizeGlobalVar.1, NormalizeGlobalVar.2
// Public functions take their symbols; private ones that are in the way get a number,
// and calls follow, also where two functions change their names.

// CHECK: relax.func @main({{.*}} attributes {global_symbol = "main"} {
// CHECK-NEXT: %[[A:.*]] = relax.call @main_2(%x)
// CHECK-NEXT: %[[B:.*]] = relax.call @g(%[[A]])
// CHECK-NEXT: %[[C:.*]] = relax.call @main_1(%[[B]])
// CHECK-NEXT: relax.call @f(%[[C]])
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "main"} {
  %a = relax.call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = relax.call @h(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %c = relax.call @main_1(%b) : (tensor<4xf32>) -> tensor<4xf32>
  %d = relax.call @g(%c) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %d : tensor<4xf32>
}
// CHECK: relax.func @main_2(
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %x : tensor<4xf32>
}
// CHECK: relax.func @main_1(
relax.func @main_1(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %x : tensor<4xf32>
}
// CHECK: relax.func @f({{.*}} attributes {global_symbol = "f"} {
relax.func @g(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "f"} {
  relax.return %x : tensor<4xf32>
}
// CHECK: relax.func @g({{.*}} attributes {global_symbol = "g"} {
relax.func @h(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "g"} {
  relax.return %x : tensor<4xf32>
}

// -----

// Nothing to do.

// CHECK: relax.func @main({{.*}} attributes {global_symbol = "main"} {
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {global_symbol = "main"} {
  // CHECK: relax.call_tir @scale
  %y = relax.call_tir @scale(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}
// CHECK: tir.func @scale
tir.func @scale(%a: !tir.handle, %b: !tir.handle) {
}
