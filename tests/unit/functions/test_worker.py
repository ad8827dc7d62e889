"""The worker process that calls functions: it ends with its parent, and printed text is not an answer."""

import os
import pickle
import re
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

import pytest
from pyspark import cloudpickle

from duolog.plan.expressions.python_functions import Lookups, PythonFunction
from duolog.plan.types import BIGINT, DOUBLE

pytestmark = pytest.mark.timeout(60)

COMMAND = [sys.executable, "-m", "duolog.functions.worker"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}


def started() -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(COMMAND, stdin=pipe, stdout=pipe, stderr=pipe, env=ENVIRONMENT)


def ask(to: IO[bytes] | None, kind: int, payload: bytes) -> None:
    assert to is not None
    to.write(struct.pack(">iii", kind, 0, len(payload)) + payload)
    to.flush()


def answer(of: IO[bytes] | None) -> bytes:
    assert of is not None
    (length,) = struct.unpack(">i", of.read(4))
    return of.read(length)


def test_a_worker_answers_until_its_input_ends_and_printed_text_is_separate() -> None:
    worker = started()

    ask(worker.stdin, 1, pickle.dumps(PythonFunction(abs, (BIGINT,), BIGINT)))
    assert answer(worker.stdout) == b"+"
    ask(worker.stdin, 2, b'[{"a0":-3},{"a0":4}]')
    assert answer(worker.stdout) == b'+{"r":3}\n+{"r":4}\n'
    ask(worker.stdin, 1, pickle.dumps(PythonFunction(print, (BIGINT,), BIGINT)))
    assert answer(worker.stdout) == b"+"
    ask(worker.stdin, 2, b'[{"a0":7}]')
    assert answer(worker.stdout) == b'+{"r":null}\n'
    out, printed = worker.communicate()

    assert (worker.returncode, out, printed) == (0, b"", b"7\n")


def test_a_function_that_cannot_be_loaded_is_reported() -> None:
    worker = started()

    ask(worker.stdin, 1, b"no function")

    assert answer(worker.stdout).startswith(b"-UnpicklingError")
    worker.communicate()


def test_a_worker_ends_even_during_a_function_that_never_returns() -> None:
    worker = started()
    ask(worker.stdin, 1, pickle.dumps(PythonFunction(time.sleep, (DOUBLE,), BIGINT)))
    assert answer(worker.stdout) == b"+"
    ask(worker.stdin, 2, b'[{"a0":600.0}]')

    assert worker.stdin is not None
    worker.stdin.close()

    assert worker.wait(30) == 1
    for pipe in (worker.stdout, worker.stderr):
        assert pipe is not None
        pipe.close()


def hung_where_it_is_one(n: int) -> int:
    if n == 1:
        time.sleep(600)
    return n


def test_a_worker_reports_that_all_its_threads_hang() -> None:
    worker = started()
    how = Lookups(limit=2, timeout_ms=100, retries=1, pause_ms=1)
    function = PythonFunction(hung_where_it_is_one, (BIGINT,), BIGINT, lookups=how)
    ask(worker.stdin, 1, cloudpickle_of_this(function))
    assert answer(worker.stdout) == b"+"

    ask(worker.stdin, 2, b'[{"a0":0}]')
    assert lengths_and_answer(worker.stdout)[1] == b'+{"r":0}\n'
    ask(worker.stdin, 2, b'[{"a0":1},{"a0":2}]')
    said, reply = lengths_and_answer(worker.stdout)

    assert [one for one in said if one != -1] == [-3], "once, ahead of the answer"
    assert b"no answer within 100 ms, in the last of 2 tries" in reply
    assert reply.endswith(b'+{"r":2}\n')
    worker.kill()
    worker.communicate()


def cloudpickle_of_this(function: PythonFunction) -> bytes:
    """Return a function with its code, so that the worker need not import this module."""
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    try:
        pickled: bytes = cloudpickle.dumps(function)  # type: ignore[no-untyped-call]
    finally:
        cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]
    return pickled


def lengths_and_answer(of: IO[bytes] | None) -> tuple[list[int], bytes]:
    """Return the messages before an answer, negative numbers (-1: progress), and the answer."""
    assert of is not None
    said: list[int] = []
    while True:
        (length,) = struct.unpack(">i", of.read(4))
        if length >= 0:
            return said, of.read(length)
        said.append(length)


def forks_at_one(n: int) -> int:
    if n == 1 and os.fork() == 0:
        return 77
    if n == 2 and os.fork() == 0:
        sys.exit(3)
    return n


@pytest.mark.parametrize("lookups", [None, Lookups(limit=2, timeout_ms=9_000, retries=0)])
def test_a_forked_child_of_a_function_writes_no_answer(lookups: Lookups | None) -> None:
    """It answered too, and from then on each record received the answer of the previous one."""
    worker = started()
    ask(worker.stdin, 1, cloudpickle_of_this(of_big_integers(forks_at_one, lookups)))
    assert answer(worker.stdout) == b"+"

    for n in (0, 1, 2, 3, 1, 4):
        ask(worker.stdin, 2, f'[{{"a0":{n}}},{{"a0":5}}]'.encode())
        reply = lengths_and_answer(worker.stdout)[1]

        assert reply == f'+{{"r":{n}}}\n+{{"r":5}}\n'.encode()
    worker.communicate()


def of_big_integers(function: Any, lookups: Lookups | None = None) -> PythonFunction:
    return PythonFunction(function, (BIGINT,), BIGINT, lookups=lookups)


def signalled(n: int) -> int:
    os.kill(os.getpid(), n)
    subprocess.run(["sh", "-c", f"kill -{n} $$"], check=False)
    return n


def test_signals_to_the_process_group_fail_no_record() -> None:
    """It ended during a record, which was skipped as one that ends its process."""
    worker = started()
    ask(worker.stdin, 1, cloudpickle_of_this(of_big_integers(signalled)))
    assert answer(worker.stdout) == b"+"

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        ask(worker.stdin, 2, f'[{{"a0":{number:d}}}]'.encode())

        assert lengths_and_answer(worker.stdout)[1] == f'+{{"r":{number:d}}}\n'.encode()
    worker.communicate()


_PARENT = """
import struct, subprocess, sys, time
pickled = bytes.fromhex(sys.argv[1])
pipe = subprocess.PIPE
worker = subprocess.Popen([sys.executable, "-m", "duolog.functions.worker"], stdin=pipe, stdout=pipe)
for kind, payload in ((1, pickled), (2, b'[{"a0":1}]')):
    worker.stdin.write(struct.pack(">iii", kind, 0, len(payload)) + payload)
    worker.stdin.flush()
    if kind == 1:
        worker.stdout.read(5)
time.sleep(1)
print(worker.pid, flush=True)
time.sleep(300)
"""


def holds_the_interpreter(n: int) -> int:
    return n if re.match(r"(a+)+$", "a" * 50 + "b") else 0


def test_a_worker_ends_with_its_parent_while_a_function_holds_the_gil() -> None:
    """It ran for hours and used a whole core."""
    pickled = cloudpickle_of_this(of_big_integers(holds_the_interpreter)).hex()
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT, pickled], stdout=subprocess.PIPE, env=ENVIRONMENT
    ) as parent:
        assert parent.stdout is not None
        process = int(parent.stdout.readline())
        stat = Path(f"/proc/{process}/stat")
        assert stat.exists()
        parent.kill()

    deadline = time.monotonic() + 60
    while stat.exists() and " Z " not in stat.read_text():
        if time.monotonic() > deadline:
            os.kill(process, signal.SIGKILL)
            pytest.fail("it lives on")
        time.sleep(0.05)
