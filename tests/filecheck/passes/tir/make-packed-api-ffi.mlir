// RUN: xdsl-opt %s -p 'tir-make-packed-api{abi=ffi}' --split-input-file | filecheck %s

// The convention of tvm-ffi: arguments say what they are, and arrays are DLTensors or
// Tensors. Booleans have DLPack's type of 8 bits.

tir.func @set(%a: !tir.handle, %n: i32, %x: f32) attributes {
    global_symbol = "set", target = #tir.target<"llvm", host = #tir.target<"llvm">>,
    param_names = ["a", "n", "x"]} {
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?xi1>
  %c0 = tir.const 0 : i32
  %y = tir.cast %x : f32 to i1
  tir.store %y, %A[%c0] : i1
}

// CHECK:      tir.func @set(%self_handle: !tir.handle, %args: !tir.handle, %num_args: i32, %result: !tir.handle) -> i32 attributes {
// CHECK-SAME:   calling_conv = 1 : i32
// CHECK-SAME:   tir.abi = "ffi"
// CHECK:        tir.assert %{{.*}}, "set: num_args should be 3"
// CHECK:        tir.assert %{{.*}}, "set: args pointer was NULL"
// CHECK:        tir.let "a.type_index"
// CHECK:        tir.assert %{{.*}}, "set: Expect arg[0] to be pointer"
// CHECK:        tir.let "n.type_index"
// CHECK:        tir.assert %{{.*}}, "set: Expect arg[1] to be int"
// CHECK:        %[[X:.*]] = tir.let "x.type_index"
// CHECK:        tir.assert %{{.*}}, "set: Expect arg[2] to be float"
// CHECK:        %[[POINTER:.*]] = tir.const 16 : i32
// CHECK-NEXT:   tir.call "tvm_struct_get"(%args, %{{.*}}, %[[POINTER]]) : (!tir.handle, i32, i32) -> !tir.handle
// CHECK:        %a = tir.let "a"
// CHECK:        %n = tir.let "n"
// CHECK:        tir.select
// CHECK:        %x = tir.let "x"
// CHECK:        "set.a is expected to have non-NULL DLTensor* pointer"
// CHECK:        %[[CODE:.*]] = tir.const 6 : ui8
// CHECK:        tir.cmp eq %{{.*}}, %[[CODE]] : ui8
// CHECK:        %[[BITS:.*]] = tir.const 8 : ui8
// CHECK:        tir.cmp eq %{{.*}}, %[[BITS]] : ui8
// CHECK:        "set.a.dtype is expected to be bool"
// CHECK:        tir.attr "compute_scope" (0 : i32) = "set_compute_" {

// -----

// A result is a number; the function returns the status 0.

tir.func @next(%x: i32) -> i32 attributes {
    global_symbol = "next", target = #tir.target<"llvm", host = #tir.target<"llvm">>} {
  %c1 = tir.const 1 : i32
  %y = tir.add %x, %c1 : i32
  tir.ret %y : i32
}

// CHECK:      tir.func @next
// CHECK:        %[[Y:.*]] = tir.add
// CHECK-NEXT:   %[[WIDE:.*]] = tir.cast %[[Y]] : i32 to i64
// CHECK-NEXT:   %[[ZERO:.*]] = tir.const 0 : i32
// CHECK-NEXT:   %[[INT:.*]] = tir.const 1 : i32
// CHECK-NEXT:   %[[TYPE:.*]] = tir.const 13 : i32
// CHECK-NEXT:   tir.call "tvm_struct_set"(%result, %[[ZERO]], %[[TYPE]], %[[INT]])
// CHECK-NEXT:   %[[PADDING:.*]] = tir.const 14 : i32
// CHECK-NEXT:   tir.call "tvm_struct_set"(%result, %[[ZERO]], %[[PADDING]], %[[ZERO]])
// CHECK-NEXT:   %[[VALUE:.*]] = tir.const 15 : i32
// CHECK-NEXT:   tir.call "tvm_struct_set"(%result, %[[ZERO]], %[[VALUE]], %[[WIDE]])
// CHECK:        tir.ret

// -----

// Private functions keep their signature.

tir.func private @inner(%x: i32) -> i32 attributes {
    target = #tir.target<"llvm", host = #tir.target<"llvm">>} {
  tir.ret %x : i32
}

// CHECK: tir.func private @inner(%x: i32) -> i32
