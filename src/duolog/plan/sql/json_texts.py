"""Functions of texts that contain JSON."""

from typing import Final

from duolog.plan.sql.signatures import function

_FAMILY: Final = "JSON"

JSON_FUNCTIONS: Final = (
    function(
        "EXTRACTJSONFIELD",
        _FAMILY,
        "Returns the value at a path like $.orders[0].id: a text as it is, other values as JSON; "
        "null if there is none.",
        "STRING (input STRING, path STRING)",
    ),
    function(
        "IS_JSON_STRING",
        _FAMILY,
        "Returns true if a text is valid JSON; false for null.",
        "BOOLEAN (input STRING)",
    ),
    function(
        "JSON_ARRAY_CONTAINS",
        _FAMILY,
        "Returns true if a JSON array contains a value; false if it is not an array.",
        "BOOLEAN (jsonArray STRING, val T)",
    ),
    function(
        "JSON_ARRAY_LENGTH",
        _FAMILY,
        "Returns the number of elements of a JSON array; null if it is not an array.",
        "INT (input STRING)",
    ),
    function(
        "JSON_CONCAT",
        _FAMILY,
        "Merges JSON: objects become one object, in which the last value of a name wins; "
        "arrays are concatenated, and other values become elements. Null if a text is null or not "
        "JSON.",
        "STRING (inputs STRING...)",
    ),
    function(
        "JSON_ITEMS",
        _FAMILY,
        "Returns the elements of a JSON array, each as JSON.",
        "ARRAY<STRING> (jsonItems STRING)",
    ),
    function(
        "JSON_KEYS",
        _FAMILY,
        "Returns the names of the fields of a JSON object; null if it is not an object.",
        "ARRAY<STRING> (input STRING)",
    ),
    function(
        "JSON_RECORDS",
        _FAMILY,
        "Returns the fields of a JSON object by name: texts without quotes, other values as JSON; "
        "null if it is not an object.",
        "MAP<STRING, STRING> (input STRING)",
    ),
    function(
        "TO_JSON_STRING",
        _FAMILY,
        "Returns a value of any type as JSON; for a null the text null.",
        "STRING (val T)",
    ),
)
