// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s

// CHECK-LABEL: llvm.func @registers
llvm.func @registers() attributes {nvvm.kernel, nvvm.maxntid = array<i32: 256, 1, 1>} {
  // CHECK-NEXT: nvvm.read.ptx.sreg.tid.x : i32
  %0 = nvvm.read.ptx.sreg.tid.x : i32
  // CHECK-NEXT: nvvm.read.ptx.sreg.tid.y : i32
  %1 = nvvm.read.ptx.sreg.tid.y : i32
  // CHECK-NEXT: nvvm.read.ptx.sreg.tid.z : i32
  %2 = nvvm.read.ptx.sreg.tid.z : i32
  // CHECK-NEXT: nvvm.read.ptx.sreg.ctaid.x : i32
  %3 = nvvm.read.ptx.sreg.ctaid.x : i32
  // CHECK-NEXT: nvvm.read.ptx.sreg.ctaid.y : i32
  %4 = nvvm.read.ptx.sreg.ctaid.y : i32
  // CHECK-NEXT: nvvm.read.ptx.sreg.ctaid.z : i32
  %5 = nvvm.read.ptx.sreg.ctaid.z : i32
  // CHECK-NEXT: nvvm.read.ptx.sreg.ntid.x : i32
  %6 = nvvm.read.ptx.sreg.ntid.x : i32
  // CHECK-NEXT: nvvm.read.ptx.sreg.ntid.y : i32
  %7 = nvvm.read.ptx.sreg.ntid.y : i32
  // CHECK-NEXT: nvvm.read.ptx.sreg.ntid.z : i32
  %8 = nvvm.read.ptx.sreg.ntid.z : i32
  // CHECK-NEXT: nvvm.read.ptx.sreg.nctaid.x : i32
  %9 = nvvm.read.ptx.sreg.nctaid.x : i32
  // CHECK-NEXT: nvvm.read.ptx.sreg.nctaid.y : i32
  %10 = nvvm.read.ptx.sreg.nctaid.y : i32
  // CHECK-NEXT: nvvm.read.ptx.sreg.nctaid.z : i32
  %11 = nvvm.read.ptx.sreg.nctaid.z : i32
  // CHECK-NEXT: nvvm.read.ptx.sreg.laneid : i32
  %12 = nvvm.read.ptx.sreg.laneid : i32
  // CHECK-NEXT: nvvm.read.ptx.sreg.warpsize : i32
  %13 = nvvm.read.ptx.sreg.warpsize : i32
  llvm.return
}

