"""Random Relax functions: bindings, branches, dataflow blocks, casts and effects."""

from __future__ import annotations

import random


class RandomBindings:
    """A random function, of which much is not needed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def value(self) -> str:
        self.count += 1
        return f"%{self.count}"

    def text(self) -> str:
        body, known = self.block(["%x"], 3, False)
        return (
            "!t = tensor<4xf32>\n"
            "tir.func @effect(%a: !tir.handle) {\n}\n"
            "relax.func impure @main(%c: tensor<i1>, %x: !t) -> !t "
            'attributes {global_symbol = "main"} {\n'
            f"{body}relax.return {self.random.choice(known)} : !t\n}}\n"
        )

    def block(
        self, known: list[str], depth: int, in_dataflow: bool
    ) -> tuple[str, list[str]]:
        known, text = list(known), ""
        for _ in range(self.random.randint(1, 6)):
            kinds = ["binary"] * 6 + ["cast", "alloc"]
            if not in_dataflow:
                kinds += ["effect"] + ["if", "dataflow"] * bool(depth)
            match self.random.choice(kinds):
                case "effect":
                    arg = self.random.choice(known)
                    text += f"relax.call impure @effect({arg}) : (!t) -> ()\n"
                case "if":
                    text += self.branches(known, depth - 1)
                case "dataflow":
                    text += self.dataflow(known)
                case kind:
                    text += self.binding(kind, known)
        return text, known

    def binding(self, kind: str, known: list[str]) -> str:
        a, b = self.random.choice(known), self.random.choice(known)
        known.append(result := self.value())
        if kind == "alloc":
            return f'{result} = relax.builtin.alloc_tensor on 0 scope "global" : !t\n'
        if kind == "cast":
            return f"{result} = relax.match_cast {a} : !t -> !t\n"
        return f"{result} = relax.add {a}, {b} : (!t, !t) -> !t\n"

    def branches(self, known: list[str], depth: int) -> str:
        regions: list[str] = []
        for _ in range(2):
            body, inner = self.block(known, depth, False)
            regions.append(f"{{\n{body}relax.yield {self.random.choice(inner)} : !t\n}}")
        known.append(result := self.value())
        return f"{result} = relax.if %c : tensor<i1> -> !t {' else '.join(regions)}\n"

    def dataflow(self, known: list[str]) -> str:
        body, inner = self.block(known, 0, True)
        outputs = self.random.choices(inner, k=self.random.randint(1, 3))
        results = [self.value() for _ in outputs]
        known += results
        types = ", ".join("!t" for _ in outputs)
        return (
            f"{', '.join(results)} = relax.dataflow -> ({types}) {{\n{body}"
            f"relax.output {', '.join(outputs)} : {types}\n}}\n"
        )
