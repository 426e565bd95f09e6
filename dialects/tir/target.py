"""What code is compiled for: TVM's `Target` as an attribute (docs/spec/tir-ir.md §10).

    #tir.target<"cuda", arch = "sm_80", host = #tir.target<"llvm">>

`Target.parse` reads TVM's own forms too: a command line, JSON, a dictionary, or the tag
of a well-known machine. `KINDS` says which kinds there are and what attributes they have.
"""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final, Protocol, Self, TypeAlias, TypeGuard, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    IntegerAttr,
    NoneAttr,
    StringAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tir.storage_scope import did_you_mean
from xdsl_tvm.dialects.tir.target_features import arm_features, is_arm
from xdsl_tvm.dialects.tir.target_kinds import (
    KINDS,
    DeviceType,
    Option,
    OptionType,
    TargetKind,
)
from xdsl_tvm.dialects.tir.target_tags import TAGS

OptionValue: TypeAlias = "bool | int | str | tuple[str, ...] | tuple[Target, ...]"
"""A target attribute as a Python value."""
Exported: TypeAlias = "bool | int | str | list[Exported] | dict[str, Exported]"
"""What `Target.export` is made of."""


_DEVICE_TYPE: Final = "target_device_type"
_FEATURE_PREFIX = "feature."
_RESERVED = ("kind", "tag", "keys", "host")


class DeviceLike(Protocol):
    """A device of this machine: its kind, and its architecture if it is a GPU."""

    @property
    def device_type(self) -> int: ...
    @property
    def compute_version(self) -> str | None: ...


