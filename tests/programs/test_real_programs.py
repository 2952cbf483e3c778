# SPDX-License-Identifier: Apache-2.0
"""Programs of Debian give the same results with other locks, and under profile and guard."""

from __future__ import annotations

import hashlib
import random
import re
import shutil
import socket
import subprocess
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from conftest import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.deep, pytest.mark.timeout(900)]

PATIENCE_S = 600
START_S = 60
Way = list["str | Path"]

WAYS: dict[str, Way] = {
    "plain": [],
    "mutex": [COMMAND, "run", "--quiet", "--mutex", "mutex", "--"],
    "fair_mutex": [COMMAND, "run", "--quiet", "--mutex", "fair_mutex", "--"],
    "profile": [COMMAND, "profile", "--"],
    "guard": [COMMAND, "guard", "--long-hold", "1000s", "--quiet", "--"],
}
PYTHON_TESTS = (
    "test_thread", "test_threading", "test_threading_local", "test_queue",
    "test_concurrent_futures",
)  # fmt: skip


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    return [*WAYS[request.param]]


def program(name: str) -> str:
    if (found := shutil.which(name, path="/usr/bin:/usr/sbin:/bin:/sbin")) is None:
        pytest.skip(f"{name} is not installed; ./yard check-deep installs it")
    return found


