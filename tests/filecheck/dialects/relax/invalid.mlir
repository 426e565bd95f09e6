// RUN: xdsl-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// Types and dimensions.

// CHECK: 'min' cannot name a symbolic dimension
relax.func @f<min>(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: expected dimensions, [n, 4]
func.func private @f(tensor<?xf32, #relax.dims<n>>)

// -----

// CHECK: expected a #relax.vdevice attribute
func.func private @f(tensor<?xf32, #relax.placed<[n], "cuda">>)

// -----

// CHECK: !relax.prim needs an integer or float type, not tensor<4xf32>
func.func private @f(!relax.prim<tensor<4xf32>>)

// -----

// CHECK: !relax.prim of f32 cannot have the value 3: only integer scalars have one
func.func private @f(!relax.prim<f32, 3>)

// -----

// CHECK: !relax.tuple cannot hold f32: it is no type of a value
func.func private @f(!relax.tuple<f32>)

// -----

// CHECK: !relax.func cannot hold f32: it is no type of a value
func.func private @f(!relax.func<(f32) -> !relax.object>)

// -----

// CHECK: f32 is no type of a Relax value
relax.func @f(%x: f32) -> f32 {
  relax.return %x : f32
}

// -----

// CHECK: tensor<?xf32, #relax.dims<[n, 4]>> has rank 1 but names 2 dimensions
relax.func @f<n>(%x: tensor<?xf32, #relax.dims<[n, 4]>>) -> tensor<?xf32> {
  relax.return %x : tensor<?xf32, #relax.dims<[n, 4]>>
}

// -----

// CHECK: tensor<8xf32, #relax.dims<[n]>>: dimension 0 is n in the encoding and 8 in the shape
relax.func @f<n>(%x: tensor<8xf32, #relax.dims<[n]>>) -> tensor<8xf32> {
  relax.return %x : tensor<8xf32, #relax.dims<[n]>>
}

// -----

// Functions.

// CHECK: relax.func @f must have one result, not 2
"relax.func"() <{sym_name = "f", function_type = (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)}> ({
^bb0(%x: tensor<4xf32>):
  "relax.return"(%x) : (tensor<4xf32>) -> ()
}) : () -> ()

// -----

// CHECK: relax.func @f: the block arguments must have the types of the parameters
"relax.func"() <{sym_name = "f", function_type = (tensor<4xf32>) -> tensor<4xf32>}> ({
^bb0(%x: tensor<8xf32>):
  "relax.return"(%x) : (tensor<8xf32>) -> ()
}) : () -> ()

// -----

// CHECK: relax.func @f declares a symbol twice
relax.func @f<n, n>(%x: tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32> {
  relax.return %x : tensor<?xf32, #relax.dims<[n]>>
}

// -----

// CHECK: relax.func @f declares the symbol 'n', but no parameter has it as a dimension
relax.func @f<n>(%x: tensor<?xf32, #relax.dims<[n + 1]>>) -> tensor<?xf32> {
  relax.return %x : tensor<?xf32, #relax.dims<[n + 1]>>
}

// -----

// CHECK: relax.func @f uses the symbol 'm' of tensor<?xf32, #relax.dims<[m]>>, but declares n
relax.func @f<n>(%x: tensor<?xf32, #relax.dims<[n]>>) -> tensor<?xf32, #relax.dims<[m]>> {
  relax.return %x : tensor<?xf32, #relax.dims<[n]>>
}

// -----

// CHECK: relax.func @f returns tensor<4xf32>, but tensor<8xf32> is declared
relax.func @f(%x: tensor<4xf32>) -> tensor<8xf32> {
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax.func @f must end with relax.return
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  "test.termop"() : () -> ()
}

// -----

// Scopes of symbols.

// CHECK: relax.alias in @f uses the symbol 'k', which neither a parameter nor a relax.match_cast above defines
relax.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = "relax.nn.relu"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %z = "relax.alias"(%w) : (tensor<?xf32, #relax.dims<[k]>>) -> tensor<?xf32, #relax.dims<[k]>>
  %w = relax.match_cast %x defines [k] : tensor<?xf32> -> tensor<?xf32, #relax.dims<[k]>>
  relax.return %y : tensor<?xf32>
}

// -----

// CHECK: relax.prim_value in @f uses the symbol 'k', which neither a parameter nor
relax.func @f(%x: tensor<?xf32>, %c: tensor<i1>) -> tensor<?xf32> {
  %y = relax.if %c : tensor<i1> -> tensor<?xf32> {
    %w = relax.match_cast %x defines [k] : tensor<?xf32> -> tensor<?xf32, #relax.dims<[k]>>
    relax.yield %w : tensor<?xf32, #relax.dims<[k]>>
  } else {
    relax.yield %x : tensor<?xf32>
  }
  %k = relax.prim_value k : i64
  relax.return %y : tensor<?xf32>
}

// -----

// CHECK: relax.call_tir in @f uses the symbol 'n', which neither a parameter nor
tir.func @p(%a: !tir.handle, %b: !tir.handle, %n: i64) {
}
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relax.call_tir @p(%x) [n] : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}

// -----

// CHECK: relax.match_cast in @f: the symbol 'n' is defined already
relax.func @f<n>(%x: tensor<?xf32, #relax.dims<[n]>>, %u: tensor<?xf32>) -> tensor<?xf32> {
  %w = relax.match_cast %u defines [n] : tensor<?xf32> -> tensor<?xf32, #relax.dims<[n]>>
  relax.return %w : tensor<?xf32, #relax.dims<[n]>>
}

// -----

// CHECK: relax.match_cast: 'k' is no dimension of tensor<?xf32, #relax.dims<[k + 1]>> by itself, so it is not defined here
relax.func @f(%u: tensor<?xf32>) -> tensor<?xf32> {
  %w = relax.match_cast %u defines [k] : tensor<?xf32> -> tensor<?xf32, #relax.dims<[k + 1]>>
  relax.return %u : tensor<?xf32>
}

// -----

// CHECK: relax.match_cast: tensor<4xf32> can never be tensor<8xf32>
relax.func @f(%u: tensor<4xf32>) -> tensor<8xf32> {
  %w = relax.match_cast %u : tensor<4xf32> -> tensor<8xf32>
  relax.return %w : tensor<8xf32>
}

// -----

// Dataflow and conditionals.

// CHECK: relax.dataflow must end with relax.output
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.dataflow -> () {
    "test.termop"() : () -> ()
  }
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax.dataflow: the block takes no arguments
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.dataflow -> () {
  ^bb0(%a: tensor<4xf32>):
    relax.output
  }
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax.dataflow has results (tensor<?xf32>), but relax.output gives (tensor<4xf32>)
relax.func @f(%x: tensor<4xf32>) -> tensor<?xf32> {
  %y = relax.dataflow -> (tensor<?xf32>) {
    relax.output %x : tensor<4xf32>
  }
  relax.return %y : tensor<?xf32>
}

// -----

// CHECK: relax.if in @f is in a dataflow block, which holds no control flow
relax.func @f(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  relax.dataflow -> () {
    %y = relax.if %c : tensor<i1> -> tensor<4xf32> {
      relax.yield %x : tensor<4xf32>
    } else {
      relax.yield %x : tensor<4xf32>
    }
    relax.output
  }
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax.if: the condition must be a tensor<i1> or a !relax.prim<i1>, not tensor<4xi1>
relax.func @f(%x: tensor<4xf32>, %c: tensor<4xi1>) -> tensor<4xf32> {
  %y = relax.if %c : tensor<4xi1> -> tensor<4xf32> {
    relax.yield %x : tensor<4xf32>
  } else {
    relax.yield %x : tensor<4xf32>
  }
  relax.return %y : tensor<4xf32>
}

// -----

// CHECK: relax.if: a branch yields tensor<?xf32>, which is not always tensor<4xf32>
relax.func @f(%x: tensor<4xf32>, %z: tensor<?xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %y = relax.if %c : tensor<i1> -> tensor<4xf32> {
    relax.yield %x : tensor<4xf32>
  } else {
    relax.yield %z : tensor<?xf32>
  }
  relax.return %y : tensor<4xf32>
}

// -----

// CHECK: relax.if: each branch must end with relax.yield
relax.func @f(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %y = relax.if %c : tensor<i1> -> tensor<4xf32> {
    relax.yield %x : tensor<4xf32>
  } else {
    "test.termop"() : () -> ()
  }
  relax.return %y : tensor<4xf32>
}

// -----

// Purity.

// CHECK: relax.call in @f is impure and is in a dataflow block
relax.func impure @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relax.dataflow -> (tensor<4xf32>) {
    %z = relax.call impure @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
    relax.output %z : tensor<4xf32>
  }
  relax.return %y : tensor<4xf32>
}

// -----

// CHECK: relax.call in @f is impure; mark the function impure or give it the attribute relax.force_pure
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relax.call impure @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}

// -----

// Calls.

// CHECK: relax.call: @g is not defined in the module
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relax.call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}

// -----

// CHECK: relax.call: @f is pure and the call must say so
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {relax.force_pure} {
  %y = relax.call impure @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}

// -----

// CHECK: relax.call: a pure call of @f without a result does nothing
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.call @f(%x) : (tensor<4xf32>) -> ()
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax.call: @f has a result, tensor<4xf32>
relax.func impure @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  relax.call impure @f(%x) : (tensor<4xf32>) -> ()
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax.func @f takes 1 arguments, 2 are given
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relax.call @f(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}

// -----

// CHECK: argument 0 of relax.func @f must be tensor<4xf32>, tensor<8xf32> is given
relax.func @f(%x: tensor<4xf32>, %z: tensor<8xf32>) -> tensor<4xf32> {
  %y = relax.call @f(%z, %z) : (tensor<8xf32>, tensor<8xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}

// -----

// CHECK: relax.call: @f returns tensor<4xf32>, but tensor<8xf32> is declared
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relax.call @f(%x) : (tensor<4xf32>) -> tensor<8xf32>
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax.call: @p is a tir.func, which writes its arguments; call it with relax.call_tir or mark the call impure
tir.func @p(%a: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<f32>
  %c = tir.const 1.0 : f32
  tir.store %c, %A[] : f32
}
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relax.call @p(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %x : tensor<4xf32>
}

// -----

// CHECK: relax.call_tir: @f is a relax.func, which relax.call calls
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relax.call_tir @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}

// -----

// CHECK: relax.call_tir: the result must be tensors of known shape and dtype, not tensor<?xf32>
func.func @f(%x: tensor<4xf32>) {
  %y = relax.call_tir @p(%x) : (tensor<4xf32>) -> tensor<?xf32>
  func.return
}

// -----

// CHECK: relax.call_tir: every tir_vars entry must be known
func.func @f(%x: tensor<4xf32>) {
  %y = relax.call_tir @p(%x) [4, ?] : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: relax.call_tir: @p has 2 parameters, the call gives 2 arguments, 1 results and 0 tir_vars
tir.func @p(%a: !tir.handle, %b: !tir.handle) {
}
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = relax.call_tir @p(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}

// -----

// CHECK: argument 0 of tir.func @p must be tensor<4xf32>, tensor<8xf32> is given
tir.func @p(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
}
relax.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = relax.call_tir @p(%x) : (tensor<8xf32>) -> tensor<8xf32>
  relax.return %y : tensor<8xf32>
}

// -----

// CHECK: relax.call_tir: @p writes !relax.tuple<tensor<8xf32>>, but !relax.tuple<tensor<4xf32>> is declared
tir.func @p(%a: !tir.handle, %b: !tir.handle) {
  %n = tir.shape_var "n" : i64
  %A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>
  %B = tir.match_buffer %b [%n] : !tir.buffer<?xf32>
}
relax.func @f(%x: tensor<8xf32>) -> tensor<4xf32> {
  %y = relax.call_tir @p(%x) : (tensor<8xf32>) -> tensor<4xf32>
  relax.return %y : tensor<4xf32>
}

// -----

// Leaves and tuples.

// CHECK: expected dense<…> or dense_resource<…>
%0 = relax.constant 4 : i32

// -----

// CHECK: relax.constant: a value of tensor<2xf32> cannot make a tensor<4xf32>
%0 = "relax.constant"() <{value = dense<0.0> : tensor<2xf32>}> : () -> tensor<4xf32>

// -----

// CHECK: relax.shape: every dimension must be known, not !relax.shape<[4, ?]>
%0 = relax.shape [4, ?]

// -----

// CHECK: relax.shape: result must be !relax.shape<[4]>, but !relax.shape<*> is declared
%0 = "relax.shape"() <{values = #relax.dims<[4]>}> : () -> !relax.shape<*>

// -----

// CHECK: relax.prim_value: result must be !relax.prim<i64, 4>, but !relax.prim<i64> is declared
%0 = "relax.prim_value"() <{value = #relax.dim<4>}> : () -> !relax.prim<i64>

// -----

// CHECK: a number with a point needs a float type
%0 = relax.prim_value 4.0 : i64

// -----

// CHECK: relax.tuple: result must be !relax.tuple<>, but !relax.tuple<tensor<4xf32>> is declared
%0 = "relax.tuple"() : () -> !relax.tuple<tensor<4xf32>>

// -----

// CHECK: relax.get_item: there is no field 2 in a tuple of 1
func.func @f(%t: !relax.tuple<tensor<4xf32>>) {
  %0 = relax.get_item %t[2] : !relax.tuple<tensor<4xf32>> -> tensor<4xf32>
  func.return
}

// -----

// CHECK: relax.get_item: result must be tensor<4xf32>, but tensor<?xf32> is declared
func.func @f(%t: !relax.tuple<tensor<4xf32>>) {
  %0 = relax.get_item %t[0] : !relax.tuple<tensor<4xf32>> -> tensor<?xf32>
  func.return
}

// -----

// CHECK: relax.alias: tensor<?xf32> is not always tensor<4xf32>; use relax.match_cast to check at run time
func.func @f(%x: tensor<?xf32>) {
  %0 = relax.alias %x : tensor<?xf32> -> tensor<4xf32>
  func.return
}

// -----

// CHECK: relax.builtin.alloc_tensor: the result must be a tensor of known shape and dtype, not tensor<?xf32>
%0 = relax.builtin.alloc_tensor on 0 scope "global" : tensor<?xf32>

// -----

// CHECK: relax.builtin.alloc_tensor: device -2 is neither the host, -1, nor a virtual device
%0 = relax.builtin.alloc_tensor on -2 scope "global" : tensor<4xf32>

// -----

// Operators: the errors of the rules have their own table in tests/unit.

// CHECK: relax.add: result must be tensor<4xf32>, but tensor<8xf32> is declared
func.func @f(%x: tensor<4xf32>) {
  %0 = relax.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  func.return
}

// -----

// CHECK: relax.add: dimension 1 of the result cannot be both 8 and 4
func.func @f(%x: tensor<4x8xf32>, %y: tensor<4xf32>) {
  %0 = relax.add %x, %y : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

// CHECK: tensor<4xf32, #relax.dims<[5]>>: dimension 0 is 5 in the encoding and 4 in the shape
func.func @f(%x: tensor<4xf32>) {
  %0 = relax.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32, #relax.dims<[5]>>
  func.return
}

// -----

// CHECK: relax.func @f: operand 0 of relax.exp, %y of relax.abs, is not defined where it is used; move the use after the definition
relax.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %z = relax.exp %y : (tensor<4xf32>) -> tensor<4xf32>
  %y = relax.abs %x : (tensor<4xf32>) -> tensor<4xf32>
  relax.return %z : tensor<4xf32>
}