@irdl_attr_definition
class Target(ParametrizedAttribute):
    """A target: kind, tag, keys, attributes, features and host.

    It is held normalised: attributes that equal the default of the kind are left out, so
    two targets are equal if and only if they mean the same. `attr` answers with defaults,
    `export` writes all of them out.

    Printed with the kind, and what differs from the kind's defaults:
    `#tir.target<"llvm", keys = ["arm_cpu", "cpu"], "num-cores" = 4>`.
    """

    name = "tir.target"

    kind_name: StringAttr
    tag: StringAttr
    keys: ArrayAttr[StringAttr]
    attrs: DictionaryAttr
    features: DictionaryAttr
    host: Attribute

    def __init__(
        self,
        kind: str | Mapping[str, object] | Target,
        attrs: Mapping[str, object] | None = None,
        *,
        tag: str = "",
        keys: Sequence[str] = (),
        features: Mapping[str, object] | None = None,
        host: Target | str | Mapping[str, object] | None = None,
    ) -> None:
        """The target of a kind; `keys` are before those that follow from the rest.

        With nothing but a host, `kind` may be any of the forms of `parse`, as in TVM.
        Raises ValueError for an unknown kind or attribute and a value of a wrong type.
        """
        launcher = None if host is None else Target.parse(host)
        if _is_kind(kind):
            parameters = _normalised(
                kind, attrs or {}, tag, keys, features or {}, launcher
            )
        elif attrs or tag or keys or features:
            raise ValueError(
                f"the target {kind!r} says its attributes itself; leave out others"
            )
        else:
            parsed = Target.parse(kind)
            parsed = parsed if launcher is None else parsed.with_host(launcher)
            parameters = parsed.parameters
        super().__init__(*parameters)

    # ---- reading ----

    @staticmethod
    def parse(source: str | Mapping[str, object] | Target) -> Target:
        """The target of one of TVM's forms.

        Those are a command line such as `cuda -arch=sm_80`, a JSON object or a dictionary
        with the key `kind` or `tag`, and a tag of `TAGS`, which stands for the fields of
        the machine. Raises ValueError saying what is wrong and what is known.
        """
        if isinstance(source, Target):
            return source
        if isinstance(source, Mapping):
            return _from_dict(source)
        if not isinstance(cast(object, source), str):
            raise ValueError(
                "a target is a string such as 'llvm', a dictionary or a Target, not "
                f"{source!r}"
            )
        text = source.strip()
        if text.startswith("{"):
            return _from_json(text)
        if text in TAGS:
            return _from_dict(TAGS[text])
        return _from_command_line(text)

    @staticmethod
    def from_device(device: DeviceLike) -> Target:
        """The target of a device of this machine, such as `cuda(0)`.

        Raises ValueError for a device that is neither a processor nor a GPU of CUDA, and
        RuntimeError where there is no GPU.
        """
        if device.device_type == DeviceType.CPU:
            return Target("llvm")
        if device.device_type != DeviceType.CUDA:
            raise ValueError(f"there is no target for the device {device}")
        version = device.compute_version or ""
        return Target("cuda", {"arch": f"sm_{version.replace('.', '')}"})

    @staticmethod
    def list_kinds() -> list[str]:
        """The names of the kinds."""
        return list(KINDS)

    # ---- the current target ----

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """The target of the innermost `with target:` of this thread, None outside.

        Raises ValueError outside if `allow_none` is not set.
        """
        if _ENTERED.stack:
            return _ENTERED.stack[-1]
        if not allow_none:
            raise ValueError("there is no current target; enter one: `with target:`")
        return None

    def __enter__(self) -> Self:
        """Make this the current target of the thread."""
        _ENTERED.stack.append(self)
        return self

    def __exit__(self, *_error: object) -> None:
        _ENTERED.stack.pop()

    # ---- asking ----

    @property
    def kind(self) -> TargetKind:
        """The kind, with its defaults."""
        return KINDS[self.kind_name.data]

    @property
    def host_target(self) -> Target | None:
        """The target of the code that launches this one's."""
        return self.host if isinstance(self.host, Target) else None

    @property
    def key_names(self) -> tuple[str, ...]:
        """The keys, the most special one first."""
        return tuple(key.data for key in self.keys)

    def attr(self, name: str, default: OptionValue | None = None) -> OptionValue | None:
        """The value of an attribute; else its default in the kind, else `default`.

        Raises ValueError for an attribute that the kind does not have.
        """
        option = _option(self.kind, name)
        value = self.attrs.data.get(name)
        if value is not None:
            return _to_python(value)
        return default if option.default is None else option.default

    def int_attr(self, name: str, default: int) -> int:
        """The value of an integer attribute, `default` where the kind lacks it too."""
        value = self.attr(name, default) if name in self.kind.options else default
        if not isinstance(value, int):
            raise ValueError(f"attribute '{name}' of target {self.kind.name} is no int")
        return value

    def has_key(self, key: str) -> bool:
        """Whether the target has a key, such as `gpu`."""
        return key in self.key_names

    @property
    def device_type(self) -> DeviceType:
        """The kind of device, `target_device_type` if that is given."""
        given = self.attr(_DEVICE_TYPE)
        return self.kind.device_type if given is None else DeviceType(cast(int, given))

    def feature(self, name: str) -> bool:
        """Whether the target has a feature, such as `has_sve`; unknown ones: no.

        Features that are given count; those of Arm processors follow from `mtriple`,
        `mcpu` and `mattr`.
        """
        return self.all_features.get(name, False) is True

    @property
    def all_features(self) -> dict[str, OptionValue]:
        """The features that follow from the attributes, and those that are given."""
        found: dict[str, OptionValue] = {}
        if self.kind.name in ("llvm", "c") and "mtriple" in self.attrs.data:
            mattr = cast("tuple[str, ...]", self.attr("mattr", ()))
            triple = cast(str, self.attr("mtriple"))
            mcpu = cast(str, self.attr("mcpu", ""))
            if is_arm(triple, mcpu):
                found |= arm_features(triple, mcpu, mattr)
        given = self.features.data.items()
        return found | {key: _to_python(value) for key, value in given}

    # ---- changing ----

    def with_host(self, host: Target | str | Mapping[str, object]) -> Target:
        """The target with another host."""
        return self._with_host(Target.parse(host))

    def without_host(self) -> Target:
        """The target without its host."""
        return self._with_host(None)

    def _with_host(self, host: Target | None) -> Target:
        fields = (self.kind_name, self.tag, self.keys, self.attrs, self.features)
        return Target.new((*fields, NoneAttr() if host is None else host))

    def export(self) -> dict[str, Exported]:
        """Everything of the target in one dictionary, sorted by key, defaults included.

        It is what TVMScript prints, and `Target.parse` reads it. Features that are given
        have keys `feature.<name>`.
        """
        fields: dict[str, Exported] = {
            "kind": self.kind.name,
            "tag": self.tag.data,
            "keys": list(self.key_names),
        }
        for name, option in self.kind.options.items():
            value = self.attr(name)
            if value is not None:
                fields[name] = _exported(value, option)
        for name, value in self.features.data.items():
            fields[_FEATURE_PREFIX + name] = _exported(_to_python(value), None)
        if self.host_target is not None:
            fields["host"] = self.host_target.export()
        return dict(sorted(fields.items()))

    # ---- as an attribute ----

    def verify(self) -> None:
        try:
            expected = _normalised(
                self.kind_name.data,
                {key: _to_python(value) for key, value in self.attrs.data.items()},
                self.tag.data,
                self.key_names,
                {key: _to_python(value) for key, value in self.features.data.items()},
                self.host if isinstance(self.host, Target) else None,
            )
        except ValueError as error:
            raise VerifyException(f"tir.target: {error}") from None
        if not isinstance(self.host, Target | NoneAttr):
            raise VerifyException(
                f"tir.target: the host must be a #tir.target, got {self.host}"
            )
        if expected != self.parameters:
            raise VerifyException(
                "tir.target: attributes that equal a default must be left out, and keys "
                "must end with those of the kind; use Target(...) or Target.parse(...)"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        position = parser.pos
        fields: dict[str, object] = {}
        with parser.in_angle_brackets():
            kind = parser.parse_str_literal("kind of target")
            while parser.parse_optional_punctuation(",") is not None:
                name = parser.parse_optional_str_literal() or parser.parse_identifier()
                if name in fields:
                    parser.raise_error(f"the target has '{name}' twice")
                parser.parse_punctuation("=")
                fields[name] = _to_python(parser.parse_attribute())
        features = fields.pop("features", {})
        try:
            for name, value in cast("Mapping[str, object]", features).items():
                fields[_FEATURE_PREFIX + name] = value
            return _from_dict({"kind": kind, **fields}).parameters
        except ValueError as error:
            parser.raise_error(str(error), position)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.kind_name.data)
            if self.tag.data:
                _print_field(printer, "tag", self.tag)
            keys, following = self.key_names, _following_keys(self.kind, self.attrs.data)
            if keys != following:
                _print_field(printer, "keys", self.keys)
            for name, value in sorted(self.attrs.data.items()):
                _print_field(printer, name, value)
            if self.features.data:
                _print_field(printer, "features", self.features)
            if self.host_target is not None:
                _print_field(printer, "host", self.host_target)


