"""Programs as the text of TVMScript (docs/spec/tvmscript.md §10).

`print_script` writes functions and modules in the spelling of TVM v0.20, which reads back
as the same program, here and there. Names come from the program: properties first, then
hints of SSA values, then a letter; those that are taken get suffixes. What the `tir`
dialect says that TVMScript does not is in `from_ssa`.

Version 0.27 is for exchange with newer TVM: blocks are `T.sblock`, bindings `T.let`,
allocations buffers, and all of these hold for the rest of their body, a `tir.scope` or
not. What that version has no form for is refused: accesses with a predicate, contents of
`tir.allocate_const`, `axis_separators`, kinds of buffers, conditions of allocations, and
builtins that are gone. It knows no variable that is not negative (`size_var`), and a
handle becomes a typed pointer by `T.reinterpret` only.

Differs from TVM, whose own text does not always read back:

* loads and stores of scalable vectors have `T.Ramp` as index, no slice;
* `And` and `Or` of vectors are `T.And` and `T.Or`, since the operators work on bits;
  `FloorDiv` and `FloorMod` of floats are `T.FloorDiv` and `T.FloorMod`;
* calls that the functions of `T` would not make as they are, or that have no function,
  are `T.Call("dtype", "tir.name", [...])`;
* `T.env_thread` has a dtype where the variable is no int32; virtual threads of other axes
  than `vthread` are `T.attr(tx, "virtual_thread", n)`;
* an `elem_offset` 0 of another dtype than the index dtype is written, and so is one
  beside an `offset_factor`, which alone would stand for a new variable;
* strings with line breaks are strings with escapes;
* `T.allocate_const` has all elements, and float16 as numbers;
* floats beyond float32 are `T.FloatImm`;
* constants beyond int64 are `T.uint64(...)`, though TVM cannot hold them;
* `pragma_*` of a loop stay `annotations=` after the blocks, too, where TVM has a
  `T.attr` around the loop, whose variable is not that of the loop when it is read;
* blocks that declare no regions print `T.reads()` and `T.writes()`;
* a typed pointer that a call gives is a handle.

Relax functions are in `relax_functions`. Their text reads back as the same functions;
what TVM has not is written so: a dimension that is unknown next to known ones is `None`,
the value of a scalar of another dtype than int64 is next to its dtype, constants of more
than 16 elements are `metadata["relax.expr.Constant"][i]`, which the text defines before
 the module, and a virtual device that the module does not list is `I.vdevice(...)`.
Leaves at the start of a function are written where they are used, and become leaves at
its start when they are read; others are bound where they stand. The text does not keep

* the order in which a function declares its symbols, and names that are words of Python;
* that a dataflow block gives a value out twice, or one from outside: the block binds it
  once more, as TVM would;
* whether a `relax.lambda` has a name, or is recursive without calling itself.

Version 0.27 has no values of scalars and no `tir_vars`, which is refused, and writes all
constants where they are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.attributes import VDeviceAttr
from xdsl_tvm.tvmscript.nodes import statements as st
from xdsl_tvm.tvmscript.printing.expressions import VERSIONS as VERSIONS
from xdsl_tvm.tvmscript.printing.expressions import Style
from xdsl_tvm.tvmscript.printing.flat import FlatFunctionPrinter
from xdsl_tvm.tvmscript.printing.functions import FunctionPrinter
from xdsl_tvm.tvmscript.printing.names import identifier
from xdsl_tvm.tvmscript.printing.relax_functions import Metadata, RelaxPrinter
from xdsl_tvm.tvmscript.ssa.from_ssa import script_of

_RELAX_HEADER = "# from tvm.script import relax as R"


def print_script(
    program: tir.FuncOp | relax.FuncOp | ModuleOp | st.PrimFunc | st.IRModule,
    *,
    version: str = "0.20",
    sugar: bool = True,
    indent: int = 4,
) -> str:
    """The script of a function or a module of functions, ending with a line break.

    `version` is the version of TVM that is to read it. Without `sugar` nothing is written
    in a shorter form than the nodes: neither `T.grid`, `T.axis.remap` and slices, nor
    buffers as parameters, `T.decl_buffer` that allocates, root blocks left out and
    `return`. `indent` is the number of blanks of a level.

    Raises DiagnosticException, in one line, for what TVMScript cannot say, and ValueError
    for an unknown version. Linear in the size of the text.
    """
    if version not in VERSIONS:
        known = " or ".join(VERSIONS)
        raise ValueError(f"there is no TVMScript of version '{version}'; use {known}")
    style = Style(VERSIONS[version], sugar, indent)
    if isinstance(program, relax.FuncOp):
        return _text(_function_lines(program, style))
    nodes = script_of(program) if isinstance(program, tir.FuncOp | ModuleOp) else program
    if isinstance(nodes, st.PrimFunc):
        printer = printer_for(style)
        printer.function(nodes, nodes.name)
        lines = [*style.version.header, "", *printer.lines]
    else:
        others = relax_functions(program) if isinstance(program, ModuleOp) else {}
        lines = _module_lines(nodes, others, style)
    return _text(lines)


def _text(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"


def relax_functions(module: ModuleOp) -> dict[str, relax.FuncOp]:
    """The Relax functions of a module by name."""
    return {
        op.sym_name.data: op
        for op in module.body.block.ops
        if isinstance(op, relax.FuncOp)
    }


def _function_lines(op: relax.FuncOp, style: Style) -> list[str]:
    metadata = Metadata()
    printer = RelaxPrinter(style, metadata)
    printer.function(op, op.sym_name.data)
    header = [*style.version.header, _RELAX_HEADER, ""]
    return [*header, *metadata.lines(), *printer.lines]


def printer_for(style: Style, module: str = "Module") -> FunctionPrinter:
    """What writes a function of a module in a style."""
    if style.version.is_flat:
        return FlatFunctionPrinter(style, module)
    return FunctionPrinter(style, module)


def _check_names(names: Iterable[str]) -> None:
    """Check that functions have names of their own in Python."""
    written = dict[str, str]()
    for name in names:
        other = written.setdefault(identifier(name), name)
        if other != name:
            raise DiagnosticException(
                f"the functions @{other} and @{name} would both be called "
                f"{identifier(name)} in a script; rename one of them"
            )


def _module_lines(
    module: st.IRModule, others: Mapping[str, relax.FuncOp], style: Style
) -> list[str]:
    header = ["# from tvm.script import ir as I"]
    if module.functions or others:
        header += style.version.header
    if others:
        header.append(_RELAX_HEADER)
    blanks = " " * style.indent
    lines = ["@I.ir_module", f"class {identifier(module.name)}:"]
    start = len(lines)
    infos = printer_for(style)
    if module.attrs:
        lines.append(f"{blanks}I.module_attrs({infos.dictionary(module.attrs)})")
    if module.global_infos:
        text = infos.dictionary(dict(module.global_infos))
        lines.append(f"{blanks}I.module_global_infos({text})")
    metadata = Metadata()
    devices = module.global_infos.get("vdevice", [])
    known = [each for each in devices if isinstance(each, VDeviceAttr)]
    names = [*sorted(module.functions), *sorted(others)]
    _check_names(names)
    for name in sorted(names, key=lambda name: name == "main"):
        if len(lines) > start:
            lines.append("")
        if name in others:
            printer = RelaxPrinter(style, metadata, module.name, known)
            printer.function(others[name], name)
        else:
            printer = printer_for(style, module.name)
            printer.function(module.functions[name], name)
        lines += (f"{blanks}{line}" if line else line for line in printer.lines)
    if len(lines) == start:
        lines.append(f"{blanks}pass")
    return [*header, "", *metadata.lines(), *lines]
