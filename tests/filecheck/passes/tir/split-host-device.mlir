// RUN: xdsl-opt %s -p tir-split-host-device --split-input-file | filecheck %s

// CASE: SplitHostDevice.1
tir.func @main(%n: i32) attributes {global_symbol = "main", tir.min_blocks = 2 : i32, target = #tir.target<"cuda", host = #tir.target<"llvm">>} {
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    tir.evaluate %n : i32
  }
}
// CHECK:       tir.func @main(%[[N:.*]]: i32) attributes {global_symbol = "main", tir.min_blocks = 2 : i32, target = #tir.target<"cuda", host = #tir.target<"llvm">>} {
// CHECK-NEXT:    tir.call_func @main_kernel(%[[N]]) : (i32) -> ()
// CHECK-NEXT:  }
// CHECK-NEXT:  tir.func @main_kernel(%[[K:.*]]: i32) attributes {target = #tir.target<"cuda">, tir.is_global_func = true, tir.noalias = true, tir.min_blocks = 2 : i32, param_names = ["n"]} {
// CHECK-NEXT:    tir.evaluate %[[K]] : i32
// CHECK-NEXT:  }

// -----

// CASE: SplitHostDevice.2
// CASE: SplitHostDevice.10
// CASE: SplitHostDevice.9
tir.func @main(%n: i32) attributes {global_symbol = "f.g", target = #tir.target<"llvm", host = #tir.target<"llvm">>} {
  tir.attr "target" (#tir.target<"llvm">) = 0 : i32 {
    tir.evaluate %n : i32
  }
  tir.attr "target" (#tir.target<"ext_dev">) = 0 : i32 {
  }
  tir.attr "target" (#tir.target<"hexagon">) = 0 : i32 {
    tir.evaluate %n : i32
  }
}
// CHECK:       tir.func @main(%[[N:.*]]: i32)
// CHECK-NEXT:    tir.scope {
// CHECK-NEXT:      %[[E:.*]] = tir.call_func @f_g_kernel(%[[N]]) : (i32) -> i32
// CHECK-NEXT:      %[[L:.*]] = tir.let "kernel_error_code" %[[E]] : i32
// CHECK-NEXT:      %[[Z:.*]] = tir.const 0 : i32
// CHECK-NEXT:      %[[P:.*]] = tir.cmp eq %[[L]], %[[Z]] : i32
// CHECK-NEXT:      tir.assert %[[P]], "Error executing compute kernel"
// CHECK-NEXT:    }
// CHECK-NEXT:    tir.scope {
// CHECK-NEXT:      tir.call_func @f_g_kernel_1() : () -> i32
// CHECK:         }
// CHECK-NEXT:    %{{.*}} = tir.call_func @f_g_kernel_2(%[[N]]) : (i32) -> i32
// CHECK:       tir.func @f_g_kernel(%[[K:.*]]: i32) -> i32 attributes {target = #tir.target<"llvm">, tir.is_global_func = true, tir.noalias = true, param_names = ["n"]} {
// CHECK-NEXT:    tir.evaluate %[[K]] : i32
// CHECK-NEXT:    %[[R:.*]] = tir.const 0 : i32
// CHECK-NEXT:    tir.ret %[[R]] : i32
// CHECK-NEXT:  }
// CHECK-NEXT:  tir.func @f_g_kernel_1() -> i32 attributes {target = #tir.target<"ext_dev">
// CHECK:       tir.func @f_g_kernel_2(%{{.*}}: i32) -> i32 attributes {target = #tir.target<"hexagon">

// -----

// CASE: SplitHostDevice.3
// CASE: SplitHostDevice.4
tir.func @no_host(%n: i32) attributes {target = #tir.target<"cuda">} {
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    tir.evaluate %n : i32
  }
}
tir.func @none(%n: i32) attributes {target = #tir.target<"cuda", host = #tir.target<"llvm">>} {
  tir.evaluate %n : i32
}
// CHECK-LABEL: tir.func @no_host
// CHECK-SAME:    {target = #tir.target<"cuda">} {
// CHECK-NEXT:    tir.call_func @no_host_kernel(
// CHECK:       tir.func @none(%{{.*}}: i32) attributes {target = #tir.target<"cuda", host = #tir.target<"llvm">>} {
// CHECK-NEXT:    tir.evaluate

// -----

