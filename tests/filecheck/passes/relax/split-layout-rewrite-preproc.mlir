// RUN: xdsl-opt %s -p relax-split-layout-rewrite-preproc --split-input-file | filecheck %s

// The block that rearranges the weight becomes a function; the other one takes what it
// makes.

!x = tensor<4xf32>
!w = tensor<8x4xf32>
!y = tensor<8xf32>

// CHECK-LABEL: relax.func @main
relax.func @main(%x: !x, %w: !w) -> !y attributes {global_symbol = "main"} {
  // CHECK-NEXT: %[[P:.*]] = relax.call_tir @product_weight_prepack(%w) : (tensor<8x4xf32>) -> tensor<2x4x4xf32>
  // CHECK-NEXT: relax.call_tir @product_prepacked(%x, %[[P]]) : (tensor<4xf32>, tensor<2x4x4xf32>) -> tensor<8xf32>
  %y = relax.call_tir @product(%x, %w) : (!x, !w) -> !y
  relax.return %y : !y
}
// CHECK: tir.func @product_weight_prepack(%{{.*}}: !tir.handle, %{{.*}}: !tir.handle) attributes {tir.noalias}
// CHECK-DAG: tir.match_buffer "packed" {{.*}} : !tir.buffer<2x4x4xf32>
// CHECK-DAG: tir.match_buffer "W" {{.*}} : !tir.buffer<8x4xf32>
// CHECK: tir.block "pack"
// CHECK-NOT: tir.block "product"
// CHECK: tir.func @product_prepacked(%{{.*}}: !tir.handle, %{{.*}}: !tir.handle, %{{.*}}: !tir.handle) attributes {tir.noalias}
// CHECK: tir.match_buffer "packed" {{.*}} : !tir.buffer<2x4x4xf32>
// CHECK-NOT: tir.match_buffer "W"
// CHECK-NOT: tir.block "pack"
// CHECK: tir.block "product"
// CHECK-NOT: tir.func @product(
tir.func @product(%x: !tir.handle, %w: !tir.handle, %y: !tir.handle) attributes {tir.noalias, layout_free_buffers = [1 : i32]} {
  %X = tir.match_buffer "X" %x : !tir.buffer<4xf32>
  %W = tir.match_buffer "W" %w : !tir.buffer<8x4xf32>
  %Y = tir.match_buffer "Y" %y : !tir.buffer<8xf32>
  %c0 = tir.const 0 : i64
  %c4 = tir.const 4 : i64
  %c8 = tir.const 8 : i64
  tir.block "root" {
    tir.reads
    tir.writes
    %P = tir.alloc_buffer "packed" : !tir.buffer<2x4x4xf32>
    tir.for %i = %c0 to %c8 {
      tir.for %k = %c0 to %c4 {
        tir.block "pack" (%vi : S in [%c0 to %c8] = %i, %vk : S in [%c0 to %c4] = %k) annotations {meta_schedule_layout_rewrite_preproc = 1 : i64} {
          %o = tir.floordiv %vi, %c4 : i64
          %n = tir.floormod %vi, %c4 : i64
          tir.reads %W[%vi, %vk]
          tir.writes %P[%o, %vk, %n]
          %v = tir.load %W[%vi, %vk] : f32
          tir.store %v, %P[%o, %vk, %n] : f32
        }
      }
    }
    tir.for %i = %c0 to %c8 {
      tir.for %k = %c0 to %c4 {
        tir.block "product" (%vi : S in [%c0 to %c8] = %i, %vk : R in [%c0 to %c4] = %k) {
          %o = tir.floordiv %vi, %c4 : i64
          %n = tir.floormod %vi, %c4 : i64
          tir.reads %X[%vk], %P[%o, %vk, %n]
          tir.writes %Y[%vi]
          tir.init {
            %zero = tir.const 0.0 : f32
            tir.store %zero, %Y[%vi] : f32
          }
          %a = tir.load %X[%vk] : f32
          %b = tir.load %P[%o, %vk, %n] : f32
          %s = tir.load %Y[%vi] : f32
          %m = tir.mul %a, %b : f32
          %t = tir.add %s, %m : f32
          tir.store %t, %Y[%vi] : f32
        }
      }
    }
  }
}

// -----

// Two weights are rearranged by one function; a weight that something else reads, and a
// block without the annotation, stay.

!v = tensor<4xf32>

