"""Random functions of a host that launch threads, call private functions, use contexts,
and call packed functions."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

_TARGET = 'target = #tir.target<"cuda", host = #tir.target<"llvm">>'
_OPS = ("add", "sub", "mul", "min", "max")


@dataclass
class _Writer:
    rng: random.Random
    lines: list[str] = field(default_factory=list[str])
    values: list[str] = field(default_factory=list[str])
    count: int = 0

    def line(self, text: str) -> None:
        self.lines.append(text)

    def name(self, stem: str = "v") -> str:
        self.count += 1
        return f"%{stem}{self.count}"

    def define(self, text: str, stem: str = "v") -> str:
        name = self.name(stem)
        self.line(f"{name} = {text}")
        return name

    def constant(self, value: int) -> str:
        return self.define(f"tir.const {value} : i32", "c")

    def value(self) -> str:
        """An integer: a known one, or one computed of them."""
        pick = self.rng.random()
        if pick < 0.2 or not self.values:
            return self.constant(self.rng.randint(-3, 9))
        a = self.rng.choice(self.values)
        if pick < 0.6:
            return a
        b = self.rng.choice(self.values)
        return self.define(f"tir.{self.rng.choice(_OPS)} {a}, {b} : i32")

    def below(self, bound: int) -> str:
        """An integer from 0 to a bound."""
        limit = self.constant(bound)
        return self.define(f"tir.floormod {self.value()}, {limit} : i32")

    @contextmanager
    def scope(self, header: str, *inner: str) -> Generator[None]:
        self.line(header)
        outer = list(self.values)
        self.values += inner
        yield
        self.values = outer
        self.line("}")

    def bind(self) -> None:
        name = f"l{self.rng.randint(0, 4)}"
        self.values.append(self.define(f'tir.let "{name}" {self.value()} : i32', "l"))

    def branch_or_loop(self, body: Callable[[], None]) -> None:
        if self.rng.random() < 0.5:
            zero = self.constant(0)
            end = self.constant(self.rng.randint(1, 2))
            variable = self.name("i")
            with self.scope(f"tir.for {variable} = {zero} to {end} {{", variable):
                body()
        else:
            a, b = self.value(), self.value()
            with self.scope(f"tir.if {self.define(f'tir.cmp lt {a}, {b} : i32')} {{"):
                body()


class _Launches(_Writer):
    """Host code with regions whose threads read one array and write another."""

    def program(self) -> str:
        noalias = "tir.noalias, " if self.rng.random() < 0.5 else ""
        self.line("tir.func @main(%a: !tir.handle, %b: !tir.handle, %n: i32, %x: i32)")
        self.line(f'attributes {{global_symbol = "main", {noalias}{_TARGET},')
        self.line('param_names = ["a", "b", "n", "x"]} {')
        self.line('%m = tir.shape_var "m" size_var : i32')
        self.line('%A = tir.match_buffer "A" %a : !tir.buffer<64xi32>')
        self.line('%B = tir.match_buffer "B" %b [%m] : !tir.buffer<?x64xi32>')
        self.line("%z = tir.const 0 : i32")
        self.line("%pa = tir.data %A : !tir.ptr<i32>")
        self.line("%pb = tir.data %B : !tir.ptr<i32>")
        self.line('%FB = tir.decl_buffer "FB" %pb : !tir.buffer<64xi32>')
        self.line("%some = tir.cmp gt %m, %z : i32")
        self.values += ["%n", "%x", "%m"]
        with self.scope("tir.if %some {"):
            self.statements(self.rng.randint(2, 5), 0)
            self.region()
        self.line("}")
        return "\n".join(self.lines)

    def statements(self, count: int, depth: int) -> None:
        for _ in range(count):
            pick = self.rng.random()
            if pick < 0.2:
                self.bind()
            elif pick < 0.35:
                index, value = self.below(64), self.value()
                self.line(f"tir.store {value}, %A[{index}] : i32")
            elif pick < 0.5:
                self.values.append(self.define(f"tir.load %A[{self.below(64)}] : i32"))
            elif pick < 0.7 and depth < 2:
                self.branch_or_loop(lambda: self.statements(2, depth + 1))
            else:
                self.region()

    def extent(self) -> str:
        if self.rng.random() < 0.3:
            return self.constant(self.rng.randint(1, 4))
        one, rest = self.constant(1), self.below(3)
        extent = self.define(f"tir.add {rest}, {one} : i32")
        if self.rng.random() < 0.5:
            extent = self.define(f'tir.let "extent" {extent} : i32')
        return extent

    def memory(self, scope: str) -> str:
        pointer = self.define(f'tir.allocate [16] : !tir.ptr<i32, "{scope}">', "p")
        kind = f'!tir.buffer<16xi32, "{scope}">'
        return self.define(f'tir.decl_buffer "M" {pointer} : {kind}', "M")

    def region(self) -> None:
        source, result = self.rng.choice((("%FB", "%A"), ("%A", "%FB")))
        blocks, threads = self.extent(), self.extent()
        if self.rng.random() < 0.4:
            source = self.view("%pa" if source == "%A" else "%pb")
        scope = self.rng.choice(("shared", "shared.dyn", "local"))
        before = self.memory(scope) if self.rng.random() < 0.3 else None
        b, t = self.name("b"), self.name("t")
        with (
            self.scope(f'tir.launch_thread {b} = "blockIdx.x" to {blocks} {{', b),
            self.scope(f'tir.launch_thread {t} = "threadIdx.x" to {threads} {{', t),
        ):
            block = self.define(f"tir.mul {b}, {threads} : i32")
            me = self.define(f"tir.add {block}, {t} : i32")
            if before is None and self.rng.random() < 0.5:
                before = self.memory(scope)
            if self.rng.random() < 0.3:
                self.bind()
            read = self.define(f"tir.load {source}[{self.below(32)}] : i32")
            self.values.append(read)
            value = self.value()
            if before is not None:
                slot = t if scope != "local" else "%z"
                self.line(f"tir.store {value}, {before}[{slot}] : i32")
                value = self.define(f"tir.load {before}[{slot}] : i32")
            offset = self.constant(self.rng.randint(0, 40))
            place = self.define(f"tir.add {me}, {offset} : i32")
            if self.rng.random() < 0.3:
                p = self.define(f"tir.cmp ne {value}, {self.value()} : i32")
                with self.scope(f"tir.if {p} {{"):
                    self.line(f"tir.store {value}, {result}[{place}] : i32")
            else:
                self.line(f"tir.store {value}, {result}[{place}] : i32")

    def view(self, pointer: str) -> str:
        offset = self.below(8)
        layout = f'"V" {pointer} strides [1] offset {offset}'
        return self.define(f"tir.decl_buffer {layout} : !tir.buffer<32xi32>", "V")


def random_launches(seed: int) -> str:
    """A function of a host with several regions of threads, without races."""
    return _Launches(random.Random(seed)).program()


class _Calls(_Writer):
    """Functions that write to one array and call those after them."""

    def program(self, functions: int) -> str:
        for index in range(functions):
            self.values, self.functions = [], (index, functions)
            attributes: list[str] = []
            if index == 0 or self.rng.random() < 0.15:
                attributes.append(f'global_symbol = "f{index}"')
            if self.rng.random() < 0.2:
                kind = self.rng.choice(("llvm", "c"))
                attributes.append(f'target = #tir.target<"{kind}">')
            self.line(f"tir.func @f{index}(%p: !tir.ptr<i32>, %x: i32) -> i32")
            self.line(f"attributes {{{', '.join(attributes)}}} {{")
            size = 16 if index == 0 else 4
            self.line(f'%A = tir.decl_buffer "A" %p : !tir.buffer<{size}xi32>')
            self.values += ["%x"]
            if self.rng.random() < 0.15 and index:
                zero = self.constant(0)
                with self.scope(
                    f"tir.if {self.define(f'tir.cmp lt %x, {zero} : i32')} {{"
                ):
                    self.line(f"tir.ret {zero} : i32")
            self.statements(self.rng.randint(2, 4), 0)
            self.line(f"tir.ret {self.value()} : i32")
            self.line("}")
        return "\n".join(self.lines)

    def statements(self, count: int, depth: int) -> None:
        for _ in range(count):
            pick = self.rng.random()
            if pick < 0.15:
                self.bind()
            elif pick < 0.4:
                index, value = self.below(4), self.value()
                self.line(f"tir.store {value}, %A[{index}] : i32")
            elif pick < 0.5:
                self.values.append(self.define(f"tir.load %A[{self.below(4)}] : i32"))
            elif pick < 0.65 and depth < 2:
                self.branch_or_loop(lambda: self.statements(2, depth + 1))
            else:
                self.call()

    def call(self) -> None:
        index, functions = self.functions
        if index + 1 >= functions:
            return
        callee = self.rng.randint(index + 1, functions - 1)
        pointer = "%p"
        if index == 0 and self.rng.random() < 0.7:
            start = self.below(12)
            pointer = self.define(f"tir.address_of %A[{start}] : !tir.ptr<i32>")
        result = self.define(
            f"tir.call_func @f{callee}({pointer}, {self.value()}) : "
            "(!tir.ptr<i32>, i32) -> i32"
        )
        pick = self.rng.random()
        if pick < 0.15:
            self.values.append(result)
        elif pick < 0.5:
            self.line(f"tir.evaluate {result} : i32")


def random_calls(seed: int) -> str:
    """Functions that call each other, `f0` first; all but some are private."""
    rng = random.Random(seed)
    return _Calls(rng).program(rng.randint(2, 5))


class _Contexts(_Writer):
    def program(self) -> str:
        self.line("tir.func @main(%n: i32, %x: i32) attributes {")
        self.line('target = #tir.target<"llvm">} {')
        self.line('%run = tir.string "run"')
        self.line('%f = tir.string "device_context"')
        self.line("%z = tir.const 0 : i32")
        self.values += ["%n", "%x"]
        self.statements(4, 0)
        self.line("}")
        return "\n".join(self.lines)

    def statements(self, count: int, depth: int) -> None:
        for _ in range(count):
            pick = self.rng.random()
            if pick < 0.15:
                self.bind()
            elif pick < 0.4 and depth < 3:
                kind = self.rng.choice(("", " parallel"))
                end = self.constant(self.rng.randint(0, 2))
                variable = self.name("i")
                header = f"tir.for {variable} = %z to {end}{kind} {{"
                with self.scope(header, variable):
                    self.statements(2, depth + 1)
            elif pick < 0.5 and depth < 3:
                self.branch_or_loop(lambda: self.statements(2, depth + 1))
            else:
                contexts = [self.context() for _ in range(self.rng.randint(1, 3))]
                types = ", ".join(["!tir.handle"] * (1 + len(contexts)))
                operands = ", ".join(["%run", *contexts])
                self.line(f'tir.call "call_extern"({operands}) : ({types}) -> ()')

    def context(self) -> str:
        kinds = "(!tir.handle, i32, i32) -> !tir.handle"
        device = self.constant(self.rng.randint(0, 1))
        number = self.value() if self.rng.random() < 0.5 else "%z"
        handle = self.define(f'tir.call "call_extern"(%f, {device}, {number}) : {kinds}')
        kinds = "(!tir.handle) -> !tir.handle"
        return self.define(f'tir.call "tvm_thread_context"({handle}) : {kinds}')


def random_contexts(seed: int) -> str:
    """A function that runs things in contexts of threads."""
    return _Contexts(random.Random(seed)).program()
