// RUN: xdsl-opt %s -p relax-convert-to-dataflow --split-input-file --allow-unregistered-dialect | filecheck %s
// RUN: xdsl-opt %s -p 'relax-convert-to-dataflow{min_size=3}' --split-input-file --allow-unregistered-dialect | filecheck %s --check-prefix=THREE

// CASE: ConvertToDataflow.1
// All bindings are pure: one block, what is not used after it stays inside. A constant
// does not count.

// CHECK-LABEL: relax.func @pure
// CHECK-NEXT: %[[R:.*]] = relax.dataflow -> (tensor<4xf32>) {
// CHECK-NEXT:   %[[C:.*]] = relax.constant
// CHECK-NEXT:   %[[A:.*]] = relax.add %x, %[[C]]
// CHECK-NEXT:   %[[B:.*]] = relax.nn.relu %[[A]]
// CHECK-NEXT:   relax.output %[[B]] : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: relax.return %[[R]]
// THREE-LABEL: relax.func @pure
// THREE-NEXT: relax.constant
// THREE-NOT: relax.dataflow
relax.func @pure(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = relax.constant dense<1.0> : tensor<4xf32>
  %a = relax.add %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = relax.nn.relu %a : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %b : tensor<4xf32>
}

// -----

// CASE: ConvertToDataflow.2, ConvertToDataflow.3
// Calls with effects and conditionals end a run; a short run stays. Symbols that a cast
// in a block defines are visible after it. Branches hold runs, too.

// CHECK-LABEL: relax.func impure @split
// CHECK-NEXT: %[[A:.*]] = relax.nn.relu %x
// CHECK-NEXT: relax.print
// CHECK-NEXT: %[[M:.*]] = relax.dataflow -> (tensor<?xf32, #relax.dims<[m]>>) {
// CHECK-NEXT:   %[[N:.*]] = relax.match_cast %[[A]] defines [m]
// CHECK-NEXT:   relax.negative %[[N]]
// CHECK-NEXT:   relax.output
// CHECK-NEXT: }
// CHECK-NEXT: %[[I:.*]] = relax.if %c : tensor<i1> -> tensor<?xf32, #relax.dims<[m]>> {
// CHECK-NEXT:   %[[J:.*]] = relax.dataflow
// CHECK:      } else {
// CHECK-NEXT:   %[[K:.*]] = relax.exp %[[M]]
// CHECK-NEXT:   relax.yield %[[K]]
// CHECK-NEXT: }
// CHECK-NEXT: "strange.op"
// CHECK-NEXT: %[[L:.*]] = relax.exp %[[I]]
// CHECK-NEXT: relax.return %[[L]]
// THREE-LABEL: relax.func impure @split
// THREE-NOT: relax.dataflow
!m = tensor<?xf32, #relax.dims<[m]>>
relax.func impure @split(%c: tensor<i1>, %x: tensor<?xf32>) -> tensor<?xf32> {
  %a = relax.nn.relu %x : (tensor<?xf32>) -> tensor<?xf32>
  relax.print "{}"(%a) : (tensor<?xf32>) -> ()
  %n = relax.match_cast %a defines [m] : tensor<?xf32> -> !m
  %b = relax.negative %n : (!m) -> !m
  %i = relax.if %c : tensor<i1> -> !m {
    %d = relax.exp %b : (!m) -> !m
    %e = relax.exp %d : (!m) -> !m
    relax.yield %e : !m
  } else {
    %d = relax.exp %b : (!m) -> !m
    relax.yield %d : !m
  }
  "strange.op"(%i) : (!m) -> ()
  %l = relax.exp %i : (!m) -> !m
  relax.return %l : tensor<?xf32, #relax.dims<[m]>>
}

// -----

// CASE: ConvertToDataflow.4
// A block that is there grows by the bindings around it, and takes in its neighbour.

// CHECK-LABEL: relax.func @grow
// CHECK-NEXT: %[[R:.*]] = relax.dataflow -> (tensor<4xf32>) {
// CHECK-NEXT:   %[[A:.*]] = relax.nn.relu %x
// CHECK-NEXT:   %[[B:.*]] = relax.negative %[[A]]
// CHECK-NEXT:   %[[C:.*]] = relax.exp %[[B]]
// CHECK-NEXT:   %[[D:.*]] = relax.add %[[C]], %[[B]]
// CHECK-NEXT:   relax.output %[[D]] : tensor<4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: relax.return %[[R]]
// THREE-LABEL: relax.func @grow
// THREE-NEXT: relax.dataflow -> (tensor<4xf32>) {
relax.func @grow(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = relax.dataflow -> (tensor<4xf32>) {
    %b1 = relax.negative %a : (tensor<4xf32>) -> tensor<4xf32>
    relax.output %b1 : tensor<4xf32>
  }
  %c = relax.dataflow -> (tensor<4xf32>) {
    %c1 = relax.exp %b : (tensor<4xf32>) -> tensor<4xf32>
    relax.output %c1 : tensor<4xf32>
  }
  %d = relax.add %c, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %d : tensor<4xf32>
}

