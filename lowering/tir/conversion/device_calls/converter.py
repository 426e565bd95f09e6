"""What builtins of PTX need of the conversion of a kernel."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.lowering.tir.conversion.body import BodyConverter


class DeviceConverter(BodyConverter):
    """Converts the body of a kernel."""

    barriers: SSAValue | None = None
    """The memory of the counting barriers, once `create_barriers` has declared them."""

    @property
    @abstractmethod
    def sums(self) -> list[SSAValue]:
        """The memrefs, so far, with the sums of products of warpgroups."""

    @abstractmethod
    def shared_memory(self, shape: Sequence[int], element: Attribute) -> SSAValue:
        """A memref of static shared memory."""
