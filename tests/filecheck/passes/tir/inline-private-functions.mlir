// RUN: xdsl-opt %s -p tir-inline-private-functions --split-input-file | filecheck %s

// CASE: InlinePrivateFunctions.1
tir.func @main(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "main"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8x4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<8x4xf32>
  %c0 = tir.const 0 : i32
  %c8 = tir.const 8 : i32
  tir.for %i = %c0 to %c8 {
    %p = tir.address_of %A[%i, %c0] : !tir.ptr<f32>
    %q = tir.address_of %B[%i, %c0] : !tir.ptr<f32>
    tir.call_func @sub(%p, %q) : (!tir.ptr<f32>, !tir.ptr<f32>) -> ()
  }
}
tir.func @sub(%p: !tir.ptr<f32>, %q: !tir.ptr<f32>) attributes {param_names = ["A_data", "B_data"]} {
  %A = tir.decl_buffer "A" %p : !tir.buffer<4xf32>
  %B = tir.decl_buffer "B" %q : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {
    %x = tir.load %A[%i] : f32
    tir.store %x, %B[%i] : f32
  }
}
// CHECK-LABEL: tir.func @main(
// CHECK:         tir.for
// CHECK-NEXT:      %[[P:.*]] = tir.address_of
// CHECK-NEXT:      %[[Q:.*]] = tir.address_of
// CHECK-NEXT:      %[[LP:.*]] = tir.let "A_data" %[[P]] : !tir.ptr<f32>
// CHECK-NEXT:      tir.decl_buffer "A" %[[LP]] : !tir.buffer<4xf32>
// CHECK-NEXT:      %[[LQ:.*]] = tir.let "B_data" %[[Q]] : !tir.ptr<f32>
// CHECK-NEXT:      tir.decl_buffer "B" %[[LQ]] : !tir.buffer<4xf32>
// CHECK:           tir.for
// CHECK-NOT:   @sub

// -----

// CASE: InlinePrivateFunctions.2
tir.func @main(%n: i32) attributes {target = #tir.target<"llvm">, global_symbol = "main"} {
  tir.call_func @sub(%n) : (i32) -> ()
  tir.call_func @any(%n) : (i32) -> ()
}
tir.func @sub(%n: i32) attributes {target = #tir.target<"cuda">} {
  tir.evaluate %n : i32
}
tir.func @any(%n: i32) attributes {target = #tir.target<"llvm", host = #tir.target<"c">>} {
  tir.evaluate %n : i32
}
// CHECK-LABEL: tir.func @main(
// CHECK-NEXT:    tir.call_func @sub
// CHECK-NEXT:    tir.evaluate
// CHECK-NEXT:  }
// CHECK-NEXT:  tir.func @sub(
// CHECK-NOT:   @any

// -----

// CASE: InlinePrivateFunctions.3
// CASE: InlinePrivateFunctions.10
// Functions that call each other in a circle are recursive, too.
tir.func @main(%n: i32) attributes {global_symbol = "main"} {
  tir.call_func @self(%n) : (i32) -> ()
  tir.call_func @one(%n) : (i32) -> ()
}
tir.func @self(%n: i32) {
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %p = tir.cmp gt %n, %c0 : i32
  tir.if %p {
    %m = tir.floordiv %n, %c2 : i32
    tir.call_func @self(%m) : (i32) -> ()
  }
}
tir.func @one(%n: i32) {
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %p = tir.cmp gt %n, %c0 : i32
  tir.if %p {
    %m = tir.floordiv %n, %c2 : i32
    tir.call_func @two(%m) : (i32) -> ()
  }
}
tir.func @two(%n: i32) {
  %c0 = tir.const 0 : i32
  %c2 = tir.const 2 : i32
  %p = tir.cmp gt %n, %c0 : i32
  tir.if %p {
    %m = tir.floordiv %n, %c2 : i32
    tir.call_func @one(%m) : (i32) -> ()
  }
}
tir.func @unused(%n: i32) {
}
// CHECK-LABEL: tir.func @main(
// CHECK-NEXT:    tir.call_func @self
// CHECK-NEXT:    tir.call_func @one
// CHECK:       tir.func @self
// CHECK:       tir.func @one
// CHECK:       tir.func @two
// CHECK:       tir.func @unused

// -----

// CASE: InlinePrivateFunctions.4
// CASE: InlinePrivateFunctions.5
// CASE: InlinePrivateFunctions.6
tir.func @main(%a: !tir.handle) attributes {global_symbol = "main"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
  %p = tir.data %A : !tir.ptr<i32>
  %c0 = tir.const 0 : i32
  tir.call_func @blocks(%p) : (!tir.ptr<i32>) -> ()
  %x = tir.call_func @value(%c0) : (i32) -> i32
  tir.store %x, %A[%c0] : i32
  tir.call_func @buffers(%a) : (!tir.handle) -> ()
}
tir.func @blocks(%p: !tir.ptr<i32>) {
  %A = tir.decl_buffer "A" %p : !tir.buffer<4xi32>
  %c1 = tir.const 1 : i32
  tir.block "B" {
    tir.reads
    tir.writes %A[%c1]
    tir.store %c1, %A[%c1] : i32
  }
}
tir.func @value(%i: i32) -> i32 {
  %y = tir.add %i, %i : i32
  tir.ret %y : i32
}
tir.func @buffers(%a: !tir.handle) {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
}
// CHECK-LABEL: tir.func @main(
// CHECK:         tir.call_func @blocks
// CHECK:         tir.call_func @value
// CHECK:         tir.call_func @buffers
// CHECK:       tir.func @blocks
// CHECK:       tir.func @value
// CHECK:       tir.func @buffers

// -----