// CASE: SplitHostDevice.5
tir.func @main(%n: i32) attributes {global_symbol = "main"} {
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    tir.evaluate %n : i32
  }
}
tir.func @main_kernel() {
}
// CHECK-LABEL: tir.func @main(
// CHECK:       tir.call_func @main_kernel_1(
// CHECK:       tir.func @main_kernel_1(
// CHECK:       tir.func @main_kernel()

// -----

// CASE: SplitHostDevice.6
// CASE: SplitHostDevice.14
// Two arrays of @main may overlap, so the kernel does not promise that they do not.
tir.func @main(%var_A: !tir.handle, %var_B: !tir.handle, %seq_len: i32) attributes {target = #tir.target<"cuda">, param_names = ["var_A", "var_B", "seq_len"]} {
  %c127 = tir.const 127 : i32
  %c128 = tir.const 128 : i32
  %A = tir.match_buffer "A" %var_A [%seq_len] : !tir.buffer<?xi32>
  %B = tir.match_buffer "B" %var_B [%seq_len] : !tir.buffer<?xi32>
  %0 = tir.add %seq_len, %c127 : i32
  %1 = tir.floordiv %0, %c128 : i32
  %num_blocks = tir.let "num_blocks" %1 : i32
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    tir.launch_thread %b = "blockIdx.x" to %num_blocks {
      tir.launch_thread %t = "threadIdx.x" to %c128 {
        %2 = tir.mul %b, %c128 : i32
        %3 = tir.add %2, %t : i32
        %4 = tir.cmp lt %3, %seq_len : i32
        tir.if %4 {
          %7 = tir.load %A[%3] : i32
          tir.store %7, %B[%3] : i32
        }
      }
    }
  }
}
// CHECK-LABEL: tir.func @main(
// CHECK-SAME:    %{{[^:]*}}: !tir.handle, %{{[^:]*}}: !tir.handle, %[[LEN:[^:]*]]: i32)
// CHECK:         %[[BLOCKS:.*]] = tir.let "num_blocks"
// CHECK-NEXT:    %[[PA:.*]] = tir.data %{{.*}} : !tir.ptr<i32>
// CHECK-NEXT:    %[[PB:.*]] = tir.data %{{.*}} : !tir.ptr<i32>
// CHECK-NEXT:    tir.call_func @main_kernel(%[[PA]], %[[PB]], %[[BLOCKS]], %[[LEN]]) : (!tir.ptr<i32>, !tir.ptr<i32>, i32, i32) -> ()
// CHECK-NEXT:  }
// CHECK-NEXT:  tir.func @main_kernel(%[[KA:.*]]: !tir.ptr<i32>, %[[KB:.*]]: !tir.ptr<i32>, %[[KBLOCKS:.*]]: i32, %[[KLEN:.*]]: i32) attributes {target = #tir.target<"cuda">, tir.is_global_func = true, param_names = ["A_data", "B_data", "num_blocks", "seq_len"]} {
// CHECK-NEXT:    %[[C128:.*]] = tir.const 128 : i32
// CHECK-NEXT:    %[[DA:.*]] = tir.decl_buffer "A" %[[KA]] [%[[KLEN]]] : !tir.buffer<?xi32>
// CHECK-NEXT:    %[[DB:.*]] = tir.decl_buffer "B" %[[KB]] [%[[KLEN]]] : !tir.buffer<?xi32>
// CHECK-NEXT:    tir.launch_thread %{{.*}} = "blockIdx.x" to %[[KBLOCKS]] {
// CHECK-NEXT:      tir.launch_thread %{{.*}} = "threadIdx.x" to %[[C128]] {

// -----

// CASE: SplitHostDevice.14
tir.func @main(%a: !tir.handle, %b: !tir.handle) attributes {tir.noalias, target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xi32>
  %c4 = tir.const 4 : i32
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    tir.launch_thread %t = "threadIdx.x" to %c4 {
      %x = tir.load %B[%t] : i32
      tir.store %x, %A[%t] : i32
    }
  }
}
// CHECK-LABEL: tir.func @main(
// CHECK:       tir.func @main_kernel(%[[KA:.*]]: !tir.ptr<i32>, %[[KB:.*]]: !tir.ptr<i32>) attributes {target = #tir.target<"cuda">, tir.is_global_func = true, tir.noalias = true, param_names = ["A_data", "B_data"]} {
// CHECK-NEXT:    tir.const 4 : i32
// CHECK-NEXT:    tir.decl_buffer "B" %[[KB]] : !tir.buffer<4xi32>
// CHECK-NEXT:    tir.decl_buffer "A" %[[KA]] : !tir.buffer<4xi32>
// CHECK-NEXT:    tir.launch_thread

