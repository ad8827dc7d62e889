"""Functions of arrays. Positions start at 1."""

from typing import Final

from duolog.plan.sql.signatures import function

_FAMILY: Final = "ARRAY"
_JOINED: Final = ("BOOLEAN", "INT", "BIGINT", "DOUBLE", "DECIMAL", "STRING")

ARRAY_FUNCTIONS: Final = (
    function(
        "ARRAY_CONCAT",
        _FAMILY,
        "Returns the elements of one array and then those of another; a null array is ignored.",
        "ARRAY<T> (left ARRAY<T>, right ARRAY<T>)",
    ),
    function(
        "ARRAY_CONTAINS",
        _FAMILY,
        "Returns true if an array contains a value.",
        "BOOLEAN (array ARRAY<T>, value T)",
    ),
    function(
        "ARRAY_DISTINCT",
        _FAMILY,
        "Returns each element once, at its first position.",
        "ARRAY<T> (array ARRAY<T>)",
    ),
    function(
        "ARRAY_EXCEPT",
        _FAMILY,
        "Returns each element of the left array that is not in the right one, once.",
        "ARRAY<T> (left ARRAY<T>, right ARRAY<T>)",
    ),
    function(
        "ARRAY_INTERSECT",
        _FAMILY,
        "Returns each element of the left array that is also in the right one, once.",
        "ARRAY<T> (left ARRAY<T>, right ARRAY<T>)",
    ),
    function(
        "ARRAY_JOIN",
        _FAMILY,
        "Joins the elements into a text, separated by a comma or another text; "
        "a null is written as null.",
        *(f"STRING (array ARRAY<{of}>)" for of in _JOINED),
        *(f"STRING (array ARRAY<{of}>, delimiter STRING)" for of in _JOINED),
    ),
    function("ARRAY_LENGTH", _FAMILY, "Returns the number of elements.", "INT (array ARRAY<T>)"),
    function(
        "ARRAY_MAX",
        _FAMILY,
        "Returns the greatest element; nulls are ignored.",
        "T (array ARRAY<T>)",
    ),
    function(
        "ARRAY_MIN",
        _FAMILY,
        "Returns the least element; nulls are ignored.",
        "T (array ARRAY<T>)",
    ),
    function(
        "ARRAY_REMOVE",
        _FAMILY,
        "Returns the elements that are not equal to a value.",
        "ARRAY<T> (array ARRAY<T>, value T)",
    ),
    function(
        "ARRAY_SORT",
        _FAMILY,
        "Returns the elements in ascending order, or in descending order with 'DESC'; "
        "nulls are last.",
        "ARRAY<T> (array ARRAY<T>)",
        "ARRAY<T> (array ARRAY<T>, direction STRING)",
    ),
    function(
        "ARRAY_UNION",
        _FAMILY,
        "Returns each element of two arrays, once.",
        "ARRAY<T> (left ARRAY<T>, right ARRAY<T>)",
    ),
    function(
        "GENERATE_SERIES",
        _FAMILY,
        "Returns the integers from one to another, both inclusive, in steps of 1 or -1, or of "
        "another size.",
        "ARRAY<INT> (first INT, last INT)",
        "ARRAY<BIGINT> (first BIGINT, last BIGINT)",
        "ARRAY<INT> (first INT, last INT, step INT)",
        "ARRAY<BIGINT> (first BIGINT, last BIGINT, step INT)",
    ),
    function(
        "SLICE",
        _FAMILY,
        "Returns the elements from one position to another, both inclusive; null if the array has "
        "no such positions.",
        "ARRAY<T> (array ARRAY<T>, first INT, last INT)",
    ),
)
