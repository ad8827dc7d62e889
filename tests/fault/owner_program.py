"""Run two applications, one in each mode, on one data directory; commands are read line by line.

    owner_program.py BOOTSTRAP_SERVERS DATA_DIR

    here        start them
    elsewhere   start them as from another host, which sees no locks of this machine's processes

Prints a line of JSON for each line that it was given, and one for each query that ends.
"""

import json
import sys
import threading
from pathlib import Path
from typing import Any

from duolog import Topology
from duolog.core.errors import DuologError
from duolog.engine.checkpoint import owner
from duolog.runtime.application import Application, Mode

MODES: tuple[Mode, ...] = ("micro-batch", "real-time")
WAIT_S = 90
# Long enough for an owner to know that it must prove that it is one.
LEASE_S = 7


def topology(mode: Mode) -> Topology:
    """Return a topology that counts the records of each key."""
    made = Topology(mode)
    made.stream("in", key="k STRING", value="n BIGINT").group_by_key().count("n").to(f"out-{mode}")
    return made


def report(**what: Any) -> None:
    print(json.dumps(what), flush=True)  # noqa: T201 - the answer of this program


def run(applications: list[Application]) -> None:
    for application in applications:
        query = application.start()
        query.wait_until_caught_up(WAIT_S)
        threading.Thread(target=report_end, args=[application], daemon=True).start()


def report_end(application: Application) -> None:
    try:
        application.query.wait()
    except DuologError as error:
        report(failed=application.mode, message=error.message, hint=error.hint)


def main() -> None:
    bootstrap_servers, data_dir = sys.argv[1:]
    applications = [
        Application(
            topology(mode),
            bootstrap_servers=bootstrap_servers,
            data_dir=Path(data_dir),
            mode=mode,
            settings={"epoch.ms": "2000"},
        )
        for mode in MODES
    ]
    for application in applications:
        application.open()
    report(ready=True)
    for line in sys.stdin:
        if line.strip() == "elsewhere":
            owner._machine = lambda: "another machine"  # noqa: SLF001
            owner._lock = lambda *_: "unsupported"  # noqa: SLF001
            owner._is_locked_elsewhere = lambda directory: False  # noqa: SLF001
            assert owner.claim.__kwdefaults__ is not None
            owner.claim.__kwdefaults__["lease_s"] = LEASE_S
        try:
            run(applications)
            report(started=True)
        except DuologError as error:
            report(refused=error.message, detail=error.detail)
    for application in applications:
        application.close()


if __name__ == "__main__":
    main()