class _Entered(threading.local):
    """The targets that one thread has entered, the innermost last."""

    def __init__(self) -> None:
        self.stack: list[Target] = []


_ENTERED = _Entered()


def _is_kind(source: str | Mapping[str, object] | Target) -> TypeGuard[str]:
    """Whether a form of a target is the name of a kind, known or not."""
    return (
        isinstance(source, str)
        and source not in TAGS
        and re.fullmatch(r"[\w.-]+", source) is not None
    )


_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def _print_field(printer: Printer, name: str, value: Attribute) -> None:
    printer.print_string(", ")
    _print_name(printer, name)
    printer.print_string(" = ")
    _print_value(printer, value)


def _print_name(printer: Printer, name: str) -> None:
    if _IDENTIFIER.match(name):
        printer.print_string(name)
    else:
        printer.print_string_literal(name)


def _print_value(printer: Printer, value: Attribute) -> None:
    """Print integers without their type, which is `i64` wherever it is not written."""
    if isinstance(value, IntegerAttr):
        cast("IntegerAttr", value).print_without_type(printer)
    elif isinstance(value, ArrayAttr):
        items = cast("ArrayAttr[Attribute]", value)
        with printer.in_square_brackets():
            printer.print_list(items.data, lambda item: _print_value(printer, item))
    else:
        printer.print_attribute(value)


# ---- values ----


def _to_python(value: Attribute) -> OptionValue:
    match value:
        case StringAttr():
            return value.data
        case Target():
            return cast(OptionValue, value)
        case IntegerAttr():
            return bool(value.value.data) if value.type == i1 else value.value.data
        case ArrayAttr():
            return cast("tuple[str, ...]", tuple(_to_python(item) for item in value))
        case DictionaryAttr():
            entries = {key: _to_python(item) for key, item in value.data.items()}
            return cast(OptionValue, entries)
        case _:
            raise ValueError(
                f"{value} is no value of a target attribute; use a bool, an integer, a "
                "string or a list of strings"
            )


