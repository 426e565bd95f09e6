"""The start of a process that compiles a text which was compiled before.

Reading a module takes its dialects, whose import takes longer than all else of such a
start. So an entry of the object cache, whose key is the text itself, holds what calls
need: objects, constants, and of each function the dtypes and shapes. A process that has
not imported the compiler yet loads it and calls the functions, and whatever else it asks
of the executable, a call with other arguments included, is answered by the one that
`compile` makes of the same text, when it is asked. Nothing here imports xDSL's IR.

Functions are kept here whose parameters and results are contiguous arrays, the extents
numbers or symbols by themselves.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.lowering.runtime_symbols import reporting_name
from xdsl_tvm.runtime._addresses import address_of
from xdsl_tvm.runtime.object_cache import ObjectCache
from xdsl_tvm.runtime.result_memory import RESULTS

if TYPE_CHECKING:
    from xdsl_tvm.passes.infra.module_text import ModuleText
    from xdsl_tvm.runtime.compiled_objects import CompiledObjects
    from xdsl_tvm.runtime.executable_base import Executable
    from xdsl_tvm.runtime.load import Source
    from xdsl_tvm.runtime.signature import ArraySpec, ResultTree, Signature

_HEAD = b"xdsl-tvm start 1\n"
_ENDINGS = (".mlir", ".py")

_LARGEST = 1 << 24
"""Bytes of an entry; those of larger models are read from the text all the same."""

Extent: TypeAlias = "int | str"
"""A number, or the name of a symbol."""
Leaf: TypeAlias = "tuple[str, list[Extent]]"
"""The dtype and the shape of an array."""
Whole: TypeAlias = "Callable[[], Executable]"
"""Makes the executable that `compile` returns."""


@dataclass(frozen=True)
class StartText:
    """A text that is compiled, and where it is from."""

    text: str
    ending: str = ""
    """That of the file; empty for a text."""
    name: str = ""

    @staticmethod
    def of(source: object) -> StartText | None:
        """The text that a source is or names; None for other sources.

        What cannot be read is none either: `compile` says what is wrong with it.
        """
        if isinstance(source, str):
            if "\n" in source or not source.endswith(_ENDINGS):
                return StartText(source)
            source = Path(source)
        if not isinstance(source, Path) or source.suffix not in _ENDINGS:
            return None
        try:
            return StartText(source.read_text("utf-8"), source.suffix, str(source))
        except (OSError, ValueError):
            return None

    def key(self, settings: str) -> str:
        """The key of the text compiled by this compiler for this machine."""
        from xdsl_tvm.runtime.compiler_files import compiler_fingerprint
        from xdsl_tvm.runtime.llvm_jit import host_cache_key

        return host_cache_key(
            "start",
            self.text,
            self.ending,
            settings,
            compiler_fingerprint(and_readers=True),
            metadata.version("xdsl"),
        )

    def source(self) -> str | ModuleText:
        """What is compiled, where the start is not from the cache."""
        if not self.ending:
            return self.text
        # Late: the text is not read as a module unless it is compiled.
        from xdsl_tvm.passes.infra.module_text import ModuleText

        return ModuleText(self.text, self.name, is_script=self.ending == ".py")


def start_or_compile(
    module: Source, settings: str, compiled: Callable[[Source | ModuleText], Executable]
) -> Executable:
    """The executable of a module; `settings` is what else decides what its code is.

    `compiled` makes it where it cannot be started from the cache, and raises whatever is
    wrong with the module.
    """
    text = None if ObjectCache.default().folder is None else StartText.of(module)
    if text is None:
        return compiled(module)
    try:
        key = text.key(settings)
    except DiagnosticException:
        # There is no LLVM here.
        return compiled(module)
    whole = partial(_compiled_text, text, compiled)
    if _is_unset():
        found = _started(key, whole)
        if found is not None:
            return found
    executable = whole()
    _keep(key, executable)
    return executable


def _compiled_text(
    text: StartText, compiled: Callable[[Source | ModuleText], Executable]
) -> Executable:
    return compiled(text.source())


def _is_unset() -> bool:
    """Whether the compiler is not imported, so that no context or target is set."""
    return "xdsl.ir" not in sys.modules


def _started(key: str, whole: Whole) -> Executable | None:
    """What is kept under a key, as an executable; None if there is nothing."""
    entry = ObjectCache.default().get(key)
    if entry is None or not entry.startswith(_HEAD):
        return None
    from xdsl_tvm.runtime.compiled_objects import CompiledObjects

    start = len(_HEAD) + 8
    end = start + int.from_bytes(entry[len(_HEAD) : start], "little")
    description: dict[str, Any] = json.loads(entry[start:end])
    compiled = CompiledObjects.of_entry(entry[end:], {})
    if compiled is None:
        return None
    # It is one in all but the imports.
    return cast("Executable", StartedExecutable(description, compiled, whole))


def _keep(key: str, executable: Executable) -> None:
    """Keeps an executable under a key, if it can be started from there."""
    from xdsl_tvm.dialects.tir.target import Target
    from xdsl_tvm.passes.infra import PassContext
    from xdsl_tvm.runtime.native import NativeExecutable

    cache, context = ObjectCache.default(), PassContext.current()
    path = cache.path(key)
    if path is None or path.exists() or not isinstance(executable, NativeExecutable):
        return
    if context.instruments or Target.current() is not None:
        return
    if context.fingerprint() != PassContext().fingerprint():
        return
    compiled = executable.machine_code
    size = sum(map(len, compiled.objects)) + sum(len(d.data) for d in compiled.data)
    if size > _LARGEST or not executable.is_plain:
        return
    functions = {
        name: description
        for name, signature in executable.signatures.items()
        if (description := _description(signature)) is not None
    }
    for description in functions.values():
        description["reports"] = executable.reports(description["function"])
    if functions:
        numbers = executable.failure_numbers
        text = json.dumps({"functions": functions, "numbers": numbers}).encode()
        head = _HEAD + len(text).to_bytes(8, "little") + text
        cache.put(key, head + compiled.entry({}))


def _description(signature: Signature) -> dict[str, Any] | None:
    """A function as JSON has it; None for one that is not kept."""
    from xdsl_tvm.runtime.signature import ArraySpec

    if signature.tuples or signature.scalar_result is not None:
        return None
    params = [
        _leaf(spec) if isinstance(spec, ArraySpec) else None for spec in signature.params
    ]
    result = None if signature.result is None else _described(signature.result)
    if None in params or (result is None and signature.result is not None):
        return None
    bound = {extent for leaf in params if leaf is not None for extent in leaf[1]}
    if not bound.issuperset(signature.symbols):
        return None
    most = [(1 << 8 * dtype.itemsize - 1) - 1 for dtype in signature.symbol_types]
    return {
        "function": signature.function,
        "symbols": list(signature.symbols),
        "most": most,
        "params": params,
        "written": [getattr(spec, "written", False) for spec in signature.params],
        "result": result,
    }


def _leaf(spec: ArraySpec) -> Leaf | None:
    text = spec.dtype.str
    shape: list[Extent] = []
    for dim in spec.shape:
        extent = None if dim is None else dim.symbol_name or dim.value
        if extent is None:
            return None
        shape.append(extent)
    if spec.strides is not None or spec.offset is not None or spec.form != "array":
        return None
    # Of the dtypes of ml_dtypes some have names that numpy does not read.
    return (text, shape) if spec.dtype.isbuiltin == 1 else None


def _described(tree: ResultTree) -> Any:
    """The leaves of a result as dictionaries, and tuples as lists."""
    if isinstance(tree, tuple):
        fields = list(map(_described, tree))
        return None if None in fields else fields
    leaf = _leaf(tree)
    return None if leaf is None else {"dtype": leaf[0], "shape": leaf[1]}


class StartedExecutable:
    """Functions of an entry; all else is asked of the executable that `compile` makes."""

    def __init__(
        self, description: dict[str, Any], compiled: CompiledObjects, whole: Whole
    ) -> None:
        from xdsl_tvm.runtime import llvm_jit, threads
        from xdsl_tvm.runtime._failed_assert import FailedAssert

        self._descriptions: dict[str, Any] = description["functions"]
        self._failure = FailedAssert(description["numbers"])
        self._functions: dict[str, StartedFunction] = {}
        self._make = whole
        self._made: Executable | None = None
        symbols: dict[str, int] = {}
        for data in compiled.objects:
            symbols.update(threads.launch_symbols(data))
        self._code = llvm_jit.load_objects(
            compiled.objects,
            dict.fromkeys(map(_symbol, self._descriptions.values())),
            symbols=symbols,
            constants=compiled.constants(),
        )

    def whole(self) -> Executable:
        """The executable that `compile` makes of the text."""
        if self._made is None:
            # Late: those who ask for it import the compiler.
            from xdsl_tvm.dialects.tir.target import Target
            from xdsl_tvm.passes.infra import PassContext

            # As when this was started, whatever has been entered since.
            with Target.parse("llvm"), PassContext().applied():
                self._made = self._make()
        return self._made

    def __getitem__(self, name: str) -> Callable[..., Any]:
        description = self._descriptions.get(name)
        if description is None or self._made is not None:
            return self.whole()[name]
        found = self._functions.get(name)
        if found is None:
            entry = self._entry(description)
            found = StartedFunction(description, entry, lambda: self.whole()[name])
            self._functions[name] = found
        return found

    def _entry(self, description: dict[str, Any]) -> Callable[..., Any]:
        """The function in machine code, whose failed assertions are exceptions."""
        reports: bool = description["reports"]
        arrays = len(description["params"]) + len(_leaves(description["result"]))
        types: list[Any] = [ctypes.c_void_p] * arrays
        types += [ctypes.c_int64] * len(description["symbols"])
        types += [ctypes.c_void_p] * reports
        native = self._code.function(_symbol(description), None, *types)
        return partial(self._failure.guard, native) if reports else native

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.whole(), name)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the entry."""
        name = "main" if "main" in self._descriptions else self.whole().entry_name
        return self[name](*args, **named)

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole())

    def __len__(self) -> int:
        return len(self.whole())

    def __contains__(self, name: object) -> bool:
        return name in self.whole()

    def __repr__(self) -> str:
        return repr(self.whole())


