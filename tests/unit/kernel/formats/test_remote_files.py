"""The lines between Python and the small JVM that reads remote files: each side against the same text."""

import io
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from duolog.engine.checkpoint.remote import door as doors
from duolog.engine.checkpoint.remote import paths
from duolog.engine.checkpoint.remote.door import Door
from duolog.engine.checkpoint.remote.paths import RemotePath
from duolog.engine.jvm.jars import kernel_jar, spark_jars
from duolog.engine.jvm.java import ensure_java
from unit.kernel.formats.golden_files import rows

pytestmark = pytest.mark.timeout(120)

GOLDEN: Final = rows("remote_files")
NAMES: Final = [name for writer, name in GOLDEN if writer == "python"]
ROOT: Final = RemotePath("viewfs://duolog-test/data/app")
MODIFIED_MS: Final = 1767225600000
SETTINGS: Final = {"fs.AbstractFileSystem.viewfs.impl": "org.apache.hadoop.fs.viewfs.ViewFs"}


class FakeServer:
    """Takes the part of the JVM: gives the golden answers in order."""

    def __init__(self) -> None:
        self.stdin = io.BytesIO()
        self.stdout = io.BytesIO(lines("kernel"))

    def poll(self) -> None:
        return None

    def kill(self) -> None:
        pass

    def wait(self) -> int:
        return 0


def lines(writer: str) -> bytes:
    return "".join(GOLDEN[writer, name] + "\n" for name in NAMES).encode()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    fake = FakeServer()
    monkeypatch.setattr(doors, "ensure_java", lambda: Path("java"))
    monkeypatch.setattr(subprocess, "Popen", lambda *_args, **_more: fake)
    door = Door({f"spark.hadoop.{name}": value for name, value in SETTINGS.items()})
    monkeypatch.setitem(paths._doors, ROOT.system, door)  # noqa: SLF001 - as `use` does
    yield fake
    # Closed by hand: the pipes of the fake process keep what was written.
    door._process = None  # noqa: SLF001
    door.close()


def test_python_sends_the_golden_requests_and_reads_the_golden_answers(
    server: FakeServer,
) -> None:
    assert not ROOT.exists()
    with pytest.raises(FileNotFoundError):
        list(ROOT.iterdir())
    ROOT.mkdir(parents=True, exist_ok=True)
    claim, owner = ROOT / "owner.7.claim", ROOT / "owner.json"
    claim.create()
    with pytest.raises(FileExistsError):
        claim.create()
    with pytest.raises(FileNotFoundError):
        (ROOT / "none" / "x").create()
    owner.replace_text('{\n "host": "älph"\n}')
    assert owner.read_text() == '{\n "host": "älph"\n}'
    with pytest.raises(FileNotFoundError):
        (ROOT / "none").read_bytes()
    found = owner.stat()
    assert (found.st_size, found.st_mtime_ns) == (20, MODIFIED_MS * 1_000_000)
    claim.rename(ROOT / "owner.8.claim").unlink(missing_ok=True)
    assert list(ROOT.iterdir()) == [owner]
    ROOT.remove_tree()

    settings, _, requests = server.stdin.getvalue().partition(b"\n")
    assert json.loads(settings).items() >= SETTINGS.items()
    assert requests == lines("python")


def test_the_server_gives_the_golden_answers(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    mount = {
        "fs.viewfs.mounttable.duolog-test.link./data": (tmp_path / "data").as_uri(),
        "fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.LocalFs",
    }
    settings = json.dumps(SETTINGS | mount).encode() + b"\n"
    requests = tmp_path / "requests"
    requests.write_bytes(settings + lines("python"))

    with requests.open("rb") as given:
        done = subprocess.run(
            command(), stdin=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
        )

    answers = re.sub(rb'"modified_ms":\d+', b'"modified_ms":%d' % MODIFIED_MS, done.stdout)
    assert answers.decode().splitlines() == lines("kernel").decode().splitlines()


def command() -> list[Any]:
    """Return the command that starts the server, as `Door` does."""
    jars = [str(jar) for jar in (kernel_jar(), *spark_jars())]
    return [str(ensure_java()), *doors._OPTIONS, "-cp", ":".join(jars), doors._MAIN]  # noqa: SLF001
