"""Functions that apply a lambda to each element or entry."""

from typing import Final

from duolog.plan.sql.signatures import function

_FAMILY: Final = "LAMBDA"

LAMBDA_FUNCTIONS: Final = (
    function(
        "FILTER",
        _FAMILY,
        "Returns the elements of an array, or the entries of a map, for which a condition is true.",
        "ARRAY<T> (array ARRAY<T>, condition (T) => BOOLEAN)",
        "MAP<K, V> (map MAP<K, V>, condition (K, V) => BOOLEAN)",
    ),
    function(
        "TRANSFORM",
        _FAMILY,
        "Applies a function to each element of an array, or two functions to the keys and values "
        "of a map.",
        "ARRAY<U> (array ARRAY<T>, f (T) => U)",
        "MAP<R, U> (map MAP<K, V>, key (K, V) => R, value (K, V) => U)",
    ),
    function(
        "REDUCE",
        _FAMILY,
        "Folds the elements of an array, or the entries of a map, into a start value with a "
        "function.",
        "S (array ARRAY<T>, start S, f (S, T) => S)",
        "S (map MAP<K, V>, start S, f (S, K, V) => S)",
    ),
)
