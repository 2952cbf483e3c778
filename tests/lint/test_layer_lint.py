# SPDX-License-Identifier: Apache-2.0
"""The layer lint accepts includes that go down and names each one that does not."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "lint"))

import layer_lint
from findings import LintError

TOOL = Path(layer_lint.__file__)
HEAD = "// SPDX-License-Identifier: Apache-2.0\n#pragma once\n"
README = """\
# Layers

```layers
detail/arch detail/os
detail/arch.hpp detail/os.hpp
world
concepts.hpp detail
spin queue
catalog.hpp
model
check.hpp
```

```cpp
int unrelated;
```
"""
HEADERS = (
    "detail/arch/x86.hpp",
    "detail/os/linux.hpp",
    "detail/arch.hpp",
    "detail/os.hpp",
    "detail/node.hpp",
    "world/native.hpp",
    "world/world.hpp",
    "concepts.hpp",
    "spin/ticket.hpp",
    "queue/mcs.hpp",
    "catalog.hpp",
    "check.hpp",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small repository without findings."""
    for header in HEADERS:
        write(tmp_path, header, HEAD)
    write(tmp_path, "README.md", README)
    write(tmp_path, "../../virtual/model/client.hpp", HEAD)
    return tmp_path


def write(root: Path, name: str, text: str) -> None:
    """Put a file into include/lockyard."""
    path = root / "include" / "lockyard" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def lint(root: Path) -> list[str]:
    """`header:line: message` per finding."""
    folder = root / "include" / "lockyard"
    return [
        f"{Path(found.path).relative_to(folder).as_posix()}:{found.line}: {found.message}"
        for found in layer_lint.check(root).findings
    ]


def lint_with(root: Path, header: str, body: str) -> list[str]:
    """The findings after a header got a body; line 3 is the body's first."""
    write(root, header, f"{HEAD}{body}\n")
    return lint(root)


def test_bare_headers_are_clean(root: Path) -> None:
    assert lint(root) == []


@pytest.mark.parametrize(
    ("header", "include"),
    [
        ("spin/ticket.hpp", "<lockyard/world/native.hpp>"),
        ("spin/ticket.hpp", '"lockyard/concepts.hpp"'),
        ("spin/ticket.hpp", '"../detail/node.hpp"'),
        ("world/native.hpp", '"world.hpp"'),
        ("world/native.hpp", "<lockyard/detail/arch.hpp>"),
        ("detail/arch.hpp", '"arch/x86.hpp"'),
        ("detail/node.hpp", "<lockyard/detail/os/linux.hpp>"),
        ("catalog.hpp", "<lockyard/queue/mcs.hpp>"),
        ("check.hpp", "<lockyard/model/client.hpp>"),
    ],
)
def test_a_header_may_include_its_folder_and_what_is_below(
    root: Path, header: str, include: str
) -> None:
    assert lint_with(root, header, f"#include {include}") == []


@pytest.mark.parametrize(
    ("header", "include", "why"),
    [
        ("world/native.hpp", "<lockyard/spin/ticket.hpp>", "above world"),
        ("world/native.hpp", '"../detail/node.hpp"', "above world"),
        ("detail/node.hpp", "<lockyard/catalog.hpp>", "above detail"),
        ("detail/arch/x86.hpp", '"../arch.hpp"', "above detail/arch"),
        ("spin/ticket.hpp", '"lockyard/queue/mcs.hpp"', "a neighbour of spin"),
        ("detail/os/linux.hpp", '"../arch/x86.hpp"', "a neighbour of detail/os"),
        ("concepts.hpp", '"detail/node.hpp"', "a neighbour of concepts.hpp"),
        ("catalog.hpp", "<lockyard/model/client.hpp>", "above catalog.hpp"),
        ("queue/mcs.hpp", "<lockyard/check.hpp>", "above queue"),
    ],
)
def test_an_include_that_goes_up_or_sideways_is_found(
    root: Path, header: str, include: str, why: str
) -> None:
    findings = lint_with(root, header, f"#include {include}")
    assert len(findings) == 1
    assert findings[0].startswith(f"{header}:3: ")
    assert why in findings[0]


def test_the_engine_is_looked_for_where_it_lies(root: Path) -> None:
    findings = lint_with(root, "check.hpp", "#include <lockyard/model/clients.hpp>")
    assert findings == [
        "check.hpp:3: <lockyard/model/clients.hpp> does not exist: correct the name"
    ]


def test_an_include_in_a_comment_does_not_count(root: Path) -> None:
    body = "// #include <lockyard/catalog.hpp>\n/*\n#include <lockyard/catalog.hpp>\n*/"
    assert lint_with(root, "world/native.hpp", body) == []


@pytest.mark.parametrize(
    ("include", "why"),
    [
        ("<lockyard/spin/absent.hpp>", "does not exist"),
        ('"absent.hpp"', "is not a lockyard header"),
        ('"../../../harness/clock.hpp"', "is not a lockyard header"),
        ("<boost/context.hpp>", "is foreign"),
        ("CONFIGURED_HEADER", "not a macro"),
    ],
)
def test_an_include_from_outside_is_found(root: Path, include: str, why: str) -> None:
    findings = lint_with(root, "detail/os/linux.hpp", f"#include {include}")
    assert [why in found for found in findings] == [True]


