"""Table functions, and internal functions for clauses: rows of a cube, headers as a column."""

from typing import Final

from duolog.plan.sql.signatures import function

TABLE_FUNCTIONS: Final = (
    function(
        "EXPLODE",
        "TABLE",
        "Creates a record for each element of an array. With several arrays in one SELECT, the "
        "first elements are combined, the second elements, and so on; a shorter array is filled "
        "with nulls.",
        "T (array ARRAY<T>)",
    ),
    function(
        "CUBE_EXPLODE",
        "TABLE",
        "Creates a record for each way to keep some elements of an array and set the others to "
        "null.",
        "ARRAY<T> (columns ARRAY<T>)",
    ),
)
"""Functions in a SELECT that turn one record into several; plans contain no calls of them."""

TABLE_STEPS: Final = (
    # All rows in which some columns are kept and the others null: [null, null], [null, 2], [1,
    # null], [1, 2].
    function("CUBE", "TABLE", "", "ARRAY<ARRAY<T>> (columns ARRAY<T>)", hidden=True),
    # The headers of a record, with field names in capitals as in SQL.
    function(
        "HEADERS",
        "TABLE",
        "",
        "ARRAY<STRUCT<KEY STRING, VALUE BYTES>> (headers ARRAY<STRUCT<key STRING, value BYTES>>)",
        hidden=True,
    ),
)
