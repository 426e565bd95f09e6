"""What children of `os.fork` need besides the locks that modules renew themselves.

Until Python 3.12 a `functools.cached_property` holds a lock while it computes, one for
all objects of a class. A thread of the parent may hold it for ever in the child.
"""

from __future__ import annotations

import os
import sys
import threading
from functools import cached_property
from typing import Any, cast


def _renew_locks_of_properties() -> None:
    for name, module in list(sys.modules.items()):
        if not name.startswith("xdsl_tvm."):
            continue
        for kind in list(vars(module).values()):
            if isinstance(kind, type) and kind.__module__ == name:
                _renew_locks_of(kind)


def _renew_locks_of(kind: type) -> None:
    members: list[Any] = list(vars(kind).values())
    for member in members:
        if isinstance(member, cached_property):
            vars(cast(object, member))["lock"] = threading.RLock()


if sys.version_info < (3, 12) and hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks_of_properties)
