"""Loads the plugin that runs the FileCheck tests; see `tests/plugins`."""

pytest_plugins = ["filecheck_items"]
