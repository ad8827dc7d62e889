"""The process that writes the flights of the demo, as a server sees it."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from duolog.runtime.demo_flights import DemoFlights
from duolog.security.clients.brokers import Brokers
from duolog.security.clients.client_security import ClientSecurity
from waiting import wait_until

BROKERS = Brokers(
    "127.0.0.1:9092",
    ClientSecurity("SASL_PLAINTEXT", "PLAIN", "ann", "secret"),
    (("client.id", "x"),),
)


def flights(tmp_path: Path, program: str, brokers: Brokers = BROKERS) -> DemoFlights:
    """Return flights that a program of Python writes; its argument is the directory."""
    return DemoFlights(brokers, tmp_path, (sys.executable, "-c", program))


def reached(found: DemoFlights, state: str) -> dict[str, Any]:
    wait_until(lambda: found.status()["state"] == state, found.status)
    return found.status()


def test_nothing_runs_before_the_start(tmp_path: Path) -> None:
    found = flights(tmp_path, "raise SystemExit(9)")

    assert found.status() == {"state": "absent", "produced": 0, "total": 0, "error": ""}
    found.close()


def test_progress_is_shown_from_loading_to_live_to_the_end(tmp_path: Path) -> None:
    program = """
import json, pathlib, sys
gate = pathlib.Path(sys.argv[2], "gate")  # A pipe: to read it waits until the test writes it.
json.loads(sys.stdin.readline())
print('{"produced": 5, "total": 9, "live": false}', flush=True)
gate.read_text()
print('{"produced": 7, "total": 9, "live": true}', flush=True)
gate.read_text()
print('{"produced": 9, "total": 9, "live": false}', flush=True)
"""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    found = flights(tmp_path, program)
    found.start()
    wait_until(lambda: found.status()["produced"] == 5, found.status)
    assert found.status()["state"] == "loading"

    gate.write_text("go live")
    assert reached(found, "live")["produced"] == 7
    gate.write_text("end")

    assert reached(found, "done") == {"state": "done", "produced": 9, "total": 9, "error": ""}


def test_the_brokers_and_their_secrets_are_only_in_the_pipe(tmp_path: Path) -> None:
    program = """
import json, pathlib, sys
line = sys.stdin.readline()
pathlib.Path(sys.argv[2], "line").write_text(line)
pathlib.Path(sys.argv[2], "words").write_text(" ".join(sys.orig_argv))
"""
    found = flights(tmp_path, program)

    found.start()
    reached(found, "done")

    assert Brokers.from_json(json.loads((tmp_path / "line").read_text())) == BROKERS
    assert "secret" not in (tmp_path / "words").read_text()


def test_an_error_of_the_program_is_shown_and_the_next_start_tries_again(tmp_path: Path) -> None:
    program = """
import pathlib, sys
if pathlib.Path(sys.argv[2], "well").exists(): raise SystemExit(0)
print('{"error": "no broker answers"}', flush=True)
raise SystemExit(1)
"""
    found = flights(tmp_path, program)
    found.start()
    assert reached(found, "failed")["error"] == "no broker answers"

    (tmp_path / "well").touch()
    found.start()

    assert reached(found, "done")["error"] == ""


def test_a_program_that_ends_without_a_word_has_an_error(tmp_path: Path) -> None:
    found = flights(tmp_path, "raise SystemExit(7)")

    found.start()

    assert reached(found, "failed")["error"] == "The process ended with status 7."


def test_the_program_ends_when_it_is_closed(tmp_path: Path) -> None:
    program = """
import pathlib, sys
sys.stdin.readline()
print('{"produced": 1, "total": 2, "live": false}', flush=True)
sys.stdin.read()
pathlib.Path(sys.argv[2], "ended").touch()
"""
    found = flights(tmp_path, program)
    found.start()
    wait_until(lambda: found.status()["produced"] == 1, found.status)

    found.close()

    assert (tmp_path / "ended").exists()


def test_flights_that_a_stop_has_interrupted_are_remembered_until_all_are_written(
    tmp_path: Path,
) -> None:
    program = """
import pathlib, sys
sys.stdin.readline()
if pathlib.Path(sys.argv[2], "again").exists():
    print('{"produced": 9, "total": 9, "live": false}', flush=True)
    raise SystemExit(0)
print('{"produced": 4, "total": 9, "live": true}', flush=True)
sys.stdin.read()
"""
    first = flights(tmp_path, program)
    first.start()
    reached(first, "live")
    first.close()
    stopped = {"state": "stopped", "produced": 4, "total": 9, "error": ""}
    assert reached(first, "stopped") == stopped

    again = flights(tmp_path, program)
    assert again.status() == stopped
    (tmp_path / "again").touch()
    again.start()
    reached(again, "done")

    assert flights(tmp_path, program).status()["state"] == "absent"


def test_flights_that_have_failed_can_be_continued_after_a_restart(tmp_path: Path) -> None:
    program = """
print('{"produced": 4, "total": 9, "live": true}', flush=True)
raise SystemExit(1)
"""
    found = flights(tmp_path, program)
    found.start()
    reached(found, "failed")

    assert flights(tmp_path, program).status()["state"] == "stopped"


def test_a_damaged_memory_of_the_progress_counts_as_none(tmp_path: Path) -> None:
    for text in ("", "[]", '{"produced": "x", "total": 1}', '{"produced": 1}'):
        (tmp_path / "progress.json").write_text(text)

        assert flights(tmp_path, "pass").status()["state"] == "absent"


def test_a_second_start_while_it_runs_does_nothing(tmp_path: Path) -> None:
    program = """
import pathlib, sys
sys.stdin.readline()
with pathlib.Path(sys.argv[2], "starts").open("a") as file: file.write("x")
print('{"produced": 1, "total": 2, "live": false}', flush=True)
sys.stdin.read()
"""
    found = flights(tmp_path, program)
    found.start()
    wait_until(lambda: found.status()["produced"] == 1, found.status)

    found.start()
    found.close()

    assert (tmp_path / "starts").read_text() == "x"
