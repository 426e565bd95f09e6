"""Compiled functions as a shared library of the convention of `tvm-ffi`.

`export_library` links the machine code of a module with C source that checks arguments
(`c_source.py`), by a C compiler (`linker.py`). `tvm_ffi.load_module` loads the library in
a process that has neither this package nor xDSL; `open_library` does it here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.lowering.llvm_text.datum import Datum
from xdsl_tvm.lowering.relax.conversion.packed_call import CALL_PACKED
from xdsl_tvm.lowering.runtime_symbols import (
    CALL_WITH_SLOTS,
    FAILED_ASSERT,
    FAILED_NUMBER,
)
from xdsl_tvm.runtime import llvm_jit
from xdsl_tvm.runtime.exported_library.archive import packed
from xdsl_tvm.runtime.exported_library.c_source import (
    DESCRIPTION,
    PREFIX,
    Failures,
    c_source,
)
from xdsl_tvm.runtime.exported_library.description import described
from xdsl_tvm.runtime.exported_library.linker import link_library
from xdsl_tvm.runtime.packed_functions import PackedSignature
from xdsl_tvm.runtime.signature import NO_PUBLIC_FUNCTION, Signature

_MESSAGE = re.compile(rf"^@{FAILED_ASSERT} = weak global ", re.MULTILINE)
_NUMBER = re.compile(rf"^@({FAILED_NUMBER}\d+) = ", re.MULTILINE)


def export_library(
    path: str | Path,
    functions: Mapping[str, Signature | PackedSignature],
    text: str,
    data: Sequence[Datum],
    opt_level: int,
    mattr: str = "",
) -> None:
    """Write a library of functions, by the names to export, with the LLVM IR of them, and
    the constants that it declares only. A file that ends in .tar holds the library.
    `mattr` is that of `llvm_jit.machine_without`.

    Raises PassFailedException for a function that cannot be exported, DiagnosticException
    where there is no C compiler or it fails, and OSError.
    """
    if not functions:
        raise PassFailedException(NO_PUBLIC_FUNCTION)
    for name in (CALL_PACKED, CALL_WITH_SLOTS):
        if f"@{name}(" in text:
            raise PassFailedException(
                "the module calls Python functions by name, which a library does not "
                "have; export a module without such calls"
            )
    # A message belongs to the thread that called.
    text, can_fail = _MESSAGE.subn(f"@{FAILED_ASSERT} = thread_local global ", text)
    failures = Failures(list(dict.fromkeys(_NUMBER.findall(text)))) if can_fail else None
    source = c_source(functions, failures, described(functions))
    objects = llvm_jit.linked_objects(text, data, opt_level, mattr)
    exports = [DESCRIPTION, *(f"{PREFIX}{name}" for name in functions)]
    with packed(Path(path)) as library:
        link_library(library, source, objects, exports)
