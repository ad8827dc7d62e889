"""Functions of regular expressions, in Java's syntax."""

from typing import Final

from duolog.plan.sql.signatures import function

_FAMILY: Final = "REGULAR EXPRESSION"

REGULAR_EXPRESSION_FUNCTIONS: Final = (
    function(
        "REGEXP_EXTRACT",
        _FAMILY,
        "Returns what a regular expression finds first in a text, or a group of it; null if it finds nothing.",
        "STRING (pattern STRING, input STRING)",
        "STRING (pattern STRING, input STRING, group INT)",
    ),
    function(
        "REGEXP_EXTRACT_ALL",
        _FAMILY,
        "Returns all that a regular expression finds in a text, or a group of each.",
        "ARRAY<STRING> (pattern STRING, input STRING)",
        "ARRAY<STRING> (pattern STRING, input STRING, group INT)",
    ),
    function(
        "REGEXP_REPLACE",
        _FAMILY,
        "Returns a text with another part in place of all that a regular expression finds; $1 stands for its first "
        "group.",
        "STRING (str STRING, regexp STRING, newStr STRING)",
    ),
    function(
        "REGEXP_SPLIT_TO_ARRAY",
        _FAMILY,
        "Returns the parts of a text between all that a regular expression finds, empty ones too; with an empty "
        "expression each character.",
        "ARRAY<STRING> (string STRING, regexp STRING)",
    ),
)
