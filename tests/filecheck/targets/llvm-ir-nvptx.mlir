// RUN: xdsl-opt %s -t 'llvm-ir{triple-kind="nvptx"}' | filecheck %s

// Device code of a gpu.module; every nvvm operation.

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

// CHECK: target triple = "nvptx64-nvidia-cuda"
// CHECK: @tile = internal addrspace(3) global [256 x float] undef, align 16
// CHECK-NEXT: define ptx_kernel void @kernel(ptr addrspace(1) noalias readonly %a0, ptr addrspace(1) noalias %a1) "nvvm.maxntid"="256,1,1" "nvvm.minctasm"="2" {
// CHECK-NEXT: b0:
// CHECK-NEXT:   %v3 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
// CHECK-NEXT:   %v4 = getelementptr float, ptr addrspace(1) %a0, i32 %v3
// CHECK-NEXT:   %v5 = getelementptr float, ptr addrspace(3) @tile, i32 %v3
// CHECK-NEXT:   call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %v5, ptr addrspace(1) %v4)
// CHECK-NEXT:   call void @llvm.nvvm.cp.async.commit.group()
// CHECK-NEXT:   call void @llvm.nvvm.cp.async.wait.group(i32 0)
// CHECK-NEXT:   call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
// CHECK-NEXT:   %v6 = load float, ptr addrspace(3) %v5
// CHECK-NEXT:   call void @llvm.nvvm.bar.warp.sync(i32 -1)
// CHECK-NEXT:   %v7 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v6, i32 16, i32 31)
// CHECK-NEXT:   %v8 = call { i32, i1 } @llvm.nvvm.shfl.sync.down.i32p(i32 -1, i32 %v3, i32 16, i32 31)
// CHECK-NEXT:   %v9 = extractvalue { i32, i1 } %v8, 1
// CHECK-NEXT:   %v10 = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %v9)
// CHECK-NEXT:   %v11 = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %v10)
// CHECK-NEXT:   %v12 = call i32 @llvm.nvvm.redux.sync.add(i32 %v11, i32 -1)
// CHECK-NEXT:   %v13 = getelementptr float, ptr addrspace(1) %a1, i32 %v12
// CHECK-NEXT:   store float %v7, ptr addrspace(1) %v13
// CHECK-NEXT:   ret void
// CHECK-NEXT: }
