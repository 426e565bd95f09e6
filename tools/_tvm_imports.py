"""Imports of TVM in the syntax trees and texts of programs, and ours in their place."""

from __future__ import annotations

import ast

from xdsl_tvm.tvm_words import is_tvm, our_name

Import = ast.Import | ast.ImportFrom


def with_our_imports(node: ast.stmt) -> ast.stmt:
    """A statement whose imports of TVM, in it or its parts, are those of this package."""
    return _Imports().visit(node)


def our_import(node: Import) -> list[ast.stmt]:
    """The imports in the place of one. `import tvm.x` binds `tvm` and imports `x`."""
    if isinstance(node, ast.ImportFrom):
        if node.level or not is_tvm(node.module or ""):
            return [node]
        names = [
            _alias("tir", a.asname or a.name) if a.name == "tirx" else a
            for a in node.names
        ]
        ours: list[ast.stmt] = [ast.ImportFrom(our_name(node.module or ""), names, 0)]
    else:
        ours = []
        for alias in node.names:
            if not is_tvm(alias.name):
                ours.append(ast.Import([alias]))
                continue
            name = our_name(alias.name)
            if alias.asname is None:
                if "." in name:
                    ours.append(ast.Import([ast.alias(name)]))
                ours.append(ast.Import([ast.alias("xdsl_tvm", "tvm")]))
            else:
                ours.append(ast.Import([_alias(name, alias.asname)]))
    for each in ours:
        ast.copy_location(each, node)
        ast.fix_missing_locations(each)
    return ours


def _alias(name: str, bound: str) -> ast.alias:
    return ast.alias(name) if name == bound else ast.alias(name, bound)


def imported_names(node: Import) -> list[tuple[Import, str]]:
    """An import of several names as imports of one, each with the dotted name of it."""
    if isinstance(node, ast.Import):
        return [(_located(ast.Import([a]), node), a.name) for a in node.names]
    module = "." * node.level + (node.module or "")
    return [
        (
            _located(ast.ImportFrom(node.module, [a], node.level), node),
            f"{module}.{a.name}",
        )
        for a in node.names
    ]


def _located(made: Import, node: Import) -> Import:
    return ast.fix_missing_locations(ast.copy_location(made, node))


class _Imports(ast.NodeTransformer):
    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        return our_import(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        return our_import(node)


def rewritten(text: str, tree: ast.Module) -> str:
    """The text of a program with its imports of TVM changed, and nothing else."""
    lines = text.splitlines(keepends=True)
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    # From the last to the first, since lines before stay where they are.
    for node in sorted(imports, key=lambda n: (n.lineno, n.col_offset), reverse=True):
        ours = our_import(node)
        if ours != [node]:
            _replace(lines, node, "; ".join(map(ast.unparse, ours)))
    return "".join(lines)


def _replace(lines: list[str], node: Import, text: str) -> None:
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    # Columns of trees count bytes.
    before = lines[first].encode()[: node.col_offset].decode()
    after = lines[last].encode()[node.end_col_offset :].decode()
    lines[first : last + 1] = [before + text + after]