// -----

// CASE: ConvertToDataflow.5
// Function literals are pure bindings, and hold runs.

// CHECK-LABEL: relax.func @literal
// CHECK-NEXT: %[[R:.*]] = relax.dataflow -> (tensor<4xf32>) {
// CHECK-NEXT:   %[[F:.*]] = relax.lambda(%[[Y:.*]]: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     %[[Q:.*]] = relax.dataflow -> (tensor<4xf32>) {
// CHECK-NEXT:       relax.negative %[[Y]]
// CHECK:        relax.call_indirect %[[F]]
// THREE-LABEL: relax.func @literal
// THREE-NOT: relax.dataflow
relax.func @literal(%x: tensor<4xf32>) -> tensor<4xf32> {
  %f = relax.lambda(%y: tensor<4xf32>) -> tensor<4xf32> {
    %a = relax.negative %y : (tensor<4xf32>) -> tensor<4xf32>
    %b = relax.negative %a : (tensor<4xf32>) -> tensor<4xf32>
    relax.return %b : tensor<4xf32>
  }
  %r = relax.call_indirect %f(%x) : !relax.func<(tensor<4xf32>) -> tensor<4xf32>>, (tensor<4xf32>) -> tensor<4xf32>
  relax.return %r : tensor<4xf32>
}

// -----

// A tuple that is the result is no binding: it stays after the run, with what is in it,
// and does not make a run long enough.

// CHECK-LABEL: relax.func @result
// CHECK-NEXT: %{{.*}}, %{{.*}} = relax.dataflow
// CHECK-NEXT:   relax.nn.relu %x
// CHECK-NEXT:   relax.exp
// CHECK-NEXT:   relax.output
// CHECK-NEXT: }
// CHECK-NEXT: %[[S:.*]] = relax.shape [4]
// CHECK-NEXT: %[[T:.*]] = relax.tuple(%{{.*}}, %[[S]])
// CHECK-NEXT: relax.tuple(%{{.*}}, %[[T]])
// CHECK-NEXT: relax.return
// CHECK-LABEL: relax.func @short_result
// CHECK-NEXT: %{{.*}} = relax.nn.relu
// CHECK-NEXT: %{{.*}} = relax.tuple
// CHECK-LABEL: relax.func @earlier
// CHECK-NEXT: relax.dataflow
// CHECK-NEXT:   relax.get_item
// CHECK-NEXT:   relax.tuple
// CHECK-NEXT:   relax.exp
// CHECK-NEXT:   relax.output
// CHECK-NEXT: }
// CHECK-NEXT: relax.tuple
// THREE-LABEL: relax.func @earlier
// THREE-NEXT: relax.dataflow
!t = tensor<4xf32>
!s = !relax.tuple<!t, !relax.shape<[4]>>
relax.func @result(%x: !t) -> !relax.tuple<!t, !s> {
  %a = relax.nn.relu %x : (!t) -> !t
  %b = relax.exp %a : (!t) -> !t
  %n = relax.shape [4]
  %s = relax.tuple(%a, %n) : !t, !relax.shape<[4]>
  %r = relax.tuple(%b, %s) : !t, !s
  relax.return %r : !relax.tuple<!t, !s>
}
relax.func @short_result(%x: !t) -> !relax.tuple<!t, !t> {
  %a = relax.nn.relu %x : (!t) -> !t
  %r = relax.tuple(%a, %x) : !t, !t
  relax.return %r : !relax.tuple<!t, !t>
}
relax.func @earlier(%p: !relax.tuple<!t, !t>) -> !relax.tuple<!t, !relax.tuple<!t, !t>> {
  %q = relax.get_item %p[0] : !relax.tuple<!t, !t> -> !t
  %a = relax.tuple(%q, %q) : !t, !t
  %b = relax.exp %q : (!t) -> !t
  %r = relax.tuple(%b, %a) : !t, !relax.tuple<!t, !t>
  relax.return %r : !relax.tuple<!t, !relax.tuple<!t, !t>>
}