def _to_attribute(value: object) -> Attribute:
    """The attribute of a value that `_checked` has let pass."""
    match value:
        case bool():
            return BoolAttr.from_bool(value)
        case int():
            return IntegerAttr(value, i64)
        case str():
            return StringAttr(value)
        case Target():
            return value
        case _:
            return ArrayAttr(map(_to_attribute, cast("Sequence[object]", value)))


def _exported(value: OptionValue, option: Option | None) -> Exported:
    if not isinstance(value, tuple):
        return value
    if option is not None and option.type is OptionType.TARGETS:
        return [target.export() for target in cast("tuple[Target, ...]", value)]
    return list(cast("tuple[str, ...]", value))


def _checked(kind: TargetKind, name: str, value: object) -> OptionValue:
    """The value of an attribute in its type; numbers may come as text.

    Raises ValueError for an unknown attribute and a value that does not fit its type.
    """
    option = _option(kind, name)
    converted = _CONVERT[option.type](value)
    if converted is None:
        raise ValueError(
            f"attribute '{name}' of target kind '{kind.name}' must be "
            f"{option.type.value}, got {value!r}"
        )
    if name == _DEVICE_TYPE and converted not in set(DeviceType):
        kinds = ", ".join(f"{each.value} ({each.name.lower()})" for each in DeviceType)
        raise ValueError(
            f"attribute '{name}' of target kind '{kind.name}' must be one of {kinds}, "
            f"got {converted}"
        )
    return converted


def _option(kind: TargetKind, name: str) -> Option:
    option = kind.options.get(name)
    if option is None:
        raise ValueError(
            f"unknown attribute '{name}' of target kind '{kind.name}'"
            f"{did_you_mean(name, tuple(kind.options))}; it has "
            f"{', '.join(sorted(kind.options))}"
        )
    return option


def _as_bool(value: object) -> bool | None:
    match value:
        case bool():
            return value
        case 0 | 1:
            return bool(value)
        case str() if value.lower() in ("0", "1", "true", "false"):
            return value.lower() in ("1", "true")
        case _:
            return None


def _as_int(value: object) -> int | None:
    match value:
        case int() if not isinstance(value, bool):
            return value
        case str() if re.fullmatch(r"[+-]?\d+", value):
            return int(value)
        case _:
            return None


def _as_strs(value: object) -> tuple[str, ...] | None:
    if isinstance(value, str):
        return tuple(item for item in value.split(",") if item)
    if not isinstance(value, Sequence):
        return None
    items = cast("Sequence[object]", value)
    if not all(isinstance(item, str) for item in items):
        return None
    return tuple(cast("Sequence[str]", items))


def _as_targets(value: object) -> tuple[Target, ...] | None:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return None
    return tuple(map(_as_target, cast("Sequence[object]", value)))


def _as_target(value: object) -> Target:
    if isinstance(value, str | Target | Mapping):
        return Target.parse(cast("str | Target | Mapping[str, object]", value))
    raise ValueError(f"{value!r} is no target; use a command line or a dictionary")


_CONVERT: dict[OptionType, Callable[[object], OptionValue | None]] = {
    OptionType.BOOL: _as_bool,
    OptionType.INT: _as_int,
    OptionType.STR: lambda value: value if isinstance(value, str) else None,
    OptionType.STRS: _as_strs,
    OptionType.TARGETS: _as_targets,
}


# ---- the normal form ----


def _following_keys(kind: TargetKind, attrs: Mapping[str, Attribute]) -> tuple[str, ...]:
    """The keys that follow from device, processor and kind, in TVM's order."""

    def text(name: str) -> str:
        value = attrs.get(name)
        return value.data if isinstance(value, StringAttr) else ""

    arm = kind.name in ("llvm", "c") and is_arm(text("mtriple"), text("mcpu"))
    keys = (*(("arm_cpu", "cpu") if arm else ()), text("device"), *kind.default_keys)
    return tuple(dict.fromkeys(key for key in keys if key))


_PREFIX = {("cuda", "arch"): "sm_", ("nvptx", "mcpu"): "sm_", ("rocm", "mcpu"): "gfx"}
"""What the names of architectures start with."""


