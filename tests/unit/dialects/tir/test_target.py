"""Targets: TVM's forms, the attribute, and what they answer."""

import json
from typing import Any, cast

import pytest
from support.ir import parse
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    NoneAttr,
    StringAttr,
    i64,
)
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from xdsl_tvm.dialects.tir import Target
from xdsl_tvm.dialects.tir.target import target_text
from xdsl_tvm.dialects.tir.target_kinds import (
    KINDS,
    DeviceType,
)
from xdsl_tvm.dialects.tir.target_tags import TAGS
from xdsl_tvm.passes.tir.verify_gpu_code import VerifyGPUCode
from xdsl_tvm.registry import new_context

FORMS: list[tuple[str | dict[str, Any], str]] = [
    ("llvm", '#tir.target<"llvm">'),
    (
        "cuda -arch=sm_80 -libs=cudnn,cublas",
        '#tir.target<"cuda", arch = "sm_80", libs = ["cudnn", "cublas"]>',
    ),
    ("cuda -thread_warp_size=32", '#tir.target<"cuda">'),
    ("llvm -num-cores 4", '#tir.target<"llvm", "num-cores" = 4>'),
    (
        "llvm -fast-math -opt-level=3",
        '#tir.target<"llvm", "fast-math" = true, "opt-level" = 3>',
    ),
    (
        "cuda -host='llvm -mcpu=skylake'",
        '#tir.target<"cuda", host = #tir.target<"llvm", mcpu = "skylake">>',
    ),
    (
        '{"kind": "cuda", "arch": "sm_80", "host": {"kind": "llvm"}}',
        '#tir.target<"cuda", arch = "sm_80", host = #tir.target<"llvm">>',
    ),
    (
        {"kind": "llvm", "keys": ["x86"], "tag": "mine"},
        '#tir.target<"llvm", tag = "mine", keys = ["x86", "cpu"]>',
    ),
    (
        {"kind": "llvm", "feature.has_sve": True},
        '#tir.target<"llvm", features = {has_sve = true}>',
    ),
    (
        {"kind": "composite", "devices": ["cuda", {"kind": "llvm"}]},
        '#tir.target<"composite", devices = [#tir.target<"cuda">, #tir.target<"llvm">]>',
    ),
    (
        "llvm -mtriple=aarch64-linux-gnu -keys=mine",
        '#tir.target<"llvm", keys = ["mine", "arm_cpu", "cpu"], '
        'mtriple = "aarch64-linux-gnu">',
    ),
    ("vulkan -supports_int8=1", '#tir.target<"vulkan", supports_int8 = true>'),
]


def read(text: str) -> Target:
    attribute = Parser(new_context(), text).parse_attribute()
    assert isinstance(attribute, Target)
    return attribute


@pytest.mark.parametrize(("source", "text"), FORMS)
def test_all_forms_read_as_one_attribute(source: str | dict[str, Any], text: str):
    target = Target.parse(source)
    assert str(target) == text
    assert read(text) == target
    assert Target.parse(target.export()) == target
    assert Target.parse(json.dumps(target.export())) == target


@pytest.mark.parametrize("tag", TAGS)
def test_tags_are_targets(tag: str):
    target = Target.parse(tag)
    assert read(str(target)) == target
    assert Target.parse({"tag": tag}) == Target.parse(
        {"tag": tag, **target.export()} | {"tag": tag}
    )


def test_facts_of_well_known_machines():
    a100 = Target.parse("nvidia/nvidia-a100")
    assert (a100.attr("arch"), a100.attr("l2_cache_size_bytes")) == ("sm_80", 40 << 20)
    assert a100.attr("max_threads_per_block") == 1024
    assert Target.parse("nvidia/nvidia-h100").attr("arch") == "sm_90a"
    assert Target.parse("nvidia/geforce-rtx-3090").attr("arch") == "sm_86"
    m1 = Target.parse("apple/m1-gpu")
    assert (m1.attr("thread_warp_size"), m1.kind.name) == (32, "metal")
    assert m1.host_target is not None
    assert m1.host_target.attr("mcpu") == "apple-latest"


def test_what_is_not_given_is_a_default_of_the_kind():
    cuda = Target.parse("cuda")
    assert cuda.attr("max_num_threads") == 1024
    assert cuda.attr("arch") is None
    assert cuda.attr("arch", "sm_70") == "sm_70"
    assert cuda.int_attr("thread_warp_size", 1) == 32
    assert Target.parse("llvm").int_attr("thread_warp_size", 1) == 1
    assert Target.parse("vulkan").attr("supports_float32") is True
    with pytest.raises(ValueError, match="unknown attribute 'warp' of target kind"):
        cuda.attr("warp")


