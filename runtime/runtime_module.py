"""Compiled functions by name, in TVM's words: `tvm.runtime.Module`."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping
from typing import Any, Self

from xdsl_tvm.runtime.device import Device, cpu
from xdsl_tvm.runtime.time_evaluator import BenchmarkResult, time_evaluator


class RuntimeModule(ABC, Mapping[str, Callable[..., Any]]):
    """Functions that can be called: what `compile` returns, or a library that is loaded.

    It is both TVM's `Executable` and the `Module` in it.
    """

    @property
    def device(self) -> Device:
        """Where the functions run."""
        return cpu()

    def synchronize(self) -> None:
        """Wait for calls, where they return before they are done."""

    def jit(self) -> Self:
        """The functions, which are machine code already."""
        return self

    @property
    def mod(self) -> Self:
        """The functions, TVM's `Executable.mod`."""
        return self

    @property
    def entry_name(self) -> str:
        """The name of the function that a call calls: `main`, or the only one.

        Raises ValueError if there is no such function.
        """
        names = list(self)
        if "main" in names:
            return "main"
        if len(names) != 1:
            raise ValueError(
                f"no function is the entry; call one by its name, of {', '.join(names)}"
            )
        return names[0]

    def get_source(self, fmt: str = "") -> str:
        """The code, as text. Raises ValueError for a format that there is not."""
        raise ValueError(f"{type(self).__name__} has machine code only")

    def get_function(self, name: str, query_imports: bool = False) -> Callable[..., Any]:
        """The function of a name. Raises KeyError if there is none."""
        return self[name]

    @property
    def entry_func(self) -> Callable[..., Any]:
        """The function that a call calls."""
        return self[self.entry_name]

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the entry."""
        return self.entry_func(*args, **named)

    def time_evaluator(
        self, func_name: str, dev: Device, number: int = 10, repeat: int = 1, **how: int
    ) -> Callable[..., BenchmarkResult]:
        """What calls a function and returns the times; `how` is that of TVM.

            times = module.time_evaluator("main", cpu(), number=10)(x, y)
            print(times.mean)

        Raises KeyError if there is no such function, ValueError for another device than
        that of the code, and TypeError for an option that is not supported.
        """
        self.check_device(dev)
        function = self[func_name]
        return time_evaluator(
            function, self.synchronize, number=number, repeat=repeat, **how
        )

    def check_device(self, dev: Device) -> None:
        """Raises ValueError for another device than that of the code."""
        if dev != self.device:
            raise ValueError(f"the code is for {self.device}, not for {dev}")
