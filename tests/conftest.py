"""Loads the plugin that runs the FileCheck tests; see `tests/support`.

Programs are graphs with cycles, which tests make and drop by the thousand. To look for
those after every 700 new objects, as Python does, takes about a quarter of their time.
"""

import gc

import pytest

pytest_plugins = ["support.filecheck_items"]

gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="module")
def small_heap() -> None:
    """Leave what is there out of the collections of a module's tests.

    They would go through all that earlier tests left in caches each time.
    """
    gc.collect()
    gc.freeze()


def pytest_collection_finish() -> None:
    """Leave what is there before the first test out of all later collections.

    Tests collect garbage to see that memory is given back, and would go through modules
    and all collected tests each time.
    """
    gc.collect()
    gc.freeze()
