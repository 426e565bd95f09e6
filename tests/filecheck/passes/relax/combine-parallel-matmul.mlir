// RUN: xdsl-opt %s -p relax-combine-parallel-matmul --split-input-file --allow-unregistered-dialect | filecheck %s

// Three products of one tensor, of which one matrix is transposed on the way.

!x = tensor<4x8xf32>

// CHECK-LABEL: relax.func @three
relax.func @three(%x: !x, %u: tensor<8x2xf32>, %v: tensor<8x3xf32>, %w: tensor<4x8xf32>) -> tensor<4x9xf32> {
  %r = relax.dataflow -> (tensor<4x9xf32>) {
    // CHECK: %[[WT:.*]] = relax.permute_dims %w
    // CHECK-NEXT: %[[T:.*]] = relax.tuple(%u, %v, %[[WT]])
    // CHECK-NEXT: %[[C:.*]] = relax.concat %[[T]] axis 1 : {{.*}} -> tensor<8x9xf32>
    // CHECK-NEXT: %[[M:.*]] = relax.matmul %x, %[[C]] : {{.*}} -> tensor<4x9xf32>
    // CHECK-NEXT: %[[S:.*]] = relax.split %[[M]] at [2, 5] axis 1
    // CHECK-NEXT: %[[A:.*]] = relax.get_item %[[S]][0] : {{.*}} -> tensor<4x2xf32>
    // CHECK-NEXT: %[[B:.*]] = relax.get_item %[[S]][1] : {{.*}} -> tensor<4x3xf32>
    // CHECK-NEXT: %[[D:.*]] = relax.get_item %[[S]][2] : {{.*}} -> tensor<4x4xf32>
    // CHECK-NEXT: %[[E:.*]] = relax.tanh %[[A]]
    // CHECK-NEXT: relax.tuple(%[[E]], %[[B]], %[[D]])
    // CHECK-NOT: relax.matmul
    %a = relax.matmul %x, %u : (!x, tensor<8x2xf32>) -> tensor<4x2xf32>
    %e = relax.tanh %a : (tensor<4x2xf32>) -> tensor<4x2xf32>
    %b = relax.matmul %x, %v : (!x, tensor<8x3xf32>) -> tensor<4x3xf32>
    %wt = relax.permute_dims %w : (tensor<4x8xf32>) -> tensor<8x4xf32>
    %d = relax.matmul %x, %wt : (!x, tensor<8x4xf32>) -> tensor<4x4xf32>
    %t = relax.tuple(%e, %b, %d) : tensor<4x2xf32>, tensor<4x3xf32>, tensor<4x4xf32>
    %c = relax.concat %t axis 1 : (!relax.tuple<tensor<4x2xf32>, tensor<4x3xf32>, tensor<4x4xf32>>) -> tensor<4x9xf32>
    relax.output %c : tensor<4x9xf32>
  }
  relax.return %r : tensor<4x9xf32>
}

// -----

// With biases and activations; the one that has another activation is combined with
// none, and remains alone.

!x = tensor<2x4x8xf32>
!w = tensor<8x4xf32>
!y = tensor<2x4x4xf32>
!b = tensor<4xf32>

