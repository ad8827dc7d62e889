"""Windows that ksqlDB does not have: with an offset, in a time zone, of calendar units."""

import datetime as dt

import pytest

from duolog.ksql.catalog.declarations import declaration
from duolog.ksql.errors import SqlError
from duolog.ksql.session import SqlSession
from duolog.ksql.statements.state import Done
from duolog.plan.nodes import AggregateNode
from duolog.plan.windows import TimeWindows
from duolog.plan.windows.calendar_windows import CalendarWindows
from unit.ksql.join_queries import STRICT, Given, in_kernel, planned, run

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def at_ms(text: str) -> int:
    return int(dt.datetime.fromisoformat(text).timestamp() * 1000)


def counted(window: str, emit: str = "", bounds: str = ", WINDOWSTART AS s, WINDOWEND AS e") -> str:
    return f"CREATE TABLE made AS SELECT id, COUNT(*) AS n{bounds} FROM ends WINDOW {window} GROUP BY id {emit}"


def run_all(session: SqlSession, text: str) -> list[Done]:
    return list(session.run(text))


def windows_of(window: str) -> object:
    (node,) = [one for one in planned(counted(window)).plan.nodes if isinstance(one, AggregateNode)]
    return node.windows


@pytest.mark.parametrize(
    ("window", "wanted"),
    [
        ("TUMBLING (SIZE 1 MONTH, TIMEZONE 'Europe/Berlin')", CalendarWindows("month", "Europe/Berlin")),
        ("TUMBLING (SIZE 1 MONTH)", CalendarWindows("month", "UTC")),
        ("TUMBLING (SIZE 1 WEEK)", CalendarWindows("week", "UTC")),
        ("TUMBLING (SIZE 3 MONTHS, GRACE PERIOD 1 WEEK)", CalendarWindows("quarter", "UTC", grace_ms=7 * DAY_MS)),
        ("TUMBLING (SIZE 1 QUARTER)", CalendarWindows("quarter", "UTC")),
        ("TUMBLING (SIZE 12 MONTHS)", CalendarWindows("year", "UTC")),
        ("TUMBLING (SIZE 1 YEAR)", CalendarWindows("year", "UTC")),
        ("TUMBLING (SIZE 1 DAY, TIMEZONE 'Asia/Kathmandu', OFFSET 6 HOURS)",
         CalendarWindows("day", "Asia/Kathmandu", offset_ms=6 * HOUR_MS)),
        ("TUMBLING (SIZE 1 DAY)", TimeWindows(DAY_MS, DAY_MS)),
        ("TUMBLING (SIZE 1 DAY, OFFSET 5 HOURS)", TimeWindows(DAY_MS, DAY_MS, offset_ms=5 * HOUR_MS)),
        ("HOPPING (SIZE 1 WEEK, ADVANCE BY 1 DAY, OFFSET 1 HOUR, GRACE PERIOD 0 DAYS)",
         TimeWindows(7 * DAY_MS, DAY_MS, offset_ms=HOUR_MS)),
    ],
)  # fmt: skip
def test_windows_are_those_of_the_dsl(window: str, wanted: object) -> None:
    assert windows_of(window) == wanted


GIVEN: tuple[Given, ...] = (
    ("ends", 1, {"KM": 5}, at_ms("2026-03-01T07:00+01:00")),
    ("ends", 1, {"KM": 5}, at_ms("2026-03-31T23:59+02:00")),
    ("ends", 1, {"KM": 5}, at_ms("2026-04-01T05:59+02:00")),
    ("ends", 1, {"KM": 5}, at_ms("2026-04-01T06:00+02:00")),
)
MARCH = {"S": at_ms("2026-03-01T06:00+01:00"), "E": at_ms("2026-04-01T06:00+02:00")}
APRIL = {"S": at_ms("2026-04-01T06:00+02:00"), "E": at_ms("2026-05-01T06:00+02:00")}
FROM_SIX = "TUMBLING (SIZE 1 MONTH, TIMEZONE 'Europe/Berlin', OFFSET 6 HOURS)"


def test_months_of_a_zone_are_shifted_by_its_offset() -> None:
    written = [value for _, value, _ in run(counted(FROM_SIX), *GIVEN)]

    assert written == [{"N": 1, **MARCH}, {"N": 2, **MARCH}, {"N": 3, **MARCH}, {"N": 1, **APRIL}]


