// RUN: xdsl-opt %s -p relax-realize-v-device --split-input-file | filecheck %s

!t = tensor<4xf32>
#cpu = #relax.vdevice<"llvm", 0, "global">
#gpu = #relax.vdevice<"cuda", 0, "global">

// What is beside the result of a hint is on its device; a tensor of another device is
// copied.

builtin.module attributes {relax.vdevices = [#cpu, #gpu]} {
// CHECK: relax.func @hints(%x: tensor<4xf32, #relax.placed<[4], #relax.vdevice<"llvm", 0, "global">>>) -> tensor<4xf32> {
relax.func @hints(%x: !t) -> !t {
  // CHECK-NEXT: %[[Y:.*]] = relax.add %x, %x : {{.*}} -> tensor<4xf32, #relax.placed<[4], #relax.vdevice<"llvm", 0, "global">>>
  // CHECK-NEXT: %[[G:.*]] = relax.to_vdevice %[[Y]] to #relax.vdevice<"cuda", 0, "global">
  // CHECK-NEXT: relax.exp %[[G]] : {{.*}} -> tensor<4xf32, #relax.placed<[4], #relax.vdevice<"cuda", 0, "global">>>
  // CHECK-NEXT: relax.return
  %y = relax.add %x, %x : (!t, !t) -> !t
  %c = relax.hint_on_device %y device 1, 0 : (!t) -> !t
  %g = relax.hint_on_device %c device 2, 0 : (!t) -> !t
  %r = relax.exp %g : (!t) -> !t
  relax.return %r : !t
}
}

// -----

// What the function returns decides before the operand of a hint does; fields of a tuple
// may be on two devices.

!t = tensor<4xf32>
#cpu = #relax.vdevice<"llvm", 0, "global">
#gpu = #relax.vdevice<"cuda", 0, "global">
!c = tensor<4xf32, #relax.placed<[4], #cpu>>
!g = tensor<4xf32, #relax.placed<[4], #gpu>>

builtin.module attributes {relax.vdevices = [#cpu, #gpu]} {
// CHECK: relax.func @result(%x: tensor<4xf32, #relax.placed<[4], #relax.vdevice<"llvm", 0, "global">>>)
relax.func @result(%x: !t) -> !relax.tuple<!c, !g> {
  // CHECK-NEXT: relax.dataflow
  // CHECK-NEXT: %[[A:.*]] = relax.exp %x
  // CHECK-NEXT: %[[B:.*]] = relax.to_vdevice %x to #relax.vdevice<"cuda", 0, "global">
  // CHECK-NEXT: relax.output %[[A]], %[[B]]
  // CHECK: relax.tuple({{.*}}) : tensor<4xf32, #relax.placed<[4], #relax.vdevice<"llvm", 0, "global">>>, tensor<4xf32, #relax.placed<[4], #relax.vdevice<"cuda", 0, "global">>>
  %a, %b = relax.dataflow -> (!t, !t) {
    %e = relax.exp %x : (!t) -> !t
    %h = relax.hint_on_device %x device 2, 0 : (!t) -> !t
    relax.output %e, %h : !t, !t
  }
  %r = relax.tuple(%a, %b) : !t, !t
  relax.return %r : !relax.tuple<!t, !t>
}

// Parameters of functions that are called stay, and so does what has no hint.
// CHECK: relax.func @callee(%x: tensor<4xf32>) -> tensor<4xf32>
relax.func @callee(%x: !t) -> !t {
  // CHECK-NOT: relax.hint_on_device
  %h = relax.hint_on_device %x device 2, 0 : (!t) -> !t
  relax.return %h : !t
}
// CHECK: relax.func @caller(%x: tensor<4xf32>) -> tensor<4xf32>
relax.func @caller(%x: !t) -> !t {
  %y = relax.call @callee(%x) : (!t) -> !t
  relax.return %y : !t
}
}
