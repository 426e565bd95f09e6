// RUN: xdsl-opt %s -p 'tvm-verify-llvm-legal{features="avxvnni avx512vnni"}' | filecheck %s

// Instructions of a processor that has them.

// CHECK-LABEL: llvm.func @f
// CHECK: llvm.x86.avx512.vpdpbusd.512
llvm.func @f(%x: vector<16xi32>, %y: vector<8xi32>) -> vector<16xi32> {
  %0 = tvm_llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%x, %x, %x) : (vector<16xi32>, vector<16xi32>, vector<16xi32>) -> vector<16xi32>
  %1 = tvm_llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.256"(%y, %y, %y) : (vector<8xi32>, vector<8xi32>, vector<8xi32>) -> vector<8xi32>
  llvm.return %0 : vector<16xi32>
}
