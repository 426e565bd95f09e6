"""Annotations and attributes by key, and their Python values."""

from typing import Any

import pytest
from support.ir import parse
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    NoneAttr,
    StringAttr,
    UnitAttr,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tir import Target
from xdsl_tvm.dialects.tir.annotations import (
    BLOCK_ANNOTATIONS,
    FOR_ANNOTATIONS,
    annotation_attr,
    annotation_dict,
    annotation_value,
    find,
    integer_of,
    is_true,
    list_items,
)

VALUES: list[tuple[Any, Attribute]] = [
    (True, BoolAttr.from_bool(True)),
    (7, IntegerAttr(7, i32)),
    (-(2**31), IntegerAttr(-(2**31), i32)),
    (2**31, IntegerAttr(2**31, i64)),
    (1.5, FloatAttr(1.5, f32)),
    ("text", StringAttr("text")),
    (None, NoneAttr()),
    ([1, "a"], ArrayAttr([IntegerAttr(1, i32), StringAttr("a")])),
    ({"a": [True]}, DictionaryAttr({"a": ArrayAttr([BoolAttr.from_bool(True)])})),
]


@pytest.mark.parametrize(("value", "attribute"), VALUES)
def test_values_are_boxed_as_in_tvm(value: Any, attribute: Attribute):
    assert annotation_attr(value) == attribute
    assert annotation_value(attribute) == value
    assert type(annotation_value(attribute)) is type(value)


def test_attributes_are_kept():
    target = Target.parse("cuda")
    assert annotation_attr(target) is target
    assert annotation_value(target) is target
    assert annotation_value(UnitAttr()) is True
    assert annotation_value(DenseArrayBase.from_list(i64, [1, 2])) == [1, 2]
    assert annotation_dict({}) is None
    assert annotation_dict({"k": 1}) == DictionaryAttr({"k": IntegerAttr(1, i32)})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (2**63, "out of range of int64"),
        (1e39, "out of range of float32"),
        (object(), "a value of type object cannot be an annotation"),
        ([{1}], "a value of type set cannot be an annotation"),
    ],
)
def test_other_values_are_refused(value: object, message: str):
    with pytest.raises(ValueError, match=message):
        annotation_attr(value)


def test_flags_and_numbers():
    assert is_true(UnitAttr())
    assert is_true(IntegerAttr(1, i32))
    assert not is_true(IntegerAttr(0, i1))
    assert not is_true(None)
    assert integer_of(IntegerAttr(3, i32)) == 3
    assert integer_of(StringAttr("3")) is None
    assert list_items(StringAttr("3")) is None


def test_prefixes_stand_for_all_keys_that_start_like_them():
    assert find(FOR_ANNOTATIONS, "pragma_mine") is FOR_ANNOTATIONS["pragma_*"]
    unroll = FOR_ANNOTATIONS["pragma_unroll_explicit"]
    assert find(FOR_ANNOTATIONS, "pragma_unroll_explicit") is unroll
    other = BLOCK_ANNOTATIONS["meta_schedule.*"]
    assert find(BLOCK_ANNOTATIONS, "meta_schedule.mine") is other
    assert find(BLOCK_ANNOTATIONS, "mine") is None


LOOP = "tir.for %i = %n to %n + %n annotations {{{0}}} {{\n}}"
LAUNCH = 'tir.launch_thread %t = "threadIdx.x" to %n annotations {{{0}}} {{\n}}'
BLOCK = "tir.block annotations {{{0}}} {{\n}}"
ALLOCATE = "%p = tir.allocate [4] annotations {{{0}}} : !tir.ptr<f32>"
CONST = (
    "%p = tir.allocate_const dense<[1.0, 2.0]> : tensor<2xf32> annotations {{{0}}} "
    ": !tir.ptr<f32>"
)

