"""How index expressions become sums of splits; the working part of `iter_map`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import (
    Add,
    Const,
    Expr,
    FloorDiv,
    FloorMod,
    LiteralRangeError,
    Mul,
    Sub,
    fold,
    postorder,
)
from xdsl_tvm.analysis.arith.int_set import bodies_of, varies
from xdsl_tvm.analysis.arith.iter_forms import (
    Algebra,
    IterMapLevel,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    Key,
    NoMatchError,
    is_literal,
)
from xdsl_tvm.dialects.tir.types import is_index_type


@dataclass(frozen=True)
class Padding:
    """A mark is moved up by `left`, its extent rounded up to a multiple of `factor`."""

    factor: Expr
    left: Expr


@dataclass(frozen=True)
class Padded:
    """What a padded mark was made from."""

    mark: IterMark
    padding: Padding


@dataclass(frozen=True)
class Constraint:
    """A fused iterator that a predicate bounds: `mark + offset`, and what it is made of.

    `parts` are splits with their scales, innermost first; the first has scale 1.
    """

    mark: IterMark
    offset: Expr
    parts: tuple[tuple[Key, Expr], ...]


@dataclass(frozen=True)
class Fused:
    """`split + base`; `parts` as in a constraint, relative to the scale of the split."""

    split: IterSplitExpr | None
    base: Expr
    parts: tuple[tuple[Key, Expr], ...] = ()


# ---- rewriting ----


class Rewriter:
    """Rewrites trees over iterators as sums, under constraints and with padding."""

    def __init__(
        self,
        analyzer: Analyzer,
        starts: Mapping[Expr, IterSumExpr],
        level: IterMapLevel,
        *,
        opaque: bool = False,
    ) -> None:
        self.algebra = Algebra(analyzer)
        self.level = level
        self._starts = starts
        self._opaque = opaque
        self._bodies = bodies_of(starts)
        self._marks: dict[tuple[object, Expr], IterMark] = {}
        self.paddings: dict[IterMark, Padding] = {}
        self.padded: dict[IterMark, Padded] = {}
        self.constraints: list[Constraint] = []
        self._by_innermost: dict[Key, list[Constraint]] = {}
        self._known: dict[Expr, IterSumExpr] = dict(starts)

    @property
    def _pads(self) -> bool:
        return self.level is not IterMapLevel.BIJECTIVE and not self._opaque

    def mark(self, source: IterSumExpr, extent: Expr) -> IterMark:
        """The one mark of these parts."""
        key = source, extent
        found = self._marks.get(key)
        if found is None:
            found = self._marks[key] = IterMark(source, extent)
        return found

    def restart(self) -> None:
        """Forget what was rewritten, as other paddings or constraints hold now."""
        self._known = dict(self._starts)

    def inputs(self) -> list[tuple[Expr, IterSplitExpr]]:
        """The inputs that are iterators."""
        return [(leaf, s.args[0]) for leaf, s in self._starts.items() if s.args]

    def forget_constraints(self) -> None:
        """Let no iterator be bounded."""
        self.constraints.clear()
        self._by_innermost.clear()

    def constrain(self, found: Constraint) -> None:
        """Let a fused iterator be the constrained one, wherever it is found."""
        self.constraints.append(found)
        others = self._by_innermost.setdefault(found.parts[0][0], [])
        others.append(found)
        others.sort(key=lambda constraint: -len(constraint.parts))

    # ---- sums ----

    def sum_of(self, node: Expr) -> IterSumExpr:
        """The tree as a sum of splits."""
        return fold(node, self._rewritten, self._known)

    def iterator_of(self, node: Expr) -> IterSumExpr:
        """The tree as a sum of at most one split."""
        fused = self.fuse(self.sum_of(node))
        args = () if fused.split is None else (fused.split,)
        return IterSumExpr(args, self.algebra.simplify(fused.base))

    def _rewritten(self, node: Expr, parts: list[IterSumExpr]) -> IterSumExpr:
        try:
            return self._combined(node, parts)
        except (NoMatchError, LiteralRangeError):
            if not self._opaque:
                raise
            return IterSumExpr((), node)

    def _combined(self, node: Expr, parts: list[IterSumExpr]) -> IterSumExpr:
        if not any(part.args for part in parts):
            return self._free(node, parts)
        if not is_index_type(node.dtype):
            raise NoMatchError(f"{node} is of type {node.dtype}, not of an index type")
        match node:
            case Add():
                return self.added(parts[0], parts[1], self.algebra.one(node))
            case Sub():
                return self.added(parts[0], parts[1], smart.const(-1, node.dtype))
            case Mul() if not (parts[0].args and parts[1].args):
                one, other = parts if parts[0].args else reversed(parts)
                return self.scaled(one, self.algebra.simplify(other.base))
            case FloorDiv() | FloorMod() if not parts[1].args:
                return self._divided(node, *parts)
            case _:
                raise NoMatchError(f"{node} is no sum, multiple or quotient of iterators")

    def _free(self, node: Expr, parts: list[IterSumExpr]) -> IterSumExpr:
        if varies(node, self._bodies):
            raise NoMatchError(f"{node} is computed anew in each iteration")
        if not parts:
            return IterSumExpr((), node)
        return IterSumExpr((), smart.rebuild(node, [part.base for part in parts]))

    def added(self, a: IterSumExpr, b: IterSumExpr, factor: Expr) -> IterSumExpr:
        """`a + factor * b`."""
        b = self.scaled(b, factor)
        if not a.args:
            return IterSumExpr(b.args, smart.add(a.base, b.base))
        found = {split.key: split for split in a.args}
        for split in b.args:
            known = found.get(split.key)
            if known is None:
                found[split.key] = split
                continue
            scale = self.algebra.add(known.scale, split.scale)
            found[split.key] = replace(split, scale=scale)
        args = tuple(split for split in found.values() if not is_literal(split.scale, 0))
        return IterSumExpr(args, smart.add(a.base, b.base))

    def scaled(self, found: IterSumExpr, factor: Expr) -> IterSumExpr:
        """`factor * found`."""
        if is_literal(factor, 1):
            return found
        if is_literal(factor, 0):
            return IterSumExpr((), factor)
        args = tuple(
            replace(split, scale=self.algebra.mul(split.scale, factor))
            for split in found.args
        )
        return IterSumExpr(args, smart.mul(found.base, factor))

    # ---- fusing ----

    def fuse(self, found: IterSumExpr) -> Fused:
        """The sum as one iterator. Raises NoMatchError where it is none."""
        if not found.args:
            return Fused(None, found.base)
        return _Fusion(self, found).run()

    def merged(self, args: Sequence[IterSplitExpr]) -> list[IterSplitExpr]:
        """The splits, those put together that are neighbours in one mark."""
        by_mark: dict[IterMark, list[IterSplitExpr]] = {}
        for split in args:
            by_mark.setdefault(split.source, []).append(split)
        return [split for group in by_mark.values() for split in self._joined(group)]

    def _joined(self, group: list[IterSplitExpr]) -> list[IterSplitExpr]:
        if len(group) == 1:
            return group
        algebra = self.algebra
        by_lower = {split.lower_factor: split for split in group}
        if len(by_lower) < len(group):
            return group
        for split in group:
            right = by_lower.get(split.lower_factor)
            while right is not None:
                above = algebra.mul(right.lower_factor, right.extent)
                left = by_lower.get(above)
                if left is None or left is right:
                    break
                if not algebra.equal(left.scale, algebra.mul(right.extent, right.scale)):
                    break
                extent = algebra.mul(left.extent, right.extent)
                if algebra.equal(extent, right.source.extent):
                    extent = right.source.extent
                del by_lower[above]
                right = replace(right, extent=extent)
                by_lower[right.lower_factor] = right
        return list(by_lower.values())

    def constraint_at(
        self, split: IterSplitExpr, pending: Mapping[Key, IterSplitExpr]
    ) -> Constraint | None:
        """The longest constraint that starts with a split and has all parts available."""
        for found in self._by_innermost.get(split.key, ()):
            for key, scale in found.parts:
                part = pending.get(key)
                if part is None:
                    break
                if not self.algebra.equal(
                    part.scale, self.algebra.mul(split.scale, scale)
                ):
                    break
            else:
                return found
        return None

    # ---- division ----

    def _divided(
        self, node: Expr, dividend: IterSumExpr, divisor: IterSumExpr
    ) -> IterSumExpr:
        by = self.algebra.simplify(divisor.base)
        if self._opaque and any(leaf in self._starts for leaf in postorder(by)):
            raise NoMatchError(f"{node} divides by iterators")
        if is_literal(by, 1):
            is_quotient = isinstance(node, FloorDiv)
            return dividend if is_quotient else IterSumExpr((), self.algebra.zero(node))
        if is_literal(by, 0) or not self.algebra.analyzer.can_prove_greater_equal(by, 0):
            raise NoMatchError(f"{node} has a divisor that is not known to be positive")
        fused = self.fuse(dividend)
        base = self.algebra.simplify(fused.base)
        if fused.split is None:
            return IterSumExpr((), smart.rebuild(node, [base, by]))
        quotient, remainder = self._split_scaled(node, fused.split, base, by)
        return quotient if isinstance(node, FloorDiv) else remainder

    def _split_scaled(
        self, node: Expr, split: IterSplitExpr, base: Expr, by: Expr
    ) -> tuple[IterSumExpr, IterSumExpr]:
        """Quotient and remainder of `split + base`, for any scale of the split."""
        algebra, scale = self.algebra, split.scale
        if algebra.divides(by, scale):
            part = replace(split, scale=algebra.div(scale, by))
            rest = IterSumExpr((), algebra.mod(base, by))
            return IterSumExpr((part,), algebra.div(base, by)), rest
        plain = replace(split, scale=algebra.one(scale))
        if is_literal(scale, 1):
            return self._split(plain, base, by)
        low = algebra.mod(base, scale)
        positive = algebra.analyzer.can_prove_greater_equal(scale, 1)
        if not (algebra.divides(scale, by) and (is_literal(low, 0) or positive)):
            raise NoMatchError(f"{node} divides iterators with a scale of {scale}")
        if not positive:
            raise NoMatchError(f"{node} divides iterators with a scale of {scale}")
        # s*i + b over s*k, where b = s*q + r: the quotient of i + q over k, with the
        # remainder of that, times s, plus r.
        quotient, rest = self._split(
            plain, algebra.div(base, scale), algebra.div(by, scale)
        )
        return quotient, self.added(IterSumExpr((), low), rest, scale)

    def _split(
        self, split: IterSplitExpr, base: Expr, by: Expr
    ) -> tuple[IterSumExpr, IterSumExpr]:
        """Quotient and remainder of `split + base`; the scale of the split is 1."""
        algebra = self.algebra
        if is_literal(by, 1):
            zero = algebra.zero(by)
            return IterSumExpr((split,), base), IterSumExpr((), zero)
        aligned = algebra.divides(by, base)
        padding = self.paddings.get(split.source) if split.is_whole else None
        if aligned and padding is None and algebra.divides(by, split.extent):
            return self._digits(split, by, algebra.div(base, by))
        if not self._pads:
            if not self._opaque or not aligned:
                raise NoMatchError(f"({split} + {base}) // {by} wants padding")
            return self._uneven_digits(split, by, algebra.div(base, by))
        return self._padded_digits(split, base, by, aligned=aligned)

    def _digits(
        self, split: IterSplitExpr, by: Expr, base: Expr
    ) -> tuple[IterSumExpr, IterSumExpr]:
        """The upper digits, plus a base, and the lower ones of a split."""
        algebra = self.algebra
        upper = replace(
            split,
            lower_factor=algebra.mul(split.lower_factor, by),
            extent=algebra.div(split.extent, by),
        )
        low = split if algebra.equal(split.extent, by) else replace(split, extent=by)
        uppers = () if is_literal(upper.extent, 1) else (upper,)
        return IterSumExpr(uppers, base), IterSumExpr((low,), algebra.zero(by))

    def _uneven_digits(
        self, split: IterSplitExpr, by: Expr, base: Expr
    ) -> tuple[IterSumExpr, IterSumExpr]:
        """As `_digits`, where the last quotient has less remainders."""
        whole = split if split.is_whole else self._wrapped(split)
        upper = replace(
            whole, lower_factor=by, extent=self.algebra.ceildiv(whole.extent, by)
        )
        lower = replace(whole, extent=by)
        return IterSumExpr((upper,), base), IterSumExpr((lower,), self.algebra.zero(by))

    def _wrapped(self, split: IterSplitExpr) -> IterSplitExpr:
        """The split as the whole of a mark of its own."""
        one = self.algebra.one(split.scale)
        mark = self.mark(IterSumExpr((split,), self.algebra.zero(one)), split.extent)
        return IterSplitExpr(mark, one, split.extent, one)

    def _padded_digits(
        self, split: IterSplitExpr, base: Expr, by: Expr, *, aligned: bool
    ) -> tuple[IterSumExpr, IterSumExpr]:
        algebra = self.algebra
        mark = split.source
        if not split.is_whole:
            top = algebra.equal(
                algebra.mul(split.lower_factor, split.extent), mark.extent
            )
            if not (top and aligned):
                if mark in self.padded:
                    raise NoMatchError(
                        f"a part of {mark}, which is padded, wants padding"
                    )
                return self._padded_digits(
                    self._wrapped(split), base, by, aligned=aligned
                )
            info = self.padded.get(mark)
            origin = mark if info is None else info.mark
            self._want(origin, algebra.mul(split.lower_factor, by), algebra.zero(by))
            return self._uneven_top(split, by, algebra.div(base, by))
        left = algebra.mod(base, by)
        if self._want(mark, by, left):
            return self._uneven_top(split, by, algebra.div(base, by))
        padding = self.paddings[mark]
        rest = algebra.sub(base, padding.left)
        if not algebra.divides(by, rest):
            raise NoMatchError(f"({split} + {base}) // {by} wants another left padding")
        padded = self._pad(mark, padding)
        whole = IterSplitExpr(padded, algebra.one(by), padded.extent, algebra.one(by))
        return self._digits(whole, by, algebra.div(rest, by))

    def _uneven_top(
        self, split: IterSplitExpr, by: Expr, base: Expr
    ) -> tuple[IterSumExpr, IterSumExpr]:
        """What stands for the digits until the mark has the padding it wants."""
        algebra = self.algebra
        upper = replace(
            split,
            lower_factor=algebra.mul(split.lower_factor, by),
            extent=algebra.ceildiv(split.extent, by),
        )
        lower = replace(split, extent=by)
        return IterSumExpr((upper,), base), IterSumExpr((lower,), algebra.zero(by))

    def _want(self, mark: IterMark, factor: Expr, left: Expr) -> bool:
        """Ask for padding; true if there is not enough of it yet."""
        known = self.paddings.get(mark)
        if known is None:
            self.paddings[mark] = Padding(factor, left)
            return True
        algebra = self.algebra
        wanted = Padding(
            algebra.lcm(known.factor, factor), self._greater(known.left, left)
        )
        self.paddings[mark] = wanted
        return wanted != known

    def _greater(self, a: Expr, b: Expr) -> Expr:
        return a if self.algebra.at_most(b, a) else b

    def _pad(self, mark: IterMark, padding: Padding) -> IterMark:
        algebra = self.algebra
        one = algebra.one(mark.extent)
        whole = IterSplitExpr(mark, one, mark.extent, one)
        reach = algebra.add(mark.extent, padding.left)
        extent = algebra.mul(algebra.ceildiv(reach, padding.factor), padding.factor)
        found = self.mark(IterSumExpr((whole,), padding.left), extent)
        self.padded[found] = Padded(mark, padding)
        return found


class _Fusion:
    """One sum on its way to one iterator, innermost split first."""

    def __init__(self, rewriter: Rewriter, found: IterSumExpr) -> None:
        self._rewriter = rewriter
        self._algebra = rewriter.algebra
        self._text = found
        self._pending = {split.key: split for split in rewriter.merged(found.args)}
        self._base = found.base
        self._units: list[IterSplitExpr] = []
        self._parts: list[tuple[Key, Expr]] = []
        self._extent = self._algebra.one(found.base)

    def run(self) -> Fused:
        first = min(self._pending.values(), key=_size)
        unit = self._algebra.one(first.scale)
        self._take(first, unit, first.scale)
        while self._pending:
            found = self._exact(first.scale)
            scale = self._extent
            if found is None:
                found = self._overlapping(first.scale)
                scale = None if found is None else found.scale
            if found is None or scale is None:
                raise NoMatchError(f"{self._text} cannot be fused to one iterator")
            self._take(found, scale, first.scale)
        if len(self._units) == 1:
            split = replace(self._units[0], scale=first.scale)
        else:
            zero = self._algebra.zero(unit)
            source = IterSumExpr(tuple(reversed(self._units)), zero)
            mark = self._rewriter.mark(source, self._extent)
            split = IterSplitExpr(mark, unit, self._extent, first.scale)
        return Fused(split, self._base, tuple(self._parts))

    def _exact(self, unit: Expr) -> IterSplitExpr | None:
        """A split that starts where the iterator so far ends."""
        wanted = self._algebra.mul(unit, self._extent)
        same = [split for split in self._pending.values() if split.scale is wanted]
        if not same:
            same = [
                split
                for split in self._pending.values()
                if self._algebra.equal(split.scale, wanted)
            ]
        same.sort(key=lambda split: not is_literal(split.extent, 1))
        return same[0] if same else None

    def _overlapping(self, unit: Expr) -> IterSplitExpr | None:
        """The split that starts as late as can be, but leaves no gap."""
        reach = smart.literal(self._extent)
        if self._rewriter.level is IterMapLevel.BIJECTIVE or not is_literal(unit, 1):
            return None
        if reach is None:
            return None
        scales = [(smart.literal(s.scale) or 0, s) for s in self._pending.values()]
        inside = [(scale, s) for scale, s in scales if 0 < scale <= reach]
        return max(inside, key=lambda pair: pair[0])[1] if inside else None

    def _take(self, split: IterSplitExpr, scale: Expr, unit: Expr) -> None:
        """Add a split on the outside, or the bounded iterator that starts with it."""
        algebra = self._algebra
        constraint = self._rewriter.constraint_at(split, self._pending)
        if constraint is None:
            del self._pending[split.key]
            self._parts.append((split.key, scale))
            found = replace(split, scale=scale)
        else:
            for key, inner in constraint.parts:
                del self._pending[key]
                self._parts.append((key, algebra.mul(scale, inner)))
            moved = smart.mul(smart.mul(constraint.offset, scale), unit)
            self._base = smart.add(self._base, moved)
            mark = constraint.mark
            found = IterSplitExpr(mark, algebra.one(scale), mark.extent, scale)
        if scale is self._extent:
            self._extent = algebra.mul(self._extent, found.extent)
        else:
            steps = algebra.mul(algebra.sub(found.extent, 1), scale)
            self._extent = algebra.add(steps, self._extent)
        self._units.append(found)


def _size(split: IterSplitExpr) -> tuple[float, float, bool]:
    """Orders splits from the innermost on: literal scales, then those of few factors."""
    scale = smart.literal(split.scale)
    if isinstance(scale, int):
        return 0, abs(scale), not is_literal(split.extent, 1)
    literal, symbols = scale_parts(split.scale)
    return symbols, abs(literal), not is_literal(split.extent, 1)


def scale_parts(scale: Expr) -> tuple[int, int]:
    """The product of the literal factors, and the number of other factors."""
    literal, symbols, stack = 1, 0, [scale]
    while stack:
        match stack.pop():
            case Mul(lhs, rhs):
                stack += (lhs, rhs)
            case Const(value=int() as value):
                literal *= value
            case _:
                symbols += 1
    return literal, symbols
