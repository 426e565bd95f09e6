// RUN: xdsl-opt %s -p relax-allocate-workspace --split-input-file --verify-diagnostics | filecheck %s

!t = tensor<4xf32>

// CHECK: relax-allocate-workspace: WorkspaceSize of relax.func "external" is 0 : i64; give the number of bytes, greater than 0
relax.func @external(%x: !t) -> !t attributes {WorkspaceSize = 0 : i64} {
  relax.return %x : !t
}

// -----

!t = tensor<4xf32>
!f = !relax.func<(!t) -> !t>

// CHECK: relax-allocate-workspace: relax.global_ref uses @external without calling it, and its parameters would change; use another function there
relax.func @external(%x: !t) -> !t attributes {WorkspaceSize = 8 : i64} {
  relax.return %x : !t
}
relax.func @user() -> !f {
  %f = relax.global_ref @external : !f
  relax.return %f : !f
}

// -----

!t = tensor<4xf32>
!f = !relax.func<(!t) -> !t>

// CHECK: relax-allocate-workspace: relax.return uses a function literal with WorkspaceSize without calling it; call it
relax.func @external(%x: !t) -> !f attributes {WorkspaceSize = 8 : i64} {
  %f = relax.lambda "composite"(%y: !t) -> !t attributes {WorkspaceSize = 8 : i64} {
    relax.return %y : !t
  }
  relax.return %f : !f
}
