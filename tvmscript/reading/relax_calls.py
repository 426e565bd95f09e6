"""What `R` has besides operators: leaves, calls of functions, memory, output.

Each function is called while a script is read and adds to the function that is built.
Keywords have the names of TVM v0.20; those of newer TVM are taken as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn, cast

from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.signatures import Device
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.tvmscript.nodes import expressions as ex
from xdsl_tvm.tvmscript.nodes.expressions import ScriptTypeError
from xdsl_tvm.tvmscript.nodes.relax_attributes import relax_attributes
from xdsl_tvm.tvmscript.nodes.relax_types import (
    annotated_type,
    dim_of,
    dims_of,
    known_dtype,
)
from xdsl_tvm.tvmscript.reading.relax_values import (
    DtypeLeaf,
    Extern,
    FunctionBuilder,
    PrimLeaf,
    ShapeLeaf,
    Text,
    Value,
    const,
    prim,
    shape_leaf,
)

_NOT_GIVEN = object()

# ---- leaves ----


def shape(values: object) -> ShapeLeaf:
    """A shape as a value, `R.shape([n, 4])`."""
    return shape_leaf(values)


def prim_value(value: object) -> PrimLeaf:
    """A scalar that is no tensor; integers are int64."""
    return prim(value)


def str_(value: str) -> Text:
    """A string, as an argument."""
    if not isinstance(cast(object, value), str):
        raise ScriptTypeError(f"R.str takes a string, not a {type(value).__name__}")
    return Text(value)


def dtype(value: object) -> DtypeLeaf:
    """A dtype, as an argument."""
    found = known_dtype(value)
    if found is None:
        raise ScriptTypeError('R.dtype needs a known dtype, such as "float32"')
    return DtypeLeaf(found)


def tuple_(*fields: object) -> tuple[object, ...]:
    """Several values in one."""
    if len(fields) == 1 and isinstance(fields[0], list | tuple):
        return tuple(cast("Sequence[object]", fields[0]))
    return fields


def extern_func(name: str) -> Extern:
    """A function of the runtime."""
    return Extern(_text("R.ExternFunc", name))


_DEVICE_TYPES = {
    "cpu": 1,
    "cuda": 2,
    "opencl": 4,
    "vulkan": 7,
    "metal": 8,
    "rocm": 10,
    "webgpu": 15,
    "hexagon": 16,
}
"""Numbers of DLPack."""


def device(
    dev_type: object = None,
    dev_id: object = 0,
    *,
    device_type: object = None,
    index: object = 0,
) -> Device:
    """A device of the runtime, such as `R.device("cuda", 1)`.

    Its type is a name or the number of DLPack. Newer TVM calls the arguments
    `device_type` and `index`.
    """
    kind = device_type if dev_type is None else dev_type
    if isinstance(kind, str):
        kind = _DEVICE_TYPES.get(kind)
    if kind is None:
        raise ScriptTypeError(
            f"R.device takes the number of a device type or {', '.join(_DEVICE_TYPES)}"
        )
    return Device(_integer(kind), _integer(dev_id or index))


def _device_of(kind: int) -> Callable[[object], Device]:
    def make(dev_id: object = 0) -> Device:
        """A device of one type."""
        return device(kind, dev_id)

    return make


# ---- statements ----


def func_attr(attrs: Mapping[str, object]) -> None:
    """Attributes of the function. Raises ScriptTypeError for one that is given twice."""
    builder = FunctionBuilder.current()
    for key, value in attrs.items():
        if key in builder.attrs:
            raise ScriptTypeError(f"the attribute '{key}' is given twice")
        builder.attrs[key] = value


def output(*values: object) -> NoReturn:
    """The values of a dataflow block that are visible after it; `with` reads it."""
    raise ScriptTypeError("R.output is the last statement of a dataflow block")


def match_cast(value: object, sinfo: object = _NOT_GIVEN, **newer: object) -> Value:
    """The value under a type that is checked when the program runs."""
    builder = FunctionBuilder.current()
    type_ = annotated_type(_one("R.match_cast", "sinfo", sinfo, newer), builder.devices)
    try:
        return builder.match_cast(value, type_)
    except VerifyException as error:
        raise ScriptTypeError(str(error)) from None


# ---- calls ----


def call_tir(
    gvar: object,
    args: object,
    out_sinfo: object = _NOT_GIVEN,
    tir_vars: object = None,
    **newer: object,
) -> Value:
    """Call a TIR function that writes its results into new tensors."""
    builder = FunctionBuilder.current()
    result = _outputs("R.call_tir", out_sinfo, newer)
    callee, operands = _function("R.call_tir", gvar), arguments(builder, args)
    op = relax.CallTIROp(callee, operands, result, _tir_vars(tir_vars))
    return builder.value_of(op)


def call_tir_inplace(
    gvar: object,
    args: object,
    inplace_indices: object,
    out_sinfo: object = _NOT_GIVEN,
    tir_vars: object = None,
    **newer: object,
) -> Value:
    """Call a TIR function that writes some of its arguments."""
    builder = FunctionBuilder.current()
    result = _outputs("R.call_tir_inplace", out_sinfo, newer)
    callee, operands = _function("R.call_tir_inplace", gvar), arguments(builder, args)
    indices = _indices("R.call_tir_inplace", inplace_indices)
    op = relax.CallTIRInplaceOp(callee, operands, result, indices, _tir_vars(tir_vars))
    return builder.value_of(op)


def call_tir_with_grad(
    gvar: object,
    args: object,
    out_sinfo: object = _NOT_GIVEN,
    te_grad_name: str = "",
    te_grad_kwargs: Mapping[str, object] | None = None,
    tir_vars: object = None,
    **newer: object,
) -> Value:
    """As `R.call_tir`, with what computes the gradient."""
    what = "R.call_tir_with_grad"
    builder = FunctionBuilder.current()
    result = _outputs(what, out_sinfo, newer)
    callee, operands = _function(what, gvar), arguments(builder, args)
    op = relax.CallTIRWithGradOp(
        callee,
        operands,
        result,
        _text(what, te_grad_name),
        relax_attributes(te_grad_kwargs or {}),
        _tir_vars(tir_vars),
    )
    return builder.value_of(op)


def call_dps_packed(
    func: object, args: object, out_sinfo: object = _NOT_GIVEN, **newer: object
) -> Value:
    """Call a function of the runtime that writes its results into new tensors."""
    builder = FunctionBuilder.current()
    result = _outputs("R.call_dps_packed", out_sinfo, newer)
    callee = _extern("R.call_dps_packed", func)
    op = relax.CallDPSPackedOp(callee, arguments(builder, args), result)
    return builder.value_of(op)


def call_packed(
    func: object, *args: object, sinfo_args: object = None, **newer: object
) -> Value | None:
    """Call a function of the runtime that has effects; without a type, any value."""
    builder = FunctionBuilder.current()
    if sinfo_args is None:
        sinfo_args = _NOT_GIVEN if newer else ()
    result = _result("R.call_packed", sinfo_args, newer)
    operands = [builder.value(arg) for arg in args]
    callee = _extern("R.call_packed", func)
    return builder.emit(relax.CallPackedOp(callee, operands, result))


def call_pure_packed(
    func: object, *args: object, sinfo_args: object = _NOT_GIVEN, **newer: object
) -> Value:
    """Call a function of the runtime that has no effects."""
    builder = FunctionBuilder.current()
    result = _result("R.call_pure_packed", sinfo_args, newer)
    operands = [builder.value(arg) for arg in args]
    callee = _extern("R.call_pure_packed", func)
    return builder.value_of(relax.CallPurePackedOp(callee, operands, result))


def call_inplace_packed(
    func: object,
    *args: object,
    inplace_indices: object = _NOT_GIVEN,
    sinfo_args: object = _NOT_GIVEN,
    **newer: object,
) -> Value:
    """Call a function of the runtime that writes some of its arguments."""
    what = "R.call_inplace_packed"
    builder = FunctionBuilder.current()
    result = _result(what, sinfo_args, newer)
    operands = [builder.value(arg) for arg in args]
    if result is None:
        raise ScriptTypeError(f"{what} returns what it writes")
    indices = _indices(what, inplace_indices)
    callee = _extern(what, func)
    return builder.value_of(relax.CallInplacePackedOp(callee, operands, result, indices))


def call_builtin_with_ctx(
    func: object, args: object, sinfo_args: object = None, **newer: object
) -> Value | None:
    """Call a function of the virtual machine, which also gets the machine."""
    what = "R.call_builtin_with_ctx"
    builder = FunctionBuilder.current()
    sinfo_args = () if sinfo_args is None else sinfo_args
    given = _one(what, "sinfo_args", sinfo_args if not newer else _NOT_GIVEN, newer)
    result = None if _is_empty(given) else _result(what, given, {})
    callee = _extern(what, func)
    op = relax.CallBuiltinWithCtxOp(callee, arguments(builder, args), result)
    return builder.emit(op)


def make_closure(func: object, args: object) -> Value:
    """A function of the module with its last arguments given."""
    builder = FunctionBuilder.current()
    callee = _function("R.make_closure", func)
    return builder.value_of(relax.MakeClosureOp(callee, arguments(builder, args)))


def invoke_closure(
    closure: object, args: object, sinfo_args: object = _NOT_GIVEN, **newer: object
) -> Value:
    """Call a closure that may have effects."""
    return _invoke(relax.InvokeClosureOp, closure, args, sinfo_args, newer)


def invoke_pure_closure(
    closure: object, args: object, sinfo_args: object = _NOT_GIVEN, **newer: object
) -> Value:
    """Call a closure that has no effects."""
    return _invoke(relax.InvokePureClosureOp, closure, args, sinfo_args, newer)


def _invoke(
    op: type[relax.InvokeClosureOp | relax.InvokePureClosureOp],
    closure: object,
    args: object,
    sinfo_args: object,
    newer: Mapping[str, object],
) -> Value:
    builder = FunctionBuilder.current()
    result = _result(f"R.{op.name.removeprefix('relax.')}", sinfo_args, newer)
    values = arguments(builder, args)
    return builder.value_of(
        op(builder.value(closure), values, relax.VOID if result is None else result)
    )


def call_tir_dyn(func: object, args: object) -> None:
    """Call a TIR function; the last argument is a shape of its trailing integers."""
    builder = FunctionBuilder.current()
    callee = _function("R.vm.call_tir_dyn", func)
    builder.emit(relax.VMCallTIRDynOp(callee, arguments(builder, args)))


# ---- memory ----


def builtin_alloc_tensor(
    shape: object,
    dtype: object,
    runtime_device_index: object = 0,
    storage_scope: object = "global",
) -> Value:
    """A new tensor."""
    type_ = _tensor("R.builtin.alloc_tensor", shape, dtype)
    device, scope = _integer(runtime_device_index), _text("storage_scope", storage_scope)
    op = relax.AllocTensorOp(type_, device, scope)
    return FunctionBuilder.current().value_of(op)


def alloc_storage(
    size: object, virtual_device_index: object, storage_scope: object, dtype: object
) -> Value:
    """New raw memory of as many bytes as the one element of `size`."""
    what = "R.memory.alloc_storage"
    dims = _dims(what, size)
    if len(dims) != 1:
        raise ScriptTypeError(f"{what}: the size is a shape of one number of bytes")
    device, scope = _integer(virtual_device_index), _text("storage_scope", storage_scope)
    op = relax.AllocStorageOp(dims[0], _element(what, dtype), device, scope)
    return FunctionBuilder.current().value_of(op)


def alloc_tensor(
    storage: object,
    offset: object,
    shape: object,
    dtype: object,
    runtime_device_ind: object = 0,
) -> Value:
    """A tensor on memory that exists."""
    what = "R.memory.alloc_tensor"
    builder = FunctionBuilder.current()
    memory = builder.value(storage)
    _check_device(what, memory, runtime_device_ind)
    start = offset.value if isinstance(offset, PrimLeaf) else dim_of(offset)
    if not isinstance(start, Dim):
        raise ScriptTypeError(f"{what}: the offset is a number of bytes")
    type_ = _tensor(what, shape, dtype)
    return builder.value_of(relax.AllocTensorFromStorageOp(memory, type_, start))


def _check_device(what: str, storage: SSAValue, device: object) -> None:
    """Newer TVM says the device of a tensor once more; 0 where it does not."""
    index, owner = _integer(device), storage.owner
    is_known = isinstance(owner, relax.AllocStorageOp | relax.VMAllocStorageOp)
    if index and not (is_known and owner.device_index.value.data == index):
        raise ScriptTypeError(f"{what}: the device is that of the storage")


def vm_alloc_storage(
    shape: object,
    runtime_device_index: object,
    dtype: object,
    storage_scope: object = "global",
) -> Value:
    """New raw memory; its size is a shape that may be computed at run time."""
    what = "R.vm.alloc_storage"
    builder = FunctionBuilder.current()
    size, element = builder.shape(shape), _element(what, dtype)
    device, scope = _integer(runtime_device_index), _text("storage_scope", storage_scope)
    return builder.value_of(relax.VMAllocStorageOp(size, element, device, scope))


def vm_alloc_tensor(
    storage: object,
    offset: object,
    shape: object,
    dtype: object,
    runtime_device_ind: object = 0,
) -> Value:
    """A tensor on memory that exists; its shape may be computed at run time."""
    what = "R.vm.alloc_tensor"
    builder = FunctionBuilder.current()
    operands = builder.value(storage), builder.value(offset), builder.shape(shape)
    _check_device(what, operands[0], runtime_device_ind)
    return builder.value_of(relax.VMAllocTensorOp(*operands, _element(what, dtype)))


def kill_storage(storage: object) -> None:
    """The storage is not named any more."""
    builder = FunctionBuilder.current()
    builder.emit(relax.KillStorageOp(builder.value(storage)))


def kill_tensor(tensor: object) -> None:
    """The tensor is not named any more."""
    builder = FunctionBuilder.current()
    builder.emit(relax.KillTensorOp(builder.value(tensor)))


def kill_object(obj: object) -> None:
    """The value is not named any more."""
    builder = FunctionBuilder.current()
    builder.emit(relax.VMKillObjectOp(builder.value(obj)))


def null_value() -> Value:
    """No object."""
    return FunctionBuilder.current().value_of(relax.NullValueOp())


# ---- effects ----


def print_(*values: object, format: object = "") -> None:
    """Write values."""
    builder = FunctionBuilder.current()
    operands = [builder.value(value) for value in values]
    builder.emit(relax.PrintOp(_text("R.print", format), operands))


def assert_op(
    condition: object, *values: object, format_args: object = (), format: object = ""
) -> None:
    """Stop the program unless the condition holds; `format_args` names the values."""
    builder = FunctionBuilder.current()
    values = (*values, *_listed(() if format_args is None else format_args))
    if len(values) == 1 and isinstance(values[0], list | tuple):
        values = tuple(cast("Sequence[object]", values[0]))
    operands = [builder.value(value) for value in values]
    checked = builder.value(condition)
    builder.emit(relax.AssertOp(checked, _text("R.assert_op", format), operands))


# ---- what is made of operators ----


def linear(
    data: object, weight: object, bias: object = None, out_dtype: object = None
) -> object:
    """`data` times the transposed weight, plus the bias."""
    builder = FunctionBuilder.current()
    turned = builder.operator("permute_dims", [weight])
    product = builder.operator("matmul", [data, turned, out_dtype])
    return product if bias is None else builder.operator("add", [product, bias])


def masked_fill(x: object, mask: object, value: object) -> object:
    """The elements of `x`, `value` where the mask holds."""
    builder = FunctionBuilder.current()
    info = relax.TensorInfo.of(builder.value(x).type)
    number = const(value, None if info is None else info.dtype)
    filled = builder.operator("full_like", [x, number])
    return builder.operator("where", [mask, filled, x])


# ---- pieces ----


_NEWER = {"out_sinfo": "out_ty", "sinfo_args": "ty_args", "sinfo": "ty"}
"""Keywords of newer TVM."""


def _one(what: str, name: str, value: object, newer: Mapping[str, object]) -> object:
    """The argument, under whichever name it is given."""
    others = dict(newer)
    other = others.pop(_NEWER[name], _NOT_GIVEN)
    if others:
        raise ScriptTypeError(f"{what} has no argument '{next(iter(others))}'")
    if value is _NOT_GIVEN:
        value = other
    elif other is not _NOT_GIVEN:
        raise ScriptTypeError(f"{what}: '{name}' is given twice")
    if value is _NOT_GIVEN:
        raise ScriptTypeError(f"{what} needs '{name}'")
    return value


def _is_empty(value: object) -> bool:
    return isinstance(value, list | tuple) and not value


def _listed(value: object) -> Sequence[object]:
    """The items of a list, or the only one."""
    if isinstance(value, list | tuple):
        return cast("Sequence[object]", value)
    return (value,)


def _types(value: object) -> list[Attribute]:
    devices = FunctionBuilder.current().devices
    return [annotated_type(item, devices) for item in _listed(value)]


def _outputs(what: str, value: object, newer: Mapping[str, object]) -> Attribute:
    """The result of a call that writes tensors: one, or a tuple of a list of them."""
    given = _one(what, "out_sinfo", value, newer)
    types = _types(given)
    # A list of one is that one: only R.Tuple makes a tuple of one tensor.
    return types[0] if len(types) == 1 else relax.TupleType.of(types)


def _result(what: str, value: object, newer: Mapping[str, object]) -> Attribute | None:
    """What a call of unknown code returns: any value, one type, or a tuple (§4.1).

    None for an empty tuple: nothing.
    """
    types = _types(_one(what, "sinfo_args", value, newer))
    if not types:
        return relax.OBJECT
    found = types[0] if len(types) == 1 else relax.TupleType.of(types)
    return None if found == relax.VOID else found


def _function(what: str, gvar: object) -> str:
    if isinstance(gvar, ex.GlobalVar):
        return gvar.name
    raise ScriptTypeError(
        f"{what} calls a function of the module, as in cls.f, not {_described(gvar)}"
    )


def _extern(what: str, func: object) -> str:
    if isinstance(func, Extern):
        return func.symbol
    if isinstance(func, str):
        return func
    raise ScriptTypeError(
        f"{what} calls a function of the runtime by its name, not {_described(func)}"
    )


def _described(value: object) -> str:
    return "a value" if isinstance(value, Value) else f"a {type(value).__name__}"


def _text(what: str, value: object) -> str:
    if isinstance(value, Text):
        return value.text
    if isinstance(value, str):
        return value
    raise ScriptTypeError(f"{what} must be a string, not {_described(value)}")


def _integer(value: object) -> int:
    found = value.value if isinstance(value, PrimLeaf) else dim_of(value)
    number = found.value if isinstance(found, Dim) else None
    if number is None:
        raise ScriptTypeError("the number of a device must be an integer")
    return number


def _element(what: str, value: object) -> Attribute:
    found = known_dtype(value.dtype if isinstance(value, DtypeLeaf) else value)
    if found is None:
        raise ScriptTypeError(f"{what} needs a known dtype")
    return found


def _dims(what: str, value: object) -> list[Dim]:
    if isinstance(value, ShapeLeaf):
        return list(value.dims)
    if isinstance(value, Value):
        known = value.type.known if isinstance(value.type, relax.ShapeType) else None
        if known is None:
            raise ScriptTypeError(f"{what} needs a shape of known dimensions")
        return list(known)
    return list(shape_leaf(value).dims)


def _tensor(what: str, shape: object, dtype: object) -> Attribute:
    element = _element(what, dtype)
    return relax.TensorInfo.shaped(_dims(what, shape), element).type


def _indices(what: str, value: object) -> list[int]:
    given = _listed(value)
    found = [each for each in given if isinstance(each, int)]
    if len(found) < len(given):
        raise ScriptTypeError(f"{what}: inplace_indices must be a list of integers")
    return found


def _tir_vars(value: object) -> Sequence[Dim] | None:
    if value is None:
        return None
    if isinstance(value, ShapeLeaf):
        return value.dims
    return [dim for dim in dims_of(value) if dim is not None]


def arguments(builder: FunctionBuilder, args: object) -> list[SSAValue]:
    """The arguments of a call that takes them as a tuple.

    The fields of a tuple that is a value are taken from it.
    """
    if isinstance(args, list | tuple):
        return [builder.value(arg) for arg in cast("Sequence[object]", args)]
    if isinstance(args, Value) and isinstance(args.type, relax.TupleType):
        owner = args.ssa.owner
        if isinstance(owner, relax.TupleOp):
            return list(owner.elements)
        count = len(args.type.fields.data)
        return [builder.field(args, index).ssa for index in range(count)]
    return [builder.value(args)]


FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "shape": shape,
    "prim_value": prim_value,
    "str": str_,
    "dtype": dtype,
    "tuple": tuple_,
    "ExternFunc": extern_func,
    "device": device,
    **{name: _device_of(number) for name, number in _DEVICE_TYPES.items()},
    "func_attr": func_attr,
    "output": output,
    "match_cast": match_cast,
    "call_tir": call_tir,
    "call_tir_inplace": call_tir_inplace,
    "call_tir_with_grad": call_tir_with_grad,
    "call_dps_packed": call_dps_packed,
    "call_packed": call_packed,
    "call_pure_packed": call_pure_packed,
    "call_inplace_packed": call_inplace_packed,
    "call_builtin_with_ctx": call_builtin_with_ctx,
    "make_closure": make_closure,
    "invoke_closure": invoke_closure,
    "invoke_pure_closure": invoke_pure_closure,
    "print": print_,
    "assert_op": assert_op,
    "linear": linear,
    "masked_fill": masked_fill,
    "builtin.alloc_tensor": builtin_alloc_tensor,
    "memory.alloc_storage": alloc_storage,
    "memory.alloc_tensor": alloc_tensor,
    "memory.kill_storage": kill_storage,
    "memory.kill_tensor": kill_tensor,
    "null_value": null_value,
    "vm.alloc_storage": vm_alloc_storage,
    "vm.alloc_tensor": vm_alloc_tensor,
    "vm.kill_object": kill_object,
    "vm.call_tir_dyn": call_tir_dyn,
}
"""What `R` has besides operators, by name."""