// CASE: InlinePrivateFunctions.7
// CASE: InlinePrivateFunctions.8
// CASE: InlinePrivateFunctions.9
// CASE: InlinePrivateFunctions.10
tir.func @main(%p: !tir.ptr<i32>) attributes {global_symbol = "main"} {
  %c1 = tir.const 1 : i32
  tir.call_func @f(%p, %c1) : (!tir.ptr<i32>, i32) -> ()
  %r = tir.call_func @g(%p, %c1) : (!tir.ptr<i32>, i32) -> i32
  tir.evaluate %r : i32
  tir.call_func @public(%p) : (!tir.ptr<i32>) -> ()
}
tir.func @f(%p: !tir.ptr<i32>, %x: i32) {
  %y = tir.add %x, %x : i32
  %r = tir.call_func @g(%p, %y) : (!tir.ptr<i32>, i32) -> i32
}
tir.func @g(%p: !tir.ptr<i32>, %x: i32) -> i32 {
  %A = tir.decl_buffer "A" %p : !tir.buffer<4xi32>
  tir.store %x, %A[%x] : i32
  %z = tir.add %x, %x : i32
  tir.ret %z : i32
}
tir.func @public(%p: !tir.ptr<i32>) attributes {global_symbol = "public"} {
}
tir.func @unused() {
}
// CHECK-LABEL: tir.func @main(
// CHECK:         tir.add
// CHECK-NEXT:    tir.scope {
// CHECK-NEXT:      tir.decl_buffer
// CHECK-NEXT:      tir.store
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.scope {
// CHECK-NEXT:      tir.decl_buffer
// CHECK-NEXT:      tir.store
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.call_func @public
// CHECK-NOT:   tir.func @f
// CHECK-NOT:   tir.func @g
// CHECK:       tir.func @public
// CHECK-NOT:   tir.func @unused

// -----

// CASE: InlinePrivateFunctions.12
// CASE: InlinePrivateFunctions.13
tir.func @main(%n: i32) attributes {global_symbol = "main"} {
  %c0 = tir.const 0 : i32
  %c1 = tir.const 1 : i32
  tir.for %i = %c0 to %n {
    %x = tir.add %i, %c1 : i32
    tir.call_func @helper(%x) : (i32) -> ()
  }
  tir.for %i = %c0 to %n {
    tir.call_func @nothing() : () -> ()
  }
}
tir.func @helper(%x: i32) {
  %c2 = tir.const 2 : i32
  %y = tir.mul %x, %c2 : i32
  %s = tir.string "sink"
  tir.call "call_extern"(%s, %y) : (!tir.handle, i32) -> ()
}
tir.func @nothing() {
}
// CHECK-LABEL: tir.func @main(
// CHECK:         tir.for %[[I:.*]] =
// CHECK-NEXT:      %[[X:.*]] = tir.add %[[I]], %{{.*}} : i32
// CHECK-NEXT:      %[[C2:.*]] = tir.const 2 : i32
// CHECK-NEXT:      %[[Y:.*]] = tir.mul %[[X]], %[[C2]] : i32
// CHECK-NEXT:      %[[S:.*]] = tir.string "sink"
// CHECK-NEXT:      tir.call "call_extern"(%[[S]], %[[Y]])
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.for
// CHECK-NEXT:    }

// -----

// CASE: InlinePrivateFunctions.14
// The argument is read before the body writes.
tir.func @main(%a: !tir.handle) attributes {global_symbol = "main"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<64xi32>
  %p = tir.data %A : !tir.ptr<i32>
  %c0 = tir.const 0 : i32
  %x = tir.load %A[%c0] : i32
  tir.call_func @set(%p, %c0, %x) : (!tir.ptr<i32>, i32, i32) -> ()
}
tir.func @set(%p: !tir.ptr<i32>, %i: i32, %x: i32) {
  %B = tir.decl_buffer "B" %p : !tir.buffer<64xi32>
  %c1 = tir.const 1 : i32
  tir.store %c1, %B[%i] : i32
  %j = tir.add %i, %c1 : i32
  tir.store %x, %B[%j] : i32
}
// CHECK-LABEL: tir.func @main(
// CHECK:         %[[P:.*]] = tir.data
// CHECK:         %[[X:.*]] = tir.load
// CHECK-NEXT:    tir.decl_buffer "B" %[[P]] : !tir.buffer<64xi32>
// CHECK:         tir.store %[[X]]

// -----

// What returns early stays, and what other dialects or expressions call.
tir.func @main(%n: i32) attributes {global_symbol = "main"} {
  %c0 = tir.const 0 : i32
  tir.call_func @early(%n) : (i32) -> ()
  tir.call_func @both(%n) : (i32) -> ()
  %p = tir.cmp lt %n, %c0 : i32
  %y = tir.if_then_else %p -> i32 {
    tir.call_func @both(%n) : (i32) -> ()
    tir.yield %n : i32
  } else {
    tir.yield %c0 : i32
  }
  tir.evaluate %y : i32
}
"test.op"() {callee = @foreign} : () -> ()
tir.func @early(%n: i32) {
  %c0 = tir.const 0 : i32
  %p = tir.cmp lt %n, %c0 : i32
  tir.if %p {
    tir.ret
  }
}
tir.func @both(%n: i32) {
}
tir.func @foreign(%n: i32) {
}
// CHECK-LABEL: tir.func @main(
// CHECK:         tir.call_func @early
// CHECK-NEXT:    tir.cmp
// CHECK-NEXT:    tir.if_then_else
// CHECK-NEXT:      tir.call_func @both
// CHECK:       tir.func @early
// CHECK:       tir.func @both
// CHECK:       tir.func @foreign
