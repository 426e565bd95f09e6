"""What users get wrong: each mistake is one line that says what and where."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.error_texts import first_line
from xdsl.utils.exceptions import PassFailedException

import xdsl_tvm

MATMUL = """
!x = tensor<?x4xf32, #relax.dims<[n, 4]>>
!y = tensor<?x?xf32, #relax.dims<[n, m]>>
relax.func @main<n, m>(%x: !x, %w: tensor<4x?xf32, #relax.dims<[4, m]>>, %b: !y) -> !y
    attributes {global_symbol = "main"} {
  %0 = relax.matmul %x, %w : (!x, tensor<4x?xf32, #relax.dims<[4, m]>>) -> !y
  %1 = relax.add %0, %b : (!y, !y) -> !y
  relax.return %1 : !y
}
"""
COPY = """
tir.func @copy(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "copy"} {
  %n = tir.shape_var "n" : i64
  %A = tir.match_buffer "A" %a [%n] : !tir.buffer<?xf32>
  %B = tir.match_buffer "B" %b [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i64
  tir.for %i = %c0 to %n {
    %x = tir.load %A[%i] : f32
    tir.store %x, %B[%i] : f32
  }
}
"""


def zeros(*shape: int, dtype: Any = np.float32) -> Any:
    return np.zeros(shape, dtype)


def read_only(*shape: int) -> Any:
    array = zeros(*shape)
    array.flags.writeable = False
    return array


RELAX_CALLS = {
    "dtype": (
        (zeros(2, 4, dtype=np.float64), zeros(4, 3), zeros(2, 3)),
        "@main: argument 'x' must have dtype float32, got float64",
    ),
    "no array": (
        ([[0.0] * 4], zeros(4, 3), zeros(2, 3)),
        "@main: argument 'x' must be a numpy array float32[n, 4], got list",
    ),
    "rank": (
        (zeros(2), zeros(4, 3), zeros(2, 3)),
        "@main: argument 'x' must have rank 2, got shape (2,)",
    ),
    "extent": (
        (zeros(2, 4), zeros(5, 3), zeros(2, 3)),
        "@main: argument 'w' must have extent 4 on axis 0, got shape (5, 3)",
    ),
    "symbol": (
        (zeros(2, 4), zeros(4, 3), zeros(3, 3)),
        "@main: argument 'b' must have extent n = 2 on axis 0, got shape (3, 3)",
    ),
    "contiguity": (
        (zeros(4, 2).T, zeros(4, 3), zeros(2, 3)),
        "@main: argument 'x' must be C-contiguous; pass numpy.ascontiguousarray of it",
    ),
    "count": ((zeros(2, 4),), "@main takes 3 arguments, got 1"),
}


@pytest.mark.parametrize("name", RELAX_CALLS)
def test_arguments_of_relax_functions(name: str):
    arguments, message = RELAX_CALLS[name]
    main = xdsl_tvm.compile(MATMUL)["main"]
    with pytest.raises((TypeError, ValueError)) as error:
        main(*arguments)
    assert str(error.value) == message


def test_inputs_of_relax_functions_may_be_read_only():
    found = xdsl_tvm.compile(MATMUL)["main"](
        read_only(2, 4), read_only(4, 3), zeros(2, 3)
    )
    np.testing.assert_array_equal(found, zeros(2, 3))


TIR_CALLS = {
    "read-only output": (
        (zeros(4), read_only(4)),
        "@copy: argument 'B' is written, but the array is read-only; pass a copy of it",
    ),
    "strided output": (
        (zeros(4), zeros(8)[::2]),
        "@copy: argument 'B' must be C-contiguous; pass numpy.ascontiguousarray of it",
    ),
    "extent": (
        (zeros(4), zeros(5)),
        "@copy: argument 'B' must have extent n = 4 on axis 0, got shape (5,)",
    ),
}


@pytest.mark.parametrize("name", TIR_CALLS)
def test_arguments_of_tir_functions(name: str):
    arguments, message = TIR_CALLS[name]
    with pytest.raises((TypeError, ValueError)) as error:
        xdsl_tvm.compile(COPY)["copy"](*arguments)
    assert str(error.value) == message


def func(signature: str, body: str = "relax.return %x : tensor<4xf32>") -> str:
    return (
        f'relax.func @main{signature} attributes {{global_symbol = "main"}} {{ {body} }}'
    )


N = "tensor<?xf32, #relax.dims<[n]>>"
MODULES = {
    "no text of ours": (
        "hello",
        "<text>:1:1: error: hello: there is no such operation",
        ValueError,
    ),
    "unbound symbol": (
        func(f"(%x: tensor<4xf32>) -> {N}"),
        "<text>:1:1: error: relax.func @main uses the symbol "
        f"'n' of {N}, but declares none",
        ValueError,
    ),
    "symbol that only an expression names": (
        func(
            "(%y: tensor<?xf32, #relax.dims<[n + 1]>>, %x: tensor<4xf32>)"
            " -> tensor<4xf32>"
        ),
        "<text>:1:1: error: relax.func @main uses the symbol 'n' of "
        "tensor<?xf32, #relax.dims<[n + 1]>>, but declares none",
        ValueError,
    ),
    "result of unknown rank": (
        func(
            "(%x: tensor<?xf32>) -> tensor<*xf32>",
            "%0 = relax.match_cast %x : tensor<?xf32> -> tensor<*xf32> "
            "relax.return %0 : tensor<*xf32>",
        ),
        "cannot lower 'relax.func' @main: rank and dtype of the result, tensor<*xf32>, "
        "must be known",
        PassFailedException,
    ),
    "parameter of unknown rank": (
        func("(%x: tensor<*xf32>, %y: tensor<4xf32>) -> tensor<4xf32>").replace(
            "return %x", "return %y"
        ),
        "cannot lower 'relax.func' @main: rank and dtype of parameter 0, tensor<*xf32>, "
        "must be known",
        PassFailedException,
    ),
    "operator of unknown shape": (
        func(
            "(%x: tensor<?xf32>) -> tensor<4xf32>",
            "%0 = relax.nn.relu %x : (tensor<?xf32>) -> tensor<?xf32> "
            "%1 = relax.match_cast %0 : tensor<?xf32> -> tensor<4xf32> "
            "relax.return %1 : tensor<4xf32>",
        ),
        "cannot lower 'relax.nn.relu': the operator is not legalized; run "
        "relax-legalize-ops first, and give it operands of known shape and dtype",
        PassFailedException,
    ),
    "foreign operation": (
        func(
            "(%x: tensor<4xf32>) -> tensor<4xf32>",
            '%0 = arith.constant true cf.assert %0, "" relax.return %x : tensor<4xf32>',
        ),
        "cannot lower 'arith.constant': the operation has no lowering in a relax.func",
        PassFailedException,
    ),
    "rank of a buffer": (
        COPY.replace("%A[%i]", "%A[%i, %i]"),
        "2 indices",
        ValueError,
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str):
    text, message, kind = MODULES[name]
    with pytest.raises(kind) as error:
        xdsl_tvm.compile(text)
    assert message in first_line(str(error.value))


def test_functions_that_do_not_exist():
    executable = xdsl_tvm.compile(COPY)
    with pytest.raises(KeyError, match="no public function 'main'; the module has"):
        executable["main"]


def test_targets_and_files_that_do_not_exist(tmp_path: Path):
    with pytest.raises(
        ValueError, match="unknown target kind 'tpu'; use one of llvm, c, cuda"
    ):
        xdsl_tvm.compile(COPY, target="tpu")
    with pytest.raises(FileNotFoundError):
        xdsl_tvm.compile(tmp_path / "model.mlir")


SHAPE = func("<n>(%s: !relax.shape<[n, 4]>, %x: tensor<4xf32>) -> tensor<4xf32>")
SHAPES = {
    "no tuple": (3, "@main: argument 's' must be a tuple of integers (n, 4), got int"),
    "rank": ((3,), "@main: argument 's' must have rank 2, got (3,)"),
    "extent": (
        (3, 5),
        "@main: argument 's' must have extent 4 on axis 1, got shape (3, 5)",
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name: str):
    shape, message = SHAPES[name]
    main = xdsl_tvm.compile(SHAPE)["main"]
    with pytest.raises((TypeError, ValueError)) as error:
        main(shape, zeros(4))
    assert str(error.value) == message
