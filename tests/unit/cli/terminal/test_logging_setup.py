"""Lines of commands that stay: for people, or as objects of JSON."""

import json
import logging
import subprocess
import sys
from pathlib import Path

import click
import pytest

from duolog.broker.log_format import log_to_stderr
from duolog.cli.terminal import logging_setup
from duolog.engine.settings import EngineConfig
from duolog.engine.spark.session_conf import session_conf

PROGRAM = """
import sys
from duolog.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_for_people_a_line_is_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    logging_setup.emit("running: 3 records in", records_in=3)

    assert capsys.readouterr().err == "running: 3 records in\n"
    assert logging_setup.engine_settings() == {}


def test_as_json_a_line_has_time_level_application_message_and_fields(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    handler = log_to_stderr("json")
    handler.addFilter(logging_setup._with_application)  # noqa: SLF001 - as the option does it
    monkeypatch.setattr(logging_setup, "_handler", handler)
    monkeypatch.setattr(logging_setup, "_application", "sales")
    try:
        logging_setup.emit('running: "3" in', records_in=3)
        logging.getLogger("duolog.engine").warning("away", extra={"at": "b:1"})
    finally:
        logging.getLogger("duolog").removeHandler(handler)

    said, logged = map(json.loads, capsys.readouterr().err.splitlines())
    assert said["time"].endswith("Z")
    assert (said["level"], said["application"], said["message"], said["records_in"]) == (
        "INFO",
        "sales",
        'running: "3" in',
        3,
    )
    assert (logged["level"], logged["logger"], logged["at"]) == ("WARNING", "engine", "b:1")
    assert logging_setup.engine_settings() == {"logging.format": "json"}


def test_an_error_that_ends_a_command_is_an_object_too(tmp_path: Path) -> None:
    file = tmp_path / "none.py"
    file.write_text("x = 1\n")

    done = run("run", str(file), "--log-format", "json")

    (said,) = map(json.loads, done.stderr.splitlines())
    assert done.returncode != 0
    assert (said["level"], bool(said["hint"])) == ("ERROR", True)


def test_the_log_format_is_passed_to_the_engine(tmp_path: Path) -> None:
    config = EngineConfig.from_settings(
        {"logging.format": "json"}, bootstrap_servers="", checkpoint_dir=tmp_path
    )

    options = session_conf(config, (), tmp_path)["spark.driver.extraJavaOptions"]

    assert "log4j2.json.properties" in options


def test_work_after_the_command_is_reported_as_a_plain_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A JVM kept running to write its class archive, without a message."""
    logger = logging.getLogger("duolog.engine.jvm.shutdown")

    @click.command()
    @logging_setup.log_format_option
    def command() -> None:
        logger.info("the JVM keeps %s", "an archive")

    command.main([], standalone_mode=False)
    logger.info("after the command")

    assert capsys.readouterr().err == "the JVM keeps an archive\n"
