"""Functions of URLs; missing parts are null."""

from typing import Final

from duolog.plan.sql.signatures import SqlFunction, function

_FAMILY: Final = "URL"


def _extract(part: str, what: str, result: str = "STRING") -> SqlFunction:
    return function(
        f"URL_EXTRACT_{part}",
        _FAMILY,
        f"Returns the {what} of a URL; null if it has none.",
        f"{result} (url STRING)",
    )


URL_FUNCTIONS: Final = (
    function(
        "URL_ENCODE_PARAM",
        _FAMILY,
        "Encodes a text for the query of a URL.",
        "STRING (value STRING)",
    ),
    function(
        "URL_DECODE_PARAM",
        _FAMILY,
        "Decodes a text from the query of a URL.",
        "STRING (value STRING)",
    ),
    _extract("FRAGMENT", "fragment"),
    _extract("HOST", "host"),
    _extract("PATH", "path"),
    _extract("PORT", "port", "INT"),
    _extract("PROTOCOL", "protocol"),
    _extract("QUERY", "query"),
    function(
        "URL_EXTRACT_PARAMETER",
        _FAMILY,
        "Returns the value of a parameter in the query of a URL, decoded; null if it has none.",
        "STRING (url STRING, parameter STRING)",
    ),
)