// CHECK-LABEL: relax.func @parts
relax.func @parts(%x: !x, %u: !w, %v: !w, %w: !w, %b: !b, %c: !b) -> !relax.tuple<!y, !y, !y> {
  %r, %s, %t = relax.dataflow -> (!y, !y, !y) {
    // CHECK: %[[W:.*]] = relax.concat {{.*}} -> tensor<8x8xf32>
    // CHECK-NEXT: %[[M:.*]] = relax.matmul %x, %[[W]]
    // CHECK-NEXT: %[[BT:.*]] = relax.tuple(%b, %c)
    // CHECK-NEXT: %[[B:.*]] = relax.concat %[[BT]] axis 0 : {{.*}} -> tensor<8xf32>
    // CHECK-NEXT: %[[SUM:.*]] = relax.add %[[M]], %[[B]]
    // CHECK-NEXT: %[[G:.*]] = relax.nn.gelu %[[SUM]]
    // CHECK-NEXT: relax.split %[[G]] at [4] axis 2
    // CHECK: relax.matmul %x, %w
    // CHECK: relax.nn.relu
    %m = relax.matmul %x, %u : (!x, !w) -> !y
    %ms = relax.add %m, %b : (!y, !b) -> !y
    %mg = relax.nn.gelu %ms : (!y) -> !y
    %n = relax.matmul %x, %v : (!x, !w) -> !y
    %ns = relax.add %c, %n : (!b, !y) -> !y
    %ng = relax.nn.gelu %ns : (!y) -> !y
    %o = relax.matmul %x, %w : (!x, !w) -> !y
    %os = relax.add %o, %b : (!y, !b) -> !y
    %og = relax.nn.relu %os : (!y) -> !y
    relax.output %mg, %ng, %og : !y, !y, !y
  }
  %z = relax.tuple(%r, %s, %t) : !y, !y, !y
  relax.return %z : !relax.tuple<!y, !y, !y>
}

// -----

// Static widths first, one that is not static at the end, the other one not at all.
// Batches of right operands are compared.

!x = tensor<4x8xf32>
!n = tensor<8x?xf32, #relax.dims<[8, n]>>
!m = tensor<8x?xf32, #relax.dims<[8, m]>>
!an = tensor<4x?xf32, #relax.dims<[4, n]>>
!am = tensor<4x?xf32, #relax.dims<[4, m]>>

// CHECK-LABEL: relax.func @widths
relax.func @widths<n, m>(%x: !x, %u: !n, %v: !m, %w: tensor<8x3xf32>) -> !relax.tuple<!an, !am, tensor<4x3xf32>> {
  %r, %s, %t = relax.dataflow -> (!an, !am, tensor<4x3xf32>) {
    // CHECK: relax.tuple(%w, %u)
    // CHECK: relax.split %{{.*}} at [3] axis 1
    // CHECK: relax.matmul %x, %v
    %a = relax.matmul %x, %u : (!x, !n) -> !an
    %b = relax.matmul %x, %v : (!x, !m) -> !am
    %c = relax.matmul %x, %w : (!x, tensor<8x3xf32>) -> tensor<4x3xf32>
    relax.output %a, %b, %c : !an, !am, tensor<4x3xf32>
  }
  %z = relax.tuple(%r, %s, %t) : !an, !am, tensor<4x3xf32>
  relax.return %z : !relax.tuple<!an, !am, tensor<4x3xf32>>
}

// -----

// Two products that are added, and products of both sums again: each is looked at as the
// ones before have left it.

!x = tensor<4x4xf32>

// CHECK-LABEL: relax.func @sums
relax.func @sums(%x: !x, %u: !x, %v: !x) -> !x {
  %r = relax.dataflow -> (!x) {
    // CHECK: relax.concat {{.*}} -> tensor<4x8xf32>
    // CHECK: relax.add
    // CHECK: relax.concat {{.*}} -> tensor<4x8xf32>
    // CHECK: relax.matmul
    // CHECK-NOT: relax.matmul
    // CHECK: relax.output
    %a = relax.matmul %x, %u : (!x, !x) -> !x
    %b = relax.matmul %x, %v : (!x, !x) -> !x
    %s = relax.add %a, %b : (!x, !x) -> !x
    %c = relax.matmul %s, %u : (!x, !x) -> !x
    %d = relax.matmul %s, %a : (!x, !x) -> !x
    %t = relax.add %c, %d : (!x, !x) -> !x
    relax.output %t : !x
  }
  relax.return %r : !x
}

// -----

// Left alone: a chain, right operands that depend on another product or a foreign
// operation, vectors, and what is outside of dataflow blocks.

!x = tensor<4x4xf32>

