"""Time of the README's first command in a fresh clone with empty caches.

Clones this repository into a temporary folder with separate, empty caches for pip and Duolog, and
runs `scripts/demo --json` there. The result depends on the speed of the package registries.
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from bench.common.results_file import write_result

ROOT = Path(__file__).parents[2]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="duolog-cold-") as directory:
        work = Path(directory)
        clone = work / "duolog"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        environment = {
            **os.environ,
            "XDG_CACHE_HOME": str(work / "cache"),
            "XDG_DATA_HOME": str(work / "data"),
            "PIP_CACHE_DIR": str(work / "pip"),
        }
        started = time.monotonic()
        first_row_s = None
        process = subprocess.Popen(
            ["scripts/demo", "--json"],
            cwd=clone,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        last = ""
        for line in process.stdout:
            document = json.loads(line)
            if first_row_s is None and document.get("events", 0) > 0:
                first_row_s = time.monotonic() - started
            last = line
        status = process.wait()
        took_s = time.monotonic() - started
    assert first_row_s is not None, "no row came"
    write_result(
        "cold_start",
        {
            "exit_status": status,
            "seconds_to_first_row": round(first_row_s, 1),
            "seconds_to_end": round(took_s, 1),
            "demo": json.loads(last),
        },
    )


if __name__ == "__main__":
    main()
