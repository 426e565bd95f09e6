// RUN: xdsl-opt %s -p tvm-contract-floats | filecheck %s

"gpu.module"() <{sym_name = "kernels"}> ({
  "gpu.func"() <{function_type = (f32, vector<4xf16>) -> (), kernel}> ({
  ^bb0(%a : f32, %b : vector<4xf16>):
    %p = arith.mulf %a, %a : f32
    %s = arith.addf %p, %a fastmath<nnan> : f32
    %d = arith.subf %b, %b : vector<4xf16>
    %q = arith.divf %a, %s : f32
    "gpu.return"() : () -> ()
  }) {sym_name = "k"} : () -> ()
}) : () -> ()

// CHECK:      arith.mulf %{{.*}}, %{{.*}} fastmath<contract> : f32
// CHECK-NEXT: arith.addf %{{.*}}, %{{.*}} fastmath<nnan,contract> : f32
// CHECK-NEXT: arith.subf %{{.*}}, %{{.*}} fastmath<contract> : vector<4xf16>
// CHECK-NEXT: arith.divf %{{.*}}, %{{.*}} : f32

func.func @host(%a: f32) -> f32 {
  %p = arith.mulf %a, %a : f32
  func.return %p : f32
}

// CHECK-LABEL: func.func @host
// CHECK-NEXT:    arith.mulf %{{.*}}, %{{.*}} : f32
