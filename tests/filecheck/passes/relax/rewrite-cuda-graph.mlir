// RUN: xdsl-opt %s -p 'relax-rewrite-cuda-graph{use_cuda_graph=true}' --split-input-file --allow-unregistered-dialect | filecheck %s

// A launch that reads a parameter is in no region, one that writes an output neither.
// All storages are made once.

!t = tensor<4xf32>
// CHECK-LABEL: relax.func impure @main
// CHECK-NEXT: [[F:%[0-9a-z_]+]] = relax.global_ref @cuda_graph_alloc : !relax.func<() -> !relax.tuple<!relax.object, !relax.object>>
// CHECK-NEXT: [[N:%[0-9a-z_]+]] = relax.prim_value 0 : i64
// CHECK-NEXT: [[GV:%[0-9a-z_]+]] = relax.call_builtin_with_ctx "vm.builtin.cuda_graph.get_cached_alloc"([[F]], [[N]])
// CHECK-NEXT: %s = relax.get_item [[GV]][0]
// CHECK-NEXT: %a = relax.memory.alloc_tensor %s at 0
// CHECK-NEXT: relax.call impure @twice(%x, %a)
// CHECK-NEXT: %t = relax.get_item [[GV]][1]
// CHECK-NEXT: %b = relax.memory.alloc_tensor %t at 0
// CHECK-NEXT: [[A:%[0-9a-z_]+]] = relax.tuple(%a, %b, %s)
// CHECK-NEXT: [[G:%[0-9a-z_]+]] = relax.global_ref @main_cuda_graph_capture
// CHECK-NEXT: [[M:%[0-9a-z_]+]] = relax.prim_value 0 : i64
// CHECK-NEXT: [[R:%[0-9a-z_]+]] = relax.call_builtin_with_ctx "vm.builtin.cuda_graph.run_or_capture"([[G]], [[A]], [[M]])
// CHECK-NEXT: %d = relax.builtin.alloc_tensor
// CHECK-NEXT: %c = relax.get_item [[R]][0]
// CHECK-NEXT: relax.call impure @twice(%c, %d)
// CHECK-NEXT: relax.return %d
relax.func impure @main(%x: !t) -> !t attributes {global_symbol = "main"} {
  %s = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 : !relax.object
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  relax.call impure @twice(%x, %a) : (!t, !t) -> ()
  %t = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 : !relax.object
  %b = relax.memory.alloc_tensor %t at 0 : !relax.object -> !t
  relax.call impure @twice(%a, %b) : (!t, !t) -> ()
  %c = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  relax.call impure @twice(%b, %c) : (!t, !t) -> ()
  %d = relax.builtin.alloc_tensor on 0 scope "global" : !t
  relax.call impure @twice(%c, %d) : (!t, !t) -> ()
  relax.return %d : !t
}
// CHECK-LABEL: relax.func @cuda_graph_alloc() -> !relax.tuple<!relax.object, !relax.object> attributes {relax.force_pure = true}
// CHECK-NEXT: %s = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32
// CHECK-NEXT: %t = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32
// CHECK-NEXT: [[T:%[0-9a-z_]+]] = relax.tuple(%s, %t)
// CHECK-NEXT: relax.return [[T]]
// CHECK-LABEL: relax.func @main_cuda_graph_capture
// CHECK-SAME: attributes {relax.force_pure = true}
// CHECK-NEXT: relax.call impure @twice(%a, %b)
// CHECK-NEXT: %c = relax.memory.alloc_tensor %s at 0
// CHECK-NEXT: relax.call impure @twice(%b, %c)
// CHECK-NEXT: [[T:%[0-9a-z_]+]] = relax.tuple(%c)
// CHECK-NEXT: relax.return [[T]]
tir.func @twice(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  %B = tir.match_buffer %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    %x = tir.load %A[%i] : f32
    %y = tir.add %x, %x : f32
    tir.store %y, %B[%i] : f32
  }
}

// -----

// Weights are static, and symbols that they define; a region of the weights alone begins
// before the first storage. An end of a life ends a region. What is used in the next
// region is a field of the first.

