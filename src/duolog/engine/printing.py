"""Records that a topology prints: taken from the kernel, and written to the terminal of its user.

    [orders] 2026-11-22T10:00:00.000Z "ann" {"amount": 3}

The kernel holds what waits to be written, and drops what is beyond its bound. With a master that is not
local the records of other machines are not seen.
"""

import datetime as dt
import json
import sys
from collections.abc import Iterator

from duolog.serde.times import MILLISECONDS_MAX, MILLISECONDS_MIN


def write_printed(taken: str) -> None:
    """Write what was taken from the kernel, in its JSON form, to standard output."""
    for line in lines_of(taken):
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def lines_of(taken: str) -> Iterator[str]:
    """Yield a line for each record, and one for those that there was no room for.

    Example:
        >>> record = {"label": "orders", "ts": 1000, "key": '"ann"', "value": '{"n":1}'}
        >>> list(lines_of(json.dumps({"records": [record], "left_out": 1200})))
        ['[orders] 1970-01-01T00:00:01.000Z "ann" {"n":1}', '… 1,200 records are not shown']
    """
    found = json.loads(taken)
    for record in found["records"]:
        key, value = (record[part] or "null" for part in ("key", "value"))
        yield f"[{record['label']}] {_time(record['ts'])} {key} {value}"
    if found["left_out"]:
        yield f"… {found['left_out']:,} records are not shown"


def _time(timestamp_ms: int) -> str:
    if not MILLISECONDS_MIN <= timestamp_ms <= MILLISECONDS_MAX:
        return f"{timestamp_ms} ms"
    at = dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=timestamp_ms)  # noqa: DTZ001 - UTC
    return f"{at.isoformat(timespec='milliseconds')}Z"