GOOD = [
    (LOOP, "software_pipeline_stage = [0 : i32, 1 : i32]"),
    (LOOP, "software_pipeline_order = array<i64: 1, 0>"),
    (LOOP, "software_pipeline_async_stages = []"),
    (LOOP, 'pragma_import_c = "int x;"'),
    (LOOP, "pragma_loop_partition_hint = true, mine = [f32]"),
    (LAUNCH, "pragma_auto_unroll_max_step = 16 : i32"),
    (BLOCK, "buffer_dim_align = [[0 : i32, 1 : i32, 32 : i32, 8 : i32]]"),
    (BLOCK, "permuted_layout = 1 : i32"),
    (BLOCK, 'permuted_layout = "g2s_A"'),
    (BLOCK, "explicit_read_region = [0 : i32]"),
    (BLOCK, "auto_copy, warp_execution = 1 : i32, vector_bytes = 16 : i32"),
    (BLOCK, '"meta_schedule.tiling_structure" = "SSRSRS"'),
    (BLOCK, '"meta_schedule.cache_type" = 1 : i32'),
    (ALLOCATE, 'fragment_shape = "16, 16, 16", fragment_layout = "row_major"'),
    (ALLOCATE, "disable_lower_builtin = true"),
    (CONST, "mine = 1 : i32"),
]
BAD = [
    (LOOP, "software_pipeline_stage = 1 : i32", "a list of integers, got 1 : i32"),
    (LOOP, "software_pipeline_order = [1.0 : f32]", "a list of integers"),
    (LOOP, "software_pipeline_order = array<f32: 1.0>", "a list of integers"),
    (LOOP, 'pragma_unroll_explicit = "yes"', "a bool, got"),
    (LAUNCH, 'pragma_auto_unroll_max_step = "16"', "an integer"),
    (BLOCK, "buffer_dim_align = [[0 : i32, 1 : i32]]", r"a list of \[buffer, dim"),
    (BLOCK, "buffer_dim_align = [1 : i32]", r"a list of \[buffer, dimension"),
    (BLOCK, "double_buffer_scope = [0 : i32]", "an integer"),
    (BLOCK, "permuted_layout = [0 : i32]", "an integer or a string"),
    (BLOCK, '"tir.script_parsing_detect_access" = 4 : i32', "0 to 3"),
    (BLOCK, '"meta_schedule.cache_type" = 2 : i32', r"0 \(read\) or 1 \(write\)"),
    (BLOCK, '"meta_schedule.auto_tensorize" = 2 : i32', "a string"),
    (ALLOCATE, 'fragment_shape = "16, 16"', "three sizes"),
    (ALLOCATE, 'fragment_layout = "rows"', '"row_major" or "col_major"'),
    (ALLOCATE, 'disable_lower_builtin = "no"', "a bool"),
    (CONST, 'disable_lower_builtin = "no"', "a bool"),
]


def embed(form: str, annotations: str) -> str:
    return f"tir.func @f(%n: i32) {{\n{form.format(annotations)}\n}}"


@pytest.mark.parametrize(("form", "annotations"), GOOD)
def test_annotations_round_trip(form: str, annotations: str):
    module = parse(embed(form, annotations))
    assert str(parse(str(module))) == str(module)


@pytest.mark.parametrize(("form", "annotations", "message"), BAD)
def test_values_of_known_annotations_are_checked(
    form: str, annotations: str, message: str
):
    with pytest.raises(VerifyException, match=f"the annotation '.*' must be {message}"):
        parse(embed(form, annotations))


@pytest.mark.parametrize(
    "attributes",
    [
        'global_symbol = "f", tir.noalias = true, tir.is_scheduled',
        'target = #tir.target<"cuda", host = #tir.target<"c">>, calling_conv = 2 : i32',
        'tir.kernel_launch_params = ["threadIdx.x", "tir.use_dyn_shared_memory"]',
        'op_pattern = 8 : i32, layout_free_buffers = [1 : i32], operator_name = "add"',
        "estimated_flops = 2.0 : f32, runner_function = true, device_contexts = {}",
        'tir_var_upper_bound = {n = 4 : i64}, tir_non_negative_var = ["n"]',
        'pragma_x = "kept", dlight.rule = [f32]',
    ],
)
def test_function_attributes_round_trip(attributes: str):
    module = parse(f"tir.func @f() attributes {{{attributes}}} {{\n}}")
    assert str(parse(str(module))) == str(module)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ("global_symbol = 1 : i32", "'global_symbol' must be a string"),
        ('target = "cuda"', "'target' must be a target, as in #tir.target<"),
        ("calling_conv = 3 : i32", r"'calling_conv' must be 0 \(default\), 1"),
        ('tir.noalias = "yes"', "'tir.noalias' must be a bool"),
        ("tir.kernel_launch_params = [1 : i32]", "must be a list of strings"),
        ("op_pattern = 5 : i32", "'op_pattern' must be 0, 1, 2, 3, 4, 7 or 8"),
        ('layout_free_buffers = ["A"]', "must be a list of integers"),
        ("estimated_flops = [1 : i32]", "must be a number"),
        ("tir_var_upper_bound = {n = 1.0 : f32}", "must be a dictionary of integers"),
    ],
)
def test_values_of_known_function_attributes_are_checked(attributes: str, message: str):
    with pytest.raises(VerifyException, match=f"tir.func: the attribute .*{message}"):
        parse(f"tir.func @f() attributes {{{attributes}}} {{\n}}")
