"""Functions that return one of their arguments, and functions that belong to no other family."""

from typing import Final

from duolog.plan.sql.signatures import function

_CONDITIONAL: Final = "CONDITIONAL"
_OTHER: Final = "OTHER"

CHOICE_FUNCTIONS: Final = (
    function(
        "COALESCE",
        _CONDITIONAL,
        "Returns the first value that is not null.",
        "T (first T, others T...)",
    ),
    function(
        "IFNULL",
        _CONDITIONAL,
        "Returns a value, or another one if it is null.",
        "T (value T, otherwise T)",
    ),
    function(
        "NULLIF",
        _CONDITIONAL,
        "Returns a value, or null if it equals another one.",
        "T (value T, other T)",
    ),
    function(
        "AS_VALUE",
        _OTHER,
        "Returns a column of the key, to copy it to the value.",
        "T (key T)",
    ),
    function(
        "GEO_DISTANCE",
        _OTHER,
        "Returns the distance of two places on the globe, given in degrees, in kilometres ('KM') "
        "or miles ('MI').",
        "DOUBLE (lat1 DOUBLE, lon1 DOUBLE, lat2 DOUBLE, lon2 DOUBLE)",
        "DOUBLE (lat1 DOUBLE, lon1 DOUBLE, lat2 DOUBLE, lon2 DOUBLE, unit STRING)",
    ),
)
