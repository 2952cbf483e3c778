# SPDX-License-Identifier: Apache-2.0
"""No module of the command imports itself by way of others. Imports that only a type checker reads,
and imports within functions, do not count: they are not there when a module is imported."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCES = Path(__file__).parents[2] / "src"


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    modules = {_name(path): path for path in SOURCES.rglob("*.py")}
    assert len(modules) > 100
    _check({name: _imported(name, path, modules) for name, path in modules.items()})


def test_a_circle_is_found() -> None:
    with pytest.raises(AssertionError, match=r"(a -> b -> a|b -> a -> b)"):
        _check({"a": {"b"}, "b": {"a"}, "c": {"a"}})


def test_only_imports_at_run_time_count(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text(
        "from typing import TYPE_CHECKING\n"
        "from lockyard import two\n"
        "if TYPE_CHECKING:\n    from lockyard import three\n"
        "def later():\n    from lockyard import four\n"
        "class Now:\n    from lockyard.five import it\n"
        "try:\n    import lockyard.six\nexcept ImportError:\n    pass\n"
    )
    known = {f"lockyard.{each}": path for each in ("two", "three", "four", "five", "six")}
    found = _imported("lockyard.one", path, known)
    assert found == {"lockyard.two", "lockyard.five", "lockyard.six"}


def _check(imports: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        raise AssertionError(f"modules import each other: {' -> '.join(error.args[1])}") from None


def _name(path: Path) -> str:
    parts = path.relative_to(SOURCES).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(name: str, path: Path, modules: dict[str, Path]) -> set[str]:
    """Returns the modules of the command that a module imports when it is imported."""
    found: set[str] = set()
    for node in _statements(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {each if each in modules else node.module for each in members}
    return {each for each in found if each in modules and each != name}


def _statements(of: ast.AST) -> Iterator[ast.AST]:
    """Yields the statements that run when the module is imported."""
    for node in ast.iter_child_nodes(of):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        yield node
        yield from _statements(node)
