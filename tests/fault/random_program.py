"""The process that a test kills: it runs random topologies, each on a cluster of its own.

    random_program.py "" DATA_DIR "" MODE [SEED=BOOTSTRAP_SERVERS]...

Its arguments, and what it prints, are those of `engine_program.py`: the state that all have, once
all have it.
"""

import contextlib
import json
import select
import sys
from pathlib import Path
from typing import cast

from conformance.streams.random_cases import Case
from duolog.runtime.application import Application, Mode

LOOK_EVERY_S = 0.02


def main() -> None:
    _, data_dir, _, mode, *clusters = sys.argv[1:]
    with contextlib.ExitStack() as stack:
        queries = []
        for seed, servers in (cluster.split("=", 1) for cluster in clusters):
            topology = Case(int(seed)).topology
            topology.name = f"random-{seed}"
            application = Application(
                topology,
                bootstrap_servers=servers,
                data_dir=Path(data_dir) / seed,
                mode=cast("Mode", mode),
            )
            queries.append(stack.enter_context(application).start())
        said = None
        while not select.select([sys.stdin], [], [], LOOK_EVERY_S)[0]:
            states = {(query.state, query.mode) for query in queries}
            if len(states) == 1 and states != said:
                ((state, in_mode),) = said = states
                print(json.dumps({"state": state, "mode": in_mode}), flush=True)  # noqa: T201 - the answer
            if any(query.wait(0) for query in queries):
                break


if __name__ == "__main__":
    main()
