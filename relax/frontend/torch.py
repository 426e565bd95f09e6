"""Programs of PyTorch as Relax by TVM's name: `relax.frontend.torch`."""

from xdsl_tvm.frontend.torch import TorchError, detach_params, from_exported_program

__all__ = ["TorchError", "detach_params", "from_exported_program"]
