"""User-defined dtypes, as TVM's `tvm.target.datatype`.

docs/spec/tir-passes-d-abi-and-pipelines.md, "LowerCustomDatatypes".

A dtype is registered by a name and a code of at least 129, and each operation on it by a
lowering function for a kind of targets. `LowerCustomDatatypes` calls them:

    from xdsl_tvm.passes.tir import datatype

    datatype.register("posites", 131)
    datatype.register_op(
        datatype.create_lower_func({16: "Posit16Add"}), "Add", "llvm", "posites"
    )
    datatype.register_op(
        datatype.create_lower_func({(32, 16): "FloatToPosit16"}),
        "Cast",
        "llvm",
        "float",
        "posites",
    )

A program computes in `custom[posites]16`, the lowered one calls `Posit16Add` on `uint16`.
"""

from xdsl_tvm.passes.tir.datatype.lowering import (
    CustomOperation,
    LowerFunc,
    create_lower_func,
    create_min_lower_func,
    lower_call_pure_extern,
    lower_ite,
    minimum_of,
    register_min_func,
)
from xdsl_tvm.passes.tir.datatype.registry import (
    get_type_code,
    get_type_name,
    get_type_registered,
    register,
    register_op,
    unregister,
)

__all__ = [
    "CustomOperation",
    "LowerFunc",
    "create_lower_func",
    "create_min_lower_func",
    "get_type_code",
    "get_type_name",
    "get_type_registered",
    "lower_call_pure_extern",
    "lower_ite",
    "minimum_of",
    "register",
    "register_min_func",
    "register_op",
    "unregister",
]
