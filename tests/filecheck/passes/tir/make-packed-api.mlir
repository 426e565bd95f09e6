// RUN: xdsl-opt %s -p tir-make-packed-api --split-input-file | filecheck %s

// CASE: MakePackedAPI.1 CASE: MakePackedAPI.14
// Arguments are checked, defined and declared, in this order.

tir.func @set(%a: !tir.handle, %n: i32) attributes {
    global_symbol = "set", target = #tir.target<"llvm", host = #tir.target<"llvm">>,
    param_names = ["a", "n"]} {
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i32
  %x = tir.const 1.0 : f32
  tir.store %x, %A[%c0] : f32
}

// CHECK:      tir.func @set(%args: !tir.handle, %arg_type_ids: !tir.ptr<i32>, %num_args: i32, %out_ret_value: !tir.ptr<none>, %out_ret_tcode: !tir.ptr<i32>, %resource_handle: !tir.handle) -> i32 attributes {
// CHECK-SAME:   target = #tir.target<"llvm">
// CHECK-SAME:   calling_conv = 1 : i32
// CHECK:        tir.assert %{{.*}}, "set: num_args should be 2"
// CHECK:        tir.assert %{{.*}}, "set: TVMValue* arg pointer was NULL"
// CHECK:        tir.assert %{{.*}}, "set: int* type_codes was NULL"
// CHECK:        tir.decl_buffer "arg_type_ids" %arg_type_ids : !tir.buffer<2xi32>
// CHECK:        tir.let "a.code"
// CHECK:        tir.assert %{{.*}}, "set: Expect arg[0] to be pointer"
// CHECK:        tir.let "n.code"
// CHECK:        tir.assert %{{.*}}, "set: Expect arg[1] to be int"
// CHECK:        %a = tir.let "a"
// CHECK:        %n = tir.let "n"
// CHECK:        tir.assert %{{.*}}, "set.a is expected to have non-NULL DLTensor* pointer"
// CHECK:        tir.assert %{{.*}}, "set.a.ndim is expected to equal 1"
// CHECK:        tir.let "set.a.shape"
// CHECK:        tir.let "set.a.strides"
// CHECK:        tir.let "dev_id"
// CHECK:        %A = tir.let "A" %{{.*}} : !tir.handle -> !tir.ptr<f32>
// CHECK:        tir.attr "storage_alignment" (%A) = 64 : i32 {
// CHECK-NEXT:     tir.attr "device_id" ("default") = %dev_id {
// CHECK-NEXT:       tir.attr "device_type" ("default") = 1 : i32 {
// CHECK:              "set.a.dtype is expected to be float32"
// CHECK:              "Argument set.a.shape[0] has an unsatisfied constraint: n == T.Cast(\22int32\22, set_a_shape[0])"
// CHECK:              tir.if
// CHECK:                "set.a.strides: expected to be compact array"
// CHECK:              "Argument set.a.byte_offset has an unsatisfied constraint
// CHECK:              "Argument set.a.device_type has an unsatisfied constraint
// CHECK:              "set.a is expected to have non-NULL data pointer"
// CHECK:              %[[A:.*]] = tir.decl_buffer "A" %A [%n] : !tir.buffer<?xf32>
// CHECK-NEXT:         tir.attr "compute_scope" (0 : i32) = "set_compute_" {
// CHECK:                tir.store %x, %[[A]][%c0] : f32
// CHECK-NEXT:         }
// CHECK-NEXT:         tir.ret

// -----

// CASE: MakePackedAPI.9 CASE: MakePackedAPI.17
// A result and its type code are stored; the function returns the status 0.

tir.func @next(%x: i32) -> i32 attributes {
    global_symbol = "next", target = #tir.target<"llvm", host = #tir.target<"llvm">>} {
  %c1 = tir.const 1 : i32
  %y = tir.add %x, %c1 : i32
  tir.ret %y : i32
}

// CHECK-LABEL: tir.func @next
// CHECK:         %[[V:.*]] = tir.decl_buffer "out_ret_value" %out_ret_value strides [1] {implicit} : !tir.buffer<1xi64>
// CHECK:         %[[C:.*]] = tir.decl_buffer "out_ret_tcode" %out_ret_tcode strides [1] {implicit} : !tir.buffer<1xi32>
// CHECK:         tir.attr "compute_scope"
// CHECK:           %[[Y:.*]] = tir.add
// CHECK:           %[[R:.*]] = tir.cast %[[Y]] : i32 to i64
// CHECK:           tir.store %[[R]], %[[V]][%{{.*}}] : i64
// CHECK:           tir.store %{{.*}}, %[[C]][%{{.*}}] : i32
// CHECK:           tir.ret
// CHECK:         tir.ret

// -----

// CASE: MakePackedAPI.6 CASE: MakePackedAPI.5
// Calls of public functions pass packed arguments, those of private ones stay.

tir.func @main(%x: i32) attributes {
    global_symbol = "main", target = #tir.target<"llvm", host = #tir.target<"llvm">>} {
  tir.call_func @public(%x) : (i32) -> ()
  tir.call_func @private(%x) : (i32) -> ()
}
tir.func @public(%x: i32) attributes {
    global_symbol = "symbol", target = #tir.target<"llvm", host = #tir.target<"llvm">>} {
  tir.evaluate %x : i32
}
tir.func @private(%x: i32) attributes {target = #tir.target<"llvm">} {
  tir.evaluate %x : i32
}

// CHECK-LABEL: tir.func @main
// CHECK:         %[[S:.*]] = tir.string "symbol"
// CHECK:         %[[N:.*]] = tir.call "reinterpret"(%{{.*}}) : (ui64) -> !tir.handle
// CHECK-NEXT:    tir.call "tvm_call_cpacked"(%[[S]], %{{.*}}, %[[N]]) : (!tir.handle, i32, !tir.handle) -> ()
// CHECK:         tir.call_func @private
// CHECK:       tir.func @private(%x: i32) attributes
// CHECK-NEXT:    tir.evaluate %x : i32
