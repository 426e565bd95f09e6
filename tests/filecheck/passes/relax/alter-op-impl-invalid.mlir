// RUN: xdsl-opt %s -p 'relax-alter-op-impl{replacements="relax.add = @other"}' --verify-diagnostics | filecheck %s --check-prefix NAME
// RUN: xdsl-opt %s -p 'relax-alter-op-impl{replacements="relax.add = @one"}' --verify-diagnostics | filecheck %s --check-prefix COUNT
// RUN: xdsl-opt %s -p 'relax-alter-op-impl{replacements="relax.add = @add" op_buffer_transforms="relax.add: none; <(d0) -> (d0)>"}' --verify-diagnostics | filecheck %s --check-prefix MAPS
// RUN: xdsl-opt %s -p 'relax-alter-op-impl{replacements="relax.add = @add" op_buffer_transforms="relax.add: none; none; <(d0) -> (d0)>"}' --verify-diagnostics | filecheck %s --check-prefix INVERSE
// RUN: xdsl-opt %s -p 'relax-alter-op-impl{op_buffer_transforms="relax.add: map"}' --verify-diagnostics | filecheck %s --check-prefix TEXT

// NAME: relax-alter-op-impl: 'relax.add = @other' names no TIR function of the module; write it as "relax.add = @my_add"
// COUNT: relax-alter-op-impl: @one has 1 buffers and relax.call_tir @add 3; give one that has as many
// MAPS: relax-alter-op-impl: there are 2 maps and relax.call_tir @add has 3 buffers; give one, or none, for each
// INVERSE: relax-alter-op-impl: the map {{.*}} of a result has no inverse; give it after the map
// TEXT: relax-alter-op-impl: 'map' of relax.add is no map of indices; write it as "<(d0, d1) -> (d1, d0)>", or none
!t = tensor<8xf32>
relax.func @main(%x: !t, %y: !t) -> !t {
  %r = relax.call_tir @add(%x, %y) : (!t, !t) -> !t
  relax.return %r : !t
}
tir.func @add(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle) attributes {operator_name = "relax.add"} {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
  %B = tir.match_buffer %b : !tir.buffer<8xf32>
  %C = tir.match_buffer %c : !tir.buffer<8xf32>
}
tir.func @one(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<8xf32>
}
