"""The conversations of the kernel with a Python worker: each side against the same bytes."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import waiting
from duolog.functions import worker
from unit.kernel.formats.golden_files import sections
from unit.kernel.java_program import run_java

pytestmark = pytest.mark.timeout(120)

GOLDEN: Final = sections("worker_conversations")
HEADER_BYTES: Final = 12
DEFINED_BYTES: Final = 5
CONVERSATIONS: Final = ("processor", "function")
TURN: Final = rb'(?<="turn":")[0-9a-f-]{36}'


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_worker_gives_the_golden_replies(name: str, tmp_path: Path) -> None:
    requests = tmp_path / "requests"
    requests.write_bytes(GOLDEN[f"{name} requests"])
    command = [sys.executable, "-m", "duolog.functions.worker"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    with requests.open("rb") as given:
        done = subprocess.run(
            command, stdin=given, capture_output=True, env=environment, check=True
        )

    assert done.stdout == GOLDEN[f"{name} replies"]


def test_a_worker_gives_the_golden_signs() -> None:
    replies = io.BytesIO()
    progress = worker._Progress(replies)  # noqa: SLF001 - a busy worker gives them at any time
    progress.mark_worn()
    assert replies.getvalue() == GOLDEN["worn"]

    progress.begin()
    progress.note(1)
    expected = GOLDEN["worn"] + GOLDEN["row done"]
    waiting.wait_until(lambda: replies.getvalue() == expected, "a row is reported", 60)
    progress.end(b"")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Return the requests of the kernel to a worker that gives the golden replies, and what it has read."""
    directory = tmp_path_factory.mktemp("conversations")
    for name in CONVERSATIONS:
        length = int.from_bytes(GOLDEN[f"{name} requests"][8:HEADER_BYTES])
        (directory / name).write_bytes(GOLDEN[f"{name} requests"][HEADER_BYTES:][:length])
    (directory / "processor replies").write_bytes(GOLDEN["processor replies"])
    first, last = (
        GOLDEN["function replies"][:DEFINED_BYTES],
        GOLDEN["function replies"][DEFINED_BYTES:],
    )
    signs = GOLDEN["row done"] + GOLDEN["worn"]
    (directory / "function replies").write_bytes(first + signs + last)
    return directory, run_java("WorkerFormats", directory)


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_the_kernel_sends_the_golden_requests(name: str, kernel: tuple[Path, list[str]]) -> None:
    sent = (kernel[0] / f"{name} requests").read_bytes()

    golden = GOLDEN[f"{name} requests"]
    turns = re.findall(TURN, golden)
    assert re.sub(TURN, b"".join(turns), sent) == golden


def test_the_kernel_reads_the_golden_replies(kernel: tuple[Path, list[str]]) -> None:
    expected = [
        'forwarded 0 1767225601000 {"id":"a"} {"said":"None [\'a\']"}',
        "header h v",
        "header n null",
        "end",
        'forwarded 0 1767225600900 {"id":"a"} {"said":"now [\'a\', \'last\']"}',
        "end",
        "error Remembering.punctuation (format_processor.py:31): ValueError: 1767225601010",
        "end",
        "end",
        "next 1767225601020 true",
        'row ["a"] 1767225600900 "now"',
        'result {"r":3}',
        "error abs: TypeError: bad operand type for abs(): 'NoneType'",
        "error abs: TypeError: bad operand type for abs(): 'str'",
        "worn true",
    ]
    assert kernel[1] == " ".join(expected).split()