!v = tensor<?xf32, #relax.dims<[n]>>
!t = tensor<4xf32>
// CHECK-LABEL: relax.func impure @weights
// CHECK: relax.shape [n]
// CHECK: [[R:%[0-9a-z_]+]] = relax.call_builtin_with_ctx "vm.builtin.cuda_graph.run_or_capture"({{.*}}) : (!relax.func<{{.*}}>, !relax.tuple<tensor<?xf32, #relax.dims<[n]>>, !relax.object>, !relax.prim<i64, 0>, !relax.shape<[n]>) ->
// CHECK-NEXT: %b = relax.get_item [[R]][0]
// CHECK-NEXT: relax.memory.kill_tensor %b
// CHECK: relax.prim_value 1 : i64
// CHECK-NEXT: relax.call_builtin_with_ctx "vm.builtin.cuda_graph.run_or_capture"
// CHECK: relax.return
relax.func impure @weights<m, n>(%x: tensor<?xf32, #relax.dims<[m]>>, %w: !v) -> tensor<?xf32, #relax.dims<[m]>> attributes {num_input = 1, global_symbol = "weights"} {
  %a = relax.add %w, %w : (!v, !v) -> !v
  %s = relax.memory.alloc_storage 1024 on 0 scope "global" dtype f32 : !relax.object
  %b = relax.memory.alloc_tensor %s at 0 : !relax.object -> !v
  %h = relax.shape [n]
  relax.vm.call_tir_dyn @negate(%a, %b, %h) : !v, !v, !relax.shape<[n]>
  relax.memory.kill_tensor %b : !v
  %one = relax.constant dense<1.0> : !t
  %e = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  relax.call impure @negate(%one, %e) : (!t, !t) -> ()
  relax.return %x : tensor<?xf32, #relax.dims<[m]>>
}
// CHECK-LABEL: relax.func @cuda_graph_alloc
// CHECK-LABEL: relax.func @weights_cuda_graph_capture<n>
// CHECK-SAME: !relax.shape<[n]>
// CHECK-NEXT: %a = relax.add %w, %w
// CHECK-NEXT: %b = relax.memory.alloc_tensor %s at 0
// CHECK-NEXT: %h = relax.shape [n]
// CHECK-NEXT: relax.vm.call_tir_dyn @negate(%a, %b, %h)
// CHECK-LABEL: relax.func @weights_cuda_graph_capture1
// CHECK-NEXT: %one = relax.constant dense<1.000000e+00>
// CHECK-NEXT: relax.call impure @negate(%one, %e)
tir.func @negate(%a: !tir.handle, %b: !tir.handle, %n: i64) {
}

// -----

// Symbols of inputs are no symbols of regions, but for those that are named.

!v = tensor<?xf32, #relax.dims<[n]>>
// CHECK-LABEL: relax.func impure @symbols
// CHECK: relax.call impure @f(%a, %a)
// CHECK-NOT: run_or_capture
// CHECK-LABEL: relax.func impure @named
// CHECK: relax.call_builtin_with_ctx "vm.builtin.cuda_graph.run_or_capture"
// CHECK-LABEL: relax.func @cuda_graph_alloc()
// CHECK-LABEL: relax.func @cuda_graph_alloc1()
// CHECK-LABEL: relax.func @named_cuda_graph_capture<n>
relax.func impure @symbols<n>(%x: !v) -> !v {
  %s = relax.memory.alloc_storage 1024 on 0 scope "global" dtype f32 : !relax.object
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> !v
  relax.call impure @f(%a, %a) : (!v, !v) -> ()
  relax.return %x : !v
}
relax.func impure @named<n>(%x: !v) -> !v attributes {relax.rewrite_cuda_graph.capture_symbolic_vars = ["n"]} {
  %s = relax.memory.alloc_storage 1024 on 0 scope "global" dtype f32 : !relax.object
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> !v
  relax.call impure @f(%a, %a) : (!v, !v) -> ()
  relax.return %x : !v
}
tir.func @f(%a: !tir.handle, %b: !tir.handle) {
}

// -----

// Storages of results, of sizes that are not constant, and allocations of tensors stay;
// functions of the virtual machine, prints and Relax functions end regions.

!t = tensor<4xf32>
// CHECK-LABEL: relax.func impure @left
// CHECK-NEXT: relax.memory.alloc_storage n * 4
// CHECK: %out = relax.memory.alloc_storage 16
// CHECK: relax.call_builtin_with_ctx "vm.builtin.cuda_graph.run_or_capture"
// CHECK: relax.print
// CHECK: relax.call impure @g
// CHECK: relax.call_builtin_with_ctx "vm.builtin.cuda_graph.run_or_capture"
// CHECK: relax.call_packed "vm.builtin.copy"
// CHECK: relax.call_builtin_with_ctx "vm.builtin.cuda_graph.run_or_capture"
// CHECK: relax.call impure @f(%b, %r)
// CHECK: relax.return
relax.func impure @left<n>(%x: tensor<?xf32, #relax.dims<[n]>>) -> !relax.tuple<tensor<4xf32>> {
  %0 = relax.memory.alloc_storage n * 4 on 0 scope "global" dtype f32 : !relax.object
  %s = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 : !relax.object
  %b = relax.memory.alloc_tensor %s at 0 : !relax.object -> !t
  %out = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 : !relax.object
  %r = relax.memory.alloc_tensor %out at 0 : !relax.object -> !t
  relax.call impure @f(%b, %b) : (!t, !t) -> ()
  relax.print "{}"(%b) : (!t) -> ()
  %g = relax.call impure @g(%b) : (!t) -> !t
  relax.call impure @f(%b, %b) : (!t, !t) -> ()
  %y = relax.call_packed "vm.builtin.copy"(%b) : (!t) -> !t
  %z = relax.call_packed "mine"(%b) : (!t) -> !t
  relax.call impure @f(%b, %r) : (!t, !t) -> ()
  %h = relax.shape [4]
  %same = relax.reshape %r, %h : (!t, !relax.shape<[4]>) -> !t
  %v = relax.tuple(%same) : !t
  relax.return %v : !relax.tuple<!t>
}
relax.func impure @g(%x: !t) -> !t {
  relax.return %x : !t
}
tir.func @f(%a: !tir.handle, %b: !tir.handle) {
}
