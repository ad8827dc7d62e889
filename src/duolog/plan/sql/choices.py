"""Functions that return one of their arguments, and functions that belong to no other family."""

from typing import Final

from duolog.plan.sql.signatures import function

_CONDITIONAL: Final = "CONDITIONAL"
_OTHER: Final = "OTHER"

CHOICE_FUNCTIONS: Final = (
    function(
        "COALESCE",
        _CONDITIONAL,
        "Returns the first of some values that is not null.",
        "T (first T, others T...)",
    ),
    function(
        "IFNULL",
        _CONDITIONAL,
        "Returns a value, or another one where it is null.",
        "T (value T, otherwise T)",
    ),
    function(
        "NULLIF",
        _CONDITIONAL,
        "Returns a value, or null where it is equal to another one.",
        "T (value T, other T)",
    ),
    function(
        "AS_VALUE",
        _OTHER,
        "Returns a column of the key, to have it in the value too.",
        "T (key T)",
    ),
    function(
        "GEO_DISTANCE",
        _OTHER,
        "Returns how far two places on the globe, in degrees, are from each other, in kilometres ('KM') or miles ('MI').",
        "DOUBLE (lat1 DOUBLE, lon1 DOUBLE, lat2 DOUBLE, lon2 DOUBLE)",
        "DOUBLE (lat1 DOUBLE, lon1 DOUBLE, lat2 DOUBLE, lon2 DOUBLE, unit STRING)",
    ),
)
