# SPDX-License-Identifier: Apache-2.0
"""`lockyard simulate --lock`: users' locks in the simulated world."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

QUICK = ("--for", "4ms", "--background", "quiet", "--threads", "2", "--locks", "tas_spinlock")
HEADER = """
#pragma once
#include <lockyard/world/default.hpp>
namespace my {
template <lockyard::world W = lockyard::default_world>
class basic_lock {
 public:
  void lock() noexcept {
    while (taken_.exchange(1, std::memory_order_acquire) != 0) { WAIT }
  }
  void unlock() noexcept { taken_.store(0, std::memory_order_release); }

 private:
  lockyard::atomic<W, std::uint32_t> taken_{0};
};
using lock = basic_lock<>;
struct plain {
  void lock() {}
  void unlock() {}
};
template <lockyard::world W>
struct half {
  void lock() {}
};
}
"""
AWAIT = (
    "W::await(taken_, [](std::uint32_t seen) { return seen == 0; }, std::memory_order_relaxed, "
    "lockyard::wait_policies::busy{});"
)


@pytest.fixture
def header(tmp_path: Path) -> Callable[..., str]:
    def write(wait: str = AWAIT) -> str:
        path = tmp_path / "mine.hpp"
        path.write_text(HEADER.replace("WAIT", wait))
        return str(path)

    return write


def test_users_lock_runs_next_to_the_catalogues(
    lockyard: Callable[..., Outcome], header: Callable[..., str]
) -> None:
    shown = lockyard("simulate", "throughput", "--lock", f"{header()}:my::lock", *QUICK, "--json")
    assert shown.returncode == 0, shown.stderr
    rates = {
        each["lock"]: each["figures"]["operations_per_s"]["value"]
        for each in json.loads(shown.stdout)["cells"]
    }
    assert rates.keys() == {"tas_spinlock", "my::lock"}
    assert rates["my::lock"] > 1e5


def test_loop_that_waits_without_an_await_is_named_with_its_line(
    lockyard: Callable[..., Outcome], header: Callable[..., str]
) -> None:
    failed = lockyard(
        "simulate", "throughput", "--lock", f"{header('')}:my::lock", "--hold", "500us", *QUICK
    )
    assert failed.returncode == 4
    assert "mine.hpp:9" in failed.stderr


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("my::plain", "not a class template whose first parameter is a lockyard::world"),
        ("my::half<lockyard::native>", "it lacks lock() or unlock()"),
        ("my::locc", "declares no type my::locc, so nothing was simulated; did you mean my::lock"),
    ],
)
def test_refuses_types_that_cannot_be_simulated(
    lockyard: Callable[..., Outcome], header: Callable[..., str], name: str, expected: str
) -> None:
    refused = lockyard("simulate", "throughput", "--lock", f"{header()}:{name}", *QUICK)
    assert refused.returncode == 2
    assert expected in refused.stderr.replace("\n", " ")
