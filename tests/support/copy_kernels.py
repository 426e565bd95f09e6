"""Random programs with blocks that are marked as copies, for tests of LowerAutoCopy.

`plain_copies` are copies between global and shared memory that run one after the other,
as they stand, on any thread: they are compared with themselves. `products` are kernels
with matrix fragments, written twice: in loops and plain arithmetic, for one thread after
the other, and with the builtins of a warp.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

DTYPES = ("f32", "f32", "f16", "i8", "i64", "f64", "i32")
_SUMS = {"f32": "0.5", "f16": "0.5", "f64": "0.5"}


def constants(*numbers: int) -> str:
    return "\n".join(f"%c{n} = tir.const {n} : i32" for n in sorted(set(numbers)))


def annotation_text(**values: int) -> str:
    shown = ", ".join(f"{key} = {value} : i32" for key, value in values.items() if value)
    return f"annotations {{{shown}}}" if shown else ""


@dataclass
class _Copy:
    """A block that copies all of one buffer to another, in random loops."""

    rng: random.Random
    name: str
    source: str
    target: str
    shape: Sequence[int]
    order: Sequence[int]
    """Which dimension of the target each dimension of the source is."""
    dtype: str
    index: str
    """The type of the loop variables."""
    own: str
    """The first index of both buffers, `%own, `, or nothing."""
    lines: list[str] = field(default_factory=list[str])
    count: int = 0

    def fresh(self, text: str) -> str:
        self.count += 1
        name = f"%{self.name}{self.count}"
        self.lines.append(f"{name} = {text}")
        return name

    def const(self, number: int) -> str:
        return self.fresh(f"tir.const {number} : {self.index}")

    def text(self) -> str:
        """The loops and the store."""
        indices = [""] * len(self.shape)
        axes = list(range(len(self.shape)))
        self.rng.shuffle(axes)
        depth = 0
        for axis in axes:
            parts = self.split(self.shape[axis])
            flat = ""
            for extent in parts:
                digit = self.loop(extent)
                depth += 1
                if flat:
                    scaled = self.fresh(
                        f"tir.mul {flat}, {self.const(extent)} : {self.index}"
                    )
                    digit = self.fresh(f"tir.add {scaled}, {digit} : {self.index}")
                flat = digit
            indices[axis] = flat or self.const(0)
        value = self.value([indices[axis] for axis in self.order])
        place = f"%{self.target}[{self.own}{', '.join(indices)}]"
        self.lines.append(f"tir.store {value}, {place} : {self.dtype}")
        return "\n".join(self.lines) + "}" * depth

    def split(self, extent: int) -> list[int]:
        """The extents of the loops over a dimension."""
        if extent == 1 and self.rng.random() < 0.5:
            return []
        factors = [n for n in (2, 3, 4) if extent % n == 0]
        if factors and self.rng.random() < 0.3:
            inner = self.rng.choice(factors)
            return [extent // inner, inner]
        return [extent]

    def loop(self, extent: int) -> str:
        low = self.rng.choice((0, 0, 0, 5))
        start, size = self.const(low), self.const(extent)
        self.count += 1
        name = f"%{self.name}{self.count}"
        kind = self.rng.choice(("", "", "", "unrolled"))
        self.lines.append(f"tir.for {name} = {start} to {start} + {size} {kind} {{")
        return self.fresh(f"tir.sub {name}, {start} : {self.index}") if low else name

    def value(self, indices: Sequence[str]) -> str:
        """What is stored: an element, perhaps with arithmetic or under a condition."""
        load = f"tir.load %{self.source}[{self.own}{', '.join(indices)}] : {self.dtype}"
        pick = self.rng.random()
        if pick < 0.7:
            return self.fresh(load)
        if pick < 0.85:
            literal = _SUMS.get(self.dtype, "3")
            other = self.fresh(f"tir.const {literal} : {self.dtype}")
            return self.fresh(f"tir.add {self.fresh(load)}, {other} : {self.dtype}")
        zero = self.fresh(
            f"tir.const {'0.0' if self.dtype in _SUMS else '0'} : {self.dtype}"
        )
        few = self.const(2)
        some = self.fresh(f"tir.cmp ge {indices[0]}, {few} : {self.index}")
        self.count += 1
        name = f"%{self.name}{self.count}"
        inner = f"{name}_l"
        self.lines.append(
            f"{name} = tir.if_then_else {some} -> {self.dtype} {{ {inner} = {load}\n"
            f"tir.yield {inner} : {self.dtype} }} else {{\n"
            f"tir.yield {zero} : {self.dtype} }}"
        )
        return name


def _region(name: str, shape: Sequence[int], own: str = "") -> str:
    return f"%{name}[{own}{', '.join(f'%c0 to {size}' for size in shape)}]"


def _type(shape: Sequence[int], dtype: str, scope: str = "") -> str:
    size = "x".join(map(str, (*shape, dtype)))
    return f'!tir.buffer<{size}, "{scope}">' if scope else f"!tir.buffer<{size}>"


def plain_copies(seed: int) -> str:
    """A function that copies `%a` through shared memory to `%b`, in any order.

    It does so on the host, in a block of threads, or in each `threadIdx.y` for itself.
    """
    rng = random.Random(seed)
    dtype = rng.choice(DTYPES)
    shape = [rng.choice((1, 2, 3, 4, 5, 8, 12, 16)) for _ in range(rng.randint(1, 3))]
    order = list(range(len(shape)))
    rng.shuffle(order)
    staged = [shape[axis] for axis in order]
    back = list(range(len(shape)))
    rng.shuffle(back)
    final = [staged[back.index(axis)] for axis in range(len(shape))]
    inner = [order.index(axis) for axis in range(len(shape))]
    copies = (
        ("x", "A", "S", shape, staged, inner),
        ("y", "S", "B", staged, final, back),
    )
    around = rng.choice(("", "", "blockIdx.x", "blockIdx.x", "threadIdx.y"))
    own, teams = ("%own, ", (4,)) if around == "threadIdx.y" else ("", ())
    scope = rng.choice(("shared", "shared.dyn"))
    blocks: list[str] = []
    for name, source, target, read, written, places in copies:
        marks = annotation_text(
            auto_copy=int(bool(around) or rng.random() < 0.8),
            vector_bytes=rng.choice((0, 1, 2, 4, 8, 16)),
            local_stage=rng.choice((0, 1)),
        )
        index = rng.choice(("i32", "i32", "i64"))
        views, seen = "", [source, target]
        for at, sizes in enumerate((read, written)):
            if not own and rng.random() < 0.2:
                old = seen[at]
                seen[at] = f"V{name}{at}"
                kind = _type(sizes, dtype, scope if old == "S" else "")
                views += (
                    f"%{seen[at]} = tir.match_region {_region(old, sizes)} : {kind}\n"
                )
        copy = _Copy(rng, name, seen[0], seen[1], written, places, dtype, index, own)
        blocks.append(f"""
        tir.block "{name}" {marks} {{
          tir.reads {_region(source, read, own)}
          tir.writes {_region(target, written, own)}
          {views}
          {copy.text()}
        }}""")
    if around:
        blocks.insert(1, 'tir.call "tvm_storage_sync"(%shared) : (!tir.handle) -> ()')
    threads = "" if own else _threads(rng)
    warp = int(bool(own)) or rng.choice((0, 0, 1))
    return f"""
    tir.func @f(%a: !tir.handle, %b: !tir.handle) {{
      %A = tir.match_buffer %a : {_type((*teams, *shape), dtype)}
      %B = tir.match_buffer %b : {_type((*teams, *final), dtype)}
      {constants(0, 1, 2, 4)}
      %threads = tir.const {4 if own else 1} : i32
      %shared = tir.string "shared"
      {f'tir.for %own = %c0 to %threads thread_binding "{around}" {{' if around else ""}
      tir.block "root" {annotation_text(warp_execution=warp)} {{
        %S = tir.alloc_buffer "S" : {_type((*teams, *staged), dtype, scope)}
        {"".join(blocks)}
        {threads}
      }}
      {"}" if around else ""}
    }}"""


def _threads(rng: random.Random) -> str:
    """Loops over threads that do nothing, to say how many there are."""
    lines: list[str] = []
    for axis in "zyx":
        if rng.random() < 0.7:
            extent = rng.choice((1, 2, 3, 4, 8))
            lines.append(
                f"%n{axis} = tir.const {extent} : i32\n"
                f"tir.for %t{axis} = %c0 to %n{axis} "
                f'thread_binding "threadIdx.{axis}" {{ tir.evaluate %t{axis} : i32 }}'
            )
    return "\n".join(lines)


# ---- fragments ----


@dataclass
class Product:
    """`C = A @ B.T`, perhaps plus a number for each row, by warps of rows of `A`."""

    rows: int
    """Of a warp."""
    columns: int
    depth: int
    warps: int
    vector_bytes: int
    turned_a: bool
    """Whether A is in shared memory by columns."""
    turned_c: bool
    through_shared: bool
    """Whether C goes to shared memory first, and not directly to global memory."""
    bias: bool

    def written(self, *, together: bool) -> str:
        """The program: with the builtins of a warp, or for one thread."""
        rows, sizes = self.rows * self.warps, (self.rows, self.columns, self.depth)
        numbers = {0, 1, 16, 32, self.warps, rows, *sizes, *(n // 16 for n in sizes)}
        a = self._staged((rows, self.depth), self.turned_a)
        b = (self.columns, self.depth)
        c = self._staged((rows, self.columns), self.turned_c)
        steps = [
            self._copy_in("A", "SA", (rows, self.depth), self.turned_a),
            self._copy_in("B", "SB", (self.columns, self.depth), False),
            self._load_a(),
            self._load_b(),
            self._multiply_together() if together else self._multiply_alone(),
            self._copy_out(),
        ]
        last = self._copy_shared() if self.through_shared else ""
        if together:
            steps.append(last)
            last = ""
        bound = 'thread_binding "threadIdx.y"' if together else ""
        lanes = 'tir.for %tx = %c0 to %c32 thread_binding "threadIdx.x" {'
        return f"""
        tir.func @f(%a: !tir.handle, %b: !tir.handle, %c: !tir.handle, %d: !tir.handle) {{
          %A = tir.match_buffer %a : {_type((rows, self.depth), "f16")}
          %B = tir.match_buffer %b : {_type((self.columns, self.depth), "f16")}
          %C = tir.match_buffer %c : {_type((rows, self.columns), "f32")}
          %D = tir.match_buffer %d : {_type((rows,), "f32")}
          {constants(*numbers)}
          %zero = tir.const 0.0 : f32
          tir.block "root" {annotation_text(warp_execution=1)} {{
            %SA = tir.alloc_buffer : {_type(a, "f16", "shared")}
            %SB = tir.alloc_buffer : {_type(b, "f16", "shared")}
            %SC = tir.alloc_buffer : {_type(c, "f32", "shared.dyn")}
            %FA = tir.alloc_buffer : {self._fragments("f16", "matrix_a", 0, 2)}
            %FB = tir.alloc_buffer : {self._fragments("f16", "matrix_b", 1, 2)}
            %FC = tir.alloc_buffer "FC" : {self._fragments("f32", "accumulator", 0, 1)}
            tir.for %ty = %c0 to %c{self.warps} {bound} {{ {lanes if together else ""}
              %first = tir.mul %ty, %c{self.rows} : i32
              {"".join(steps)}
            }} {"}" if together else ""}
            {last}
          }}
        }}"""

    def _staged(self, shape: tuple[int, int], turned: bool) -> tuple[int, int]:
        return (shape[1], shape[0]) if turned else shape

    def _fragments(self, dtype: str, kind: str, rows: int, columns: int) -> str:
        sizes = (self.rows, self.columns, self.depth)
        return _type((sizes[rows], sizes[columns]), dtype, f"wmma.{kind}")

    def _block(
        self,
        name: str,
        reads: str,
        writes: str,
        extents: tuple[int, int],
        body: str,
        vector_bytes: int = 0,
    ) -> str:
        marks = annotation_text(auto_copy=1, vector_bytes=vector_bytes)
        return f"""
        tir.block "{name}" {marks} {{
          tir.reads {reads}
          tir.writes {writes}
          tir.for %i = %c0 to %c{extents[0]} {{
            tir.for %j = %c0 to %c{extents[1]} {{
              {body}
            }}
          }}
        }}"""

    def _copy_in(
        self, source: str, target: str, shape: tuple[int, int], turned: bool
    ) -> str:
        places = "%j, %i" if turned else "%i, %j"
        return self._block(
            target,
            _region(source, shape),
            _region(target, self._staged(shape, turned)),
            shape,
            f"%x = tir.load %{source}[%i, %j] : f16\n"
            f"tir.store %x, %{target}[{places}] : f16",
            self.vector_bytes,
        )

    def _load_a(self) -> str:
        places = "%j, %r" if self.turned_a else "%r, %j"
        own = f"%first to %first + {self.rows}"
        all_ = f"%c0 to {self.depth}"
        region = f"{all_}, {own}" if self.turned_a else f"{own}, {all_}"
        return self._block(
            "FA",
            f"%SA[{region}]",
            _region("FA", (self.rows, self.depth)),
            (self.rows, self.depth),
            f"%r = tir.add %first, %i : i32\n%x = tir.load %SA[{places}] : f16\n"
            "tir.store %x, %FA[%i, %j] : f16",
        )

    def _load_b(self) -> str:
        shape = (self.columns, self.depth)
        return self._block(
            "FB",
            _region("SB", shape),
            _region("FB", shape),
            shape,
            "%x = tir.load %SB[%i, %j] : f16\ntir.store %x, %FB[%i, %j] : f16",
        )

    def _multiply_alone(self) -> str:
        return f"""
        tir.for %i = %c0 to %c{self.rows} {{
          tir.for %j = %c0 to %c{self.columns} {{
            tir.store %zero, %FC[%i, %j] : f32
            tir.for %k = %c0 to %c{self.depth} {{
              %x = tir.load %FA[%i, %k] : f16
              %y = tir.load %FB[%j, %k] : f16
              %wx = tir.cast %x : f16 to f32
              %wy = tir.cast %y : f16 to f32
              %p = tir.mul %wx, %wy : f32
              %s = tir.load %FC[%i, %j] : f32
              %n = tir.add %s, %p : f32
              tir.store %n, %FC[%i, %j] : f32
            }}
          }}
        }}"""

    def _multiply_together(self) -> str:
        """Fragments are numbered row by row."""
        calls: list[str] = [
            f'%p{name} = tir.data %F{name} : !tir.ptr<{dtype}, "wmma.{kind}">'
            for name, dtype, kind in (
                ("A", "f16", "matrix_a"),
                ("B", "f16", "matrix_b"),
                ("C", "f32", "accumulator"),
            )
        ]
        rows, columns, depth = self.rows // 16, self.columns // 16, self.depth // 16
        a, b, c = (
            f'!tir.ptr<{dtype}, "wmma.{kind}">'
            for dtype, kind in (
                ("f16", "matrix_a"),
                ("f16", "matrix_b"),
                ("f32", "accumulator"),
            )
        )
        for count, (i, j) in enumerate(product(range(rows), range(columns))):
            calls.append(f"""
            %n{count} = tir.const {i * columns + j} : i32
            %f{count} = tir.call "tvm_fill_fragment"(%pC, %c16, %c16, %c16, %n{count},
              %zero) : ({c}, i32, i32, i32, i32, f32) -> !tir.handle""")
            for k in range(depth):
                calls.append(f"""
                %a{count}_{k} = tir.const {i * depth + k} : i32
                %b{count}_{k} = tir.const {j * depth + k} : i32
                %m{count}_{k} = tir.call "tvm_mma_sync"(%pC, %n{count}, %pA,
                  %a{count}_{k}, %pB, %b{count}_{k}, %pC, %n{count})
                  : ({c}, i32, {a}, i32, {b}, i32, {c}, i32) -> !tir.handle""")
        return "\n".join(calls)

    def _copy_out(self) -> str:
        own = f"%first to %first + {self.rows}"
        shape = (self.rows, self.columns)
        fragments = _region("FC", shape)
        row = "%r = tir.add %first, %i : i32\n%x = tir.load %FC[%i, %j] : f32\n"
        if not self.through_shared:
            value, reads = "%x", fragments
            if self.bias:
                row += "%z = tir.load %D[%r] : f32\n%y = tir.add %x, %z : f32\n"
                value, reads = "%y", f"{fragments}, %D[{own}]"
            return self._block(
                "C",
                reads,
                f"%C[{own}, %c0 to {self.columns}]",
                shape,
                f"{row} tir.store {value}, %C[%r, %j] : f32",
                self.vector_bytes,
            )
        places, region = "%r, %j", f"{own}, %c0 to {self.columns}"
        if self.turned_c:
            places, region = "%j, %r", f"%c0 to {self.columns}, {own}"
        return self._block(
            "SC",
            fragments,
            f"%SC[{region}]",
            shape,
            f"{row} tir.store %x, %SC[{places}] : f32",
        )

    def _copy_shared(self) -> str:
        all_ = (self.rows * self.warps, self.columns)
        places = "%j, %i" if self.turned_c else "%i, %j"
        return self._block(
            "C",
            _region("SC", self._staged(all_, self.turned_c)),
            _region("C", all_),
            all_,
            f"%x = tir.load %SC[{places}] : f32\ntir.store %x, %C[%i, %j] : f32",
            self.vector_bytes,
        )


def random_product(seed: int) -> Product:
    """A product of small matrices."""
    rng = random.Random(seed)
    return Product(
        rows=rng.choice((16, 16, 32)),
        columns=rng.choice((16, 32, 48)),
        depth=rng.choice((16, 32)),
        warps=rng.choice((1, 2, 3)),
        vector_bytes=rng.choice((0, 4, 8, 16)),
        turned_a=rng.random() < 0.4,
        turned_c=rng.random() < 0.4,
        through_shared=rng.random() < 0.5,
        bias=rng.random() < 0.5,
    )


@dataclass
class Registers:
    """`C = 2 * A` through accumulators of PTX, by warps of rows."""

    rows: int
    columns: int
    warps: int
    vector_bytes: int

    def written(self, *, together: bool) -> str:
        """The program: for warps, or for one thread."""
        rows = self.rows * self.warps
        bound = 'thread_binding "threadIdx.y"' if together else ""
        lanes = 'tir.for %tx = %c0 to %c32 thread_binding "threadIdx.x" {'
        marks = annotation_text(auto_copy=1, vector_bytes=self.vector_bytes)
        kind = _type((self.rows, self.columns), "f32", "m16n8k8.matrixC")
        return f"""
        tir.func @f(%a: !tir.handle, %c: !tir.handle) {{
          %A = tir.match_buffer %a : {_type((rows, self.columns), "f32")}
          %C = tir.match_buffer %c : {_type((rows, self.columns), "f32")}
          {constants(0, 32, self.rows, self.columns, self.warps)}
          tir.for %ty = %c0 to %c{self.warps} {bound} {{ {lanes if together else ""}
            %first = tir.mul %ty, %c{self.rows} : i32
            tir.block "root" {annotation_text(warp_execution=1)} {{
              %F = tir.alloc_buffer "F" : {kind}
              tir.for %i = %c0 to %c{self.rows} {{
                tir.for %j = %c0 to %c{self.columns} {{
                  %r = tir.add %first, %i : i32
                  %x = tir.load %A[%r, %j] : f32
                  %y = tir.add %x, %x : f32
                  tir.store %y, %F[%i, %j] : f32
                }}
              }}
              tir.block "C" {marks} {{
                tir.reads {_region("F", (self.rows, self.columns))}
                tir.writes %C[%first to %first + {self.rows}, %c0 to {self.columns}]
                tir.for %i = %c0 to %c{self.rows} {{
                  tir.for %j = %c0 to %c{self.columns} {{
                    %r = tir.add %first, %i : i32
                    %x = tir.load %F[%i, %j] : f32
                    tir.store %x, %C[%r, %j] : f32
                  }}
                }}
              }}
            }}
          }} {"}" if together else ""}
        }}"""


def random_registers(seed: int) -> Registers:
    """A small copy from accumulators of PTX."""
    rng = random.Random(seed)
    return Registers(
        rows=8 * rng.randint(1, 3),
        columns=8 * rng.randint(1, 4),
        warps=rng.choice((1, 2, 3)),
        vector_bytes=rng.choice((0, 4, 8, 16)),
    )