// -----

// CASE: SplitHostDevice.7
// Parameters have no kind; an attribute says that the size is not negative.
tir.func @main(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "main", target = #tir.target<"cuda">} {
  %m = tir.shape_var "m" size_var : i64
  %A = tir.match_buffer "A" %a [%m] : !tir.buffer<?xf32>
  %B = tir.match_buffer "B" %b [%m] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i64
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    tir.launch_thread %t = "blockIdx.x" to %m {
      %x = tir.load %A[%t] : f32
      tir.store %x, %B[%c0] : f32
      %p = tir.cmp ge %m, %c0 : i64
      tir.evaluate %p : i1
    }
  }
}
// CHECK-LABEL: tir.func @main(
// CHECK:       tir.func @main_kernel(%{{.*}}: !tir.ptr<f32>, %{{.*}}: !tir.ptr<f32>, %{{.*}}: i64) attributes {
// CHECK-SAME:    tir_non_negative_var = ["m"], param_names = ["A_data", "B_data", "m"]}

// -----

// CASE: SplitHostDevice.8
// CASE: SplitHostDevice.11
tir.func @main(%n: i32) attributes {global_symbol = "main", target = #tir.target<"cuda", host = #tir.target<"llvm">>} {
  %c0 = tir.const 0 : i32
  %c16 = tir.const 16 : i32
  tir.evaluate %n : i32
  tir.for %i = %c0 to %c16 {
    tir.evaluate %c16 : i32
    tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
      tir.attr "device_scope" (0 : i32) = 0 : i32 {
        tir.for %j = %c0 to %c16 {
          tir.evaluate %i : i32
        }
      }
    }
    tir.evaluate %c0 : i32
  }
}
// CHECK-LABEL: tir.func @main(
// CHECK:         tir.for %[[I:.*]] = %{{.*}} to %{{.*}} {
// CHECK-NEXT:      tir.evaluate
// CHECK-NEXT:      tir.call_func @main_kernel(%[[I]]) : (i32) -> ()
// CHECK-NEXT:      tir.evaluate
// CHECK:       tir.func @main_kernel(%[[K:.*]]: i32) attributes
// CHECK-NEXT:    %[[C0:.*]] = tir.const 0 : i32
// CHECK-NEXT:    %[[C16:.*]] = tir.const 16 : i32
// CHECK-NEXT:    tir.attr "device_scope"
// CHECK-NEXT:      tir.for %{{.*}} = %[[C0]] to %[[C16]] {
// CHECK-NEXT:        tir.evaluate %[[K]] : i32

// -----

// CASE: SplitHostDevice.12
// Memory that only the kernel uses is its own, also where it was allocated before.
tir.func @main(%a: !tir.handle, %n: i32) attributes {target = #tir.target<"cuda">} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xi32>
  %c4 = tir.const 4 : i32
  %q = tir.allocate [4] : !tir.ptr<i32, "local">
  %Q = tir.decl_buffer "Q" %q : !tir.buffer<4xi32, "local">
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    tir.launch_thread %t = "threadIdx.x" to %c4 {
      %s = tir.allocate [4] : !tir.ptr<i32, "shared">
      %S = tir.decl_buffer "S" %s : !tir.buffer<4xi32, "shared">
      tir.store %n, %S[%t] : i32
      tir.store %n, %Q[%t] : i32
      %x = tir.load %S[%t] : i32
      %y = tir.load %Q[%t] : i32
      %z = tir.add %x, %y : i32
      tir.store %z, %A[%t] : i32
    }
  }
}
// CHECK-LABEL: tir.func @main(
// CHECK-NOT:     tir.allocate
// CHECK:         tir.call_func @main_kernel(%{{.*}}, %{{.*}}) : (!tir.ptr<i32>, i32) -> ()
// CHECK:       tir.func @main_kernel(%{{.*}}: !tir.ptr<i32>, %{{.*}}: i32)
// CHECK-SAME:    tir.noalias = true, param_names = ["A_data", "n"]}
// CHECK:         tir.decl_buffer "A"
// CHECK-NEXT:    %[[Q:.*]] = tir.allocate [4] : !tir.ptr<i32, "local">
// CHECK-NEXT:    tir.decl_buffer "Q" %[[Q]] : !tir.buffer<4xi32, "local">
// CHECK-NEXT:    tir.launch_thread
// CHECK-NEXT:      %[[S:.*]] = tir.allocate [4] : !tir.ptr<i32, "shared">
// CHECK-NEXT:      tir.decl_buffer "S" %[[S]]

