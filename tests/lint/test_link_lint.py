# SPDX-License-Identifier: Apache-2.0
"""The link lint accepts links that lead somewhere and names each one that does not."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "lint"))

import link_lint
from findings import LintError

GUIDE = "# The guide\n\n## A lock, of `my` own\n\n```sh\n# no heading\n```\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small repository without findings."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True, timeout=60)
    write(tmp_path, "docs/guide.md", GUIDE)
    write(tmp_path, "src/lock.hpp", "// docs/guide.md says why.\n")
    write(tmp_path, "README.md", "[why](docs/guide.md#a-lock-of-my-own), [all](src)\n")
    return tmp_path


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)
    subprocess.run(["git", "add", path], cwd=root, check=True, timeout=60)


def found(root: Path) -> list[str]:
    return [str(finding) for finding in link_lint.check(root).findings]


def test_links_that_lead_somewhere_are_accepted(root: Path) -> None:
    write(
        root, "examples/README.md", "[up](../docs/guide.md) [net](https://a.b) [here](#top)\n# Top"
    )
    write(root, "examples/page.md", "```cpp\nf[i](nothing);\n```\n")
    assert found(root) == []
    assert link_lint.check(root).files == 5


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("docs/nothing.md", "the link docs/nothing.md leads nowhere"),
        ("docs/guide.md#nothing", "the link docs/guide.md#nothing names no heading"),
        ("docs/guide.md#no-heading", "the link docs/guide.md#no-heading names no heading"),
        ("#nothing", "the link #nothing names no heading"),
    ],
)
def test_a_dead_link_is_named_with_its_line(root: Path, link: str, why: str) -> None:
    write(root, "README.md", f"# Title\n\n```\ncode\n```\n[dead]({link})\n")
    assert f"README.md:6: {why}" in found(root)


def test_a_page_that_a_source_names_must_exist(root: Path) -> None:
    write(root, "src/lock.hpp", "// See\n// docs/gone.md.\n")
    assert found(root) == ["src/lock.hpp:2: there is no page docs/gone.md"]


def test_files_that_hold_no_text_are_passed_over(root: Path) -> None:
    (root / "picture.png").write_bytes(b"\x89PNG\xff")
    subprocess.run(["git", "add", "picture.png"], cwd=root, check=True, timeout=60)
    assert found(root) == []


def test_a_folder_without_a_repository_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LintError, match="cannot list the files"):
        link_lint.check(tmp_path)
