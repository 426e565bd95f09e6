"""What the LLVM IR of a module is written from, and when a module is lowered."""

import pytest
from support.ir import parse
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

from xdsl_tvm.lowering import llvm_ir as source
from xdsl_tvm.lowering.llvm_ir import llvm_ir, lowered_functions
from xdsl_tvm.lowering.llvm_text.thread_pool import LAUNCH, System
from xdsl_tvm.registry import new_context

FUNC = "func.func @f(%x: i32) -> i32 { func.return %x : i32 }"
LLVM = "llvm.func @f(%x: i32) -> i32 { llvm.return %x : i32 }"
KERNEL = "llvm.func @k() attributes {nvvm.kernel} { llvm.return }"
IN_GPU_MODULE = f'"gpu.module"() <{{sym_name = "m"}}> ({{ {KERNEL} }}) : () -> ()'
LIBRARY_CALL = """
llvm.func @f(%x: f32) -> f32 {
  %0 = "llvm.intr.exp"(%x) : (f32) -> f32
  llvm.return %0 : f32
}
"""


def refuse(*_: object, **options: object) -> None:
    raise AssertionError("lowered")


def test_a_module_is_lowered_on_a_copy():
    module = parse(FUNC)
    before = str(module)
    (function,) = lowered_functions(new_context(), module)
    assert isinstance(function, llvm.FuncOp)
    assert str(module) == before


@pytest.mark.parametrize(
    ("text", "kind"),
    [(LLVM, "cpu"), (f"module {{ {LLVM} }}", "cpu"), (KERNEL, "nvptx")],
)
def test_a_lowered_module_is_not_lowered_again(
    text: str, kind: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(source, "lower_to_llvm", refuse)
    monkeypatch.setattr(source, "lower_to_nvvm", refuse)
    module = parse(text)
    (function,) = lowered_functions(new_context(), module, kind)
    assert function.get_toplevel_object() is module
    with pytest.raises(AssertionError, match="lowered"):
        lowered_functions(new_context(), parse(FUNC), kind)


@pytest.mark.parametrize(
    ("module", "kind", "message"),
    [
        (parse(LLVM), "gpu", "triple-kind must be 'cpu' or 'nvptx', got 'gpu'"),
        (parse(FUNC), "nvptx", "the module has no GPU kernel"),
        (parse(IN_GPU_MODULE), "cpu", "emit them with '-t ptx'"),
    ],
)
def test_what_has_no_code(module: ModuleOp, kind: str, message: str):
    with pytest.raises(DiagnosticException, match=message):
        lowered_functions(new_context(), module, kind)


def test_the_pool_comes_with_a_system():
    loop = f"llvm.func @{LAUNCH}(!llvm.ptr, !llvm.ptr, i64) -> i64"
    text = llvm_ir(new_context(), parse(loop))
    assert f"declare i64 @{LAUNCH}(ptr, ptr, i64)" in text
    text = llvm_ir(new_context(), parse(loop), system=System("x86_64", "linux"))
    assert f"define weak i64 @{LAUNCH}(" in text


def test_code_is_checked_where_that_is_asked_for():
    assert "llvm.exp" in llvm_ir(new_context(), parse(LIBRARY_CALL))
    with pytest.raises(PassFailedException, match="exp"):
        llvm_ir(new_context(), parse(LIBRARY_CALL), check=True)
