// RUN: xdsl-opt %s -p 'relax-update-v-device{new_vdevice="#relax.vdevice<any, 1, \"global\">" index=1}' | filecheck %s

#cpu = #relax.vdevice<"llvm", 0, "global">
#gpu = #relax.vdevice<"cuda", 0, "global">
!c = tensor<4xf32, #relax.placed<[4], #cpu>>
!g = tensor<4xf32, #relax.placed<[4], #gpu>>

// CHECK: builtin.module attributes {relax.vdevices = [#relax.vdevice<"llvm", 0, "global">, #relax.vdevice<any, 1, "global">]}
builtin.module attributes {relax.vdevices = [#cpu, #gpu]} {
  // CHECK: relax.func @main(%x: tensor<4xf32, #relax.placed<[4], #relax.vdevice<"llvm", 0, "global">>>, %p: !relax.tuple<tensor<4xf32, #relax.placed<[4], #relax.vdevice<any, 1, "global">>>>) -> tensor<4xf32, #relax.placed<[4], #relax.vdevice<any, 1, "global">>>
  relax.func @main(%x: !c, %p: !relax.tuple<!g>) -> !g {
    // CHECK-NEXT: relax.to_vdevice %x to #relax.vdevice<any, 1, "global">
    // CHECK-NEXT: relax.get_item %p[0] : {{.*}} -> tensor<4xf32, #relax.placed<[4], #relax.vdevice<any, 1, "global">>>
    %g = relax.to_vdevice %x to #gpu : (!c) -> !g
    %h = relax.get_item %p[0] : !relax.tuple<!g> -> !g
    %r = relax.add %g, %h : (!g, !g) -> !g
    relax.return %r : !g
  }
}
