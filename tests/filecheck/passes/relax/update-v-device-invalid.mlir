// RUN: xdsl-opt %s -p 'relax-update-v-device{new_vdevice="cuda"}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix TEXT
// RUN: xdsl-opt %s -p 'relax-update-v-device{new_vdevice="#relax.vdevice<any, 1, \"global\">" index=1}' --split-input-file --verify-diagnostics | filecheck %s

// TEXT: relax-update-v-device: 'cuda' is no virtual device; write it as #relax.vdevice<"cuda", 0, "global">
// CHECK: relax-update-v-device: the module lists 0 virtual devices, none of index 1; give one of them
relax.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %x : tensor<4xf32>
}
