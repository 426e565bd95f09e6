"""Facts of special memories: the registry, and the attribute of modules."""

import pytest
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm import tvmscript
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import MemoryInfo
from xdsl_tvm.dialects.tir.memory_info import module_memory_infos

ENTRY = "{unit_bits = 8 : i32, max_num_bits = 1024, max_simd_bits = 64 : i64%s}"


def module_with(entries: str, inside: str = "") -> ModuleOp:
    text = f"builtin.module attributes {{tir.memory_info = {entries}}} {{\n{inside}}}"
    module = parse(text)
    inner = module.body.block.first_op
    return inner if isinstance(inner, ModuleOp) and not inside else module


def test_a_registered_memory_is_found_and_forgotten():
    info = MemoryInfo(8, 1024, 64, 4096)
    assert tir.memory_info_of("local.L0A") is None
    try:
        tir.register_memory_info("local.L0A", info)
        assert tir.memory_info_of("local.L0A") == info
        assert tir.memory_info_of("local") is None
        assert tir.memory_infos(ModuleOp([]))["local.L0A"] == info
    finally:
        tir.register_memory_info("local.L0A", None)
    assert tir.memory_info_of("local.L0A", ModuleOp([])) is None


def test_the_empty_scope_is_global():
    try:
        tir.register_memory_info("", MemoryInfo(8, 1024, 64))
        assert tir.memory_info_of("global") == MemoryInfo(8, 1024, 64)
    finally:
        tir.register_memory_info("global", None)


@pytest.mark.parametrize(
    ("head", "expected"),
    [("", None), (", head_address = 64", 64), (', head_address = "f"', "f")],
)
def test_modules_describe_memory(head: str, expected: int | str | None):
    entries = f'{{"global.vtcm" = {ENTRY % head}, "global.texture-nhwc" = {ENTRY % ""}}}'
    module = module_with(entries)
    infos = tir.memory_infos(module)
    assert infos["global.vtcm"] == MemoryInfo(8, 1024, 64, expected)
    assert infos["global.texture-nhwc"] == MemoryInfo(8, 1024, 64)
    assert str(parse(str(module))) == str(module)


def test_modules_take_precedence_over_the_registry_and_outer_modules():
    inner = (
        f'builtin.module attributes {{tir.memory_info = {{"local.a" = {ENTRY % ""}}}}}'
    )
    other = ENTRY.replace("1024", "7") % ""
    module = module_with(
        f'{{"local.a" = {other}, "local.b" = {other}}}', inner + " {\n}\n"
    )
    (nested,) = [
        op for op in module.walk() if isinstance(op, ModuleOp) and not op.body.ops
    ]
    try:
        tir.register_memory_info("local.b", MemoryInfo(1, 2, 3))
        tir.register_memory_info("local.c", MemoryInfo(1, 2, 3))
        found = tir.memory_infos(nested)
    finally:
        tir.register_memory_info("local.b", None)
        tir.register_memory_info("local.c", None)
    assert [found[f"local.{each}"].max_num_bits for each in "abc"] == [1024, 7, 2]


def test_scripts_keep_the_description():
    entry = ENTRY % ', head_address = "f"'
    func = "tir.func @f() {\n}\n"
    module = module_with(f'{{"global.vtcm" = {entry}}}', func)
    again = tvmscript.parse(tvmscript.print_script(module))
    assert isinstance(again, ModuleOp)
    assert module_memory_infos(again)["global.vtcm"] == MemoryInfo(8, 1024, 64, "f")


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ("[f32]", "tir.memory_info must be a dictionary of scopes"),
        (f"{{vtcm = {ENTRY % ''}}}", "'vtcm': unknown storage scope 'vtcm'"),
        ("{shared = 1}", "'shared': it must be a dictionary of unit_bits, max_num_bits"),
        ("{shared = {unit_bits = 8}}", "max_num_bits must be an integer, got None"),
        (
            "{shared = {unit_bit = 8}}",
            "unknown field 'unit_bit'; the fields are unit_bits",
        ),
        (
            f"{{shared = {ENTRY % ', head_address = [1]'}}}",
            "head_address must be an integer",
        ),
        (f"{{shared = {ENTRY.replace('8', '0') % ''}}}", "unit_bits must be at least 1"),
    ],
)
def test_malformed_descriptions(entries: str, message: str):
    with pytest.raises(VerifyException, match=f"builtin.module: .*{message}"):
        tir.memory_infos(module_with(entries))


def test_malformed_numbers_and_scopes():
    with pytest.raises(ValueError, match="max_simd_bits must be at least 1, got 0"):
        MemoryInfo(8, 8, 0)
    with pytest.raises(ValueError, match="unknown storage scope 'vtcm'"):
        tir.register_memory_info("vtcm", MemoryInfo(8, 8, 8))
    with pytest.raises(ValueError, match="unknown storage scope 'vtcm'"):
        tir.memory_info_of("vtcm")