// CHECK-LABEL: llvm.func @warp
// CHECK-SAME: (%[[M:.*]]: i32, %[[F:.*]]: f32, %[[P:.*]]: i1)
llvm.func @warp(%m: i32, %f: f32, %p: i1) {
  // CHECK-NEXT: nvvm.barrier0
  nvvm.barrier0
  // CHECK-NEXT: nvvm.bar.warp.sync %[[M]] : i32
  nvvm.bar.warp.sync %m : i32
  // CHECK-NEXT: nvvm.shfl.sync bfly %[[M]], %[[F]], %[[M]], %[[M]] : f32 -> f32
  %0 = nvvm.shfl.sync bfly %m, %f, %m, %m : f32 -> f32
  // CHECK-NEXT: nvvm.shfl.sync idx %[[M]], %[[M]], %[[M]], %[[M]] {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
  %1 = nvvm.shfl.sync idx %m, %m, %m, %m {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
  // CHECK-NEXT: nvvm.vote.sync ballot %[[M]], %[[P]] -> i32
  %2 = nvvm.vote.sync ballot %m, %p -> i32
  // CHECK-NEXT: nvvm.vote.sync any %[[M]], %[[P]] -> i1
  %3 = nvvm.vote.sync any %m, %p -> i1
  // CHECK-NEXT: nvvm.redux.sync add %[[M]], %[[M]] : i32 -> i32
  %4 = nvvm.redux.sync add %m, %m : i32 -> i32
  llvm.return
}

// CHECK-LABEL: llvm.func @copies
// CHECK-SAME: (%[[D:.*]]: !llvm.ptr<3>, %[[S:.*]]: !llvm.ptr<1>)
llvm.func @copies(%d: !llvm.ptr<3>, %s: !llvm.ptr<1>) {
  // CHECK-NEXT: nvvm.cp.async.shared.global %[[D]], %[[S]], 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.shared.global %d, %s, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  // CHECK-NEXT: nvvm.cp.async.commit.group
  nvvm.cp.async.commit.group
  // CHECK-NEXT: nvvm.cp.async.wait.group 0
  nvvm.cp.async.wait.group 0
  llvm.return
}

// CHECK-LABEL: llvm.func @barriers
llvm.func @barriers(%p: !llvm.ptr<3>, %g: !llvm.ptr<1>, %c: !llvm.ptr<7>, %i: i32) {
  // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %{{.*}} : !llvm.ptr<3>, !llvm.ptr<1>, i32
  nvvm.cp.async.shared.global %p, %g, 16, cache = cg, %i : !llvm.ptr<3>, !llvm.ptr<1>, i32
  // CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  // CHECK: nvvm.mbarrier.init %{{.*}}, %{{.*}} : !llvm.ptr<3>, i32
  nvvm.mbarrier.init %p, %i : !llvm.ptr<3>, i32
  // CHECK: nvvm.mbarrier.arrive %{{.*}} : !llvm.ptr<3> -> i64
  %6 = nvvm.mbarrier.arrive %p : !llvm.ptr<3> -> i64
  // CHECK: nvvm.mbarrier.arrive.expect_tx %{{.*}}, %{{.*}} : !llvm.ptr<3>, i32 -> i64
  %7 = nvvm.mbarrier.arrive.expect_tx %p, %i : !llvm.ptr<3>, i32 -> i64
  // CHECK: nvvm.mbarrier.test.wait %{{.*}}, %{{.*}} : !llvm.ptr<3>, i64 -> i1
  %8 = nvvm.mbarrier.test.wait %p, %6 : !llvm.ptr<3>, i64 -> i1
  // CHECK: nvvm.mbarrier.try_wait %{{.*}}, %{{.*}} : !llvm.ptr<3>, i32 -> i1
  %9 = nvvm.mbarrier.try_wait %p, %i : !llvm.ptr<3>, i32 -> i1
  // CHECK: nvvm.cp.async.mbarrier.arrive %{{.*}} {noinc = true} : !llvm.ptr<3>
  nvvm.cp.async.mbarrier.arrive %p {noinc = true} : !llvm.ptr<3>
  // CHECK: nvvm.cp.async.bulk.shared.cluster.global %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : !llvm.ptr<7>, !llvm.ptr<1>
  nvvm.cp.async.bulk.shared.cluster.global %c, %g, %p, %i : !llvm.ptr<7>, !llvm.ptr<1>
  // CHECK: nvvm.mbarrier.inval %{{.*}} : !llvm.ptr<3>
  nvvm.mbarrier.inval %p : !llvm.ptr<3>
  llvm.return
}

// CHECK-LABEL: llvm.func @warpgroups
llvm.func @warpgroups(%c: !llvm.ptr<7>, %m: !llvm.ptr, %p: !llvm.ptr<3>, %i: i32, %d: i64, %s: !llvm.struct<(f32, f32, f32, f32)>) {
  // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %{{.*}}, %{{.*}}, box[%{{.*}}, %{{.*}}] : !llvm.ptr<7>, !llvm.ptr
  nvvm.cp.async.bulk.tensor.shared.cluster.global %c, %m, %p, box[%i, %i] : !llvm.ptr<7>, !llvm.ptr
  // CHECK: nvvm.wgmma.fence.aligned
  nvvm.wgmma.fence.aligned
  // CHECK: nvvm.wgmma.mma_async %{{.*}}, %{{.*}}, %{{.*}} {shape = #nvvm.shape<m = 64, n = 8, k = 16>, typeA = #nvvm.wgmma_type<bf16>,{{.*}}} : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
  %0 = nvvm.wgmma.mma_async %s, %d, %d {shape = #nvvm.shape<m = 64, n = 8, k = 16>, typeA = #nvvm.wgmma_type<bf16>, typeB = #nvvm.wgmma_type<bf16>, typeD = #nvvm.wgmma_type<f32>, scaleD = #nvvm.wgmma_scale_out<one>, scaleA = #nvvm.wgmma_scale_in<one>, scaleB = #nvvm.wgmma_scale_in<one>, layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>} : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
  // CHECK: nvvm.wgmma.commit.group.sync.aligned
  nvvm.wgmma.commit.group.sync.aligned
  // CHECK: nvvm.wgmma.wait.group.sync.aligned 1
  nvvm.wgmma.wait.group.sync.aligned 1
  llvm.return
}
