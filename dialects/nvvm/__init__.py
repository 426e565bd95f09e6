"""`nvvm`: the NVIDIA GPU operations that our lowering produces, spelled as upstream's.

Only what xDSL lacks and code generation needs: `threads.py` has thread and block numbers,
barriers, warp shuffles, votes and reductions; `copies.py` asynchronous copies to shared
memory and counting barriers; `matrices.py` and `wmma.py` products on tensor cores;
`hopper.py` tensor copies and products of warpgroups.
Anything else of the hardware is reached through
`tvm_llvm.call_intrinsic "llvm.nvvm.…"`.

Functions carry these attributes (of an `llvm.func`): `nvvm.kernel` (unit: an entry
point), `nvvm.maxntid` and `nvvm.reqntid` (one to three block extents as
`array<i32: …>`), `nvvm.minctasm` and `nvvm.maxnreg` (`i32`).

Address spaces are NVPTX's: 0 generic, 1 global, 3 shared, 4 constant, 5 local, 7 shared
memory of the blocks of a cluster.

Which GPU and which version of PTX has an operation is what
`lowering/llvm_text/nvptx_versions.py` says.

Sources: MLIR's NVVM dialect, the NVPTX back-end guide and the PTX ISA manual.
"""

from __future__ import annotations

from xdsl.ir import Dialect, Operation

from xdsl_tvm.dialects.nvvm.attributes import (
    LdStMatrixEltTypeAttr,
    LdStMatrixShapeAttr,
    MMAB1OpAttr,
    MMAFragAttr,
    MMAIntOverflowAttr,
    MMALayoutAttr,
    MMAShapeAttr,
    MMATypeAttr,
    ProxyKindAttr,
    SharedSpaceAttr,
    WGMMAScaleInAttr,
    WGMMAScaleOutAttr,
    WGMMATypesAttr,
)
from xdsl_tvm.dialects.nvvm.copies import (
    CpAsyncBulkOp,
    CpAsyncCommitGroupOp,
    CpAsyncMBarrierArriveOp,
    CpAsyncOp,
    CpAsyncWaitGroupOp,
    FenceProxyOp,
    MBarrierArriveExpectTxOp,
    MBarrierArriveOp,
    MBarrierInitOp,
    MBarrierInvalOp,
    MBarrierTestWaitOp,
    MBarrierTryWaitOp,
)
from xdsl_tvm.dialects.nvvm.hopper import (
    CpAsyncBulkTensorOp,
    WgmmaCommitGroupOp,
    WgmmaFenceOp,
    WgmmaMmaAsyncOp,
    WgmmaWaitGroupOp,
)
from xdsl_tvm.dialects.nvvm.matrices import LdMatrixOp, MmaOp, MmaSpOp, result_registers
from xdsl_tvm.dialects.nvvm.threads import (
    Barrier0Op,
    BlockDimXOp,
    BlockDimYOp,
    BlockDimZOp,
    BlockIdXOp,
    BlockIdYOp,
    BlockIdZOp,
    GridDimXOp,
    GridDimYOp,
    GridDimZOp,
    LaneIdOp,
    ReduxOp,
    ShflOp,
    SpecialRegisterOp,
    SyncWarpOp,
    ThreadIdXOp,
    ThreadIdYOp,
    ThreadIdZOp,
    VoteSyncOp,
    WarpSizeOp,
)
from xdsl_tvm.dialects.nvvm.types import (
    CLUSTER_SPACE,
    GLOBAL_SPACE,
    KERNEL,
    MAXNTID,
    REQNTID,
    SHARED_SPACE,
    IntrinsicOperation,
    pointer,
)
from xdsl_tvm.dialects.nvvm.wmma import WMMALoadOp, WMMAMmaOp, WMMAStoreOp

NVVM = Dialect(
    "nvvm",
    [
        Barrier0Op,
        BlockDimXOp,
        BlockDimYOp,
        BlockDimZOp,
        BlockIdXOp,
        BlockIdYOp,
        BlockIdZOp,
        CpAsyncBulkOp,
        CpAsyncBulkTensorOp,
        CpAsyncCommitGroupOp,
        CpAsyncMBarrierArriveOp,
        CpAsyncOp,
        CpAsyncWaitGroupOp,
        FenceProxyOp,
        GridDimXOp,
        GridDimYOp,
        GridDimZOp,
        LaneIdOp,
        LdMatrixOp,
        MBarrierArriveExpectTxOp,
        MBarrierArriveOp,
        MBarrierInitOp,
        MBarrierInvalOp,
        MBarrierTestWaitOp,
        MBarrierTryWaitOp,
        MmaOp,
        MmaSpOp,
        ReduxOp,
        ShflOp,
        SyncWarpOp,
        ThreadIdXOp,
        ThreadIdYOp,
        ThreadIdZOp,
        VoteSyncOp,
        WMMALoadOp,
        WMMAMmaOp,
        WMMAStoreOp,
        WarpSizeOp,
        WgmmaCommitGroupOp,
        WgmmaFenceOp,
        WgmmaMmaAsyncOp,
        WgmmaWaitGroupOp,
    ],
    [
        LdStMatrixEltTypeAttr,
        LdStMatrixShapeAttr,
        MMAB1OpAttr,
        MMAFragAttr,
        MMAIntOverflowAttr,
        MMALayoutAttr,
        MMAShapeAttr,
        MMATypeAttr,
        ProxyKindAttr,
        SharedSpaceAttr,
        WGMMAScaleInAttr,
        WGMMAScaleOutAttr,
        WGMMATypesAttr,
    ],
)
"""The part of MLIR's nvvm dialect that our lowering needs."""

NVVM_OPERATIONS: tuple[type[Operation], ...] = tuple(NVVM.operations)
"""The classes of the dialect's operations."""

__all__ = [
    "CLUSTER_SPACE",
    "GLOBAL_SPACE",
    "KERNEL",
    "MAXNTID",
    "NVVM",
    "NVVM_OPERATIONS",
    "REQNTID",
    "SHARED_SPACE",
    "Barrier0Op",
    "BlockDimXOp",
    "BlockDimYOp",
    "BlockDimZOp",
    "BlockIdXOp",
    "BlockIdYOp",
    "BlockIdZOp",
    "CpAsyncBulkOp",
    "CpAsyncBulkTensorOp",
    "CpAsyncCommitGroupOp",
    "CpAsyncMBarrierArriveOp",
    "CpAsyncOp",
    "CpAsyncWaitGroupOp",
    "FenceProxyOp",
    "GridDimXOp",
    "GridDimYOp",
    "GridDimZOp",
    "IntrinsicOperation",
    "LaneIdOp",
    "LdMatrixOp",
    "MBarrierArriveExpectTxOp",
    "MBarrierArriveOp",
    "MBarrierInitOp",
    "MBarrierInvalOp",
    "MBarrierTestWaitOp",
    "MBarrierTryWaitOp",
    "MmaOp",
    "MmaSpOp",
    "ReduxOp",
    "ShflOp",
    "SpecialRegisterOp",
    "SyncWarpOp",
    "ThreadIdXOp",
    "ThreadIdYOp",
    "ThreadIdZOp",
    "VoteSyncOp",
    "WMMALoadOp",
    "WMMAMmaOp",
    "WMMAStoreOp",
    "WarpSizeOp",
    "WgmmaCommitGroupOp",
    "WgmmaFenceOp",
    "WgmmaMmaAsyncOp",
    "WgmmaWaitGroupOp",
    "pointer",
    "result_registers",
]