def test_equal_targets_are_one_attribute():
    assert Target.parse("cuda -thread_warp_size=32") == Target("cuda")
    assert Target("cuda", {"thread_warp_size": 64}) != Target("cuda")
    assert Target("llvm", keys=["cpu"]) == Target("llvm")


def test_hosts():
    cuda = Target.parse("cuda")
    hosted = cuda.with_host("llvm -num-cores=4")
    assert hosted.host_target == Target("llvm", {"num-cores": 4})
    assert hosted.without_host() == cuda
    assert hosted.with_host({"kind": "c"}).host_target == Target("c")


def test_export_is_complete_and_sorted():
    exported = Target.parse("cuda -arch=sm_80 -host=llvm").export()
    assert list(exported) == sorted(exported)
    assert exported == {
        "arch": "sm_80",
        "host": {"keys": ["cpu"], "kind": "llvm", "tag": ""},
        "keys": ["cuda", "gpu"],
        "kind": "cuda",
        "max_num_threads": 1024,
        "tag": "",
        "thread_warp_size": 32,
    }


def test_keys_and_devices():
    target = Target.parse("opencl -device=adreno")
    assert target.key_names == ("adreno", "opencl", "gpu")
    assert target.has_key("gpu")
    assert not target.has_key("cpu")
    assert target.device_type is DeviceType.OPENCL
    assert Target("ext_dev", {"target_device_type": 2}).device_type is DeviceType.CUDA
    assert {kind.device_type for kind in KINDS.values()} == set(DeviceType)


@pytest.mark.parametrize(
    ("source", "features"),
    [
        ("llvm -mtriple=aarch64-linux-gnu", "has_asimd"),
        ("llvm -mtriple=aarch64-linux-gnu -mattr=-neon", ""),
        (
            "llvm -mtriple=aarch64-linux-gnu -mattr=+sve",
            "has_asimd has_fp16_simd has_sve",
        ),
        ("llvm -mtriple=aarch64-linux-gnu -mattr=+sve,-fullfp16", "has_asimd"),
        ("llvm -mtriple=aarch64-linux-gnu -mattr=+v8.4a", "has_asimd has_dotprod"),
        (
            "llvm -mtriple=aarch64-linux-gnu -mattr=+v9a",
            "has_asimd has_dotprod has_fp16_simd has_sve",
        ),
        (
            "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1",
            "has_asimd has_dotprod has_fp16_simd has_matmul_i8 has_sve",
        ),
        ("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72", "has_asimd"),
        ("c -mcpu=cortex-a72", ""),
        ("llvm -mtriple=armv7l-linux -mattr=+neon", "has_asimd"),
        ("llvm -mtriple=x86_64-linux-gnu", ""),
    ],
)
def test_features_of_arm_processors(source: str, features: str):
    target = Target.parse(source)
    found = {name for name in target.all_features if name != "is_aarch64"}
    assert {name for name in found if target.feature(name)} == set(features.split())
    aarch64 = "aarch64" in source
    assert target.feature("is_aarch64") is aarch64


def test_features_that_are_given_count():
    target = Target.parse(
        {"kind": "llvm", "mtriple": "aarch64-linux-gnu", "feature.has_asimd": False}
    )
    assert not target.feature("has_asimd")
    assert not target.feature("has_wings")


ERRORS: list[tuple[str | dict[str, Any], str]] = [
    ("cud", r"unknown target kind 'cud' \(did you mean 'cuda'\?\); use one of llvm"),
    ("cuda -arc=sm_80", r"unknown attribute 'arc' of .* 'cuda' \(did you mean 'arch'"),
    ("cuda -arch=80", "'arch' of target kind 'cuda' must start with 'sm_', got '80'"),
    ("rocm -mcpu=sm_80", "'mcpu' of target kind 'rocm' must start with 'gfx'"),
    ("cuda gpu", "'gpu' in the target 'cuda gpu' is no option; write '-name=value'"),
    ("cuda -libs=a -libs=b", "has 'libs' twice"),
    ("cuda -max_num_threads=many", "must be an integer, got 'many'"),
    ("llvm -fast-math=maybe", "must be a bool, got 'maybe'"),
    ("", "the target is empty"),
    ("llvm -mcpu='", "cannot be read: No closing quotation"),
    ('{"kind"', "no valid JSON"),
    ({"tag": "nvidia/a100"}, "unknown target tag 'nvidia/a100'"),
    ({"kind": 1}, "the kind of a target must be a string, got 1"),
    ({"kind": "llvm", "keys": [1]}, "keys of a target must be a list of strings"),
    ({"kind": "llvm", "mattr": [1]}, "must be a list of strings"),
    ({"kind": "llvm", "mcpu": 3}, "must be a string, got 3"),
    ({"kind": "llvm", "host": 3}, "3 is no target"),
    ("cuda -target_device_type=3", r"must be one of 1 \(cpu\), .*, got 3"),
    ({"kind": "composite", "devices": "cuda"}, "must be a list of targets"),
    ({"kind": "llvm", "feature.x": [1]}, "feature 'x' must be a bool, an integer"),
]


