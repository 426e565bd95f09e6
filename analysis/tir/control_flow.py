"""What memory holds where it is read, and which stores are overwritten unread.

`ControlFlow` follows a program once forward and once backward and answers two questions
about its memory, for the passes that use knowledge of it
(docs/spec/tir-passes-b-arith-and-loops.md §1.18):

- `value_of(load)`, `value_at(store)`: what an element certainly holds there, because a
  store or an `assume` before has said so;
- `is_overwritten(store)`: whether all that a store writes is certainly written once more
  before anything reads it.

Both are sets of elements with a condition. An element of a buffer is named by *axes*, one
variable for each dimension, and a `Known` says: wherever its conditions hold for the axes
and none of its holes does, the element has this value (forward), or is dead (backward).
`A[2 * i] = x` gives the condition `axis == 2 * i`. When a loop over `i` ends, such an
equation is solved for `i`, here `i = axis // 2` where `axis % 2 == 0`, and what the loop
has done is again a statement about the axes. What other iterations touch makes holes. An
equation that cannot be solved leaves what the last iteration says.

Values need no care in this SSA form: they do not change, whatever is written. Conditions
and values that mention a value of an inner scope are dropped at the end of the scope.

The structure of the program gives the order, so that no fixpoint is needed: of what
earlier iterations establish, an iteration knows what was so before the loop, and what
they leave alone. They leave alone also what they write as it was, by induction over the
iterations: sums stay zero where products with known zeros are added. In a branch, an
integer element that the condition compares with `==` is known.

Buffers that may share memory with a written one lose all; calls with an unknown effect,
and ops of other dialects that may write, make all be forgotten. Only some statements are
kept for each buffer, and for some buffers at a time, the newest: time is linear in the
number of ops, times the depth of loops.

Threads of a launch and iterations of a parallel loop count as having no order; what one
writes is not seen by another without a barrier, which is a call with an effect.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, view
from xdsl_tvm.analysis.tir.known_contents import Known, Space
from xdsl_tvm.analysis.tir.memory_flow import Backward, Forward, with_known_loads
from xdsl_tvm.dialects import tir


class ControlFlow:
    """The flow of values through the memory of a program.

    `root` is an op such as a `tir.func`. Questions take an analyzer that knows what holds
    where the question is asked: an analyzer of `FactsWalker`, say, at an op that the load
    or store in question dominates. The program may change while questions are asked, as
    far as its loads and stores keep their places and elements; a store that is removed
    must be given to `forget`.
    """

    def __init__(self, root: Operation) -> None:
        trees: dict[SSAValue, Expr] = {}
        for op in root.walk():
            if isinstance(op, tir.LetOp) and op.value.type == op.result.type:
                trees[op.result] = view(op.value, trees)
        self._space = Space(trees)
        self._forgotten: set[Operation] = set()
        self._held: dict[Operation, tuple[Known, ...]] = {}
        self._dead: dict[Operation, tuple[Known, ...]] = {}
        Forward(self._space, self._held).run(root)
        Backward(self._space, self._dead).run(root)

    def value_of(self, load: tir.LoadOp, analyzer: Analyzer) -> Expr | None:
        """What the load certainly reads, a tree of values that dominate it; else None.

        Of floats, 0.0 and -0.0 may stand for each other after an `assume`.
        """
        if load.predicate is not None:
            return None
        found = self._usable(self._held, load)
        return self._space.value(found, load.indices, load.result.type, analyzer)

    def value_at(self, store: tir.StoreOp, analyzer: Analyzer) -> Expr | None:
        """What the elements that the store writes certainly hold before it; else None."""
        found = self._usable(self._held, store)
        return self._space.value(found, store.indices, store.value.type, analyzer)

    def is_overwritten(self, store: tir.StoreOp, analyzer: Analyzer) -> bool:
        """Whether all that the store writes is written again before it is read.

        Stores of which this is so may be removed together: none of them counts on one
        that is itself not needed. When another store is removed, for what it writes is
        there already, `forget` it before asking on.
        """
        found = self._usable(self._dead, store)
        return self._space.about(found, store.indices, analyzer) is not None

    def with_known_values(self, tree: Expr, analyzer: Analyzer) -> Expr:
        """The tree with every load in it whose value is known replaced by that value.

        The values may hold loads again, which are replaced too.
        """
        return with_known_loads(tree, lambda load: self.value_of(load, analyzer))

    def forget(self, store: tir.StoreOp) -> None:
        """Note that a store is removed: nothing follows from it any more."""
        self._forgotten.add(store)

    def _usable(
        self, record: dict[Operation, tuple[Known, ...]], op: Operation
    ) -> list[Known]:
        known = record.get(op, ())
        return [each for each in known if each.source not in self._forgotten]
