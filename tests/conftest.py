"""Loads the plugin that runs the FileCheck tests; see `tests/support`.

Programs are graphs with cycles, which tests make and drop by the thousand. To look for
those after every 700 new objects, as Python does, takes about a quarter of their time.
"""

import gc

pytest_plugins = ["support.filecheck_items"]

gc.set_threshold(20_000, 20, 20)