def output_of(*command: str | Path, data: bytes = b"") -> bytes:
    shown = subprocess.run(
        command, input=data, capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert shown.returncode == 0, shown.stderr[-2000:]
    return shown.stdout


@pytest.fixture(scope="session")
def data() -> bytes:
    """Returns 8 MB that can be compressed."""
    random_ = random.Random(1)
    words = [random_.randbytes(random_.randint(2, 12)) for _ in range(2000)]
    return b"".join(random_.choices(words, k=1_200_000))


@pytest.mark.parametrize(
    ("name", "pack", "unpack"),
    [
        ("xz", ["-T4", "-2", "--block-size=1MiB", "-c"], ["-T4", "-dc"]),
        ("zstd", ["-T4", "-3", "-c"], ["-dc"]),
        ("pigz", ["-p4", "-n", "-c"], ["-dc"]),
    ],
)
def test_compressors_write_the_same(
    way: Way, data: bytes, name: str, pack: list[str], unpack: list[str]
) -> None:
    path = program(name)
    packed = output_of(*way, path, *pack, data=data)
    assert (
        hashlib.sha256(packed).hexdigest()
        == hashlib.sha256(output_of(path, *pack, data=data)).hexdigest()
    )
    assert output_of(*way, path, *unpack, data=packed) == data


def test_7z_restores_what_it_has_packed(way: Way, data: bytes, tmp_path: Path) -> None:
    path, file, archive = program("7z"), tmp_path / "data", tmp_path / "data.7z"
    file.write_bytes(data)
    output_of(*way, path, "a", "-mmt=4", "-mx=3", archive, file)
    assert output_of(*way, path, "x", "-so", archive) == data


def test_sqlite_answers_the_same(way: Way, tmp_path: Path) -> None:
    path = program("sqlite3")
    script = b"""
        create table t(id integer primary key, x);
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000)
          insert into t select i, i * 7919 % 100003 from n;
        create index by_x on t(x);
        select count(*), sum(x), max(x) from t where x % 3 = 1;
    """
    shown = output_of(*way, path, tmp_path / "data.db", data=script)
    assert shown == output_of(path, ":memory:", data=script)


def test_rocksdb_finds_what_it_has_written(way: Way, tmp_path: Path) -> None:
    path = program("db_bench")
    options = [f"--db={tmp_path / 'db'}", "--num=50000", "--compression_type=none", "--threads=4"]
    output_of(*way, path, "--benchmarks=fillseq", *options)
    shown = output_of(
        *way, path, "--benchmarks=readrandom", *options, "--use_existing_db=1", "--reads=50000",
        "--cache_numshardbits=0",
    ).decode()  # fmt: skip
    assert re.search(r"\((\d+) of \1 found\)", shown), shown[-2000:]


def test_stress_ng_verifies_its_locks(way: Way) -> None:
    path = program("stress-ng")
    output_of(
        *way, path, "--mutex", "2", "--sem", "2", "--pthread", "2", "--verify", "--timeout", "3s"
    )


def test_pythons_own_tests_pass(way: Way) -> None:
    path = program("python3.11")
    if subprocess.run([path, "-c", "import test.test_queue"], check=False).returncode != 0:
        pytest.skip("CPython's tests are not installed: libpython3.11-testsuite")
    output_of(*way, path, "-m", "test", "-q", "--timeout=300", *PYTHON_TESTS)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(command: list[str | Path], connect: Callable[[], socket.socket]) -> Iterator[None]:
    """Runs a server until it accepts, and ends it afterwards; it must end well."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as server:
        try:
            end = time.monotonic() + START_S
            while True:
                try:
                    connect().close()
                    break
                except OSError:
                    assert server.poll() is None, server.stderr and server.stderr.read()[-2000:]
                    assert time.monotonic() < end, "the server accepts no connection"
                    time.sleep(0.1)
            yield
        finally:
            server.terminate()
            _, error = server.communicate(timeout=PATIENCE_S)
    assert server.returncode in (0, -15, 143), error[-2000:]


def in_threads(count: int, body: Callable[[int], None]) -> None:
    failed = list[BaseException]()

    def run(number: int) -> None:
        try:
            body(number)
        except BaseException as error:  # noqa: BLE001 - reported below
            failed.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failed, failed


def test_memcached_returns_what_it_has_stored(way: Way) -> None:
    port = free_port()
    command = [*way, program("memcached"), "-t", "4", "-p", str(port), "-U", "0", "-u", "root"]

    def connect() -> socket.socket:
        return socket.create_connection(("127.0.0.1", port), 10)

    def use(number: int) -> None:
        with connect() as own, own.makefile("rwb") as stream:
            for i in range(3000):
                value = f"{number}-{i * 7919}".encode()
                stream.write(b"set k%d-%d 0 0 %d\r\n%s\r\n" % (number, i, len(value), value))
                stream.write(b"get k%d-%d\r\n" % (number, i))
                stream.flush()
                lines = [stream.readline() for _ in range(4)]
                assert lines[0] == b"STORED\r\n"
                assert lines[2] == value + b"\r\n"

    with serving(command, connect):
        in_threads(8, use)


def test_redis_counts_right(way: Way, tmp_path: Path) -> None:
    port = free_port()
    command = [
        *way, program("redis-server"), "--port", str(port), "--save", "", "--io-threads", "4",
        "--io-threads-do-reads", "yes", "--dir", str(tmp_path),
    ]  # fmt: skip

    def connect() -> socket.socket:
        return socket.create_connection(("127.0.0.1", port), 10)

    def use(_: int) -> None:
        with connect() as own, own.makefile("rwb") as stream:
            for _ in range(300):
                stream.write(b"INCR counter\r\n" * 20)
                stream.flush()
                for _ in range(20):
                    assert stream.readline().startswith(b":")

    with serving(command, connect):
        in_threads(8, use)
        with connect() as own, own.makefile("rwb") as stream:
            stream.write(b"GET counter\r\n")
            stream.flush()
            assert stream.readline() + stream.readline() == b"$5\r\n48000\r\n"


def test_mariadb_serves_sysbench_without_an_error(way: Way, tmp_path: Path) -> None:
    server, sysbench = program("mariadbd"), program("sysbench")
    folder, place = tmp_path / "data", tmp_path / "socket"
    output_of(
        program("mariadb-install-db"), "--no-defaults", f"--datadir={folder}", "--user=root",
        "--auth-root-authentication-method=normal", "--skip-test-db",
    )  # fmt: skip
    command = [
        *way, server, "--no-defaults", f"--datadir={folder}", f"--socket={place}", "--user=root",
        "--skip-networking", "--innodb-buffer-pool-size=64M", f"--pid-file={tmp_path / 'pid'}",
    ]  # fmt: skip

    def connect() -> socket.socket:
        own = socket.socket(socket.AF_UNIX)
        try:
            own.connect(str(place))
        except OSError:
            own.close()
            raise
        return own

    def bench(*arguments: str) -> str:
        return output_of(
            sysbench, "oltp_read_write", f"--mysql-socket={place}", "--mysql-user=root",
            "--mysql-db=bench", "--tables=2", "--table-size=2000", "--threads=8", *arguments,
        ).decode()  # fmt: skip

    with serving(command, connect):
        output_of(
            program("mariadb"), "--no-defaults", f"--socket={place}", "-uroot", "-e",
            "create database bench",
        )  # fmt: skip
        bench("prepare")
        shown = bench("--time=0", "--events=2000", "--mysql-ignore-errors=1213", "run")
        assert re.search(r"total number of events: +2000\n", shown), shown
