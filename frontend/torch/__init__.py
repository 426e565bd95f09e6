"""Exported programs of PyTorch as Relax, TVM's `relax.frontend.torch`; see docs/torch.md.

    program = torch.export.export(module.eval(), (x,))
    module = from_exported_program(program)

`reading.py` reads a program into a graph of plain values, `graph.py`; `convert.py`
converts that, node after node; `operators/` holds the converters, a file a family. torch
is needed by `reading.py` only, which gets it with the program.
"""

from xdsl_tvm.frontend.params import detach_params
from xdsl_tvm.frontend.torch.errors import TorchError
from xdsl_tvm.frontend.torch.exported_program import from_exported_program

__all__ = ["TorchError", "detach_params", "from_exported_program"]
