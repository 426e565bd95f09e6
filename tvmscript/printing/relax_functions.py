"""Relax functions as the lines of a script (docs/spec/tvmscript.md §11)."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    StringAttr,
    f32,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.analysis.relax.argument_tuples import (
    NAMED_TUPLES,
    NEEDS_NAMES,
    is_argument_tuple,
)
from xdsl_tvm.analysis.tree_form import name_of
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.dialects.relax.attributes import DimAttr, VDeviceAttr, symbols_of
from xdsl_tvm.dialects.relax.functions import infer_if, parameter_symbols
from xdsl_tvm.dialects.relax.signatures import OPERATORS, Parameter
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import substitute_symbols
from xdsl_tvm.tvmscript.nodes.expressions import FloatImm
from xdsl_tvm.tvmscript.nodes.relax_attributes import (
    float_text,
    python_attribute,
    relax_text,
)
from xdsl_tvm.tvmscript.nodes.relax_types import (
    Devices,
    TypeText,
    device_text,
    dim_text,
    dtype_text,
)
from xdsl_tvm.tvmscript.printing.expressions import Style, string
from xdsl_tvm.tvmscript.printing.lines import ScriptLines
from xdsl_tvm.tvmscript.printing.names import identifier
from xdsl_tvm.tvmscript.printing.relax_operators import operator_arguments
from xdsl_tvm.tvmscript.ssa.trees import refuse_attributes

_RESERVED = ("R", "I", "T", "cls", "metadata", "tvm")
_LEAVES = (relax.ConstantOp, relax.ShapeOp, relax.PrimValueOp)
_SHORT = 16
"""The most elements of a constant that are written where it is used."""
_SYMBOL = "global_symbol"
_PRIMITIVE = "Primitive"
"""A flag of fused functions, which newer TVM only knows as one."""
CONSTANTS = "relax.expr.Constant"


@dataclass
class Metadata:
    """Constants that are too long for the lines that use them."""

    constants: list[DenseIntOrFPElementsAttr] = field(
        default_factory=list[DenseIntOrFPElementsAttr]
    )
    _numbers: dict[DenseIntOrFPElementsAttr, int] = field(
        default_factory=dict[DenseIntOrFPElementsAttr, int]
    )

    def reference(self, value: DenseIntOrFPElementsAttr) -> str:
        """What a function writes for a constant."""
        number = self._numbers.setdefault(value, len(self.constants))
        if number == len(self.constants):
            self.constants.append(value)
        return f"metadata[{string(CONSTANTS)}][{number}]"

    def lines(self) -> Iterator[str]:
        """The definition of `metadata`, nothing without constants."""
        if not self.constants:
            return
        yield f"metadata = {{{string(CONSTANTS)}: ["
        for value in self.constants:
            shape, dtype = _layout(value)
            contents = string(base64.b64encode(value.data.data).decode())
            yield f"    R.const_data({dtype_text(dtype)}, {shape}, {contents}),"
        yield "]}"
        yield ""


@dataclass(frozen=True)
class Keywords:
    """Words that differ between versions of TVM."""

    out: str = "out_sinfo"
    result: str = "sinfo_args"
    any_value: str = "R.Object"
    is_newer: bool = False


KEYWORDS = (Keywords(), Keywords("out_ty", "ty_args", "R.Any", True))


class RelaxPrinter(ScriptLines):
    """Writes one function."""

    def __init__(
        self,
        style: Style,
        metadata: Metadata,
        module: str = "Module",
        devices: Devices = (),
    ) -> None:
        super().__init__(style.indent)
        self._words = KEYWORDS[style.version.is_flat]
        self._metadata = metadata
        self._module = module
        self._devices = devices
        for name in (*_RESERVED, module):
            self._names.reserve(name)
        self._texts: dict[SSAValue, str] = {}
        self._named: dict[SSAValue, bool] = {}
        self._renamed: dict[str, Dim] = {}
        self._symbols: frozenset[str] = frozenset()
        self._types = TypeText(
            self._device, self._words.any_value, not self._words.is_newer
        )

    # ---- lines, names, types ----

    def _name(self, value: SSAValue, hint: str) -> str:
        name = self._names.fresh(value.name_hint or hint)
        self._texts[value] = name
        return name

    def _type(self, type_: Attribute, *, quoted: bool = False) -> str:
        if self._renamed:
            type_ = substitute_symbols(type_, self._renamed)
        return self._types.text(type_, quoted=quoted)

    def _dim(self, dim: Dim) -> str:
        return dim_text(dim.substitute(self._renamed) if self._renamed else dim)

    def _device(self, device: VDeviceAttr) -> str:
        return device_text(device, self._devices) or relax_text(device)

    # ---- functions ----

    def function(self, op: relax.FuncOp, name: str) -> None:
        """The function under the name that it has in its module."""
        self._reserve_symbols(op)
        attributes = dict(op.attributes)
        options = [] if _SYMBOL in attributes else ["private=True"]
        found = attributes.get(_SYMBOL)
        if found == StringAttr(identifier(name)):
            del attributes[_SYMBOL]
        self._decorator(options, op.is_pure)
        self._header(identifier(name), op.args, op.output_type)
        with self._frame():
            if any(map(_names_functions, op.walk())):
                self.line(f"cls = {self._module}")
            self._body(op, op.body.block, attributes)

    def _reserve_symbols(self, op: relax.FuncOp) -> None:
        for each in op.walk():
            for name in _symbols_of(each):
                usable = identifier(name)
                if name in (*_RESERVED, self._module, "range", "float"):
                    usable = f"{name}_"
                if usable != name:
                    self._renamed[name] = Dim.symbol(usable)
                self._names.reserve(usable)

    def _decorator(self, options: Sequence[str], is_pure: bool) -> None:
        given = [*options, *([] if is_pure else ["pure=False"])]
        self.line(f"@R.function({', '.join(given)})" if given else "@R.function")

    def _header(
        self, name: str, args: Sequence[BlockArgument], output: Attribute
    ) -> None:
        # Parameters belong to the body, which is a frame of its own.
        self._names.enter()
        params = [
            f"{self._name(arg, 'x')}: {self._type(arg.type, quoted=True)}" for arg in args
        ]
        self._names.leave()
        result = self._type(output, quoted=True)
        self.line(f"def {name}({', '.join(params)}) -> {result}:")

    def _body(
        self,
        op: relax.FuncOp | relax.LambdaOp,
        block: Block,
        attributes: Mapping[str, Attribute],
    ) -> None:
        # Not in the order in which they are declared, which the text does not show.
        symbols = parameter_symbols(arg.type for arg in op.args)
        for arg in op.args:
            # The header has given the names; they are taken in the frame of the body.
            self._name(arg, "x")
        own = list(dict.fromkeys((*symbols, *_defined(block))))
        for symbol in own:
            name = self._dim(Dim.symbol(symbol))
            self.line(f"{name} = T.int64()")
        if attributes:
            values = {key: python_attribute(each, op) for key, each in attributes.items()}
            if self._words.is_newer and values.get(_PRIMITIVE) == 1:
                values[_PRIMITIVE] = True
            self.line(f"R.func_attr({relax_text(values)})")
        around, self._symbols = self._symbols, frozenset(symbols)
        self._inline_entry(block)
        self._block(block, "gv")
        last = block.last_op
        assert isinstance(last, relax.ReturnOp)
        self.line(f"return {self._text(last.value)}")
        self._symbols = around

    def _inline_entry(self, block: Block) -> None:
        """Leaves at the start of a function are written where they are used."""
        for op in block.ops:
            if not isinstance(op, _LEAVES):
                return
            if not self._is_named(op.result):
                self._texts[op.result] = ""

    # ---- blocks ----

    def _block(
        self, block: Block, hint: str, given: Mapping[SSAValue, str] | None = None
    ) -> None:
        """The bindings of a block; `given` has the names of some."""
        names = given or {}
        for op in block.ops:
            if op is block.last_op and isinstance(
                op, relax.ReturnOp | relax.YieldOp | relax.OutputOp
            ):
                return
            self._binding(op, hint, names)

    def _binding(self, op: Operation, hint: str, given: Mapping[SSAValue, str]) -> None:
        if op.attributes and not isinstance(op, relax.LambdaOp):
            refuse_attributes(op)
        if op.results and self._is_inline(op):
            return
        match op:
            case relax.DataflowOp():
                self._dataflow(op)
            case relax.IfOp():
                self._if(op, given.get(op.result) or self._name(op.result, hint))
            case relax.LambdaOp():
                if op.var_name is not None:
                    set_name_hint(op.result, op.var_name.data)
                self._lambda(op, given.get(op.result) or self._name(op.result, "f"))
            case _:
                text = self._call(op)
                if not op.results:
                    self.line(text)
                    return
                (result,) = op.results
                name = given.get(result) or self._name(result, hint)
                self._texts[result] = name
                self.line(f"{name}: {self._type(result.type)} = {text}")

    def _is_inline(self, op: Operation) -> bool:
        """Whether an operation is written where its result is used."""
        if isinstance(op, relax.PrimValueOp):
            return not self._is_named(op.result)
        if isinstance(op, relax.TupleOp):
            return self._is_inline_tuple(op)
        # A shape of other symbols is after the cast that defines them.
        if isinstance(op, relax.ShapeOp) and not (
            self._is_named(op.result)
            or self._symbols.issuperset(symbols_of(op.values.data))
        ):
            return True
        return isinstance(op, _LEAVES) and op.result in self._texts

    def _is_inline_tuple(self, op: relax.TupleOp) -> bool:
        if is_argument_tuple(op):
            return True
        users = [use.operation for use in op.result.uses]
        if not users or any(isinstance(user, NAMED_TUPLES) for user in users):
            return False
        return bool(op.elements) and all(map(self._is_inline_scalar, op.elements))

    def _is_inline_scalar(self, value: SSAValue) -> bool:
        return isinstance(value.owner, relax.PrimValueOp) and not self._is_named(value)

    def _is_named(self, value: SSAValue) -> bool:
        """Whether a use needs a name; found once for a value, which may have many."""
        found = self._named.get(value)
        if found is None:
            uses = (use.operation for use in value.uses)
            found = any(isinstance(use, NEEDS_NAMES) for use in uses)
            self._named[value] = found
        return found

    def _dataflow(self, op: relax.DataflowOp) -> None:
        """A dataflow block.

        What it gives out twice, or got from outside, is bound once more inside.
        """
        if isinstance(op.parent_op(), relax.DataflowOp):
            raise DiagnosticException(
                f"{name_of(op)}: a block in another one has no form in TVMScript; join "
                "them"
            )
        self.line("with R.dataflow():")
        block = op.body.block
        names: dict[SSAValue, str] = {}
        others: list[tuple[str, SSAValue]] = []
        outputs: list[str] = []
        for value, result in zip(op.output_op.values, op.outputs, strict=True):
            result.name_hint = result.name_hint or value.name_hint
            name = self._name(result, "gv")
            outputs.append(name)
            owner = value.owner
            is_own = isinstance(owner, Operation) and owner.parent is block
            if is_own and value not in names:
                names[value] = name
            else:
                others.append((name, value))
        with self._frame():
            self._block(block, "lv", names)
            for name, value in others:
                self.line(f"{name}: {self._type(value.type)} = {self._text(value)}")
            self.line(f"R.output({', '.join(outputs)})")

    def _if(self, op: relax.IfOp, name: str) -> None:
        self._texts[op.result] = name
        declared = None
        if op.result.type != infer_if(op.true_region, op.false_region):
            declared = self._type(op.result.type)
        self.line(f"if {self._text(op.condition)}:")
        self._branch(op.true_region.block, name, declared)
        self.line("else:")
        self._branch(op.false_region.block, name, declared)

    def _branch(self, block: Block, name: str, declared: str | None) -> None:
        last = block.last_op
        assert isinstance(last, relax.YieldOp)
        value, before = last.value, last.prev_op
        is_last = before is not None and value.owner is before
        is_direct = is_last and not isinstance(before, relax.AliasOp | relax.DataflowOp)
        with self._frame():
            if is_direct and declared is None:
                self._block(block, "gv", {value: name})
                return
            self._block(block, "gv")
            annotation = "" if declared is None else f": {declared}"
            self.line(f"{name}{annotation} = {self._text(value)}")

    def _lambda(self, op: relax.LambdaOp, name: str) -> None:
        self._texts[op.result] = name
        if op.own_value is not None:
            self._texts[op.own_value] = name
        self._decorator([], op.is_pure)
        self._header(name, op.args, op.type.ret)
        with self._frame():
            self._body(op, op.body.block, op.attributes)

    # ---- expressions ----

    def _text(self, value: SSAValue) -> str:
        """What stands for a value where it is used."""
        text = self._texts.get(value)
        if text:
            return text
        owner = value.owner
        if not isinstance(owner, Operation):
            raise DiagnosticException(
                "a block argument is used outside of the function that has it"
            )
        return self._expression(owner)

    def _expression(self, op: Operation) -> str:
        match op:
            case relax.ConstantOp():
                return self._constant(op)
            case relax.ShapeOp():
                return self._shape(op.values.known or ())
            case relax.PrimValueOp():
                return self._prim(op)
            case relax.TupleOp():
                return self._tuple(op.elements)
            case _:
                raise DiagnosticException(
                    f"{name_of(op)}: its result is used where it is not visible"
                )

    def _operand(self, value: SSAValue, parameter: Parameter) -> str:
        return self._text(value)

    def _all(self, values: Iterable[SSAValue]) -> str:
        return ", ".join(map(self._text, values))

    def _tuple(self, values: Sequence[SSAValue]) -> str:
        if not values:
            return "R.tuple()"
        comma = "," if len(values) == 1 else ""
        return f"({self._all(values)}{comma})"

    def _arguments(self, values: Sequence[SSAValue]) -> str:
        return self._tuple(values) if values else "()"

    def _shape(self, dims: Iterable[Dim]) -> str:
        return f"R.shape([{', '.join(map(self._dim, dims))}])"

    def _prim(self, op: relax.PrimValueOp) -> str:
        type_ = op.result.type
        assert isinstance(type_, relax.PrimType)
        return f"R.prim_value({self._prim_text(op.value, type_.dtype)})"

    def _prim_text(self, value: DimAttr | FloatAttr, dtype: Attribute) -> str:
        if isinstance(value, FloatAttr):
            number = value.value.data
            # TVM 0.27 reads a bare number as a float64.
            is_bare = value.type == f32 and not self._words.is_newer
            if is_bare and math.isfinite(number):
                return float_text(number)
            return relax_text(FloatImm(value.type, number))
        if dtype == i64:
            return self._dim(value.data)
        number = value.data.value
        name = dtype_text(dtype).strip('"')
        if dtype == i1 and number is not None:
            return str(bool(number))
        if number is None:
            raise DiagnosticException(
                f"relax.prim_value: {value.data} of dtype {dtype} has no form in "
                "TVMScript, where dimensions are int64; convert it before"
            )
        return f"T.{name}({number})"

    def _constant(self, op: relax.ConstantOp) -> str:
        value = op.value
        if not isinstance(value, DenseIntOrFPElementsAttr):
            raise DiagnosticException(
                f"{name_of(op)}: its elements are in a resource, which TVMScript has "
                "not; use dense<...>"
            )
        shape, dtype = _layout(value)
        is_long = bool(shape) and not 0 < math.prod(shape) <= _SHORT
        if is_long and not self._words.is_newer:
            return self._metadata.reference(value)
        values = cast("DenseIntOrFPElementsAttr[Any]", value).get_values()
        has_others = any(isinstance(v, float) and not math.isfinite(v) for v in values)
        if shape and has_others and not self._words.is_newer:
            return self._metadata.reference(value)
        texts = [_number(each, dtype) for each in values]
        nested = _nested(texts, shape)
        return f"R.const({nested}, {dtype_text(dtype)})"

    # ---- calls ----

    def _call(self, op: Operation) -> str:
        name = op.name.removeprefix("relax.")
        write = _WRITERS.get(type(op))
        if write is None and name in OPERATORS and op.name.startswith("relax."):
            arguments = operator_arguments(op, self._operand, self._device)
            return f"R.{name}({', '.join(arguments)})"
        if write is None:
            raise DiagnosticException(
                f"{name_of(op)}: has no form in TVMScript; lower or remove it first"
            )
        return write(self, op)

    def leaf(self, op: Operation) -> str:
        """A leaf that is bound to a name."""
        return self._expression(op)

    def alias(self, op: relax.AliasOp) -> str:
        """Another name."""
        return self._text(op.value)

    def get_item(self, op: relax.GetItemOp) -> str:
        """A field of a tuple."""
        return f"{self._text(op.tuple_value)}[{op.index.value.data}]"

    def match_cast(self, op: relax.MatchCastOp) -> str:
        """A cast that is checked."""
        type_ = self._type(op.result.type)
        return f"R.match_cast({self._text(op.value)}, {type_})"

    def call(self, op: relax.CallOp) -> str:
        """A call of a function of the module."""
        return f"{_function(op)}({self._all(op.arguments)})"

    def call_indirect(self, op: relax.CallIndirectOp) -> str:
        """A call of a value."""
        return f"{self._text(op.callee)}({self._all(op.arguments)})"

    def global_ref(self, op: relax.GlobalRefOp) -> str:
        """A function of the module as a value."""
        return _function(op)

    def call_tir(self, op: relax.AnyCallTIROp) -> str:
        """A call of a TIR function that writes its results."""
        parts = [_function(op), self._arguments(op.arguments)]
        parts.append(f"{self._words.out}={self._outputs(op.result.type)}")
        if isinstance(op, relax.CallTIRInplaceOp):
            parts.append(f"inplace_indices={list(op.inplace_indices.get_values())}")
        if isinstance(op, relax.CallTIRWithGradOp):
            parts.append(f"te_grad_name={string(op.te_grad_name.data)}")
            kwargs = python_attribute(op.te_grad_kwargs, op)
            parts.append(f"te_grad_kwargs={relax_text(kwargs)}")
        if op.tir_vars is not None:
            if self._words.is_newer:
                raise DiagnosticException(
                    f"{name_of(op)}: newer TVM has no tir_vars; pass the dimensions as "
                    "arguments"
                )
            parts.append(f"tir_vars={self._shape(op.tir_vars.known or ())}")
        return f"R.{op.name.removeprefix('relax.')}({', '.join(parts)})"

    def _outputs(self, type_: Attribute) -> str:
        if isinstance(type_, relax.TupleType):
            if len(type_.fields.data) == 1:
                return self._type(type_)
            fields = [self._type(each) for each in type_.fields.data]
            return f"[{', '.join(fields)}]"
        return self._type(type_)

    def call_dps(self, op: relax.CallDPSPackedOp) -> str:
        """A call of a function of the runtime that writes its results."""
        assert op.result is not None
        out = f"{self._words.out}={self._outputs(op.result.type)}"
        arguments = self._arguments(op.arguments)
        return f"R.call_dps_packed({string(op.callee.data)}, {arguments}, {out})"

    def _result(self, type_: Attribute | None) -> str:
        text = "R.Tuple" if type_ is None else self._type(type_)
        return f"{self._words.result}=({text},)"

    def packed(
        self, op: relax.CallPackedOp | relax.CallPurePackedOp | relax.CallInplacePackedOp
    ) -> str:
        """A call of a function of the runtime."""
        parts = [string(op.callee.data), *map(self._text, op.arguments)]
        if isinstance(op, relax.CallInplacePackedOp):
            parts.append(f"inplace_indices={list(op.inplace_indices.get_values())}")
        parts.append(self._result(None if op.result is None else op.result.type))
        return f"R.{op.name.removeprefix('relax.')}({', '.join(parts)})"

    def builtin_with_ctx(self, op: relax.CallBuiltinWithCtxOp) -> str:
        """A call of a function of the virtual machine."""
        parts = [string(op.callee.data), self._arguments(op.arguments)]
        if op.result is not None:
            parts.append(self._result(op.result.type))
        elif self._words.is_newer:
            parts.append(f"{self._words.result}=()")
        return f"R.call_builtin_with_ctx({', '.join(parts)})"

    def make_closure(self, op: relax.MakeClosureOp) -> str:
        """A closure."""
        return f"R.make_closure({_function(op)}, {self._arguments(op.captured)})"

    def invoke(self, op: relax.InvokeClosureOp | relax.InvokePureClosureOp) -> str:
        """A call of a closure."""
        parts = [self._text(op.closure), self._arguments(op.arguments)]
        parts.append(self._result(op.result.type))
        return f"R.{op.name.removeprefix('relax.')}({', '.join(parts)})"

    def call_tir_dyn(self, op: relax.VMCallTIRDynOp) -> str:
        """A call of a TIR function."""
        return f"R.vm.call_tir_dyn({_function(op)}, {self._arguments(op.arguments)})"

    # ---- memory and effects ----

    def builtin_alloc_tensor(self, op: relax.AllocTensorOp) -> str:
        """A new tensor."""
        shape, dtype = self._tensor(op.result.type)
        device, scope = op.device_index.value.data, string(op.storage_scope.data)
        return (
            f"R.builtin.alloc_tensor({shape}, {dtype}, R.prim_value({device}), "
            f"R.str({scope}))"
        )

    def _tensor(self, type_: Attribute) -> tuple[str, str]:
        info = relax.TensorInfo.of(type_)
        assert info is not None
        assert info.shape is not None
        assert info.dtype is not None
        if info.vdevice is not None:
            raise DiagnosticException(
                f"{type_} is allocated on a virtual device, which TVMScript cannot say"
            )
        return self._shape(info.shape), f"R.dtype({dtype_text(info.dtype)})"

    def alloc_storage(self, op: relax.AllocStorageOp) -> str:
        """New raw memory."""
        size, device = self._shape([op.size.data]), op.device_index.value.data
        scope, dtype = string(op.storage_scope.data), dtype_text(op.dtype)
        return (
            f"R.memory.alloc_storage({size}, R.prim_value({device}), R.str({scope}), "
            f"R.dtype({dtype}))"
        )

    def alloc_tensor(self, op: relax.AllocTensorFromStorageOp) -> str:
        """A tensor on memory."""
        shape, dtype = self._tensor(op.result.type)
        offset = self._dim(op.offset.data)
        storage = self._text(op.storage)
        return (
            f"R.memory.alloc_tensor({storage}, R.prim_value({offset}), {shape}, {dtype}"
            f"{self._device_of(op.storage)})"
        )

    def _device_of(self, storage: SSAValue) -> str:
        """The device of a tensor on memory, which newer TVM has as an argument."""
        owner = storage.owner
        is_known = isinstance(owner, relax.AllocStorageOp | relax.VMAllocStorageOp)
        if not is_known or not self._words.is_newer:
            return ""
        index = owner.device_index.value.data
        return f", R.prim_value({index})" if index else ""

    def vm_alloc_storage(self, op: relax.VMAllocStorageOp) -> str:
        """New raw memory of a size that is a value."""
        size, device = self._text(op.size), op.device_index.value.data
        scope, dtype = string(op.storage_scope.data), dtype_text(op.dtype)
        return (
            f"R.vm.alloc_storage({size}, R.prim_value({device}), R.dtype({dtype}), "
            f"R.str({scope}))"
        )

    def vm_alloc_tensor(self, op: relax.VMAllocTensorOp) -> str:
        """A tensor on memory, its shape a value."""
        operands = self._all((op.storage, op.offset, op.shape))
        device = self._device_of(op.storage)
        return f"R.vm.alloc_tensor({operands}, R.dtype({dtype_text(op.dtype)}){device})"

    def kill(
        self, op: relax.KillStorageOp | relax.KillTensorOp | relax.VMKillObjectOp
    ) -> str:
        """The end of a life."""
        return f"R.{op.name.removeprefix('relax.')}({self._all(op.operands)})"

    def hint_on_device(self, op: relax.HintOnDeviceOp) -> str:
        """The device as one argument, and in newer TVM the memory scope."""
        kind, index = op.dev_type.value.data, op.dev_id.value.data
        device = f"R.device(dev_type={kind}, dev_id={index})"
        if self._words.is_newer:
            device = f'R.device(device_type={kind}, index={index}), "global"'
        return f"R.hint_on_device({self._text(op.data)}, {device})"

    def null_value(self, op: relax.NullValueOp) -> str:
        """No object."""
        return "R.null_value()"

    def print_(self, op: relax.PrintOp) -> str:
        """Output."""
        parts = [*map(self._text, op.values), f"format={string(op.format.data)}"]
        return f"R.print({', '.join(parts)})"

    def assert_(self, op: relax.AssertOp) -> str:
        """A check."""
        values = [self._text(op.condition)]
        if op.values:
            values.append(f"[{self._all(op.values)}]")
        values.append(f"format={string(op.format.data)}")
        return f"R.assert_op({', '.join(values)})"


_WRITERS: Mapping[type[Operation], Callable[[RelaxPrinter, Any], str]] = {
    relax.ConstantOp: RelaxPrinter.leaf,
    relax.ShapeOp: RelaxPrinter.leaf,
    relax.PrimValueOp: RelaxPrinter.leaf,
    relax.TupleOp: RelaxPrinter.leaf,
    relax.AliasOp: RelaxPrinter.alias,
    relax.GetItemOp: RelaxPrinter.get_item,
    relax.MatchCastOp: RelaxPrinter.match_cast,
    relax.CallOp: RelaxPrinter.call,
    relax.CallIndirectOp: RelaxPrinter.call_indirect,
    relax.GlobalRefOp: RelaxPrinter.global_ref,
    relax.CallTIROp: RelaxPrinter.call_tir,
    relax.CallTIRInplaceOp: RelaxPrinter.call_tir,
    relax.CallTIRWithGradOp: RelaxPrinter.call_tir,
    relax.CallDPSPackedOp: RelaxPrinter.call_dps,
    relax.CallPackedOp: RelaxPrinter.packed,
    relax.CallPurePackedOp: RelaxPrinter.packed,
    relax.CallInplacePackedOp: RelaxPrinter.packed,
    relax.CallBuiltinWithCtxOp: RelaxPrinter.builtin_with_ctx,
    relax.MakeClosureOp: RelaxPrinter.make_closure,
    relax.InvokeClosureOp: RelaxPrinter.invoke,
    relax.InvokePureClosureOp: RelaxPrinter.invoke,
    relax.VMCallTIRDynOp: RelaxPrinter.call_tir_dyn,
    relax.AllocTensorOp: RelaxPrinter.builtin_alloc_tensor,
    relax.AllocStorageOp: RelaxPrinter.alloc_storage,
    relax.AllocTensorFromStorageOp: RelaxPrinter.alloc_tensor,
    relax.VMAllocStorageOp: RelaxPrinter.vm_alloc_storage,
    relax.VMAllocTensorOp: RelaxPrinter.vm_alloc_tensor,
    relax.KillStorageOp: RelaxPrinter.kill,
    relax.KillTensorOp: RelaxPrinter.kill,
    relax.VMKillObjectOp: RelaxPrinter.kill,
    relax.HintOnDeviceOp: RelaxPrinter.hint_on_device,
    relax.NullValueOp: RelaxPrinter.null_value,
    relax.PrintOp: RelaxPrinter.print_,
    relax.AssertOp: RelaxPrinter.assert_,
}


def _layout(value: DenseIntOrFPElementsAttr) -> tuple[tuple[int, ...], Attribute]:
    """Shape and dtype of a constant."""
    info = relax.TensorInfo.of(value.get_type())
    assert info is not None
    assert info.dtype is not None
    assert info.dims is not None
    extents = [dim.value for dim in info.dims if dim is not None]
    return tuple(extent for extent in extents if extent is not None), info.dtype


def _names_functions(op: Operation) -> bool:
    return "callee" in op.properties and not isinstance(
        op,
        relax.CallPackedOp
        | relax.CallPurePackedOp
        | relax.CallInplacePackedOp
        | relax.CallDPSPackedOp
        | relax.CallBuiltinWithCtxOp,
    )


def _function(op: Any) -> str:
    return f"cls.{identifier(op.callee.root_reference.data)}"


def _symbols_of(op: Operation) -> Sequence[str]:
    """The symbols that an operation defines."""
    if isinstance(op, relax.FuncOp | relax.LambdaOp):
        return op.symbol_names
    return op.defined_symbols if isinstance(op, relax.MatchCastOp) else ()


def _defined(block: Block) -> Iterator[str]:
    """The symbols that casts in a function define, not in the functions inside."""
    for op in block.ops:
        if isinstance(op, relax.LambdaOp):
            continue
        yield from _symbols_of(op)
        for region in op.regions:
            yield from _defined(region.block)


def _number(value: object, dtype: Attribute) -> str:
    if dtype == i1:
        return str(bool(value))
    return float_text(value) if isinstance(value, float) else str(value)


def _nested(texts: Sequence[str], shape: Sequence[int]) -> str:
    """Texts as lists in lists of a shape."""
    if not shape:
        return texts[0]
    if not texts:
        return "[]"
    step = len(texts) // shape[0]
    parts = [
        _nested(texts[index * step : (index + 1) * step], shape[1:])
        for index in range(shape[0])
    ]
    return f"[{', '.join(parts)}]"
