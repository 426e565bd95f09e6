"""Marks for automatic differentiation (docs/spec/relax-ops.md §12, `grad`)."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition

from xdsl_tvm.dialects.relax.elementwise import UnaryOperatorOp

__all__ = ["EndCheckpointOp", "NoGradOp", "StartCheckpointOp"]


@irdl_op_definition
class NoGradOp(UnaryOperatorOp):
    """The tensor itself, through which no gradient flows. TVM's `relax.grad.no_grad`.

    ```mlir
    %r = relax.grad.no_grad %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.grad.no_grad"
    SIGNATURE: ClassVar[str] = "input"


@irdl_op_definition
class StartCheckpointOp(UnaryOperatorOp):
    """The tensor itself: what follows is computed again for the gradient.

    TVM's `relax.grad.start_checkpoint`.

    ```mlir
    %r = relax.grad.start_checkpoint %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.grad.start_checkpoint"
    SIGNATURE: ClassVar[str] = "input"


@irdl_op_definition
class EndCheckpointOp(UnaryOperatorOp):
    """The tensor itself: the end of what is computed again for the gradient.

    TVM's `relax.grad.end_checkpoint`.

    ```mlir
    %r = relax.grad.end_checkpoint %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relax.grad.end_checkpoint"
    SIGNATURE: ClassVar[str] = "input"
