"""The examples in the docstrings of the tir ops parse, verify, and print as written."""

import re

import pytest
from ir import parse
from xdsl.irdl import IRDLOperation

from xdsl_tvm.dialects import tir

OPS = [op for op in tir.TIR.operations if issubclass(op, IRDLOperation)]

BUFFERS = """
  %A = tir.alloc_buffer "A" : !tir.buffer<8x32xf32>
  %B = tir.alloc_buffer "B" : !tir.buffer<8xf32>
  %C = tir.alloc_buffer "C" : !tir.buffer<8x8xf32>
"""
SCALARS = ("n", "i", "j", "k", "lo", "vi", "vj", "c0", "c2", "c32")
DEFAULTS = {
    "a": "!tir.handle",
    "h": "!tir.handle",
    "p": "i1",
    "ptr": "!tir.ptr<f32>",
    "scope": "!tir.handle",
    "x": "f32",
    "y": "f32",
    "zero": "f32",
}
"""Types of the values that examples use without defining them."""
SPECIAL = {
    "tir.attr": {"p": "!tir.ptr<f32>"},
    "tir.assert": {"0": "i1"},
    "tir.call_func": {"p": "!tir.ptr<f32>"},
    "tir.if": {"0": "i1"},
    "tir.if_then_else": {"0": "i1"},
    "tir.let": {"0": "i32"},
    "tir.load": {"v": "vector<4xi32>", "p": "vector<4xi1>"},
    "tir.ramp": {"0": "i32", "1": "i32"},
    "tir.ret": {"0": "i32"},
    "tir.select": {"0": "i1", "1": "f32", "2": "f32"},
    "tir.shuffle": {"0": "vector<4xf32>", "1": "vector<4xf32>", "2": "i32"},
    "tir.store": {"0": "f32"},
    "tir.thread_allreduce": {"tx": "i32", "ty": "i32", "k": "i32"},
    "tir.while": {"A": ""},
    "tir.yield": {"0": "f32", "1": "i32"},
}
GIVEN: dict[str, dict[str, str]] = {
    "tir.access_ptr": {"p": 'tir.allocate [8] : !tir.ptr<f32, "shared">'},
    "tir.call": {"scope": 'tir.string "shared"'},
    "tir.thread_allreduce": {
        "R": 'tir.alloc_buffer "R" : !tir.buffer<1xf32>',
        "K": 'tir.alloc_buffer "K" : !tir.buffer<1xi32>',
    },
}
"""Values of an example that no op of another dialect can give."""
APART = {
    "tir.yield": '"test.op"() ({{\n{}\n}}) : () -> ()',
}
"""Ops whose examples are one line each, and what such a line stands in."""


def example(op: type[IRDLOperation]) -> str:
    blocks = re.findall(r"```mlir\n(.*?)```", op.__doc__ or "", re.DOTALL)
    assert len(blocks) == 1, f"{op.name} needs one example in its docstring"
    return re.sub(r"^    ", "", blocks[0], flags=re.MULTILINE)


def type_of(op: str, name: str, text: str) -> str:
    if name in SPECIAL.get(op, {}):
        return SPECIAL[op][name]
    if name in SCALARS:
        return "i32"
    if name in DEFAULTS:
        return DEFAULTS[name]
    # A binary op says the type of its operands behind the colon.
    operand = re.search(r": \(?([^\s,)]+)", text)
    assert operand is not None
    element = re.fullmatch(r"vector<4x(\w+)>", operand[1])
    return element[1] if op == "tir.broadcast" and element else operand[1]


def definitions(op: str, text: str) -> str:
    results = re.findall(r"^\s*%(\w+) =", text, re.MULTILINE)
    arguments = re.findall(r"(?:for|launch_thread)(?: \"\w+\")? %(\w+) =", text)
    block_arguments = re.findall(r"%(\w+) : [SR] ", text)
    if op == "tir.reducer":
        block_arguments += re.findall(r"%(\w+) : f32", text)
    given = GIVEN.get(op, {})
    defined = {*results, *arguments, *block_arguments, *given, "A", "B", "C"}
    used = dict.fromkeys(re.findall(r"%(\w+)", text))
    lines = [f"  %{name} = {source}" for name, source in given.items()]
    for name in used:
        if name == "c0":
            lines.append("  %c0 = tir.const 0 : i32")
        elif name not in defined:
            lines.append(f'  %{name} = "test.op"() : () -> {type_of(op, name, text)}')
    return "\n".join(lines)


def embed(op: type[IRDLOperation], text: str) -> str:
    """The example in a function, with what it uses defined in front of it."""
    if op is tir.FuncOp:
        return text
    buffers = BUFFERS
    if op is tir.AllocBufferOp:
        buffers = ""
    if op is tir.MatchBufferOp:
        return f"tir.func @f(%a: !tir.handle, %n: i32) {{\n{text}\n}}"
    if op is tir.WhileOp:
        buffers = '  %A = tir.alloc_buffer "A" : !tir.buffer<8xi32>'
    if op in (tir.ReadsOp, tir.WritesOp, tir.InitOp):
        text = f"tir.block {{\n{text}\n}}"
    callee = ""
    if op is tir.CallFuncOp:
        callee = "tir.func private @kernel(!tir.ptr<f32>, i32)\n"
    values = definitions(op.name, text)
    if op.name in APART:
        text = "\n".join(map(APART[op.name].format, text.strip().splitlines()))
    return f"{callee}tir.func @f() {{\n{buffers}\n{values}\n{text}\n}}"


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_example_round_trips(op: type[IRDLOperation]):
    text = example(op)
    module = parse(embed(op, text))
    assert any(isinstance(each, op) for each in module.walk())
    printed = str(module)
    assert str(parse(printed)) == printed
    shown = {line.strip() for line in printed.splitlines()}
    for line in text.splitlines():
        if op.name in line and not line.endswith("{") and "dense" not in line:
            assert line.strip() in shown