@pytest.mark.spark
def test_the_kernel_counts_in_the_same_windows() -> None:
    assert in_kernel(counted(FROM_SIX), *GIVEN) == run(counted(FROM_SIX), *GIVEN)


def test_a_month_is_emitted_once_when_it_has_closed() -> None:
    window = (
        "TUMBLING (SIZE 1 MONTH, TIMEZONE 'Europe/Berlin', OFFSET 6 HOURS, GRACE PERIOD 1 HOUR)"
    )
    late = ("ends", 1, {"KM": 5}, at_ms("2026-04-01T05:00+02:00"))
    closes = ("ends", 2, {"KM": 5}, at_ms("2026-04-01T07:00+02:00"))

    written = run(counted(window, "EMIT FINAL"), *GIVEN, late, closes, late)

    assert [value for _, value, _ in written] == [{"N": 4, **MARCH}]


BY_DAY = """CREATE TABLE made AS SELECT id, MAX(n) AS most, TOPK(n, 2) AS top, COLLECT_SET(n) AS all, COUNT(*) AS days
    FROM (SELECT id, COUNT(*) AS n FROM ends
          WINDOW TUMBLING (SIZE 1 DAY, TIMEZONE 'Europe/Berlin', OFFSET 6 HOURS, GRACE PERIOD 1 DAY) GROUP BY id) AS d
    GROUP BY id"""
DAYS: tuple[Given, ...] = tuple(
    ("ends", 1, {"KM": 5}, at_ms(text))
    for text in (
        "2026-03-28T07:00+01:00",
        "2026-03-29T05:00+02:00",
        "2026-03-29T06:00+02:00",
        "2026-03-28T08:00+01:00",
    )
)


def test_days_of_a_zone_are_rolled_up_and_undone() -> None:
    written = [value for _, value, _ in run(BY_DAY, *DAYS)]

    assert written == [
        {"MOST": 1, "TOP": [1], "ALL": [1], "DAYS": 1},
        {"MOST": 2, "TOP": [2], "ALL": [2], "DAYS": 1},
        {"MOST": 2, "TOP": [2, 1], "ALL": [1, 2], "DAYS": 2},
        {"MOST": 3, "TOP": [3, 1], "ALL": [1, 3], "DAYS": 2},
    ]


@pytest.mark.spark
def test_months_are_rolled_up_from_days_by_their_bounds() -> None:
    query = """CREATE TABLE made AS SELECT FORMAT_TIMESTAMP(FROM_UNIXTIME(d.s), 'yyyy-MM', 'Europe/Berlin') AS month,
        SUM(n) AS n, COUNT(*) AS days
        FROM (SELECT id, WINDOWSTART AS s, COUNT(*) AS n FROM ends
              WINDOW TUMBLING (SIZE 1 DAY, TIMEZONE 'Europe/Berlin') GROUP BY id) AS d
        GROUP BY FORMAT_TIMESTAMP(FROM_UNIXTIME(d.s), 'yyyy-MM', 'Europe/Berlin')"""

    written = in_kernel(query, *GIVEN)

    assert [(month, value) for month, value, _ in written] == [
        ("2026-03", {"N": 1, "DAYS": 1}),
        ("2026-03", {"N": 2, "DAYS": 2}),
        ("2026-04", {"N": 1, "DAYS": 1}),
        ("2026-04", {"N": 2, "DAYS": 1}),
    ]


def test_changes_of_days_are_grouped_with_a_time_to_live() -> None:
    query = """CREATE TABLE made WITH (ttl='36 HOURS') AS SELECT id, COUNT(*) AS changes, MAX(n) AS most
        FROM (SELECT id, n FROM e) AS c GROUP BY id"""
    days = """CREATE TABLE d AS SELECT id, COUNT(*) AS n FROM ends
        WINDOW TUMBLING (SIZE 1 DAY, TIMEZONE 'Europe/Berlin') GROUP BY id; CREATE STREAM e AS CHANGES OF d;"""

    nodes = planned(f"{days} {query}").plan.nodes

    assert [node.ttl_ms for node in nodes if isinstance(node, AggregateNode)] == [36 * HOUR_MS]


