"""`from_exported_program`: a program of `torch.export` becomes a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl_tvm.frontend.torch.convert import from_graph
from xdsl_tvm.frontend.torch.node import COMPLEX, CONVERTERS
from xdsl_tvm.frontend.torch.reading import read

if TYPE_CHECKING:
    from xdsl_tvm.dialects.ir_module import IRModule


def from_exported_program(
    exported_program: object,
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
    seed: int | None = None,
) -> IRModule:
    """The module of a `torch.export.ExportedProgram`, with the function `main`.

    The parameters of `main` are the user's inputs in their order. Parameters, buffers and
    constants of the program are constants; with `keep_params_as_input` parameters follow
    the inputs, their arrays are in the attribute `params`, which `detach_params` takes
    off, and the attribute `num_input` is the number of inputs.

    `torch.cond` is a `relax.if`; a program with one has no dataflow block.

    Buffers that the program changes are parameters after the inputs, and their arrays
    are the first in `params`. The new values of what it changes, buffers and inputs,
    follow its outputs; the attribute `changed` has their names in this order.

    The result is a tuple of the program's outputs, flat. With `unwrap_unit_return_tuple`
    a tuple of one is that one, and with `no_bind_return_tuple` the tuple is made where
    the function returns and is not bound in the dataflow block.

    Random operators need a `seed`, from 0 to 2^64 - 1. Their numbers are those of
    Threefry-2x32, not torch's, and `random_state` is one more buffer that the program
    changes: with the new state the next run has other numbers.

    A dynamic dimension is a symbol, by the name of its `torch.export.Dim` where torch
    keeps that. Its upper bound is in the attribute `tir_var_upper_bound`.

    Raises TorchError for what is no exported program, for programs that change
    parameters, and with the names of all operators that are not converted.
    """
    graph = read(exported_program, {*CONVERTERS, *COMPLEX})
    return from_graph(
        graph,
        keep_params_as_input=keep_params_as_input,
        unwrap_unit_return_tuple=unwrap_unit_return_tuple,
        no_bind_return_tuple=no_bind_return_tuple,
        seed=seed,
    )