// -----

// CASE: SplitHostDevice.13
tir.func @main(%a: !tir.handle, %b: !tir.handle, %unused: !tir.handle, %n: i32, %f: f32, %p: i1, %i: i8) attributes {tir.noalias, target = #tir.target<"cuda">, param_names = ["a", "b", "unused", "n", "f", "p", "i"]} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4xf32>
  %B = tir.match_buffer "B" %b : !tir.buffer<4xf32>
  %U = tir.match_buffer "U" %unused : !tir.buffer<4xf32>
  %c2 = tir.const 2 : i32
  %c4 = tir.const 4 : i32
  %0 = tir.floormod %n, %c4 : i32
  %r = tir.let "r" %0 : i32
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    tir.launch_thread %t = "threadIdx.x" to %c4 {
      %q = tir.cmp lt %t, %n : i32
      tir.if %q {
        %x = tir.load %B[%t] : f32
        tir.store %x, %A[%t] : f32
      }
    }
  }
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    tir.launch_thread %t = "threadIdx.x" to %c4 {
      %x = tir.load %A[%t] : f32
      tir.store %x, %B[%t] : f32
    }
  }
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    tir.launch_thread %t = "threadIdx.x" to %c4 {
      %q = tir.cmp eq %t, %r : i32
      %o = tir.and %p, %q : i1
      tir.if %o {
        %j = tir.cast %i : i8 to f32
        %s = tir.mul %f, %j : f32
        %m = tir.floormod %n, %c2 : i32
        tir.store %s, %A[%m] : f32
      }
    }
  }
}
// CHECK-LABEL: tir.func @main(
// CHECK:         tir.call_func @main_kernel(%{{.*}}, %{{.*}}, %{{.*}}) : (!tir.ptr<f32>, !tir.ptr<f32>, i32) -> ()
// CHECK:         tir.call_func @main_kernel_1(%{{.*}}, %{{.*}}) : (!tir.ptr<f32>, !tir.ptr<f32>) -> ()
// CHECK:         tir.call_func @main_kernel_2(%{{.*}}) : (!tir.ptr<f32>, f32, i8, i32, i1, i32) -> ()
// CHECK:       tir.func @main_kernel(
// CHECK-SAME:    param_names = ["A_data", "B_data", "n"]
// CHECK:       tir.func @main_kernel_1(
// CHECK-SAME:    param_names = ["A_data", "B_data"]
// CHECK:       tir.func @main_kernel_2(
// CHECK-SAME:    param_names = ["A_data", "f", "i", "n", "p", "r"]

// -----

// What the host reads is read there, and passed. A symbolic offset is captured, a pointer
// into an array makes two that may overlap, and the constant goes to the kernel.
tir.func @main(%a: !tir.handle, %n: i32) attributes {tir.noalias, target = #tir.target<"cuda">, param_names = ["a", "n"]} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %off = tir.let "off" %c4 : i32
  %d = tir.data %A : !tir.ptr<i32>
  %V = tir.decl_buffer "V" %d strides [1] offset %off {offset_factor = 4 : i32} : !tir.buffer<4xi32>
  %k = tir.allocate_const dense<[7, 8]> : tensor<2xi32> : !tir.ptr<i32>
  %K = tir.decl_buffer "K" %k : !tir.buffer<2xi32>
  %x = tir.load %A[%c0] : i32
  %p = tir.address_of %A[%c4] : !tir.ptr<i32>
  %P = tir.decl_buffer "P" %p : !tir.buffer<4xi32>
  tir.store %n, %A[%c0] : i32
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    tir.launch_thread %t = "threadIdx.x" to %c4 {
      %v = tir.load %P[%t] : i32
      %l = tir.load %K[%c0] : i32
      %w = tir.add %v, %x : i32
      %u = tir.add %w, %l : i32
      tir.store %u, %V[%t] : i32
    }
  }
}
// CHECK-LABEL: tir.func @main(
// CHECK:         %[[X:.*]] = tir.load
// CHECK:         tir.store
// CHECK-NEXT:    %[[D:.*]] = tir.data
// CHECK-NEXT:    tir.call_func @main_kernel(%[[D]], %{{.*}}, %{{.*}}, %[[X]]) : (!tir.ptr<i32>, !tir.ptr<i32>, i32, i32) -> ()
// CHECK:       tir.func @main_kernel(%{{.*}}) attributes {target = #tir.target<"cuda">, tir.is_global_func = true, param_names = ["A_data", "P_data", "off", "x"]}
// CHECK:         tir.decl_buffer "P"
// CHECK-NEXT:    tir.decl_buffer "V" %{{.*}} strides [1] offset %{{.*}} {offset_factor = 4 : i32} : !tir.buffer<4xi32>
// CHECK-NEXT:    %[[K:.*]] = tir.allocate_const dense<[7, 8]>
// CHECK-NEXT:    tir.decl_buffer "K" %[[K]]