// CHECK-LABEL: relax.func @alone
relax.func @alone(%x: !x, %u: !x, %v: tensor<4xf32>) -> !x {
  // CHECK-NOT: relax.concat
  %p = relax.matmul %x, %u : (!x, !x) -> !x
  %q = relax.matmul %x, %p : (!x, !x) -> !x
  %o = relax.matmul %x, %x : (!x, !x) -> !x
  %r = relax.dataflow -> (!x) {
    %a = relax.matmul %x, %q : (!x, !x) -> !x
    %b = relax.tanh %a : (!x) -> !x
    %c = relax.matmul %x, %b : (!x, !x) -> !x
    %d = "test.foreign"(%u) : (!x) -> !x
    %e = relax.matmul %x, %d : (!x, !x) -> !x
    %f = relax.matmul %x, %v : (!x, tensor<4xf32>) -> tensor<4xf32>
    %g = relax.matmul %x, %v : (!x, tensor<4xf32>) -> tensor<4xf32>
    %h = relax.add %c, %e : (!x, !x) -> !x
    %i = relax.add %h, %f : (!x, tensor<4xf32>) -> !x
    relax.output %i : !x
  }
  relax.return %r : !x
}

// -----

// Sums within a function literal are none of the block's.

!x = tensor<4x8xf32>
!w = tensor<8x2xf32>
!b = tensor<2xf32>
!y = tensor<4x2xf32>

// CHECK-LABEL: relax.func @literal
relax.func @literal(%x: !x, %v: !w, %w: !w, %b: !b) -> !y {
  // CHECK: %[[S:.*]] = relax.split
  // CHECK: %m = relax.get_item %[[S]][0]
  // CHECK: %n = relax.get_item %[[S]][1]
  // CHECK: relax.lambda
  // CHECK-NEXT: relax.add %m, %c
  // CHECK: relax.add %n, %r
  %s = relax.dataflow -> (!y) {
    %m = relax.matmul %x, %v : (!x, !w) -> !y
    %f = relax.lambda "f"(%c: !b) -> !y {
      %k = relax.add %m, %c : (!y, !b) -> !y
      relax.return %k : !y
    }
    %r = relax.call_indirect %f(%b) : !relax.func<(!b) -> !y>, (!b) -> !y
    %n = relax.matmul %x, %w : (!x, !w) -> !y
    %t = relax.add %n, %r : (!y, !y) -> !y
    relax.output %t : !y
  }
  relax.return %s : !y
}

// -----

// What was moved for one group keeps its order when it is moved for another one.

!x = tensor<4x8xf32>
!w = tensor<8x8xf32>

// CHECK-LABEL: relax.func @moved_twice
relax.func @moved_twice(%x: !x, %v: !w, %w: !w, %b: tensor<8xf32>) -> !x {
  // CHECK: relax.dataflow
  // CHECK-NEXT: %c = relax.tanh %w
  // CHECK-NEXT: %d = relax.sin %c
  // CHECK-NEXT: relax.tuple(%v, %d)
  // CHECK: relax.tuple(%w, %d)
  %r = relax.dataflow -> (!x) {
    %p = relax.matmul %x, %v : (!x, !w) -> !x
    %q = relax.matmul %x, %w : (!x, !w) -> !x
    %qa = relax.nn.relu %q : (!x) -> !x
    %c = relax.tanh %w : (!w) -> !w
    %d = relax.sin %c : (!w) -> !w
    %s = relax.matmul %x, %d : (!x, !w) -> !x
    %sa = relax.nn.relu %s : (!x) -> !x
    %u = relax.matmul %x, %d : (!x, !w) -> !x
    %ub = relax.add %u, %b : (!x, tensor<8xf32>) -> !x
    %e = relax.add %p, %qa : (!x, !x) -> !x
    %f = relax.add %sa, %ub : (!x, !x) -> !x
    %g = relax.add %e, %f : (!x, !x) -> !x
    relax.output %g : !x
  }
  relax.return %r : !x
}
