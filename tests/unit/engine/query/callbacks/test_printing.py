"""Output of a topology's print steps as lines of a terminal."""

import json

import pytest

from duolog.engine.query.callbacks.printing import lines_of


@pytest.mark.parametrize(
    ("ts", "shown"),
    [
        (1000, "1970-01-01T00:00:01.000Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (253_402_300_800_000, "253402300800000 ms"),
        (1_700_000_000_000_000, "1700000000000000 ms"),
    ],
)
def test_a_time_outside_of_pythons_years_is_printed_in_milliseconds(ts: int, shown: str) -> None:
    """Printing used to stop at the first such time, without any report."""
    record = {"label": "a", "ts": ts, "key": None, "value": "1"}

    (line,) = lines_of(json.dumps({"records": [record], "left_out": 0}))

    assert line == f"[a] {shown} null 1"
