"""The keys of tir.attr: what nodes and values they take."""

import pytest
from support.ir import parse
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.attr_keys import ATTR_KEYS, REPLACED_KEYS, attr_key


def attr(key: str, node: str, value: str) -> str:
    return f"""
    tir.func @f(%n: i32, %h: !tir.handle) {{
      %p = tir.allocate [4] : !tir.ptr<f32>
      tir.attr "{key}" ({node}) = {value} {{
      }}
    }}"""


GOOD = [
    ("coproc_scope", '"axis"', "1 : i32"),
    ("coproc_uop_scope", '"axis"', '"VTAPushALUOp"'),
    ("volatile_scope", "%p", "1 : i32"),
    ("extern_scope", "0 : i32", "1 : i32"),
    ("compute_scope", "0 : i32", '"f_compute_"'),
    ("storage_alignment", "%p", "64 : i32"),
    ("storage_alignment", "%p", "%n"),
    ("device_id", '"default"', "%n"),
    ("device_type", '"default"', "2 : i32"),
    ("double_buffer_scope", "%p", "1 : i32"),
    ("double_buffer_write", "%p", "1 : i32"),
    ("buffer_bound", "%p", "%h"),
    ("device_scope", "0 : i32", "0 : i32"),
    ("target", '#tir.target<"cuda", arch = "sm_80">', "0 : i32"),
    ("async_scope", "0 : i32", "1 : i32"),
    ("async_commit_queue_scope", "0 : i32", "0 : i32"),
    ("async_wait_queue_scope", "0 : i32", "%n"),
    ("async_wait_inflight_count", "0 : i32", "%n"),
    ("hand_threaded", "unit", "unit"),
    ("pragma_auto_unroll_max_step", "0 : i32", "16 : i32"),
    ("pragma_auto_unroll_max_step", "%n", "16 : i32"),
    ("pragma_unroll_explicit", "0 : i32", "true"),
    ("pragma_import_c", "0 : i32", '"int f();"'),
    ("pragma_anything", "0 : i32", "2.0 : f32"),
    # A node that names nothing is whatever TVM's passes and users write.
    ("compute_scope", "1 : i32", '"f"'),
    ("device_id", '"other"', "%n"),
    ("device_id", "0 : i32", "%n"),
    ("device_type", "1 : i64", "2 : i32"),
    ("async_scope", "%n", "1 : i32"),
    ("a_key_nobody_knows", '["a", {b = 1 : i32}]', "3 : ui8"),
]


@pytest.mark.parametrize(("key", "node", "value"), GOOD)
def test_keys_round_trip(key: str, node: str, value: str):
    module = parse(attr(key, node, value))
    assert str(parse(str(module))) == str(module)
    (op,) = [op for op in module.walk() if isinstance(op, tir.AttrOp)]
    assert op.key.data == key
    assert (op.node is None) == (op.node_item is op.node_attr)
    assert (op.value is None) == (op.value_item is op.value_attr)


BAD = [
    ("volatile_scope", "0 : i32", "1 : i32", "node of 'volatile_scope' must be a data"),
    ("volatile_scope", "%h", "1 : i32", "must be a data pointer, got a !tir.handle"),
    ("compute_scope", "0 : i32", "1 : i32", "value of 'compute_scope' must be a string"),
    ("device_id", '"default"', '"0"', "value of 'device_id' must be an integer"),
    ("device_type", '"default"', "%p", "must be an integer, got a !tir.ptr<f32>"),
    ("reduce_scope", "%n", "0 : i32", "must be a tir.reducer, got a i32"),
    ("target", '"cuda"', "0 : i32", 'must be a target, as in #tir.target<"cuda">'),
    ("buffer_bound", "%p", "%n", 'value of .* must be a tir.call "tvm_tuple"'),
    ("pragma_import_llvm", "0 : i32", "1 : i32", "must be a string"),
]


@pytest.mark.parametrize(("key", "node", "value", "message"), BAD)
def test_nodes_and_values_are_checked(key: str, node: str, value: str, message: str):
    with pytest.raises(VerifyException, match=f"tir.attr: .*{message}"):
        parse(attr(key, node, value))


@pytest.mark.parametrize(
    ("key", "instead"),
    [
        ("thread_extent", "tir.launch_thread"),
        ("virtual_thread", "tir.launch_thread .* virtual"),
        ("buffer_bind_scope", "tir.match_region in a tir.scope"),
        ("realize_scope", "the scope of the type"),
        ("rolling_buffer_scope", "tir.buffer_realize, annotations {rolling_buffer_scope"),
        ("buffer_dim_align", "tir.buffer_realize, annotations {buffer_dim_align"),
        ("fragment_shape", "tir.allocate … annotations {fragment_shape"),
        ("fragment_layout", "tir.allocate … annotations {fragment_layout"),
        ("pragma_loop_partition_hint", "tir.for … annotations {pragma_loop_partition_"),
    ],
)
def test_keys_with_another_form_say_which(key: str, instead: str):
    message = f"tir.attr: the key '{key}' is not written so; write .*{instead}"
    with pytest.raises(VerifyException, match=message):
        parse(attr(key, "0 : i32", "1 : i32"))


def test_the_table_has_one_row_for_each_key_of_tvm():
    assert not ATTR_KEYS.keys() & REPLACED_KEYS.keys()
    assert all(
        row.meaning and row.producer and row.consumer for row in ATTR_KEYS.values()
    )
    assert attr_key("pragma_mine") is ATTR_KEYS["pragma_*"]
    assert attr_key("mine") is None
