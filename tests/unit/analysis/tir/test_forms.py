"""Forms and rules of well-formed TIR: each is broken by a program, and kept by passes."""

import os

import pytest
from support.ir import parse
from support.tir_programs import random_module
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_tvm.analysis.tir.forms import FORMS
from xdsl_tvm.analysis.tir.well_formed import RULES, verify_well_formed, violations
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.convert_blocks_to_opaque import ConvertBlocksToOpaque
from xdsl_tvm.passes.tir.lower_init_block import LowerInitBlock
from xdsl_tvm.passes.tir.lower_opaque_block import LowerOpaqueBlock
from xdsl_tvm.passes.tir.verify_form import VerifyForm
from xdsl_tvm.passes.tir.verify_gpu_code import VerifyGPUCode
from xdsl_tvm.passes.tir.verify_well_formed import VerifyWellFormed
from xdsl_tvm.registry import pass_modules

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "6"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
SEEDS = range(FIRST, FIRST + COUNT)
NAMES = list(FORMS)


def function(body: str, attributes: str = "") -> str:
    return f"""
    tir.func @f(%a: !tir.handle, %p: !tir.ptr<f32>) {attributes} {{
      %c0 = tir.const 0 : i32
      %c4 = tir.const 4 : i32
      {body}
    }}"""


KERNEL = "attributes {tir.is_global_func = true}"
EXPOSED = 'attributes {global_symbol = "f"}'
MATCH = "%A = tir.match_buffer %a : !tir.buffer<4x4xf32>"
FLAT_MATCH = "%A = tir.match_buffer %a : !tir.buffer<16xf32>"
LOAD = "tir.load %A[%c0, %c0] : f32"

# The widest form is every program's, so only the others are broken.
BREAKS: dict[str, list[tuple[str, str, str]]] = {
    "opaque-blocks": [
        ("tir.block", 'tir.block "B" (%v : S in [%c0 to %c4] = %c0) {\n}', ""),
        ("tir.init", 'tir.block "B" {\ntir.init {\n}\n}', ""),
    ],
    "loops-and-buffers": [
        ("tir.block", 'tir.block "B" {\n}', ""),
        (
            "tir.match_region",
            f"{FLAT_MATCH}\n%V = tir.match_region %A[%c0 to 4] : !tir.buffer<4xf32>",
            "",
        ),
        ("tir.alloc_buffer", "%A = tir.alloc_buffer : !tir.buffer<4xf32>", ""),
        (
            "tir.for",
            'tir.for %t = %c0 to %c4 thread_binding "threadIdx.x" {\n}',
            KERNEL,
        ),
    ],
    "flat": [
        ("tir.decl_buffer", "%B = tir.decl_buffer %p : !tir.buffer<4x4xf32>", ""),
        ("tir.decl_buffer", "%B = tir.decl_buffer %p : !tir.buffer<f32>", ""),
        (
            "tir.decl_buffer",
            "%B = tir.decl_buffer %p strides [2] : !tir.buffer<4xf32>",
            "",
        ),
        (
            "tir.decl_buffer",
            "%B = tir.decl_buffer %p {axis_separators = array<i64: 1>} "
            ": !tir.buffer<4x2x2xf32>",
            "",
        ),
        ("tir.load", f"{MATCH}\n%x = {LOAD}", ""),
        (
            "tir.store",
            f"{MATCH}\n%x = tir.const 0.0 : f32\ntir.store %x, %A[%c0, %c0] : f32",
            "",
        ),
        (
            "tir.address_of",
            f"{MATCH}\n%q = tir.address_of %A[%c0, %c0] : !tir.ptr<f32>",
            "",
        ),
        (
            "tir.thread_allreduce",
            f"{MATCH}\n%x = tir.const 0.0 : f32\n"
            "tir.thread_allreduce [%x] into [%A[%c0, %c0]] over []",
            "",
        ),
    ],
    "vector": [
        ("tir.for", "tir.for %i = %c0 to %c4 vectorized {\n}", ""),
        (
            "tir.launch_thread",
            'tir.launch_thread %v = "vthread" to %c4 virtual {\n}',
            KERNEL,
        ),
    ],
    "host-device": [
        ("tir.attr", 'tir.attr "target" (#tir.target<"cuda">) = 0 : i32 {\n}', ""),
        ("tir.attr", 'tir.attr "device_scope" (0 : i32) = 0 : i32 {\n}', ""),
        ("tir.launch_thread", 'tir.launch_thread %t = "threadIdx.x" to %c4 {\n}', ""),
    ],
    "packed": [("tir.match_buffer", FLAT_MATCH, EXPOSED)],
}
CASES = [(form, *case) for form, cases in BREAKS.items() for case in cases]


