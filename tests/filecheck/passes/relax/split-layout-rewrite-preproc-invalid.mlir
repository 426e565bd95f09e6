// RUN: xdsl-opt %s -p relax-split-layout-rewrite-preproc --split-input-file --verify-diagnostics | filecheck %s

!n = tensor<?xf32, #relax.dims<[n]>>

// CHECK: relax-split-layout-rewrite-preproc: @copy rearranges a weight to !tir.buffer<?xf32>, whose shape must be numbers; bind symbols
relax.func @main<n>(%x: !n) -> !n {
  %y = relax.call_tir @copy(%x) : (!n) -> !n
  relax.return %y : !n
}
tir.func @copy(%x: !tir.handle, %y: !tir.handle) {
  %n = tir.shape_var "n" : i64
  %X = tir.match_buffer "X" %x [%n] : !tir.buffer<?xf32>
  %Y = tir.match_buffer "Y" %y [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i64
  tir.block "root" {
    tir.reads
    tir.writes
    %P = tir.alloc_buffer "p" [%n] : !tir.buffer<?xf32>
    tir.for %i = %c0 to %n {
      tir.block "pack" (%v : S in [%c0 to %n] = %i) annotations {meta_schedule_layout_rewrite_preproc = 1 : i64} {
        tir.reads %X[%v]
        tir.writes %P[%v]
        %a = tir.load %X[%v] : f32
        tir.store %a, %P[%v] : f32
      }
    }
    tir.for %i = %c0 to %n {
      tir.block "copy" (%v : S in [%c0 to %n] = %i) {
        tir.reads %P[%v]
        tir.writes %Y[%v]
        %a = tir.load %P[%v] : f32
        tir.store %a, %Y[%v] : f32
      }
    }
  }
}
