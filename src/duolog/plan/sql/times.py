"""Functions of dates, times of day and timestamps. Patterns are those of Java's DateTimeFormatter."""

from typing import Final

from duolog.plan.sql.signatures import SqlFunction, function

_FAMILY: Final = "DATE / TIME"


def _moved(name: str, of: str) -> SqlFunction:
    said = "earlier" if name.endswith("SUB") else "later"
    return function(
        name,
        _FAMILY,
        f"Returns a {of} that is some units of time {said}.",
        f"{of} (unit UNIT, count INT, value {of})",
    )


def _with_zone(name: str, description: str, signature: str) -> SqlFunction:
    """Return a function with an optional time zone as its last argument."""
    with_zone = signature.removesuffix(")") + ", zone STRING)"
    return function(name, _FAMILY, description, signature, with_zone)


TIME_FUNCTIONS: Final = (
    function(
        "CONVERT_TZ",
        _FAMILY,
        "Returns what the clock of one time zone shows when that of another one shows a timestamp.",
        "TIMESTAMP (value TIMESTAMP, from_zone STRING, to_zone STRING)",
    ),
    _moved("DATEADD", "DATE"),
    _moved("DATESUB", "DATE"),
    _moved("TIMEADD", "TIME"),
    _moved("TIMESUB", "TIME"),
    _moved("TIMESTAMPADD", "TIMESTAMP"),
    _moved("TIMESTAMPSUB", "TIMESTAMP"),
    function(
        "FORMAT_DATE",
        _FAMILY,
        "Writes a date in a pattern.",
        "STRING (value DATE, pattern STRING)",
    ),
    function(
        "FORMAT_TIME",
        _FAMILY,
        "Writes a time of a day in a pattern.",
        "STRING (value TIME, pattern STRING)",
    ),
    _with_zone(
        "FORMAT_TIMESTAMP",
        "Writes a timestamp in a pattern, in UTC or another time zone.",
        "STRING (value TIMESTAMP, pattern STRING)",
    ),
    function(
        "PARSE_DATE",
        _FAMILY,
        "Reads a date by a pattern; what the pattern lacks is that of 1970-01-01. A day beyond the last one is in the next month, and text after the date is ignored.",
        "DATE (text STRING, pattern STRING)",
    ),
    function(
        "PARSE_TIME",
        _FAMILY,
        "Reads a time of a day by a pattern; what the pattern lacks is 0.",
        "TIME (text STRING, pattern STRING)",
    ),
    _with_zone(
        "PARSE_TIMESTAMP",
        "Reads a timestamp by a pattern, in UTC or another time zone if the text names none.",
        "TIMESTAMP (text STRING, pattern STRING)",
    ),
    function(
        "FROM_DAYS",
        _FAMILY,
        "Returns the date that is so many days after 1970-01-01.",
        "DATE (days INT)",
    ),
    function(
        "FROM_UNIXTIME",
        _FAMILY,
        "Returns the timestamp that is so many milliseconds after 1970-01-01 00:00:00 UTC.",
        "TIMESTAMP (millis BIGINT)",
    ),
    function(
        "UNIX_DATE",
        _FAMILY,
        "Returns the days from 1970-01-01 to a date, or to today in UTC.",
        "INT ()",
        "INT (value DATE)",
    ),
    function(
        "UNIX_TIMESTAMP",
        _FAMILY,
        "Returns the milliseconds from 1970-01-01 00:00:00 UTC to a timestamp, or to now.",
        "BIGINT ()",
        "BIGINT (value TIMESTAMP)",
    ),
    function(
        "DATETOSTRING",
        _FAMILY,
        "Writes a date, given as days since 1970-01-01, in a pattern; FORMAT_DATE takes a DATE.",
        "STRING (days INT, pattern STRING)",
    ),
    function(
        "STRINGTODATE",
        _FAMILY,
        "Reads a whole date by a pattern, as days since 1970-01-01; PARSE_DATE gives a DATE.",
        "INT (text STRING, pattern STRING)",
    ),
    _with_zone(
        "STRINGTOTIMESTAMP",
        "Reads a timestamp by a pattern, as milliseconds since 1970; PARSE_TIMESTAMP gives a TIMESTAMP.",
        "BIGINT (text STRING, pattern STRING)",
    ),
    _with_zone(
        "TIMESTAMPTOSTRING",
        "Writes a timestamp, given as milliseconds since 1970, in a pattern; FORMAT_TIMESTAMP takes a TIMESTAMP.",
        "STRING (millis BIGINT, pattern STRING)",
    ),
)
