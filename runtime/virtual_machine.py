"""Relax functions in TVM's words: `relax.VirtualMachine(executable, device)["main"](x)`.

There is no machine: functions are machine code. This passes `NDArray`s to them, and
returns their results as such.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from xdsl_tvm.runtime.device import Device
from xdsl_tvm.runtime.ndarray import host_value, tvm_value
from xdsl_tvm.runtime.runtime_module import RuntimeModule
from xdsl_tvm.runtime.time_evaluator import BenchmarkResult, time_evaluator


class _Call(NamedTuple):
    """A function with its arguments."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    named: dict[str, Any]

    def run(self) -> Any:
        return self.function(*self.args, **self.named)


class VirtualMachine:
    """Calls the functions of an executable or a loaded library."""

    def __init__(self, rt_mod: RuntimeModule, device: Device | Sequence[Device]) -> None:
        """Raises TypeError for what is no executable, ValueError for another device.

        A sequence of devices has that of the code first.
        """
        if not isinstance(cast(object, rt_mod), RuntimeModule):
            raise TypeError(
                "VirtualMachine runs what relax.build or load_module returns, not a "
                f"{type(rt_mod).__name__}"
            )
        devices = [device] if isinstance(device, Device) else list(device)
        if not devices:
            raise ValueError("VirtualMachine: it needs a device, such as cpu()")
        rt_mod.check_device(devices[0])
        self.module = rt_mod
        self._saved: dict[str, Callable[[], Any]] = {}
        self._inputs: dict[str, _Call] = {}
        self._outputs: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Callable[..., Any]:
        """The function of a name, which takes and returns `NDArray`s.

        Arrays of numpy, numbers and tuples are arguments, too. Raises KeyError if there
        is none.
        """
        if (saved := self._saved.get(key)) is not None:
            return saved
        function = self.module[key]

        def call(*args: Any, **named: Any) -> Any:
            given = {name: host_value(value) for name, value in named.items()}
            return tvm_value(function(*map(host_value, args), **given))

        return call

    def save_function(
        self,
        func_name: str,
        saved_name: str,
        *args: Any,
        include_return: bool = True,
        **kwargs: Any,
    ) -> None:
        """Save a call under a new name, which takes no arguments.

        Without `include_return` it returns nothing. Raises ValueError for a name that is
        taken.
        """
        if saved_name in self._saved or saved_name in self.module:
            raise ValueError(f"VirtualMachine: the name '{saved_name}' is taken")
        call = _Call(self[func_name], args, kwargs)

        def run() -> Any:
            result = call.run()
            return result if include_return else None

        self._saved[saved_name] = run

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Set the arguments of `invoke_stateful`."""
        self._inputs[func_name] = _Call(self[func_name], args, kwargs)

    def invoke_stateful(self, func_name: str) -> None:
        """Call a function with the arguments that `set_input` has set.

        Raises ValueError if there are none.
        """
        if func_name not in self._inputs:
            raise ValueError(f"VirtualMachine: set_input('{func_name}', …) comes first")
        self._outputs[func_name] = self._inputs[func_name].run()

    def get_outputs(self, func_name: str) -> Any:
        """The result of the last `invoke_stateful`; ValueError if there is none."""
        if func_name not in self._outputs:
            raise ValueError(
                f"VirtualMachine: invoke_stateful('{func_name}') comes first"
            )
        return self._outputs[func_name]

    def time_evaluator(
        self, func_name: str, dev: Device, number: int = 10, repeat: int = 1, **how: int
    ) -> Callable[..., BenchmarkResult]:
        """What calls a function and returns the times; see `RuntimeModule`."""
        self.module.check_device(dev)
        function, wait = self[func_name], self.module.synchronize
        return time_evaluator(function, wait, number=number, repeat=repeat, **how)