// CHECK-LABEL: relax.func @two
relax.func @two(%x: !v, %w: !v) -> !relax.tuple<!v, !v> {
  // CHECK-NEXT: %[[T:.*]] = relax.call_tir @both_weight_prepack(%x, %w) : {{.*}} -> !relax.tuple<tensor<4xf32>, tensor<4xf32>>
  // CHECK-NEXT: %[[A:.*]] = relax.get_item %[[T]][0]
  // CHECK-NEXT: %[[B:.*]] = relax.get_item %[[T]][1]
  // CHECK-NEXT: relax.call_tir @both_prepacked(%[[A]], %[[B]])
  // CHECK-NEXT: relax.call_tir @shared(%x)
  %y = relax.call_tir @both(%x, %w) : (!v, !v) -> !v
  %z = relax.call_tir @shared(%x) : (!v) -> !v
  %t = relax.tuple(%y, %z) : !v, !v
  relax.return %t : !relax.tuple<!v, !v>
}
// CHECK: tir.func @both_weight_prepack({{.*}}) attributes {global_symbol = "both_weight_prepack"}
// CHECK: tir.func @both_prepacked({{.*}}) attributes {global_symbol = "both_prepacked"}
// CHECK: tir.func @both(
tir.func @both(%x: !tir.handle, %w: !tir.handle, %y: !tir.handle) attributes {global_symbol = "both"} {
  %X = tir.match_buffer "X" %x : !tir.buffer<4xf32>
  %W = tir.match_buffer "W" %w : !tir.buffer<4xf32>
  %Y = tir.match_buffer "Y" %y : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i64
  %c3 = tir.const 3 : i64
  %c4 = tir.const 4 : i64
  tir.block "root" {
    tir.reads
    tir.writes
    %Q = tir.alloc_buffer "q" : !tir.buffer<4xf32>
    %P = tir.alloc_buffer "p" : !tir.buffer<4xf32>
    tir.for %i = %c0 to %c4 {
      tir.block "pack_w" (%v : S in [%c0 to %c4] = %i) annotations {meta_schedule_layout_rewrite_preproc = 1 : i64} {
        %o = tir.sub %c3, %v : i64
        tir.reads %W[%v]
        tir.writes %Q[%o]
        %a = tir.load %W[%v] : f32
        tir.store %a, %Q[%o] : f32
      }
    }
    tir.for %i = %c0 to %c4 {
      tir.block "pack_x" (%v : S in [%c0 to %c4] = %i) annotations {meta_schedule_layout_rewrite_preproc = 1 : i64} {
        %o = tir.sub %c3, %v : i64
        tir.reads %X[%v]
        tir.writes %P[%o]
        %a = tir.load %X[%v] : f32
        tir.store %a, %P[%o] : f32
      }
    }
    tir.for %i = %c0 to %c4 {
      tir.block "add" (%v : S in [%c0 to %c4] = %i) {
        tir.reads %P[%v], %Q[%v]
        tir.writes %Y[%v]
        %a = tir.load %P[%v] : f32
        %b = tir.load %Q[%v] : f32
        %s = tir.sub %a, %b : f32
        tir.store %s, %Y[%v] : f32
      }
    }
  }
}
// CHECK: tir.func @shared(
tir.func @shared(%x: !tir.handle, %y: !tir.handle) {
  %X = tir.match_buffer "X" %x : !tir.buffer<4xf32>
  %Y = tir.match_buffer "Y" %y : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i64
  %c4 = tir.const 4 : i64
  tir.block "root" {
    tir.reads
    tir.writes
    %P = tir.alloc_buffer "p" : !tir.buffer<4xf32>
    tir.for %i = %c0 to %c4 {
      tir.block "pack" (%v : S in [%c0 to %c4] = %i) annotations {meta_schedule_layout_rewrite_preproc = 1 : i64} {
        tir.reads %X[%v]
        tir.writes %P[%v]
        %a = tir.load %X[%v] : f32
        tir.store %a, %P[%v] : f32
      }
    }
    tir.for %i = %c0 to %c4 {
      tir.block "add" (%v : S in [%c0 to %c4] = %i) {
        tir.reads %P[%v], %X[%v]
        tir.writes %Y[%v]
        %a = tir.load %P[%v] : f32
        %b = tir.load %X[%v] : f32
        %s = tir.add %a, %b : f32
        tir.store %s, %Y[%v] : f32
      }
    }
  }
}
