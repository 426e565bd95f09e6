"""The custom dtypes that are registered, and the lowering functions of their operations.

Functions are known by the names that TVM's global functions have:
`tvm.datatype.lower.<target>.<Op>.<type>`, `….Cast.<dest>.<src>`,
`….Call.intrin.<intrinsic>.<type>`.
"""

from __future__ import annotations

from xdsl.ir import Attribute

from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir.datatype.lowering import LowerFunc

FIRST_CODE = 129
"""The least code of a custom dtype."""

_codes: dict[str, int] = {}
_functions: dict[str, LowerFunc] = {}

OPERATIONS = (
    *("Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Min", "Max"),
    *("EQ", "NE", "LT", "LE", "GT", "GE"),
    *("FloatImm", "Cast", "Call"),
)


def register(type_name: str, type_code: int) -> None:
    """Register a custom dtype by its name and a code of at least 129.

    Raises ValueError for a lower code, and for a name or a code that another has.
    """
    if type_code < FIRST_CODE:
        raise ValueError(
            f"the code of a custom dtype must be at least {FIRST_CODE}, got {type_code}"
        )
    if _codes.get(type_name) == type_code:
        return
    if type_name in _codes:
        raise ValueError(
            f"the custom dtype '{type_name}' has the code {_codes[type_name]} already"
        )
    if type_code in _codes.values():
        raise ValueError(
            f"the code {type_code} is that of the custom dtype "
            f"'{get_type_name(type_code)}'; use another one"
        )
    _codes[type_name] = type_code


def unregister(type_name: str) -> None:
    """Remove a custom dtype and its lowering functions.

    Raises KeyError for a name that is not registered.
    """
    get_type_code(type_name)
    del _codes[type_name]
    for name in [n for n in _functions if type_name in n.split(".")[4:]]:
        del _functions[name]


def get_type_name(type_code: int) -> str:
    """The name of a code. Raises KeyError where it has none."""
    for name, code in _codes.items():
        if code == type_code:
            return name
    raise KeyError(f"no custom dtype has the code {type_code}; register one")


def get_type_code(type_name: str) -> int:
    """The code of a name. Raises KeyError where it is not registered."""
    if type_name not in _codes:
        raise KeyError(
            f"the custom dtype '{type_name}' is not registered; call "
            f"datatype.register('{type_name}', code) with a code of at least {FIRST_CODE}"
        )
    return _codes[type_name]


def get_type_registered(type_code: int) -> bool:
    """Whether a code is that of a custom dtype."""
    return type_code in _codes.values()


def register_op(
    lower_func: LowerFunc,
    op_name: str,
    target: str,
    src_type_name: str,
    dest_type_name: str | None = None,
    intrinsic_name: str | None = None,
) -> None:
    """Register how an operation on a custom dtype is lowered for a kind of targets.

    `op_name` is one of TVM: `Add`, `FloatImm`, `EQ`, …; a `Cast` has a destination, too,
    either may be a native kind, such as `float`; a `Call` has the full name of its
    builtin, such as `tir.exp`. A function that is registered replaces the one before.
    Raises ValueError for an operation that is not one, a `Cast` without a destination and
    a `Call` without a builtin.
    """
    if op_name not in OPERATIONS:
        raise ValueError(f"no operation '{op_name}', use one of {', '.join(OPERATIONS)}")
    if op_name == "Cast":
        if dest_type_name is None:
            raise ValueError("a Cast needs the name of its destination, dest_type_name")
        name = cast_function_name(target, dest_type_name, src_type_name)
    elif op_name == "Call":
        if intrinsic_name is None:
            raise ValueError("a Call needs the name of its builtin, intrinsic_name")
        name = call_function_name(target, intrinsic_name, src_type_name)
    else:
        name = function_name(target, op_name, src_type_name)
    _functions[name] = lower_func


def function_name(target: str, op_name: str, type_name: str) -> str:
    """The name of the function that lowers an operation."""
    return f"tvm.datatype.lower.{target}.{op_name}.{type_name}"


def cast_function_name(target: str, dest: str, source: str) -> str:
    """The name of the function that lowers a conversion."""
    return function_name(target, f"Cast.{dest}", source)


def call_function_name(target: str, intrinsic: str, type_name: str) -> str:
    """The name of the function that lowers a call; the intrinsic with its `tir.`."""
    return function_name(target, f"Call.intrin.{intrinsic}", type_name)


def lowering_function(name: str) -> LowerFunc | None:
    """The function that is registered by a name, None where there is none."""
    return _functions.get(name)


def kind_of(dtype: Attribute) -> str:
    """The name of a custom dtype, and of a native one without its width: `float`."""
    element = tir.element_of(dtype)
    if isinstance(element, tir.CustomType):
        return element.type_name.data
    if tir.is_bool(element):
        return "uint"
    name = tir.dtype_name(element)
    return name if "_" in name else name.rstrip("0123456789")
