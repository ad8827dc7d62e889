import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from duolog.cli.applications.topology_file import TopologyFile
from duolog.cli.errors import Terminated
from duolog.core.errors import StatementError

USES_HELPER = """
from duolog import Topology
from {helper} import TARGET

topology = Topology("copies")
topology.stream("source", value="v STRING").to(TARGET)
"""


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if "of_the_test" in name:
            del sys.modules[name]


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(text)
    return path


def target(file: TopologyFile) -> str:
    return file.load().build().sinks[0].topic


def test_modules_next_to_the_file_are_reloaded(directory: Path) -> None:
    helper = written(directory / "helper_of_the_test.py", 'TARGET = "one"')
    package = written(directory / "package_of_the_test" / "inner.py", 'TARGET = "a"')
    path = written(directory / "app.py", USES_HELPER.format(helper="helper_of_the_test"))
    file = TopologyFile(path)

    assert target(file) == "one"
    assert not file.has_changed()

    helper.write_text('TARGET = "two"')  # of the same size, and within a second
    assert file.has_changed()
    assert target(file) == "two"
    assert not file.has_changed()

    path.write_text(USES_HELPER.format(helper="package_of_the_test.inner"))
    assert target(file) == "a"
    package.write_text('TARGET = "b"')
    assert file.has_changed()
    assert target(file) == "b"
    helper.write_text("")
    assert not file.has_changed(), "no module imports it any more"


def test_other_packages_in_the_directory_are_unchanged(directory: Path) -> None:
    """A virtual environment next to the file: to import a package twice may end the process."""
    packages = directory / ".venv" / "lib" / "site-packages"
    installed = written(packages / "installed_of_the_test.py", 'TARGET = "one"')
    sys.path.insert(0, str(packages))
    file = TopologyFile(
        written(directory / "app.py", USES_HELPER.format(helper="installed_of_the_test"))
    )

    assert target(file) == "one"
    module = sys.modules["installed_of_the_test"]
    installed.write_text('TARGET = "two"')

    assert not file.has_changed()
    assert target(file) == "one"
    assert sys.modules["installed_of_the_test"] is module


def test_an_error_in_an_imported_module_is_reported_with_its_line_and_watched(
    directory: Path,
) -> None:
    """The error used to name the line of the helper with the file name of the main file."""
    helper = written(directory / "helper_of_the_test.py", "x = 1\nTARGET = (")
    file = TopologyFile(
        written(directory / "app.py", USES_HELPER.format(helper="helper_of_the_test"))
    )

    with pytest.raises(StatementError, match=r"helper_of_the_test\.py\", line 2 .* SyntaxError"):
        file.load()
    assert not file.has_changed()

    helper.write_text("x = 1\ny = 2\nTARGET = 1 / 0")
    assert file.has_changed()
    with pytest.raises(StatementError, match=r"helper_of_the_test\.py\", line 3 .*ZeroDivision"):
        file.load()
    helper.write_text('TARGET = "well"')
    assert file.has_changed()
    assert target(file) == "well"


def test_a_module_that_was_missing_is_noticed_when_it_comes(directory: Path) -> None:
    file = TopologyFile(written(directory / "app.py", USES_HELPER.format(helper="new_of_the_test")))
    with pytest.raises(StatementError, match="No module named 'new_of_the_test'"):
        file.load()

    written(directory / "new_of_the_test.py", 'TARGET = "came"')

    assert file.has_changed()
    assert target(file) == "came"


def test_a_replaced_or_deleted_file_has_changed(directory: Path) -> None:
    text = USES_HELPER.replace("from {helper} import TARGET", 'TARGET = "a"')
    path = written(directory / "app.py", text)
    file = TopologyFile(path)
    file.load()
    times = path.stat().st_mtime_ns

    replacement = written(directory / "app.py~", text.replace('"a"', '"b"'))
    os.utime(replacement, ns=(times, times))
    replacement.rename(path)
    assert file.has_changed()
    assert target(file) == "b"

    path.unlink()
    assert file.has_changed()
    with pytest.raises(StatementError, match="FileNotFoundError"):
        file.load()
    assert not file.has_changed()


@pytest.mark.parametrize(
    ("text", "message"),
    [("import sys; sys.exit()", "SystemExit"), ("raise GeneratorExit", "GeneratorExit")],
)
def test_a_file_that_exits_does_not_end_the_command_successfully(
    directory: Path, text: str, message: str
) -> None:
    """`duolog run` ended with status 0, and said nothing."""
    file = TopologyFile(written(directory / "app.py", text))

    with pytest.raises(StatementError, match=rf'app\.py", line 1 cannot be run: {message}'):
        file.load()


def test_a_signal_while_a_file_is_read_ends_the_command(directory: Path) -> None:
    file = TopologyFile(
        written(directory / "app.py", "from duolog.cli.errors import Terminated; raise Terminated")
    )

    with pytest.raises(Terminated):
        file.load()
