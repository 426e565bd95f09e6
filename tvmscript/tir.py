"""The vocabulary of TIR in scripts: `from xdsl_tvm.tvmscript import tir as T`.

All names of TVM v0.20's `T` namespace are here (docs/spec/tvmscript.md §3 to §8), and
those of newer versions whose meaning is the same. Dtype constructors such as `T.int8x16`
and the builtins, `T.exp` or `T.tvm_storage_sync`, are attributes by rule: every dtype
that TVM can spell, and every builtin of the dialect's table under its own and its script
name.
"""

from __future__ import annotations

from collections.abc import Callable as _Callable
from functools import cache as _cache
from functools import partial as _partial

from xdsl_tvm.dialects.tir.builtins_table import INTRINSICS as _INTRINSICS
from xdsl_tvm.dialects.tir.storage_scope import did_you_mean as _did_you_mean
from xdsl_tvm.tvmscript.decorators import macro as macro
from xdsl_tvm.tvmscript.decorators import prim_func as prim_func
from xdsl_tvm.tvmscript.nodes import constructs as _constructs
from xdsl_tvm.tvmscript.nodes import expressions as _expressions
from xdsl_tvm.tvmscript.nodes import operators as _operators
from xdsl_tvm.tvmscript.nodes.dtypes import Dtype as _Dtype
from xdsl_tvm.tvmscript.nodes.dtypes import HandleDtype as _HandleDtype

inline = macro
"""Newer TVM's name of `T.macro`."""

# Functions, buffers, loops, blocks and statements
alloc_buffer = sblock_alloc_buffer = _constructs.alloc_buffer
alloc_local = _constructs.alloc_local
alloc_shared = _constructs.alloc_shared
allocate = _constructs.allocate
allocate_const = _constructs.allocate_const
arg = _constructs.arg
Assert = _constructs.assert_
attr = _constructs.attr
axis = _constructs.axis
block = sblock = _constructs.block
block_attr = sblock_attr = _constructs.block_attr
buffer_store = _constructs.buffer_store
decl_buffer = _constructs.decl_buffer
Else = _constructs.else_
env_thread = _constructs.env_thread
evaluate = _constructs.evaluate
func_attr = _constructs.func_attr
func_name = _constructs.func_name
func_ret = _constructs.func_ret
grid = _constructs.grid
If = _constructs.if_
init = _constructs.init
IterVar = _constructs.iter_var_node
iter_var = _constructs.iter_var
launch_thread = _constructs.launch_thread
LetStmt = _constructs.let_stmt
Buffer = buffer = buffer_decl = _constructs.make_buffer
match_buffer = _constructs.match_buffer
meta_var = _constructs.meta_var
parallel = _constructs.parallel
prefetch = _constructs.prefetch
reads = _constructs.reads
realize = _constructs.realize
serial = _constructs.serial
Then = _constructs.then
thread_binding = _constructs.thread_binding
unroll = _constructs.unroll
vectorized = _constructs.vectorized
where = _constructs.where
While = _constructs.while_
writes = _constructs.writes

