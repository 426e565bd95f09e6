"""The page `docs/configuration.md`, from the keys of a `PassContext`."""

from __future__ import annotations

from dataclasses import fields

from markdown_parts import table

from xdsl_tvm.passes.infra.pass_config import (
    ConfigOption,
    ConfigStruct,
    registered_options,
)

_HEAD = """# Configuration of passes

Written by `python docs/generate.py`.

A `PassContext` gives passes what TVM calls a configuration:

<!-- checked -->
```python
from xdsl_tvm.passes.infra import PassContext

config = {"tir.disable_vectorize": True, "tir.UnrollLoop": {"auto_max_step": 16}}
with PassContext(config=config):
    print(PassContext.current().config["tir.UnrollLoop"].auto_max_step)
```

An unknown key, field or type is an error that names those that there are. Keys, types
and defaults are those of TVM v0.20. A flag may be given as an integer, and fields that
are not given have their defaults.

"""


def _default(option: ConfigOption) -> str:
    value = option.default
    if isinstance(value, ConfigStruct):
        names = (f"`{f.name}={getattr(value, f.name)}`" for f in fields(value))
        return "<br>".join(names)
    return "unset" if value is None else f"`{value}`"


def _type(option: ConfigOption) -> str:
    is_struct = issubclass(option.kind, ConfigStruct)
    return "fields" if is_struct else option.type_name


def configuration_page() -> str:
    """The text of the page."""
    rows = table(
        ("Key", "Type", "Default", "Read by: what it changes"),
        (
            (f"`{key}`", _type(option), _default(option), option.meaning)
            for key, option in registered_options().items()
        ),
    )
    return f"{_HEAD}{rows}"
