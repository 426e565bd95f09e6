// RUN: xdsl-opt %s -p relax-verify-well-formed | filecheck %s

!t = tensor<4xf32>
!v = tensor<?xf32, #relax.dims<[n]>>

// CHECK-LABEL: relax.func @main<n>
relax.func @main<n>(%x: !t, %w: !v) -> !t attributes {global_symbol = "main", num_input = 1 : i64, tir_var_upper_bound = {n = 8 : i64}, tir_non_negative_var = ["n"], relax.force_pure} {
  %a = relax.add %x, %x : (!t, !t) -> !t
  %b = relax.add %a, %a : (!t, !t) -> !t
  relax.memory.kill_tensor %a : !t
  %p = relax.prim_value 1 : i1
  %c = relax.if %p : !relax.prim<i1, 1> -> !t {
    %d = relax.add %b, %b : (!t, !t) -> !t
    relax.memory.kill_tensor %b : !t
    relax.yield %d : !t
  } else {
    %e = relax.add %b, %x : (!t, !t) -> !t
    relax.memory.kill_tensor %b : !t
    relax.yield %e : !t
  }
  relax.return %c : !t
}

// A private function has any name, what is pure needs no force.
relax.func @private(%x: !t) -> !t {
  %f = relax.lambda "inner"(%y: !t) -> !t {
    relax.return %y : !t
  }
  relax.return %x : !t
}