# Nodes and functions of expressions
abs = _operators.abs_
Add = _operators.Add
address_of = _operators.address_of
And = _operators.And
Broadcast = broadcast = _operators.Broadcast
BufferLoad = _operators.buffer_load
Call = _operators.Call
call_cpacked = tvm_call_cpacked = _operators.call_cpacked
call_intrin = _operators.call_intrin
call_packed = tvm_call_packed = _operators.call_packed
Cast = _operators.Cast
cast = _operators.cast_
ceil = _operators.ceil
comm_reducer = _operators.comm_reducer
Div = _operators.Div
EQ = _operators.EQ
FloatImm = _operators.FloatImm
floor = _operators.floor
FloorDiv = _operators.FloorDiv
FloorMod = _operators.FloorMod
fmod = _operators.fmod
GE = _operators.GE
GT = _operators.GT
index_map = _operators.index_map
infinity = _operators.infinity
IntImm = _operators.IntImm
isfinite = _operators.isfinite
isinf = _operators.isinf
isnan = _operators.isnan
LE = _operators.LE
Let = _operators.Let
let = _operators.let
LT = _operators.LT
Range = _operators.make_range
Var = _operators.make_var
Max = _operators.Max
max_value = _operators.max_value
Min = _operators.Min
min_value = _operators.min_value
Mod = _operators.Mod
Mul = _operators.Mul
NE = _operators.NE
nearbyint = _operators.nearbyint
Not = _operators.Not
Or = _operators.Or
pow = power = _operators.pow_
Ramp = ramp = _operators.Ramp
reinterpret = _operators.reinterpret
ret = _operators.ret
round = _operators.round_
Select = _operators.Select
Shuffle = _operators.Shuffle
SizeVar = _operators.SizeVar
StringImm = _operators.StringImm
Sub = _operators.Sub
target = _operators.target
trunc = _operators.trunc
tvm_access_ptr = _operators.tvm_access_ptr
var = _operators.var

CommReducer = _expressions.Reducer

# Operations that match dtypes and fold
bitwise_and = _expressions.bitwise_and
bitwise_not = _expressions.bitwise_not
bitwise_or = _expressions.bitwise_or
bitwise_xor = _expressions.bitwise_xor
ceildiv = _expressions.ceildiv
floordiv = _expressions.floordiv
floormod = _expressions.floormod
if_then_else = _expressions.if_then_else
likely = _expressions.likely
max = _expressions.maximum
min = _expressions.minimum
shift_left = _expressions.shift_left
shift_right = _expressions.shift_right
truncdiv = _expressions.truncdiv
truncmod = _expressions.truncmod

# Dtypes
int8 = _Dtype("int8")
int16 = _Dtype("int16")
int32 = _Dtype("int32")
int64 = _Dtype("int64")
uint8 = _Dtype("uint8")
uint16 = _Dtype("uint16")
uint32 = _Dtype("uint32")
uint64 = _Dtype("uint64")
float16 = _Dtype("float16")
float32 = _Dtype("float32")
float64 = _Dtype("float64")
bfloat16 = _Dtype("bfloat16")
float8_e4m3fn = _Dtype("float8_e4m3fn")
float8_e5m2 = _Dtype("float8_e5m2")
float4_e2m1fn = _Dtype("float4_e2m1fn")
bool = boolean = _Dtype("bool")
void = _Dtype("void")
handle = ptr = Ptr = buffer_var = _HandleDtype()

_REFUSED = {
    "call_kernel": "it embeds kernels of other compilers; write the kernel in TIR",
    "llvm_lookup_intrinsic_id": "T.call_llvm_intrin takes names, not LLVM's numbers",
    "ProducerLoad": "tensor expressions are lowered to buffers before TIR",
    "Reduce": "tensor expressions are lowered to buffers before TIR",
}
"""Names of TVM that mean nothing here, and why."""


@_cache
def _builtin_names() -> frozenset[str]:
    """Names and script names of the builtins."""
    names = {*_INTRINSICS}
    for row in _INTRINSICS.values():
        names.update(row.script_names)
    return frozenset(names)


@_cache
def _attribute(name: str) -> _Callable[..., _expressions.Expr] | None:
    if name in _builtin_names():
        return _partial(_operators.call_builtin, name)
    try:
        return _Dtype(name)
    except _expressions.ScriptTypeError:
        return None


def __getattr__(name: str) -> _Callable[..., _expressions.Expr]:
    found = None if name.startswith("_") else _attribute(name)
    if found is not None:
        return found
    if name in _REFUSED:
        raise AttributeError(f"T.{name} is not supported: {_REFUSED[name]}")
    raise AttributeError(f"T has no '{name}'{_did_you_mean(name, __dir__())}")


def __dir__() -> list[str]:
    own = {each for each in globals() if not each.startswith("_")}
    return sorted(own | _builtin_names())