def test_a_topic_of_calendar_windows_is_read_again_with_both_bounds() -> None:
    for size in ("window_size='1 MONTH'", "window_size='1 DAY', window_timezone='Europe/Berlin'"):
        session = SqlSession()
        run_all(
            session,
            f"CREATE TABLE t (id INT PRIMARY KEY, n INT) WITH (kafka_topic='t', format='JSON', "
            f"window_type='TUMBLING', {size});",
        )
        window = session.state.catalog.sources["T"].window
        assert window is not None
        assert window.size_ms is None


@pytest.mark.parametrize(
    ("window", "said"),
    [
        ("TUMBLING (SIZE 2 WEEKS)", "Calendar windows cannot have SIZE 2 WEEK"),
        ("TUMBLING (SIZE 36 HOURS, TIMEZONE 'UTC')", "Calendar windows cannot have SIZE 36 HOUR"),
        ("HOPPING (SIZE 1 MONTH, ADVANCE BY 1 DAY)", "the length of a MONTH varies"),
        ("HOPPING (SIZE 1 DAY, ADVANCE BY 1 HOUR, TIMEZONE 'UTC')", "Expecting"),
        ("SESSION (1 YEAR)", "the length of a YEAR varies"),
        ("SESSION (1 DAY, OFFSET 1 HOUR)", "Expecting"),
        ("TUMBLING (SIZE 1 DAY, GRACE PERIOD 1 MONTH)", "the length of a MONTH varies"),
        ("TUMBLING (SIZE 1 DAY, TIMEZONE 'Europe/Berln')", "Europe/Berln"),
        (
            "TUMBLING (SIZE 1 DAY, TIMEZONE 'UTC', OFFSET 1 DAY)",
            "cannot have an offset of 86400000 ms",
        ),
        ("TUMBLING (SIZE 1 HOUR, OFFSET 1 HOUR)", "cannot have an offset of 3600000 ms"),
        ("TUMBLING (SIZE 1 MONTH, RETENTION 2 DAYS)", "The retention period '172800000 ms'"),
    ],
)
def test_an_invalid_window_is_refused_with_its_position(window: str, said: str) -> None:
    with pytest.raises(SqlError) as caught:
        planned(counted(window))

    assert said in caught.value.message
    assert caught.value.at is not None


@pytest.mark.parametrize(
    "window",
    [
        "TUMBLING (SIZE 1 WEEK)",
        "TUMBLING (SIZE 1 DAY, TIMEZONE 'UTC')",
        "TUMBLING (SIZE 1 DAY, OFFSET 1 HOUR)",
        "HOPPING (SIZE 1 DAY, ADVANCE BY 1 HOUR, OFFSET 1 MINUTE)",
    ],
)
def test_strict_mode_cannot_parse_them(window: str) -> None:
    with pytest.raises(SqlError) as caught:
        planned(counted(window), STRICT)

    assert "Syntax Error" in caught.value.message


@pytest.mark.parametrize("other", ["visits", "looks"])
def test_months_cannot_be_joined_with_windows_of_a_length(other: str) -> None:
    months = "window_type='TUMBLING', window_size='1 MONTH'"
    with pytest.raises(SqlError) as caught:
        planned(
            f"CREATE TABLE m (id INT PRIMARY KEY, n INT) WITH (kafka_topic='m', format='JSON', {months}); "
            f"CREATE STREAM made AS SELECT * FROM {other} v JOIN m ON v.id = m.id"
        )

    assert "Calendar windows can only be joined" in caught.value.message


def test_a_topology_s_windows_of_the_calendar_are_declared_as_such() -> None:
    """They were SESSIONs: both have their two bounds in the key."""
    made = planned(counted("TUMBLING (SIZE 3 MONTHS, TIMEZONE 'Europe/Berlin')")).plan.sinks[0]
    text = declaration(made, "made", "M")
    session = SqlSession()
    run_all(session, text)

    assert "WINDOW_SIZE = '1 QUARTER', WINDOW_TIMEZONE = 'Europe/Berlin'" in text
    window = session.state.catalog.sources["M"].window
    assert window is not None
    assert (window.kind, window.size_ms) == ("TUMBLING", None)
