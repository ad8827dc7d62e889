"""Functions of texts."""

from typing import Final

from duolog.plan.sql.signatures import function

_FAMILY: Final = "STRING"

TEXT_FUNCTIONS: Final = (
    function("UCASE", _FAMILY, "Returns a text in upper case.", "STRING (input STRING)"),
    function("LCASE", _FAMILY, "Returns a text in lower case.", "STRING (input STRING)"),
    function(
        "LEN",
        _FAMILY,
        "Returns the number of characters of a text, or of bytes.",
        "INT (input STRING)",
        "INT (input BYTES)",
    ),
    function(
        "CONCAT",
        _FAMILY,
        "Joins texts, or bytes; a null is left out.",
        "STRING (inputs STRING...)",
        "BYTES (inputs BYTES...)",
    ),
)
