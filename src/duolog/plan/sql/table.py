"""What clauses are made of, and no user writes: table functions, headers as a column."""

from typing import Final

from duolog.plan.sql.signatures import function

TABLE_STEPS: Final = (
    # All rows in which some columns are there and the others null: [null, null], [null, 2], [1, null], [1, 2].
    function("CUBE", "TABLE", "", "ARRAY<ARRAY<T>> (columns ARRAY<T>)", hidden=True),
    # The headers of a record, whose fields the language writes in capitals.
    function(
        "HEADERS",
        "TABLE",
        "",
        "ARRAY<STRUCT<KEY STRING, VALUE BYTES>> (headers ARRAY<STRUCT<key STRING, value BYTES>>)",
        hidden=True,
    ),
)
