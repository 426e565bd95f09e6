"""TVM's `tvm.testing`: what programs check their results with."""

from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from xdsl_tvm.runtime.ndarray import host_value
from xdsl_tvm.tvm_words import missing

__all__ = ["assert_allclose"]


def assert_allclose(
    actual: ArrayLike, desired: ArrayLike, rtol: float = 1e-7, atol: float = 1e-7
) -> None:
    """Raise AssertionError where elements differ by more than the tolerances.

    Arguments are arrays of numpy, `NDArray`s, or what numpy makes arrays of. Shapes must
    be equal.
    """
    left, right = np.asarray(host_value(actual)), np.asarray(host_value(desired))
    np.testing.assert_equal(left.shape, right.shape)
    np.testing.assert_allclose(left, right, rtol=rtol, atol=atol, verbose=True)


def __getattr__(name: str) -> NoReturn:
    raise missing("testing", name)