@pytest.mark.parametrize(("form", "op", "body", "attributes"), CASES)
def test_a_program_is_of_the_forms_before_the_one_it_breaks(
    form: str, op: str, body: str, attributes: str
):
    module = parse(function(body, attributes))
    first = NAMES.index(form)
    for name in NAMES[:first]:
        assert FORMS[name].holds(module)
    violation = FORMS[form].first_violation(module)
    assert violation is not None
    assert (violation.op.name, violation.form.name) == (op, form)
    assert violation.made_by.startswith("tir-")
    for name in NAMES[first:]:
        assert not FORMS[name].holds(module)


# What each form still allows, where a check too many would refuse it.
KEEPS = [
    ("opaque-blocks", 'tir.block "B" where %t {\n}', ""),
    ("loops-and-buffers", 'tir.launch_thread %x = "blockIdx.x" to %c4 {\n}', ""),
    ("flat", MATCH, ""),
    (
        "flat",
        "%B = tir.decl_buffer %p {axis_separators = array<i64: 1>} "
        ": !tir.buffer<4x4xf32>\n%x = tir.load %B[%c0, %c0] : f32",
        "",
    ),
    ("flat", "tir.for %i = %c0 to %c4 vectorized {\n}", ""),
    ("vector", "tir.for %i = %c0 to %c4 parallel {\n}", ""),
    ("host-device", 'tir.launch_thread %x = "threadIdx.x" to %c4 {\n}', KERNEL),
    ("host-device", 'tir.attr "pragma_x" (0 : i32) = 1 : i32 {\n}', ""),
    ("host-device", FLAT_MATCH, EXPOSED),
    ("packed", FLAT_MATCH, ""),
]


@pytest.mark.parametrize(("form", "body", "attributes"), KEEPS)
def test_forms_allow(form: str, body: str, attributes: str):
    module = parse(function(f"%t = tir.const 1 : i1\n{body}", attributes))
    assert FORMS[form].holds(module)


@pytest.mark.parametrize("value", ["false", "0 : i32"])
def test_a_false_attribute_makes_no_kernel(value: str):
    launch = 'tir.launch_thread %x = "threadIdx.x" to %c4 {\n}'
    text = function(launch, f"attributes {{tir.is_global_func = {value}}}")
    assert not FORMS["host-device"].holds(parse(text))


def test_forms_narrow_in_order_and_state_what_they_are():
    for wider, form in zip([None, *FORMS.values()], FORMS.values(), strict=False):
        assert form.narrows is wider
        assert form.definition.endswith(".")


def test_error_names_only_passes_that_exist():
    for cases in BREAKS.values():
        for _, body, attributes in cases:
            with pytest.raises(PassFailedException) as error:
                VerifyForm("packed")(parse(function(body, attributes)))
            _, run, rest = str(error.value).partition("; run ")
            assert not run or rest.split()[0] in pass_modules()


ILL_FORMED: dict[str, list[str]] = {
    "BlockVarAccess": [
        """tir.for %i = %c0 to %c4 {
          tir.block "B" (%v : S in [%c0 to %c4] = %i) {
            tir.evaluate %i : i32
          }
        }""",
    ],
    "UndefinedVars": ['%n = tir.shape_var "n" : i32\ntir.evaluate %n : i32'],
    "SingleDefinition": [
        """%n = tir.shape_var "n" : i32
        %B = tir.alloc_buffer : !tir.buffer<4xf32>
        tir.block {
          %V = tir.match_region %B[%c0 to 4] [%n] : !tir.buffer<?xf32>
        }
        tir.block {
          %V = tir.match_region %B[%c0 to 4] [%n] : !tir.buffer<?xf32>
        }""",
    ],
    "EnvThread": [
        """tir.launch_thread %x = "threadIdx.x" to %c4 env "t" {
        }
        tir.launch_thread %y = "threadIdx.y" to %c4 env "t" {
        }""",
    ],
    "BufferDefinition": [
        """%B = "test.op"() : () -> !tir.buffer<4xf32>
        %q = tir.data %B : !tir.ptr<f32>""",
    ],
    "ReturnPlacement": [
        "tir.for %i = %c0 to %c4 parallel {\ntir.scope {\ntir.ret %c0 : i32\n}\n}",
    ],
    "MatchedParameter": [f"{MATCH}\ntir.evaluate %a : !tir.handle"],
    "WhileCondition": ["tir.while {\n%t = tir.const true\ntir.yield %t : i1\n} do {\n}"],
    "AsyncWait": ['tir.attr "async_wait_queue_scope" (0 : i32) = 0 : i32 {\n}'],
    "ConstantIndex": ["%q = tir.allocate_const 0 : i32 : !tir.ptr<f32>"],
}
"""Statements of a function that break the rule, and no other."""
ILL_FORMED_FUNCTIONS = {
    **{rule: [function(body) for body in bodies] for rule, bodies in ILL_FORMED.items()},
    "ReturnType": [
        "tir.func @f(%x: i32) -> f32 {\ntir.ret %x : i32\n}",
        "tir.func @f() -> f32 {\ntir.ret\n}",
    ],
    "ModuleAttributes": [
        "builtin.module attributes {tir.module_attrs = 1 : i32} {\n}",
        "builtin.module attributes {tir.global_infos = {a = 1 : i32}} {\n}",
    ],
}


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_broken_alone(rule: str):
    for text in ILL_FORMED_FUNCTIONS[rule]:
        module = parse(text)
        assert {violation.rule for violation in violations(module)} == {rule}
        assert not verify_well_formed(module, assert_mode=False)
        with pytest.raises(VerifyException, match=f"breaks {rule}: "):
            verify_well_formed(module)


