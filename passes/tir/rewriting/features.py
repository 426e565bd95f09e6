"""Features of processors, as options of passes name them."""

from __future__ import annotations

from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects.tir.processor_instructions import FEATURES


def checked_features(text: str, pass_name: str) -> frozenset[str]:
    """The features of an option, which has spaces between them.

    Raises PassFailedException for one that no pass knows.
    """
    features = frozenset(text.split())
    unknown = sorted(features - FEATURES)
    if unknown:
        raise PassFailedException(
            f"{pass_name}: the feature '{unknown[0]}' is not known; use "
            f"{', '.join(sorted(FEATURES))}"
        )
    return features
