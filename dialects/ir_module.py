"""Modules made of functions by name, as TVM's `IRModule` is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Self

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolOpInterface, SymbolTable

from xdsl_tvm.dialects.global_var import GlobalVar
from xdsl_tvm.dialects.relax.functions import FuncOp as RelaxFuncOp
from xdsl_tvm.dialects.scriptable import Scriptable
from xdsl_tvm.dialects.tir.annotations import (
    AnnotationValue,
    annotation_attr,
    annotation_value,
)
from xdsl_tvm.dialects.tir.module import (
    global_infos,
    module_attributes,
    set_module_attribute,
)


class IRModule(ModuleOp, Scriptable):
    """A `builtin.module` that is made of functions by name, and that finds them.

    What passes return is one, too, if they are given one.

        mod = IRModule({"main": function})
        print(mod["main"])

    A name is a string or a `GlobalVar`. Functions may be operations of any dialect that
    define a symbol. One that is in a module already is copied; its name becomes the given
    one. Raises TypeError for anything else.
    """

    def __init__(
        self,
        functions: Mapping[str | GlobalVar, Operation]
        | Mapping[str, Operation]
        | None = None,
        attrs: Mapping[str, object] | None = None,
    ) -> None:
        given = {_name(key): op for key, op in (functions or {}).items()}
        super().__init__([_named(op, name) for name, op in given.items()])
        self._set_attrs(attrs or {})

    @staticmethod
    def from_expr(expr: Operation) -> IRModule:
        """The module of one function, called by its `global_symbol`, `main` without one.

        Raises TypeError for what is no function.
        """
        symbol = expr.attributes.get("global_symbol")
        name = symbol.data if isinstance(symbol, StringAttr) else "main"
        return IRModule({name: expr})

    @staticmethod
    def of(module: ModuleOp) -> IRModule:
        """A copy of a module that finds its functions by name."""
        copy = module.clone()
        return IRModule.create(
            attributes=copy.attributes,
            properties=copy.properties,
            regions=[copy.detach_region(copy.body)],
            location=copy.location,
        )

    # ---- functions ----

    def __getitem__(self, name: str | GlobalVar) -> Operation:
        """The function of that name; KeyError if there is none."""
        if (found := SymbolTable.lookup_symbol(self, _name(name))) is None:
            raise KeyError(f"no function '{_name(name)}'; the module has {self._known()}")
        return found

    def __setitem__(self, name: str | GlobalVar, function: Operation) -> None:
        """Add a function, or put it in the place of the one of that name."""
        new = _named(function, _name(name))
        old = SymbolTable.lookup_symbol(self, _name(name))
        if old is None:
            self.body.block.add_op(new)
            return
        self.body.block.insert_op_before(new, old)
        old.detach()
        old.erase()

    def __delitem__(self, name: str | GlobalVar) -> None:
        """Erase a function; KeyError if there is none."""
        function = self[name]
        function.detach()
        function.erase()

    def __contains__(self, name: object) -> bool:
        return (
            isinstance(name, str | GlobalVar)
            and SymbolTable.lookup_symbol(self, _name(name)) is not None
        )

    def __iter__(self) -> Iterator[GlobalVar]:
        """The variables of the functions, in the order of the module."""
        return iter(self.functions)

    @property
    def functions(self) -> Mapping[GlobalVar, Operation]:
        """The functions by their variables, as the module is now."""
        return {
            GlobalVar(name.data, op.type if isinstance(op, RelaxFuncOp) else None): op
            for op in self.ops
            if isinstance(name := op.properties.get("sym_name"), StringAttr)
        }

    def functions_items(self) -> list[tuple[GlobalVar, Operation]]:
        """Variables and functions, by name."""
        return sorted(self.functions.items(), key=lambda item: item[0].name_hint)

    def get_global_vars(self) -> list[GlobalVar]:
        """The variables of the functions, in the order of the module."""
        return list(self)

    def get_global_var(self, name: str) -> GlobalVar:
        """The variable of a function. Raises ValueError if there is none."""
        for found in self:
            if found.name_hint == name:
                return found
        known = self._known()
        raise ValueError(f"IRModule: there is no function '{name}'; it has {known}")

    def _known(self) -> str:
        return ", ".join(found.name_hint for found in self) or "none"

    def update_func(self, var: GlobalVar, func: Operation) -> None:
        """Put a function in the place of the one that the variable stands for."""
        self[var] = func

    def update(self, other: ModuleOp | Mapping[str, Operation]) -> None:
        """Add copies of another module's functions, in the place of those of one name."""
        module = other if isinstance(other, ModuleOp) else IRModule(other)
        for op in module.ops:
            if isinstance(name := op.properties.get("sym_name"), StringAttr):
                self[name.data] = op

    # ---- attributes ----

    @property
    def attrs(self) -> Mapping[str, AnnotationValue]:
        """The attributes as values of Python, which cannot be changed here."""
        items = module_attributes(self).items()
        return MappingProxyType({key: annotation_value(value) for key, value in items})

    def get_attr(self, attr_key: str) -> AnnotationValue:
        """The value of an attribute, None without one."""
        return self.attrs.get(attr_key)

    def with_attr(self, attr_key: str, attr_value: object) -> Self:
        """A copy of the module with an attribute set.

        Raises ValueError for what cannot be an attribute.
        """
        return self.with_attrs({attr_key: attr_value})

    def with_attrs(self, attr_map: Mapping[str, object]) -> Self:
        """A copy of the module with these attributes set."""
        copy = self.clone()
        copy._set_attrs(attr_map)
        return copy

    def without_attr(self, attr_key: str) -> Self:
        """A copy of the module without an attribute."""
        copy = self.clone()
        set_module_attribute(copy, attr_key, None)
        return copy

    def _set_attrs(self, attrs: Mapping[str, object]) -> None:
        for key, value in attrs.items():
            set_module_attribute(self, key, annotation_attr(value))

    @property
    def global_infos(self) -> Mapping[str, Sequence[Attribute]]:
        """The global infos by name, virtual devices under `vdevice`."""
        return global_infos(self)


def _name(given: object) -> str:
    if isinstance(given, GlobalVar):
        return given.name_hint
    if not isinstance(given, str):
        raise TypeError(
            "IRModule: a function has a string or a GlobalVar as its name, not "
            f"{type(given).__name__}"
        )
    return given


def _named(function: object, name: str) -> Operation:
    if not isinstance(function, Operation) or not function.has_trait(SymbolOpInterface):
        raise TypeError(
            f"IRModule: '{name}' must be a function, not {type(function).__name__}"
        )
    if function.parent is not None:
        function = function.clone()
    function.properties["sym_name"] = StringAttr(name)
    return function
