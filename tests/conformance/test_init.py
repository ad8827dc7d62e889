"""The project of `duolog init`: each command of its README runs verbatim, in a clean home.

Those that need the engine share one run, and so one JVM; it is also the one that watches the file.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from conformance.reader import Reader, blocks_of, commands_of

TIMEOUT_S: Final = 60
RUN: Final = "duolog run app.py --watch"
CONSUME: Final = "duolog consume revenue-by-city --from-beginning"


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Reader]:
    """A user with an empty home, in a newly created project."""
    someone = Reader(tmp_path / "home")
    someone.type("duolog init shop")
    someone.home /= "shop"
    yield someone
    someone.kill()


def commands(newcomer: Reader) -> list[str]:
    blocks = blocks_of(newcomer.home / "README.md")
    return [command for block in blocks for command, _ in commands_of(block)]


def consume_until(newcomer: Reader, command: str, text: str) -> None:
    """Run a command until Ctrl-C, and check that it prints `text`."""
    deadline = time.monotonic() + TIMEOUT_S
    while text not in (printed := newcomer.type(f"timeout 3 {command} || true")):
        assert time.monotonic() < deadline, printed


def test_tests_and_plan_of_the_project_run(newcomer: Reader) -> None:
    assert "2 passed" in newcomer.type("python -m pytest")
    assert 'application "shop"' in newcomer.type("duolog run app.py --explain")
    others = [line for line in commands(newcomer) if not line.startswith("duolog produce ")]
    assert others == [RUN, CONSUME, "python -m pytest", "duolog run app.py --explain"]


def test_the_project_in_avro_runs(tmp_path: Path) -> None:
    someone = Reader(tmp_path / "home")
    someone.type("duolog init shop --format avro")
    someone.home /= "shop"
    try:
        printed = {}
        for block in blocks_of(someone.home / "README.md"):
            for command, _ in commands_of(block):
                if command == CONSUME:
                    consume_until(someone, command, '{"ORDERS":3,"REVENUE":60.0}')
                    continue
                printed[command] = someone.type(command)
                if command.startswith("duolog broker "):
                    someone.wait_for("duolog registry ready on ")
        someone.stop()
    finally:
        someone.kill()

    assert "revenue-by-city-value" in printed["duolog schema list"]


def test_the_project_runs_and_restarts_when_it_changes(newcomer: Reader) -> None:
    app = newcomer.home / "app.py"
    newcomer.type(RUN)
    for command in commands(newcomer):
        if command.startswith("duolog produce "):
            newcomer.type(command)
    consume_until(newcomer, CONSUME, '{"orders":3,"revenue":60.0}')

    text = app.read_text().replace('"revenue-by-city"', '"revenue"')
    app.write_text(text.replace("orders=", "oders=("))
    newcomer.wait_for("cannot be run: SyntaxError")
    newcomer.wait_for("waiting for app.py to change; the previous version keeps running\n")

    app.write_text(text)
    newcomer.wait_for('application "shop" is running', times=2)
    newcomer.type("""echo 'o6:{"customer":"cem","amount":1}' | duolog produce orders -K :""")
    consume_until(
        newcomer, "duolog consume revenue --from-beginning", '{"orders":4,"revenue":61.0}'
    )

    app.write_text(text.replace('group_by("city")', 'group_by("customer")'))
    newcomer.wait_for("has changed since its checkpoint was written")
    newcomer.wait_for("waiting for app.py to change\n")

    newcomer.stop()
    assert newcomer.jvms_started() == 1, "a start after a change is warm"
