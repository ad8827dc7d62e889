"""Run an application of `timed_topologies` in a process. It prints each change of state and mode.

    timed_program.py BOOTSTRAP_SERVERS DATA_DIR NAME MODE [SETTING=VALUE]...

NAME is of `watched.TOPOLOGIES`, and the application's. It stops cleanly when its standard input
ends.
"""

import json
import select
import sys
from pathlib import Path
from typing import cast

from duolog.runtime.application import Application, Mode
from fault.timed_topologies import TOPOLOGIES

LOOK_EVERY_S = 0.02


def main() -> None:
    bootstrap_servers, data_dir, name, mode, *settings = sys.argv[1:]
    application = Application(
        TOPOLOGIES[name](name),
        bootstrap_servers=bootstrap_servers,
        data_dir=Path(data_dir),
        mode=cast("Mode", mode),
        settings=dict(setting.split("=", 1) for setting in settings),
    )
    with application:
        query = application.start()
        said = None
        while not select.select([sys.stdin], [], [], LOOK_EVERY_S)[0]:
            now = {"state": query.state, "mode": query.mode}
            if now != said:
                print(json.dumps(now), flush=True)  # noqa: T201 - the answer of this program
                said = now
            if query.wait(0):
                break


if __name__ == "__main__":
    main()