def _normalised(
    kind_name: str,
    attrs: Mapping[str, object],
    tag: str,
    keys: Sequence[str],
    features: Mapping[str, object],
    host: Target | None,
) -> tuple[Attribute, ...]:
    """The parameters of a `Target`."""
    kind = KINDS.get(kind_name)
    if kind is None:
        raise ValueError(
            f"unknown target kind '{kind_name}'{did_you_mean(kind_name, tuple(KINDS))}; "
            f"use one of {', '.join(KINDS)}"
        )
    held: dict[str, Attribute] = {}
    for name, value in attrs.items():
        checked = _checked(kind, name, value)
        prefix = _PREFIX.get((kind_name, name), "")
        if isinstance(checked, str) and not checked.startswith(prefix):
            raise ValueError(
                f"attribute '{name}' of target kind '{kind_name}' must start with "
                f"'{prefix}', got '{checked}'"
            )
        if checked != kind.options[name].default:
            held[name] = _to_attribute(checked)
    for name, value in features.items():
        if not isinstance(value, bool | int | str):
            raise ValueError(f"feature '{name}' must be a bool, an integer or a string")
    all_keys = dict.fromkeys((*keys, *_following_keys(kind, held)))
    return (
        StringAttr(kind_name),
        StringAttr(tag),
        ArrayAttr(map(StringAttr, all_keys)),
        DictionaryAttr(dict(sorted(held.items()))),
        DictionaryAttr(
            {name: _to_attribute(value) for name, value in sorted(features.items())}
        ),
        NoneAttr() if host is None else host,
    )


# ---- TVM's forms ----


def _from_json(text: str) -> Target:
    try:
        fields = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"the target is no valid JSON: {error}") from None
    return _from_dict(fields)


def _from_dict(fields: Mapping[str, object]) -> Target:
    rest = dict(fields)
    tag = _string_field(rest, "tag")
    if "kind" not in rest:
        if tag not in TAGS:
            raise ValueError(
                f"unknown target tag '{tag}'{did_you_mean(tag, tuple(TAGS))}; give the "
                "'kind' of the target, such as 'llvm' or 'cuda'"
            )
        rest = {**TAGS[tag], **rest}
    kind = _string_field(rest, "kind")
    keys = _as_strs(rest.pop("keys", ()))
    if keys is None:
        raise ValueError("the keys of a target must be a list of strings")
    host = rest.pop("host", None)
    features: dict[str, object] = {}
    for name in [name for name in rest if name.startswith(_FEATURE_PREFIX)]:
        features[name.removeprefix(_FEATURE_PREFIX)] = rest.pop(name)
    launcher = None if host is None else _as_target(host)
    return Target.new(_normalised(kind, rest, tag, keys, features, launcher))


def _string_field(fields: dict[str, object], name: str) -> str:
    value = fields.pop(name, "")
    if not isinstance(value, str):
        raise ValueError(f"the {name} of a target must be a string, got {value!r}")
    return value


@lru_cache(maxsize=64)
def _from_command_line(text: str) -> Target:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"the target '{text}' cannot be read: {error}") from None
    if not words:
        raise ValueError("the target is empty; name its kind, as in 'cuda -arch=sm_80'")
    fields: dict[str, object] = {"kind": words[0]}
    rest = iter(words[1:])
    pending = next(rest, None)
    while pending is not None:
        word, pending = pending, next(rest, None)
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or not name:
            raise ValueError(
                f"'{word}' in the target '{text}' is no option; write '-name=value'"
            )
        if name in fields:
            raise ValueError(f"the target '{text}' has '{name}' twice")
        if equals:
            fields[name] = value
        elif pending is not None and not _is_option(pending):
            fields[name], pending = pending, next(rest, None)
        else:
            fields[name] = True
    return _from_dict(fields)


def _is_option(word: str) -> bool:
    """Whether a word starts an option, and is not the value of one, such as `-1`."""
    return re.match(r"--?[A-Za-z]", word) is not None


def target_text(target: str | Mapping[str, object] | Target) -> str:
    """A target as a string that `Target.parse` reads, for options of passes."""
    if isinstance(target, str):
        return target
    return json.dumps(Target.parse(target).export())
