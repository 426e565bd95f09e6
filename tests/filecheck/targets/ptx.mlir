// RUN: xdsl-opt %s -t ptx | filecheck %s
// REQUIRES: llvmlite

// PTX of a gpu.module, for the default architecture.

"gpu.module"() <{sym_name = "kernels"}> ({
  llvm.mlir.global internal @tile() {alignment = 16 : i64, addr_space = 3 : i32} : !llvm.array<256 x f32>
  llvm.func @kernel(%x: !llvm.ptr<1> {llvm.noalias, llvm.readonly}, %y: !llvm.ptr<1> {llvm.noalias}) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 256, 1, 1>, nvvm.minctasm = 2 : i32} {
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %tile = llvm.mlir.addressof @tile : !llvm.ptr<3>
    %from = llvm.getelementptr %x[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %to = llvm.getelementptr %tile[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    nvvm.cp.async.shared.global %to, %from, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    nvvm.barrier0
    %v = llvm.load %to : !llvm.ptr<3> -> f32
    %mask = llvm.mlir.constant(-1 : i32) : i32
    nvvm.bar.warp.sync %mask : i32
    %offset = llvm.mlir.constant(16 : i32) : i32
    %clamp = llvm.mlir.constant(31 : i32) : i32
    %w = nvvm.shfl.sync bfly %mask, %v, %offset, %clamp : f32 -> f32
    %pair = nvvm.shfl.sync down %mask, %tid, %offset, %clamp {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
    %valid = llvm.extractvalue %pair[1] : !llvm.struct<(i32, i1)>
    %any = nvvm.vote.sync any %mask, %valid -> i1
    %bits = nvvm.vote.sync ballot %mask, %any -> i32
    %sum = nvvm.redux.sync add %bits, %mask : i32 -> i32
    %out = llvm.getelementptr %y[%sum] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %w, %out : f32, !llvm.ptr<1>
    llvm.return
  }
}) : () -> ()

// CHECK: .version 7.0
// CHECK-NEXT: .target sm_80
// CHECK: .visible .entry kernel(
// CHECK: .maxntid 256, 1, 1
// CHECK-NEXT: .minnctapersm 2
// CHECK: .shared .align 16 .b8 tile[1024];
// CHECK: mov.u32 %{{.*}}, %tid.x;
// CHECK: cp.async.ca.shared.global
// CHECK: cp.async.commit_group;
// CHECK: cp.async.wait_group 0;
// CHECK: bar.sync 0;
// CHECK: bar.warp.sync -1;
// CHECK: shfl.sync.bfly.b32
// CHECK: shfl.sync.down.b32
// CHECK: vote.sync.any.pred
// CHECK: vote.sync.ballot.b32
// CHECK: redux.sync.add.s32
// CHECK: st.global.b32