@pytest.mark.parametrize(("source", "message"), ERRORS)
def test_errors_say_what_to_do(source: str | dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        Target.parse(source)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('#tir.target<"cud">', "unknown target kind 'cud'"),
        ('#tir.target<"cuda", arc = "sm_80">', "unknown attribute 'arc'"),
        ('#tir.target<"cuda", arch = "sm_80", arch = "sm_80">', "has 'arch' twice"),
        ('#tir.target<"cuda", arch = f32>', "f32 is no value of a target attribute"),
        ('#tir.target<"cuda", host = 3>', "3 is no target"),
    ],
)
def test_bad_text(text: str, message: str):
    with pytest.raises((ParseError, ValueError), match=message):
        read(text)


def test_attributes_are_held_normalised():
    parts = (StringAttr("cuda"), StringAttr(""))
    keys = ArrayAttr([StringAttr("cuda"), StringAttr("gpu")])
    none = DictionaryAttr({})
    defaults = DictionaryAttr({"thread_warp_size": IntegerAttr(32, i64)})
    with pytest.raises(VerifyException, match="that equal a default must be left out"):
        Target.new((*parts, keys, defaults, none, NoneAttr()))
    with pytest.raises(VerifyException, match="must end with those of the kind"):
        Target.new((*parts, ArrayAttr([]), none, none, NoneAttr()))
    with pytest.raises(VerifyException, match=r"the host must be a #tir\.target"):
        Target.new((*parts, keys, none, none, StringAttr("llvm")))
    with pytest.raises(VerifyException, match="unknown target kind 'x'"):
        Target.new((StringAttr("x"), StringAttr(""), keys, none, none, NoneAttr()))


def test_functions_hold_targets():
    module = parse("""
    tir.func @f() attributes {target = #tir.target<"cuda", arch = "sm_80">} {
    }""")
    (function,) = module.body.ops
    assert function.attributes["target"] == Target.parse("cuda -arch=sm_80")
    assert str(parse(str(module))) == str(module)


def test_limits_of_gpu_code_follow_from_the_target():
    a100 = VerifyGPUCode.for_target(Target.parse("nvidia/nvidia-a100"))
    assert a100 == VerifyGPUCode(
        max_threads_per_block=1024, max_shared_memory_per_block=49152
    )
    assert VerifyGPUCode.for_target(Target("webgpu")) == VerifyGPUCode(256)
    assert VerifyGPUCode.for_target(Target("llvm")) == VerifyGPUCode()


def test_virtual_devices_hold_targets():
    text = '#relax.vdevice<#tir.target<"cuda", arch = "sm_80">, 0, "global">'
    placed = f"tensor<4xf32, #relax.placed<[4], {text}>>"
    module = parse(f"func.func private @f({placed})")
    assert text in str(module)
    short = str(module).replace(text, '#relax.vdevice<"cuda -arch=sm_80", 0, "global">')
    assert str(parse(short)) == str(module)
    with pytest.raises(ParseError, match="unknown target kind 'cud'"):
        parse(short.replace("cuda -arch=sm_80", "cud"))
    with pytest.raises(ParseError, match=r"expected a #tir\.target, a string"):
        parse(short.replace('"cuda -arch=sm_80"', "3"))


def test_targets_are_made_of_all_forms() -> None:
    text = '{"kind": "cuda", "arch": "sm_80"}'
    for form in ("cuda -arch=sm_80", {"kind": "cuda", "arch": "sm_80"}, text):
        assert Target(form) == Target("cuda", {"arch": "sm_80"})
        assert Target(form, host="llvm").host_target == Target("llvm")
        assert Target.parse(target_text(form)) == Target(form)
    assert Target("nvidia/nvidia-a100").attr("arch") == "sm_80"
    assert Target(Target("llvm")) == Target("llvm")
    assert "hexagon" in Target.list_kinds()
    with pytest.raises(ValueError, match="'cuda -arch=sm_80' says its attributes itself"):
        Target("cuda -arch=sm_80", {"arch": "sm_90"})
    with pytest.raises(ValueError, match="a dictionary or a Target, not 3"):
        Target(cast(str, 3))


def test_the_current_target() -> None:
    assert Target.current() is None
    with Target("cuda") as outer:
        with Target("llvm") as inner:
            assert Target.current() == inner == Target("llvm")
        assert Target.current(allow_none=False) is outer
    with pytest.raises(ValueError, match="there is no current target; enter one"):
        Target.current(allow_none=False)
