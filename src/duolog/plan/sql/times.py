"""Functions of dates and times. Patterns are those of Java's DateTimeFormatter."""

from typing import Final

from duolog.plan.sql.signatures import SqlFunction, function

_FAMILY: Final = "DATE / TIME"


def _moved(name: str, of: str) -> SqlFunction:
    said = "earlier" if name.endswith("SUB") else "later"
    return function(
        name,
        _FAMILY,
        f"Returns a {of} that is a number of time units {said}.",
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
        "Converts a local timestamp from one time zone to another.",
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
        "Formats a date by a pattern.",
        "STRING (value DATE, pattern STRING)",
    ),
    function(
        "FORMAT_TIME",
        _FAMILY,
        "Formats a time of day by a pattern.",
        "STRING (value TIME, pattern STRING)",
    ),
    _with_zone(
        "FORMAT_TIMESTAMP",
        "Formats a timestamp by a pattern, in UTC or another time zone.",
        "STRING (value TIMESTAMP, pattern STRING)",
    ),
    function(
        "PARSE_DATE",
        _FAMILY,
        "Parses a date by a pattern; missing parts are those of 1970-01-01. A day after the last "
        "of the month is in the next month, and text after the date is ignored.",
        "DATE (text STRING, pattern STRING)",
    ),
    function(
        "PARSE_TIME",
        _FAMILY,
        "Parses a time of day by a pattern; missing parts are 0.",
        "TIME (text STRING, pattern STRING)",
    ),
    _with_zone(
        "PARSE_TIMESTAMP",
        "Parses a timestamp by a pattern, in UTC or another time zone unless the text has one.",
        "TIMESTAMP (text STRING, pattern STRING)",
    ),
    function(
        "FROM_DAYS",
        _FAMILY,
        "Returns the date that is a number of days after 1970-01-01.",
        "DATE (days INT)",
    ),
    function(
        "FROM_UNIXTIME",
        _FAMILY,
        "Returns the timestamp that is a number of milliseconds after 1970-01-01 00:00:00 UTC.",
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
        "Formats a date, given as days since 1970-01-01, by a pattern; FORMAT_DATE takes a DATE.",
        "STRING (days INT, pattern STRING)",
    ),
    function(
        "STRINGTODATE",
        _FAMILY,
        "Parses a complete date by a pattern, as days since 1970-01-01; PARSE_DATE returns a DATE.",
        "INT (text STRING, pattern STRING)",
    ),
    _with_zone(
        "STRINGTOTIMESTAMP",
        "Parses a timestamp by a pattern, as milliseconds since 1970; PARSE_TIMESTAMP returns a "
        "TIMESTAMP.",
        "BIGINT (text STRING, pattern STRING)",
    ),
    _with_zone(
        "TIMESTAMPTOSTRING",
        "Formats a timestamp, given as milliseconds since 1970, by a pattern; "
        "FORMAT_TIMESTAMP takes a TIMESTAMP.",
        "STRING (millis BIGINT, pattern STRING)",
    ),
)
