"""Functions of texts that contain JSON."""

from typing import Final

from duolog.plan.sql.signatures import function

_FAMILY: Final = "JSON"

JSON_FUNCTIONS: Final = (
    function(
        "EXTRACTJSONFIELD",
        _FAMILY,
        "Returns what stands at a path like $.orders[0].id: of a text its characters, of all else its JSON; null if "
        "nothing stands there.",
        "STRING (input STRING, path STRING)",
    ),
    function(
        "IS_JSON_STRING",
        _FAMILY,
        "Tells if a text can be read as JSON; a null cannot.",
        "BOOLEAN (input STRING)",
    ),
    function(
        "JSON_ARRAY_CONTAINS",
        _FAMILY,
        "Tells if an array in JSON has a value; false if it is no array.",
        "BOOLEAN (jsonArray STRING, val T)",
    ),
    function(
        "JSON_ARRAY_LENGTH",
        _FAMILY,
        "Returns the number of elements of an array in JSON, null if it is none.",
        "INT (input STRING)",
    ),
    function(
        "JSON_CONCAT",
        _FAMILY,
        "Joins JSON: objects become one, in which the last value of a name counts; else arrays are put one behind the "
        "other, and what is no array counts as an element. Null if a text is null, or no JSON.",
        "STRING (inputs STRING...)",
    ),
    function(
        "JSON_ITEMS",
        _FAMILY,
        "Returns the elements of an array in JSON, each as JSON.",
        "ARRAY<STRING> (jsonItems STRING)",
    ),
    function(
        "JSON_KEYS",
        _FAMILY,
        "Returns the names of the fields of an object in JSON, null if it is none.",
        "ARRAY<STRING> (input STRING)",
    ),
    function(
        "JSON_RECORDS",
        _FAMILY,
        "Returns the fields of an object in JSON by name: texts without quotes, all else as JSON; null if it is none.",
        "MAP<STRING, STRING> (input STRING)",
    ),
    function(
        "TO_JSON_STRING",
        _FAMILY,
        "Returns a value of any type as JSON; of a null that is null too, as a text.",
        "STRING (val T)",
    ),
)
