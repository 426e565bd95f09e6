"""What is kept by the identity of attributes is theirs, and each is asked for once."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from xdsl_tvm.dialects.by_identity import by_identity


def test_results_are_those_of_their_attributes() -> None:
    asked: list[Attribute] = []

    @by_identity
    def text(attribute: Attribute) -> str:
        asked.append(attribute)
        assert isinstance(attribute, StringAttr)
        return attribute.data

    same = StringAttr("a")
    assert [text(same), text(same), text(StringAttr("a"))] == ["a", "a", "a"]
    assert len(asked) == 2
    # More than are kept; those that are gone leave their identities to others.
    asked.clear()
    for index in range(10_000):
        assert text(StringAttr(f"{index}")) == f"{index}"
        asked.clear()
