"""Index maps: text, evaluation, inverse and composition."""

import pytest
from support.ir import parse
from xdsl.dialects.builtin import i16
from xdsl.ir.affine import AffineMap
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.tir import BlockOp, IndexMapAttr
from xdsl_tvm.registry import new_context

TILED = IndexMapAttr.of(lambda i, j: (j, i // 4, i % 4), lambda a, b, c: (b * 4 + c, a))


def read(text: str) -> IndexMapAttr:
    attribute = Parser(new_context(), text).parse_attribute()
    assert isinstance(attribute, IndexMapAttr)
    return attribute


@pytest.mark.parametrize(
    "text",
    [
        "#tir.index_map<(d0, d1) -> (d1, d0)>",
        "#tir.index_map<(d0) -> (d0 floordiv 4, d0 mod 4), inverse (d0, d1) -> "
        "(d0 * 4 + d1)>",
        "#tir.index_map<(d0) -> (d0 * -1 + 15), i32>",
        "#tir.index_map<(d0) -> (d0), inverse (d0) -> (d0), i32>",
        "#tir.index_map<(d0) -> (0, d0)>",
        "#tir.index_map<() -> ()>",
    ],
)
def test_text_round_trips(text: str):
    assert read(str(read(text))) == read(text)


def test_maps_of_functions():
    assert read(str(TILED)) == TILED
    assert (
        read(
            "#tir.index_map<(d0, d1) -> (d1, d0 floordiv 4, d0 mod 4), "
            "inverse (d0, d1, d2) -> (d1 * 4 + d2, d0)>"
        )
        == TILED
    )


def test_indices_and_shapes():
    assert TILED.rank == 2
    assert TILED.map_indices((7, 2)) == (2, 1, 3)
    assert TILED.map_indices((-1, 0)) == (0, -1, 3)
    assert TILED.map_shape((8, 3)) == (3, 2, 4)
    assert TILED.map_shape((7, 3)) == (3, 2, 4)
    assert TILED.is_bijective_on((8, 3))
    assert not TILED.is_bijective_on((7, 3))
    assert not IndexMapAttr.of(lambda i: (i // 2,)).is_bijective_on((4,))


def test_inverse_and_composition():
    back = TILED.inverse
    assert back is not None
    assert back.inverse == TILED
    round_trip = back.compose(TILED)
    for index in ((0, 0), (5, 2), (11, 7)):
        assert round_trip.map_indices(index) == index
    assert IndexMapAttr.of(lambda i: (i,)).inverse is None
    shifted = IndexMapAttr.of(lambda i: (i + 1,)).compose(
        IndexMapAttr.of(lambda i, j: (i * 8 + j,))
    )
    assert shifted.map_indices((2, 3)) == (20,)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="takes 2 indices, got 1"):
        TILED.map_indices((1,))
    with pytest.raises(ValueError, match=r"no shape for the empty shape \[0, 3\]"):
        TILED.map_shape((0, 3))
    with pytest.raises(ValueError, match=r"maps indices of \[4\] below 0"):
        IndexMapAttr.of(lambda i: (1 - i,)).map_shape((4,))
    with pytest.raises(ValueError, match=r"takes 2 indices, but .* gives 3"):
        TILED.compose(TILED)


def test_verifier():
    identity, swap = AffineMap.identity(1), AffineMap.transpose_map()
    with pytest.raises(VerifyException, match="indices must be i32 or i64, got i16"):
        IndexMapAttr(identity, None, i16)
    with pytest.raises(VerifyException, match="must be one from 2 to 2"):
        IndexMapAttr(swap, identity)
    with pytest.raises(VerifyException, match="a map must have no symbols"):
        IndexMapAttr(AffineMap.identity(1, 1))


def test_maps_are_annotations():
    module = parse(
        "tir.func @f() {\n  tir.block annotations "
        "{map = #tir.index_map<(d0, d1) -> (d1, d0)>} {\n  }\n}"
    )
    (block,) = [op for op in module.walk() if isinstance(op, BlockOp)]
    assert block.annotations is not None
    assert block.annotations.data["map"] == IndexMapAttr.of(lambda i, j: (j, i))
