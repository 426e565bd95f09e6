"""Ops of the `tir` dialect as trees of TVMScript, the inverse of `to_ssa`.

Any verified function will do. A pure value becomes part of the tree of every use of it,
shared or not. A read of memory does, too, unless a write is between it and a use: then
it is bound by a `LetStmt` where it is, as structural equality has it (see
`analysis._tree_form`). A call with an effect is part of a tree where it has one use, in
the next statement, and nothing changes its turn there; else it is bound. A `tir.let` of
kind `expr` is a `Let` where one expression of the next statement uses it, else a
`LetStmt`.

What the trees have no place for:

* functions without a body, ops of other dialects, discardable attributes on ops other
  than functions: refused;
* `tir.alloc_buffer` in a loop or a condition: the block around it, or the function,
  allocates the buffer;
* blocks outside of a root block: the function gets one, as it does in TVM;
* iteration variables of other dtypes than int32 and int64, unless they are signed and
  just loop variables: they get a wider dtype, and a conversion where they are used;
* a `tir.scope` where nothing follows, and statements in it before a binding;
* a no-op `tir.evaluate`, which says no more than an empty list, and the unit attribute,
  which is `True`.
"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    ModuleOp,
)
from xdsl.utils.exceptions import DiagnosticException, VerifyException

from xdsl_tvm.analysis.tree_form import name_of
from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.tir.module import (
    GLOBAL_INFOS,
    MODULE_ATTRS,
    VDEVICES,
    global_infos,
    module_attributes,
)
from xdsl_tvm.tvmscript.nodes import statements as st
from xdsl_tvm.tvmscript.ssa.body_readers import FunctionReader
from xdsl_tvm.tvmscript.ssa.python_values import python_value
from xdsl_tvm.tvmscript.ssa.statement_readers import STATEMENT_READERS


def script_of(op: tir.FuncOp | ModuleOp) -> st.PrimFunc | st.IRModule:
    """The tree of a function, or of a module of functions.

    Raises DiagnosticException, in one line that names the op, for what TVMScript cannot
    say. Linear in the number of ops, shared values counted once per use.
    """
    return module_script(op) if isinstance(op, ModuleOp) else function_script(op)


def module_script(module: ModuleOp) -> st.IRModule:
    """The tree of a module of functions; those of Relax are not in it (`script_of`)."""
    functions: dict[str, st.PrimFunc] = {}
    for op in module.body.block.ops:
        if isinstance(op, relax.FuncOp):
            continue
        if not isinstance(op, tir.FuncOp):
            raise DiagnosticException(
                f"{name_of(op)}: has no form in TVMScript beside functions of the tir "
                "and relax dialects; lower or remove it first"
            )
        functions[op.sym_name.data] = function_script(op)
    found = st.IRModule(functions)
    try:
        attributes, infos = module_attributes(module), global_infos(module)
    except VerifyException as error:
        raise DiagnosticException(str(error)) from error
    for key, value in module.attributes.items():
        if key not in (MODULE_ATTRS, GLOBAL_INFOS, VDEVICES):
            attributes.setdefault(key, value)
    found.attrs.update({k: python_value(v, module) for k, v in attributes.items()})
    for name, items in infos.items():
        found.global_infos[name] = [python_value(item, module) for item in items]
    return found


def function_script(func: tir.FuncOp) -> st.PrimFunc:
    """The tree of a function; see `script_of`."""
    if func.is_declaration:
        raise DiagnosticException(
            f"tir.func @{func.sym_name.data}: a declaration has no form in TVMScript; "
            "give it a body or remove it"
        )
    return FunctionReader(func, STATEMENT_READERS).read()
