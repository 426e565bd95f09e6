"""Devices in TVM's words: `cpu()`, `cuda(0)`, `device("cuda", 0)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.dialects.tir.target_kinds import DeviceType
from xdsl_tvm.runtime.cuda_driver import DEVICE, default_driver

_NAMES: Final = {
    "cpu": DeviceType.CPU,
    "llvm": DeviceType.CPU,
    "c": DeviceType.CPU,
    "cuda": DeviceType.CUDA,
    "nvptx": DeviceType.CUDA,
    "gpu": DeviceType.CUDA,
}
"""TVM's names of the devices that code runs on here."""


@dataclass(frozen=True)
class Device:
    """A device by its kind, which is DLPack's number, and its index."""

    device_type: int
    device_id: int = 0

    def __str__(self) -> str:
        return f"{DeviceType(self.device_type).name.lower()}({self.device_id})"

    __repr__ = __str__

    @property
    def is_cpu(self) -> bool:
        """Whether its memory is that of the process."""
        return self.device_type == DeviceType.CPU

    @property
    def exist(self) -> bool:
        """Whether the machine has it, and code can run there."""
        if self.is_cpu:
            return self.device_id == 0
        try:
            default_driver()
        except (RuntimeError, DiagnosticException):
            return False
        return self.device_id == DEVICE

    @property
    def compute_version(self) -> str | None:
        """The compute capability of a GPU, such as `8.0`; None for a processor.

        Raises RuntimeError where there is no GPU.
        """
        if self.is_cpu:
            return None
        major, minor = default_driver().compute_capability()
        return f"{major}.{minor}"


def device(dev_type: int | str | Device, dev_id: int = 0) -> Device:
    """The device of a name, such as `cuda` or `cuda:0`, or of DLPack's number.

    Raises ValueError for a device that code does not run on here.
    """
    if isinstance(dev_type, Device):
        return dev_type
    kind, index = dev_type, dev_id
    if isinstance(kind, str):
        name, _, number = kind.partition(":")
        index = int(number) if number.isdigit() else dev_id
        if name not in _NAMES or (":" in kind and not number.isdigit()):
            raise ValueError(f"there is no device '{kind}'; use cpu, cuda or cuda:0")
        kind = _NAMES[name]
    if kind not in _NAMES.values():
        raise ValueError(f"code runs on no device of the kind {kind}; use cpu or cuda")
    if index < 0 or (kind == DeviceType.CUDA and index != DEVICE):
        raise ValueError(
            f"there is no device {DeviceType(kind).name.lower()}({index}); code runs on "
            f"the first GPU, cuda({DEVICE})"
        )
    return Device(int(kind), index)


def cpu(dev_id: int = 0) -> Device:
    """The processor."""
    return device("cpu", dev_id)


def cuda(dev_id: int = 0) -> Device:
    """The first GPU. Raises ValueError for another number."""
    return device("cuda", dev_id)
