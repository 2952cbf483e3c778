# SPDX-License-Identifier: Apache-2.0
"""What the tests of the page share: a browser without a window, and pages of real records."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lockyard.measure.session import Measured
from lockyard.page.of_records import page_of
from lockyard.page.wanted import WantedPage
from lockyard.records import read_records

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from playwright.sync_api import Browser, Page, Request

QUICK = ("Advice", "Waiting", "Tables")  # the sections of a page that is drawn quickly
RECORDS = Path(__file__).parent / "page" / "records.jsonl"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# No sandbox, since tests may run as root; nothing that a browser does by itself.
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-extensions", "--no-first-run",
)  # fmt: skip
TIMEOUT_MS = 60_000


def write_page_of(records: Path, path: Path, titles: Collection[str] = ()) -> Path:
    """Writes the page of records, or only the sections with these titles."""
    content = read_records(records)
    measured = Measured(content.environment, content.runs, path=records)
    page, order = page_of(measured, "std::mutex", (), content.warnings)
    kept = [each for each in page.sections if not titles or each.title in titles]
    WantedPage(path).write(replace(page, sections=kept), order)
    return path


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the page of real records, shared by all tests."""
    return write_page_of(RECORDS, tmp_path_factory.mktemp("page") / "page.html")


@pytest.fixture(scope="session")
def small_page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a page that is drawn quickly, with a part of the sections."""
    return write_page_of(RECORDS, tmp_path_factory.mktemp("page") / "small.html", QUICK)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    pytest.importorskip("plotly", reason="the extra lockyard[page] is not installed")
    playwright = pytest.importorskip("playwright.sync_api")
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("there is no Chromium here: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=list(FLAGS))
        yield browser
        browser.close()


@dataclass
class Opened:
    """A page in the browser, with everything that it should not do."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def drawn(self) -> Opened:
        """Waits until all charts that are shown are drawn."""
        self.page.wait_for_selector("html[data-charts=drawn]", state="attached")
        return self

    def note_request(self, request: Request) -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            self.requests.append(request.url)


@pytest.fixture(scope="module")
def whole_page(open_pages: Callable[..., Opened], page_file: Path) -> Opened:
    """Returns the whole page, opened once for the tests that only look at it."""
    return open_pages(page_file).drawn()


@pytest.fixture(scope="module")
def small_page(open_pages: Callable[..., Opened], small_page_file: Path) -> Opened:
    """Returns the small page, opened once for tests that leave it as they found it."""
    return open_pages(small_page_file).drawn()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., Opened]]:
    """Opens a file in a browser that has no network, until the test ends."""
    yield from _opener(browser)


@pytest.fixture(scope="module")
def open_pages(browser: Browser) -> Iterator[Callable[..., Opened]]:
    """Opens files as `opened` does, until the last test of the module ends."""
    yield from _opener(browser)


def _opener(browser: Browser) -> Iterator[Callable[..., Opened]]:
    contexts = []

    def open_file(path: Path, **settings: Any) -> Opened:
        settings = {"viewport": {"width": 1280, "height": 900}, "offline": True, **settings}
        context = browser.new_context(**settings)
        contexts.append(context)
        context.set_default_timeout(TIMEOUT_MS)
        result = Opened(context.new_page())
        result.page.on("console", lambda said: result.errors.append(f"{said.type}: {said.text}"))
        result.page.on("pageerror", lambda error: result.errors.append(str(error)))
        result.page.on("request", result.note_request)
        result.page.goto(path.as_uri())
        return result

    yield open_file
    for context in contexts:
        context.close()
