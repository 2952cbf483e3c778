# SPDX-License-Identifier: Apache-2.0
"""The prose lint finds what its rules name, and the list of unclean files can only shrink."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "lint"))

import prose_lint
from findings import LintError

TOOL = Path(prose_lint.__file__)
RULES_FILE = TOOL.parent / prose_lint.RULES
RULES = prose_lint.load_rules(RULES_FILE)
TABLES = tomllib.loads(RULES_FILE.read_text(encoding="utf-8"))["rule"]
# A file in which a rule's examples stand, by the kind of passages that the rule searches.
WRITTEN = {
    "docstring": ("a.py", '"""{}"""\n'),
    "comment": ("a.cpp", "// {}\n"),
    "text": ("a.md", "{}\n"),
    "everywhere": ("a.cpp", "{}\n"),
}
# A word that the rules do find.
BAD = str(next(table["bad"][0] for table in TABLES if table["name"] == "be-had"))


def broken(table: dict[str, object], sentence: str) -> list[str]:
    """The rules that a sentence breaks where the given rule would look for it."""
    where = table.get("where", "text")
    kind = next(kind for kind in WRITTEN if kind in str(where))
    name, frame = WRITTEN["text" if "text" in str(where) else kind]
    return [hit.rule for hit in prose_lint.check_text(name, frame.format(sentence), RULES)]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table["name"]))
def test_a_rule_finds_its_bad_examples_and_no_good_one(table: dict[str, object]) -> None:
    bad, good = table["bad"], table["good"]
    assert isinstance(bad, list)
    assert isinstance(good, list)
    assert bad
    assert good
    for sentence in bad:
        assert table["name"] in broken(table, sentence), sentence
    for sentence in good:
        assert broken(table, sentence) == [], sentence


def test_each_rule_has_a_name_of_its_own() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)


def test_a_finding_has_its_line_even_across_a_line_break() -> None:
    (rule,) = (rule for rule in RULES if rule.name == "for-ever")
    text = "A line.\n\nIt waits\nfor\n" + "ever.\n"
    (hit,) = prose_lint.check_text("a.md", text, [rule])
    assert hit.finding.line == 4
    assert hit.finding.message.startswith("[for-ever] `for ever`: ")


@pytest.mark.parametrize("text", ["[[rule]]\nname = 'x'\n", "rule = 1\n", "no TOML", ""])
def test_rules_that_cannot_be_read_are_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LintError, match=r"rules\.toml"):
        prose_lint.load_rules(path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with one clean page and one that is not."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "tools" / "lint").mkdir(parents=True)
    (tmp_path / "README.md").write_text("Locks.\n", encoding="utf-8")
    (tmp_path / "docs" / "a.md").write_text(f"{BAD}\n", encoding="utf-8")
    (tmp_path / "untracked.md").write_text(f"{BAD}\n", encoding="utf-8")
    (tmp_path / "picture.md").write_bytes(b"\xff")
    subprocess.run(
        ["git", "-C", str(tmp_path), "add", "README.md", "docs", "picture.md"], check=True
    )
    return tmp_path


def pending(root: Path, text: str) -> None:
    """Writes the list of files that need not be clean."""
    (root / "tools" / "lint" / prose_lint.PENDING).write_text(text, encoding="utf-8")


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The tool as a user starts it."""
    command = [sys.executable, str(TOOL), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_tracked_files_are_checked(root: Path) -> None:
    found = run(root)
    assert found.returncode == 1
    assert found.stdout.startswith("docs/a.md:1: [be-had] ")
    assert found.stderr == "prose_lint: 3 files, 1 findings\n"


def test_pending_files_are_excused_unless_all_are_asked_for(root: Path) -> None:
    pending(root, "# rewritten later\ndocs/*\n")
    assert run(root).returncode == 0
    assert run(root, "--all").returncode == 1


@pytest.mark.parametrize("glob", ["README.md", "absent/*", "*"])
def test_a_glob_that_excuses_nothing_is_a_finding(root: Path, glob: str) -> None:
    pending(root, f"docs/*\n{glob}\n")
    found = run(root)
    assert found.returncode == 1
    assert found.stdout.startswith(f"tools/lint/{prose_lint.PENDING}:2: `{glob}` matches no file")


def test_counts_are_by_rule_and_folder(root: Path) -> None:
    pending(root, "docs/*\n")
    counted = run(root, "--count")
    assert counted.returncode == 0
    rows = {line.split()[0]: line.split()[1:] for line in counted.stdout.splitlines()}
    assert rows["rule"] == ["docs", "all"]
    assert rows["be-had"] == ["1", "1"]
    assert rows["come-to"] == ["0", "0"]
    assert rows["all"] == ["1", "1"]


def test_a_folder_without_a_repository_is_an_error(tmp_path: Path) -> None:
    failed = run(tmp_path / "absent")
    assert failed.returncode == 2
    assert "cannot list the files" in failed.stderr