// -----

// A region in a region stays for whoever runs the kernel.
tir.func @main(%n: i32) attributes {target = #tir.target<"cuda">} {
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    tir.attr "target" (#tir.target<"llvm">) = 0 : i32 {
      tir.evaluate %n : i32
    }
  }
}
// CHECK-LABEL: tir.func @main(
// CHECK:       tir.func @main_kernel(
// CHECK-NEXT:    tir.attr "target" (#tir.target<"llvm">)

// -----

// A choice of the host that names an array is made by the host; one of numbers is not.
tir.func @main(%a: !tir.handle, %n: i32, %p: i1) attributes {target = #tir.target<"cuda">, param_names = ["a", "n", "p"]} {
  %A = tir.match_buffer "A" %a : !tir.buffer<8xi32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %q = tir.if_then_else %p -> !tir.ptr<i32> {
    %q0 = tir.address_of %A[%c0] : !tir.ptr<i32>
    tir.yield %q0 : !tir.ptr<i32>
  } else {
    %q4 = tir.address_of %A[%c4] : !tir.ptr<i32>
    tir.yield %q4 : !tir.ptr<i32>
  }
  %Q = tir.decl_buffer "Q" %q : !tir.buffer<4xi32>
  %m = tir.if_then_else %p -> i32 {
    tir.yield %n : i32
  } else {
    tir.yield %c4 : i32
  }
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    tir.launch_thread %t = "threadIdx.x" to %c4 {
      tir.store %m, %Q[%t] : i32
    }
  }
}
// CHECK-LABEL: tir.func @main(
// CHECK:         %[[Q:.*]] = tir.if_then_else
// CHECK:         tir.call_func @main_kernel(%[[Q]], %{{.*}}, %{{.*}}) : (!tir.ptr<i32>, i32, i1) -> ()
// CHECK:       tir.func @main_kernel(%{{.*}}: !tir.ptr<i32>, %[[N:.*]]: i32, %[[P:.*]]: i1) attributes
// CHECK-SAME:    param_names = ["Q_data", "n", "p"]}
// CHECK:         tir.if_then_else %[[P]] -> i32 {
// CHECK-NEXT:      tir.yield %[[N]] : i32
// CHECK:         tir.decl_buffer "Q" %{{.*}} : !tir.buffer<4xi32>

// -----

// What a launch says of its blocks is of its own kernel.
tir.func @two(%n: i32) attributes {global_symbol = "two", tir.min_blocks = 2 : i32, target = #tir.target<"cuda", host = #tir.target<"llvm">>} {
  %c8 = tir.const 8 : i32
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    tir.launch_thread %b = "blockIdx.x" to %c8 annotations {"pragma_min_blocks" = 6 : i64} {
      tir.evaluate %b : i32
    }
  }
  tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {
    tir.launch_thread %b = "blockIdx.x" to %c8 {
      tir.evaluate %b : i32
    }
  }
}
// CHECK:       tir.func @two_kernel() attributes {target = #tir.target<"cuda">, tir.is_global_func = true, tir.noalias = true, tir.min_blocks = 6 : i32
// CHECK:         tir.launch_thread %{{.*}} = "blockIdx.x" to %{{[a-z0-9_]*}} {
// CHECK:       tir.func @two_kernel_1() attributes {target = #tir.target<"cuda">, tir.is_global_func = true, tir.noalias = true, tir.min_blocks = 2 : i32
