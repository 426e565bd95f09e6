// RUN: xdsl-opt %s -p relax-realize-v-device --split-input-file --verify-diagnostics | filecheck %s

// CHECK: relax-realize-v-device: relax.hint_on_device names device 2, 0, which the module's relax.vdevices does not list; add it
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %h = relax.hint_on_device %x device 2, 0 : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %h : tensor<4xf32>
}