@pytest.mark.parametrize("name", ["atomic", "cstdint", "cerrno", "ctime", "errno.h", "concepts"])
def test_the_standard_library_may_be_included_anywhere(root: Path, name: str) -> None:
    assert lint_with(root, "spin/ticket.hpp", f"#include <{name}>  // why") == []


@pytest.mark.parametrize(
    "name",
    ["linux/futex.h", "sys/syscall.h", "unistd.h", "pthread.h", "sched.h", "immintrin.h"],
)
def test_system_headers_belong_to_the_platform_folders(root: Path, name: str) -> None:
    for header in ("detail/os/linux.hpp", "detail/arch/x86.hpp"):
        assert lint_with(root, header, f"#include <{name}>") == []
    findings = lint_with(root, "world/native.hpp", f"#include <{name}>")
    assert [found.startswith("world/native.hpp:3: system header") for found in findings] == [True]
    assert len(lint_with(root, "detail/os.hpp", f"#include <{name}>")) == 2


def test_sanitizer_interfaces_belong_to_detail(root: Path) -> None:
    include = "#include <sanitizer/tsan_interface.h>"
    assert lint_with(root, "detail/node.hpp", include) == []
    assert len(lint_with(root, "spin/ticket.hpp", include)) == 1


@pytest.mark.parametrize(
    "condition",
    [
        "#if defined(__x86_64__)",
        "#ifdef __aarch64__",
        "#  ifndef __linux__",
        "#if X\n#elif \\\n  defined(__i386__)",
        "#ifdef _WIN32",
        "#ifdef __APPLE__",
        "#if __ARM_FEATURE_ATOMICS",
    ],
)
def test_only_platform_headers_ask_about_the_platform(root: Path, condition: str) -> None:
    for header in ("detail/arch/x86.hpp", "detail/os/linux.hpp", "detail/arch.hpp"):
        assert lint_with(root, header, f"{condition}\n#endif") == []
    findings = lint_with(root, "spin/ticket.hpp", f"{condition}\n#endif")
    assert ["condition on _" in found for found in findings] == [True]


@pytest.mark.parametrize(
    "body",
    ["#ifdef NDEBUG\n#endif", "#if defined(LOCKYARD_X)  // __linux__\n#endif", "int __linux__;"],
)
def test_other_conditions_are_free(root: Path, body: str) -> None:
    assert lint_with(root, "spin/ticket.hpp", body) == []


def test_a_header_has_at_most_350_lines(root: Path) -> None:
    write(root, "concepts.hpp", HEAD + "\n" * 348)
    assert lint(root) == []
    write(root, "concepts.hpp", HEAD + "\n" * 349)
    assert lint(root) == ["concepts.hpp:351: 351 lines, more than 350: split the header by idea"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#pragma once\n", "the first line is not the licence"),
        ("\n" + HEAD, "the first line is not the licence"),
        ("", "the first line is not the licence"),
        ("// SPDX-License-Identifier: Apache-2.0\n// #pragma once\n", "no include guard"),
    ],
)
def test_a_header_starts_with_its_licence_and_is_guarded(
    root: Path, text: str, message: str
) -> None:
    write(root, "concepts.hpp", text)
    assert lint(root)[-1].startswith(f"concepts.hpp:1: {message}")


def test_a_header_in_no_layer_is_found_once(root: Path) -> None:
    write(root, "event/gate.hpp", HEAD)
    body = "#include <lockyard/event/gate.hpp>"
    findings = lint_with(root, "spin/ticket.hpp", body)
    assert [found.split(":")[0] for found in findings] == ["event/gate.hpp"]
    assert "in no layer" in findings[0]


def test_an_entry_does_not_claim_a_longer_name(root: Path) -> None:
    write(root, "spinning/x.hpp", HEAD)
    assert "in no layer" in lint(root)[0]


@pytest.mark.parametrize(
    "readme",
    [
        "# no block\n",
        README + README,
        README.replace("catalog.hpp", "catalog.hpp world"),
    ],
)
def test_an_unclear_order_of_layers_is_an_error(root: Path, readme: str) -> None:
    write(root, "README.md", readme)
    with pytest.raises(LintError, match=r"README\.md"):
        layer_lint.check(root)


def run(tool: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The tool as a user starts it."""
    command = [sys.executable, str(tool), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_exit_status_tells_clean_from_findings_from_errors(root: Path) -> None:
    assert run(TOOL, root).returncode == 0
    write(root, "concepts.hpp", "")
    found = run(TOOL, root)
    concepts = root / "include" / "lockyard" / "concepts.hpp"
    assert found.returncode == 1
    assert [line.startswith(f"{concepts}:1: ") for line in found.stdout.splitlines()] == [True] * 2
    assert found.stderr == f"layer_lint: {len(HEADERS)} files, 2 findings\n"
    assert run(TOOL, root / "absent").returncode == 2
    assert run(TOOL, root, root).returncode == 2
    assert "usage" in run(TOOL, "--help").stdout


def test_the_repository_around_the_script_is_the_default(root: Path) -> None:
    copy = root / "tools" / "lint"
    copy.mkdir(parents=True)
    for module in TOOL.parent.glob("*.py"):
        shutil.copy(module, copy)
    assert run(copy / TOOL.name).returncode == 0
    write(root, "concepts.hpp", "")
    assert run(copy / TOOL.name).returncode == 1
