// RUN: xdsl-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics -p tvm-convert-gpu-to-nvvm | filecheck %s

"gpu.module"() <{sym_name = "kernels"}> ({
  "gpu.func"() <{function_type = (f32) -> (), kernel}> ({
  ^bb0(%x : f32):
    %0 = "gpu.all_reduce"(%x) <{op = #gpu<all_reduce_op add>}> ({}) : (f32) -> f32
    "gpu.return"() : () -> ()
  }) {sym_name = "k"} : () -> ()
}) : () -> ()

// CHECK: cannot lower 'gpu.all_reduce': NVPTX has no counterpart that this pass knows