def _symbol(description: dict[str, Any]) -> str:
    """The symbol of a function in its object."""
    name: str = description["function"]
    return reporting_name(name) if description["reports"] else name


class StartedFunction:
    """A function of an entry; what it is not made for, the whole one does."""

    def __init__(
        self,
        description: dict[str, Any],
        entry: Callable[..., Any],
        whole: Callable[[], Any],
    ) -> None:
        self._entry = entry
        self._whole = whole
        self._tree = description["result"]
        self._params = [(np.dtype(text), shape) for text, shape in description["params"]]
        self._results: list[tuple[Any, list[Extent]]] = [
            (np.dtype(leaf["dtype"]), leaf["shape"]) for leaf in _leaves(self._tree)
        ]
        shapes = [shape for _, shape in (*self._params, *self._results)]
        self._numbers: dict[Extent, int] = {
            extent: extent
            for shape in shapes
            for extent in shape
            if isinstance(extent, int)
        }
        """Extents that are numbers, which stand for themselves."""
        self._symbols: list[str] = description["symbols"]
        self._most: list[int] = description["most"]
        self._written: list[bool] = description["written"]

    def __call__(self, *args: Any, **named: Any) -> Any:
        symbols = None if named else self._bound(args)
        if symbols is None:
            return self._whole()(*args, **named)
        addresses = list(map(address_of, args))
        if self._may_overlap(args, addresses):
            return self._whole()(*args)
        numbers = [symbols[name] for name in self._symbols]
        results = [
            RESULTS.empty([symbols[extent] for extent in shape], dtype)
            for dtype, shape in self._results
        ]
        self._entry(*addresses, *map(address_of, results), *numbers)
        return None if self._tree is None else _built(self._tree, iter(results))

    def _bound(self, args: Sequence[Any]) -> dict[Extent, int] | None:
        """The values of symbols; None if the arguments are not as expected."""
        if len(args) != len(self._params):
            return None
        symbols = dict(self._numbers)
        for array, (dtype, shape), written in zip(
            args, self._params, self._written, strict=True
        ):
            if array.__class__ is not np.ndarray or array.dtype != dtype:
                return None
            flags = array.flags
            if array.ndim != len(shape) or not (flags.c_contiguous and flags.aligned):
                return None
            if written and not flags.writeable:
                return None
            for extent, found in zip(shape, array.shape, strict=True):
                if symbols.setdefault(extent, found) != found:
                    return None
        if any(symbols[n] > m for n, m in zip(self._symbols, self._most, strict=True)):
            return None
        return symbols

    def _may_overlap(self, arrays: Sequence[Any], addresses: Sequence[int]) -> bool:
        """Whether an array that is written may share elements with another."""
        ends = [
            address + array.nbytes
            for address, array in zip(addresses, arrays, strict=True)
        ]
        return any(
            addresses[one] < ends[other] and addresses[other] < ends[one]
            for one, written in enumerate(self._written)
            if written
            for other in range(len(arrays))
            if other != one
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._whole(), name)

    def __repr__(self) -> str:
        return repr(self._whole())


def _leaves(tree: Any) -> list[dict[str, Any]]:
    """The arrays of a described result, from left to right."""
    if tree is None:
        return []
    if isinstance(tree, dict):
        return [cast("dict[str, Any]", tree)]
    return [leaf for branch in cast("list[Any]", tree) for leaf in _leaves(branch)]


def _built(tree: Any, results: Iterator[np.ndarray[Any, Any]]) -> Any:
    if isinstance(tree, list):
        return tuple(_built(branch, results) for branch in cast("list[Any]", tree))
    return next(results)
