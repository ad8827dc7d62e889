"""Functions of regular expressions, in Java's syntax."""

from typing import Final

from duolog.plan.sql.signatures import function

_FAMILY: Final = "REGULAR EXPRESSION"

REGULAR_EXPRESSION_FUNCTIONS: Final = (
    function(
        "REGEXP_EXTRACT",
        _FAMILY,
        "Returns the first match of a regular expression in a text, or a group of it; "
        "null if there is none.",
        "STRING (pattern STRING, input STRING)",
        "STRING (pattern STRING, input STRING, group INT)",
    ),
    function(
        "REGEXP_EXTRACT_ALL",
        _FAMILY,
        "Returns all matches of a regular expression in a text, or a group of each.",
        "ARRAY<STRING> (pattern STRING, input STRING)",
        "ARRAY<STRING> (pattern STRING, input STRING, group INT)",
    ),
    function(
        "REGEXP_REPLACE",
        _FAMILY,
        "Replaces all matches of a regular expression in a text; $1 is the first group.",
        "STRING (str STRING, regexp STRING, newStr STRING)",
    ),
    function(
        "REGEXP_SPLIT_TO_ARRAY",
        _FAMILY,
        "Splits a text at the matches of a regular expression; parts may be empty. With an empty "
        "expression, each character is a part.",
        "ARRAY<STRING> (string STRING, regexp STRING)",
    ),
)
