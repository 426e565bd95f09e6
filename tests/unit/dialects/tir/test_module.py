"""Attributes and global infos of modules."""

import pytest
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.module import verify_module_attributes


def module_with(attributes: str) -> ModuleOp:
    module = parse(f"builtin.module attributes {{{attributes}}} {{\n}}")
    inner = module.body.block.first_op
    return inner if isinstance(inner, ModuleOp) else module


@pytest.mark.parametrize(
    "attributes",
    [
        "",
        'tir.module_attrs = {mod_name = "m", system_lib_prefix = "a_", mine = [f32]}',
        "tir.module_attrs = {constants = [dense<1> : tensor<2xi32>]}",
        "tir.global_infos = {dummy = [#tir.dummy_global_info, #tir.dummy_global_info]}",
        "tir.global_infos = {mesh = [#tir.device_mesh<[2, 2], [0, 1, 2, 3]>]}",
        'relax.vdevices = [#relax.vdevice<"llvm", 0, "global">]',
    ],
)
def test_attributes_round_trip(attributes: str):
    module = module_with(attributes)
    verify_module_attributes(module)
    assert str(parse(str(module))) == str(module)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ("tir.module_attrs = 1 : i32", "tir.module_attrs must be a dictionary, got 1"),
        ("tir.module_attrs = {mod_name = 1 : i32}", "'mod_name' must be a string"),
        ("tir.module_attrs = {constants = [1 : i32]}", "must be a list of dense arrays"),
        ("tir.global_infos = [f32]", "tir.global_infos must be a dictionary"),
        ("tir.global_infos = {a = 1 : i32}", "tir.global_infos 'a' must be a list"),
        ("tir.global_infos = {vdevice = []}", "the module's attribute relax.vdevices"),
        ("relax.vdevices = 1 : i32", "relax.vdevices must be a list"),
    ],
)
def test_malformed_attributes(attributes: str, message: str):
    with pytest.raises(VerifyException, match=f"builtin.module: .*{message}"):
        verify_module_attributes(module_with(attributes))


def test_attributes_are_set_and_removed():
    module = ModuleOp([])
    tir.set_module_attribute(module, "mod_name", StringAttr("m"))
    tir.set_module_attribute(module, "mine", StringAttr("x"))
    assert tir.module_attributes(module)["mod_name"] == StringAttr("m")
    tir.set_module_attribute(module, "mine", None)
    assert list(tir.module_attributes(module)) == ["mod_name"]
    tir.set_module_attribute(module, "mod_name", None)
    assert not module.attributes


def test_virtual_devices_are_global_infos():
    module = module_with(
        'relax.vdevices = [#relax.vdevice<"llvm", 0, "global">], '
        "tir.global_infos = {mesh = [#tir.device_mesh<[1], [7]>]}"
    )
    infos = tir.global_infos(module)
    assert list(infos) == ["vdevice", "mesh"]
    assert infos["mesh"] == (tir.DeviceMeshAttr([1], [7]),)


@pytest.mark.parametrize(
    ("shape", "ids", "message"),
    [
        ([2, 2], [0, 1], r"the shape \[2, 2\] must have one place for each of the 2"),
        ([], [], "must have one place"),
        ([2], [1, 1], "device ids must differ"),
        ([1], [-1], "not be negative"),
    ],
)
def test_device_meshes(shape: list[int], ids: list[int], message: str):
    with pytest.raises(VerifyException, match=message):
        tir.DeviceMeshAttr(shape, ids)
