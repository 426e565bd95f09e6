// RUN: xdsl-opt %s -p relax-topological-sort --split-input-file | filecheck %s --check-prefix=DI
// RUN: xdsl-opt %s -p 'relax-topological-sort{order="breadth-first"}' --split-input-file | filecheck %s --check-prefix=BI
// RUN: xdsl-opt %s -p 'relax-topological-sort{direction="from-outputs"}' --split-input-file | filecheck %s --check-prefix=DO
// RUN: xdsl-opt %s -p 'relax-topological-sort{order="breadth-first" direction="from-outputs"}' --split-input-file | filecheck %s --check-prefix=BO

// CASE: TopologicalSort.1, TopologicalSort.2, TopologicalSort.3, TopologicalSort.4
// Two chains from one value, which meet, in the four orders.

// DI-LABEL: relax.func @diamond
// DI: relax.nn.relu
// DI-NEXT: relax.negative
// DI-NEXT: relax.negative
// DI-NEXT: relax.exp
// DI-NEXT: relax.exp
// DI-NEXT: relax.add
// BI-LABEL: relax.func @diamond
// BI: relax.nn.relu
// BI-NEXT: relax.negative
// BI-NEXT: relax.exp
// BI-NEXT: relax.negative
// BI-NEXT: relax.exp
// BI-NEXT: relax.add
// DO-LABEL: relax.func @diamond
// DO: relax.nn.relu
// DO-NEXT: relax.negative
// DO-NEXT: relax.negative
// DO-NEXT: relax.exp
// DO-NEXT: relax.exp
// DO-NEXT: relax.add
// BO-LABEL: relax.func @diamond
// BO: relax.nn.relu
// BO-NEXT: relax.exp
// BO-NEXT: relax.negative
// BO-NEXT: relax.exp
// BO-NEXT: relax.negative
// BO-NEXT: relax.add
relax.func @diamond(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = relax.dataflow -> (tensor<4xf32>) {
    %a = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    %b = relax.negative %a : (tensor<4xf32>) -> tensor<4xf32>
    %c = relax.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    %d = relax.negative %b : (tensor<4xf32>) -> tensor<4xf32>
    %e = relax.exp %c : (tensor<4xf32>) -> tensor<4xf32>
    %f = relax.add %d, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    relax.output %f : tensor<4xf32>
  }
  relax.return %r : tensor<4xf32>
}

// -----

// CASE: TopologicalSort.5, TopologicalSort.6, TopologicalSort.7
// Constants are roots, after the values from outside; what nothing uses is kept: from
// outputs it is found after what the block gives. Breadth-first from inputs, constants come
// before the users of parameters.

// DI-LABEL: relax.func @roots
// DI: relax.negative %x
// DI-NEXT: relax.exp %y
// DI-NEXT: relax.constant
// DI-NEXT: relax.add
// BI-LABEL: relax.func @roots
// BI: relax.constant
// BI-NEXT: relax.negative %x
// BI-NEXT: relax.exp %y
// BI-NEXT: relax.add
// DO-LABEL: relax.func @roots
// DO: relax.exp %y
// DO-NEXT: relax.constant
// DO-NEXT: relax.negative %x
// DO-NEXT: relax.add
// BO-LABEL: relax.func @roots
// BO: relax.negative %x
// BO-NEXT: relax.constant
// BO-NEXT: relax.add
// BO-NEXT: relax.exp %y
relax.func @roots(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = relax.dataflow -> (tensor<4xf32>) {
    %c = relax.constant dense<1.0> : tensor<4xf32>
    %a = relax.negative %x : (tensor<4xf32>) -> tensor<4xf32>
    %unused = relax.exp %y : (tensor<4xf32>) -> tensor<4xf32>
    %b = relax.add %a, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    relax.output %b : tensor<4xf32>
  }
  relax.return %r : tensor<4xf32>
}

// -----

// CASE: TopologicalSort.8
// A tuple waits for its fields. What is written in place keeps its readers in front; the
// symbol of a cast is not used before the cast. Bindings outside of a block stay.

// DI-LABEL: relax.func @order
// DI-NEXT: relax.exp %y
// DI: relax.nn.relu %x
// DI-NEXT: relax.call_tir_inplace @f
// DI-NEXT: relax.match_cast %y defines [m]
// DI-NEXT: relax.shape [m]
// DI-NEXT: relax.tuple
// BI-LABEL: relax.func @order
// BI-NEXT: relax.exp %y
// BI: relax.nn.relu %x
// BI-NEXT: relax.call_tir_inplace @f
// BO-LABEL: relax.func @order
// BO-NEXT: relax.exp %y
// BO: relax.nn.relu %x
// BO: relax.call_tir_inplace @f
// DO-LABEL: relax.func @order
// DO-NEXT: relax.exp %y
// DO: relax.match_cast %y defines [m]
// DO-NEXT: relax.nn.relu %x
// DO-NEXT: relax.call_tir_inplace @f
// DO-NEXT: relax.shape [m]
// DO-NEXT: relax.tuple
relax.func @order(%x: tensor<4xf32>, %y: tensor<?xf32>) -> !relax.tuple<!relax.shape<[?]>, tensor<4xf32>, tensor<4xf32>> {
  %z = relax.exp %y : (tensor<?xf32>) -> tensor<?xf32>
  %r = relax.dataflow -> (!relax.tuple<!relax.shape<[m]>, tensor<4xf32>, tensor<4xf32>>) {
    %m = relax.match_cast %y defines [m] : tensor<?xf32> -> tensor<?xf32, #relax.dims<[m]>>
    %a = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    %b = relax.call_tir_inplace @f(%x) inplace [0] : (tensor<4xf32>) -> tensor<4xf32>
    %s = relax.shape [m]
    %t = relax.tuple(%s, %b, %a) : !relax.shape<[m]>, tensor<4xf32>, tensor<4xf32>
    relax.output %t : !relax.tuple<!relax.shape<[m]>, tensor<4xf32>, tensor<4xf32>>
  }
  relax.return %r : !relax.tuple<!relax.shape<[m]>, tensor<4xf32>, tensor<4xf32>>
}
tir.func @f(%a: !tir.handle) {
}