def test_all_violations_are_told():
    functions = [
        function(body).replace("@f", f"@{rule}") for rule, [body] in ILL_FORMED.items()
    ]
    module = parse("".join(functions))
    found = [violation.rule for violation in violations(module)]
    assert sorted(found) == sorted(ILL_FORMED)
    assert ILL_FORMED_FUNCTIONS.keys() == RULES.keys()


def test_a_crossing_is_told_once():
    body = """tir.for %i = %c0 to %c4 {
      tir.block "B" (%v : S in [%c0 to %c4] = %i) {
        %x = tir.add %i, %v : i32
        %y = tir.mul %x, %x : i32
        tir.evaluate %y : i32
      }
    }"""
    [violation] = violations(parse(function(body)))
    assert violation.op.name == "tir.add"


BLOCK_PASSES: tuple[tuple[type[CompilerPass], str], ...] = (
    (LowerInitBlock, "blocks"),
    (ConvertBlocksToOpaque, "opaque-blocks"),
    (LowerOpaqueBlock, "loops-and-buffers"),
)


@pytest.mark.parametrize("seed", SEEDS)
def test_block_passes_reach_their_forms_and_stay_well_formed(seed: int):
    module = random_module(seed, isolated=True).module
    module.verify()
    VerifyWellFormed()(module)
    for pass_class, form in BLOCK_PASSES:
        module = pass_class()(module)
        VerifyForm(form)(module)
        # The start of a domain may depend on a loop; the guard of an init compares it.
        found = {(v.rule, v.op.name) for v in violations(module)}
        assert found <= ({("BlockVarAccess", "tir.cmp")} if form == "blocks" else set())
        VerifyGPUCode(max_kernels=1000)(module)


@pytest.mark.parametrize("seed", SEEDS)
def test_opaque_blocks_may_use_all_loops(seed: int):
    """Blocks that use loops around them break one rule, and once opaque, none."""
    module = random_module(seed).module
    assert {violation.rule for violation in violations(module)} <= {"BlockVarAccess"}
    opaque = ConvertBlocksToOpaque()(LowerInitBlock()(module))
    assert verify_well_formed(opaque)


def test_random_programs_tell_the_forms_apart():
    """The properties above are not vacuous: all that passes remove was there."""
    programs = [random_module(seed).module for seed in SEEDS]
    assert any(not verify_well_formed(m, assert_mode=False) for m in programs)
    for name in ("opaque-blocks", "loops-and-buffers"):
        assert any(not FORMS[name].holds(module) for module in programs)


def test_launches_are_counted_per_kernel_and_per_axis():
    launch = """tir.launch_thread %b = "blockIdx.x" to %c4 {
      tir.launch_thread %x = "threadIdx.x" to %c4 {
        tir.launch_thread %v = "vthread.x" to %c4 virtual {
        }
      }
      tir.launch_thread %x = "threadIdx.x" to %c4 {
      }
    }
    """
    module = parse(function(launch * 2))
    VerifyGPUCode(max_threads_per_block=16, max_kernels=2)(module)
    with pytest.raises(PassFailedException, match="has 16 threads, more than"):
        VerifyGPUCode(max_threads_per_block=15)(module)
    with pytest.raises(PassFailedException, match="is kernel 2 of its function"):
        VerifyGPUCode(max_kernels=1)(module)
