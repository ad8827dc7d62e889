"""The process that a campaign kills: applications of the ledger in one JVM. It prints their states, modes and the JVM's pid.

    ledger_program.py BOOTSTRAP_SERVERS DATA_DIR PREFIX NAME:MODE,NAME:MODE...

Names are of `ledger.RUNS`. It stops cleanly when its standard input ends. LEDGER_KERNEL names
another kernel's jar, with a bug planted in it say. LEDGER_SETTINGS has settings for all of them, as
JSON; with a cluster's master its executors have the point of this process, too.
"""

import contextlib
import json
import os
import select
import sys
from pathlib import Path
from typing import cast

from duolog.engine.spark import session
from duolog.runtime.application import Application, Mode
from fault.ledger import RUNS, topology
from fault.points import VARIABLE

LOOK_EVERY_S = 0.02


def main() -> None:
    servers, data_dir, prefix, given = sys.argv[1:]
    if jar := os.environ.get("LEDGER_KERNEL"):
        session.kernel_jar = lambda: Path(jar)  # type: ignore[attr-defined]
    for_all: dict[str, str] = json.loads(os.environ.get("LEDGER_SETTINGS", "{}"))
    if "master" in for_all:
        for_all[f"spark.executorEnv.{VARIABLE}"] = os.environ.get(VARIABLE, "")
    with contextlib.ExitStack() as opened:
        queries = []
        for name, mode in (one.split(":") for one in given.split(",")):
            run = RUNS[name]
            application = Application(
                topology(prefix, run.name),
                bootstrap_servers=servers,
                data_dir=Path(data_dir),
                mode=cast("Mode", mode),
                settings={**run.settings, **for_all},
            )
            queries.append(opened.enter_context(application).start())
        said = None
        while not select.select([sys.stdin], [], [], LOOK_EVERY_S)[0]:
            states = {(query.state, query.mode) for query in queries}
            state = "running" if all(query.state == "running" for query in queries) else "starting"
            jvm_pid = queries[0].launcher.session.java_pid
            now = {
                "state": state,
                "mode": ",".join(sorted(mode for _, mode in states)),
                "jvm": jvm_pid,
            }
            if now != said:
                print(json.dumps(now), flush=True)  # noqa: T201 - the answer of this program
                said = now
            if any(query.wait(0) for query in queries):
                break


if __name__ == "__main__":
    main()
