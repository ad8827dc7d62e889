"""SQL's aggregate functions: their signatures, and whether they can aggregate tables.

`plan.aggregates.sql_folds` computes them. Constant parameters, such as `k`, follow the columns.

Source: ksqlDB's documentation of its aggregate functions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from duolog.plan.sql.signatures import SqlFunction, function

OverTables = Literal["always", "beyond ksqlDB", "never"]
"""Aggregates tables, by subtracting old rows: as in ksqlDB, only in Duolog, or not."""

_FAMILY: Final = "AGGREGATE"
_CONSTANTS: Final = {"n", "k", "ignoreNulls"}
_NUMBERS: Final = ("INT", "BIGINT", "DOUBLE")
_ORDERED: Final = (*_NUMBERS, "DECIMAL", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP")


@dataclass(frozen=True, slots=True)
class SqlAggregate:
    """An aggregate function of SQL."""

    function: SqlFunction
    over_tables: OverTables
    keeps_parts: bool = True
    """True if its state in ksqlDB is a STRUCT, ARRAY or MAP, which some formats do not support."""

    def columns_of(self, count: int) -> int:
        """Return the number of arguments that are columns, by the names of their parameters.

        Args:
            count: the number of arguments.
        """
        for one in self.function.signatures:
            names = one.names_for(count)
            if names is not None:
                return sum(name not in _CONSTANTS for name in names)
        return count


def _aggregate(
    name: str,
    description: str,
    *signatures: str,
    over_tables: OverTables = "never",
    keeps_parts: bool = True,
) -> SqlAggregate:
    found = function(name, _FAMILY, description, *signatures)
    return SqlAggregate(found, over_tables, keeps_parts)


_BY_OFFSET: Final = (
    "T (val T)",
    "T (val T, ignoreNulls BOOLEAN)",
    "ARRAY<T> (val T, n INT)",
    "ARRAY<T> (val T, n INT, ignoreNulls BOOLEAN)",
)
_TOP: Final = tuple(f"ARRAY<{of}> (val {of}, k INT)" for of in _ORDERED)

_ALL: Final = (
    _aggregate(
        "ATTR",
        "Returns the value that all records of a group have, or null if they have several.",
        "T (val T)",
        over_tables="always",
    ),
    _aggregate(
        "AVG",
        "Returns the mean of the values that are not null, or 0 if there are none.",
        *(f"DOUBLE (val {of})" for of in _NUMBERS),
        over_tables="always",
    ),
    _aggregate(
        "COLLECT_LIST",
        "Returns the values, including nulls, as an array in arrival order; values beyond "
        "ksql.functions.collect_list.limit are dropped.",
        "ARRAY<T> (val T)",
        over_tables="always",
    ),
    _aggregate(
        "COLLECT_SET",
        "Returns the different values, including null, as an array in arrival order; values beyond "
        "ksql.functions.collect_set.limit are dropped. Over a table they are sorted, without null.",
        "ARRAY<T> (val T)",
        over_tables="beyond ksqlDB",
    ),
    _aggregate(
        "CORRELATION",
        "Returns Pearson's correlation of two columns over the records that have both, or NaN if "
        "there is none.",
        *(f"DOUBLE (x {of}, y {of})" for of in _NUMBERS),
        over_tables="always",
    ),
    _aggregate(
        "COUNT",
        "Counts records, or those in which a value is not null.",
        "BIGINT ()",
        "BIGINT (val T)",
        over_tables="always",
        keeps_parts=False,
    ),
    _aggregate(
        "COUNT_DISTINCT",
        "Counts the different values, approximately (with an error of 1.6 %); "
        "over a table exactly. Null is not counted.",
        "BIGINT (val T)",
        over_tables="beyond ksqlDB",
    ),
    _aggregate(
        "EARLIEST_BY_OFFSET",
        "Returns the first value, or an array of the first n; nulls are ignored unless ignoreNulls "
        "is false.",
        *_BY_OFFSET,
    ),
    _aggregate(
        "HISTOGRAM",
        "Returns the number of occurrences of each value, as a map; a new value beyond 1000 is not "
        "counted.",
        "MAP<STRING, BIGINT> (val STRING)",
        over_tables="always",
    ),
    _aggregate(
        "LATEST_BY_OFFSET",
        "Returns the last value, or an array of the last n; nulls are ignored unless ignoreNulls "
        "is false.",
        *_BY_OFFSET,
    ),
    _aggregate(
        "MAX",
        "Returns the greatest value.",
        *(f"{of} (val {of})" for of in _ORDERED),
        over_tables="beyond ksqlDB",
        keeps_parts=False,
    ),
    _aggregate(
        "MIN",
        "Returns the least value.",
        *(f"{of} (val {of})" for of in _ORDERED),
        over_tables="beyond ksqlDB",
        keeps_parts=False,
    ),
    _aggregate(
        "STDDEV_SAMP",
        "Returns the variance of a sample, despite its name; 0 for one value. STDDEV_SAMPLE is its "
        "square root.",
        *(f"DOUBLE (val {of})" for of in _NUMBERS),
        over_tables="always",
    ),
    _aggregate(
        "STDDEV_SAMPLE",
        "Returns the standard deviation of a sample; 0 for one value.",
        *(f"DOUBLE (val {of})" for of in _NUMBERS),
        over_tables="always",
    ),
    _aggregate(
        "SUM",
        "Returns the sum of the values that are not null, in their own type; 0 if there are none.",
        *(f"{of} (val {of})" for of in (*_NUMBERS, "DECIMAL")),
        over_tables="always",
        keeps_parts=False,
    ),
    _aggregate(
        "SUM_LIST",
        "Returns the sum of all elements of arrays; nulls are ignored.",
        *(f"{of} (val ARRAY<{of}>)" for of in _NUMBERS),
        over_tables="always",
        keeps_parts=False,
    ),
    _aggregate(
        "TOPK",
        "Returns the k greatest values as an array in descending order; with other columns, as an "
        "array of structs of sort_col, col0, col1 ….",
        *_TOP,
        *(f"ARRAY<STRUCT> (sort_col {of}, others ANY..., k INT)" for of in _ORDERED),
        over_tables="beyond ksqlDB",
    ),
    _aggregate(
        "TOPKDISTINCT",
        "Returns the k greatest different values as an array in descending order.",
        *_TOP,
        over_tables="beyond ksqlDB",
    ),
)
SQL_AGGREGATES: Final[Mapping[str, SqlAggregate]] = {one.function.name: one for one in _ALL}
"""The functions by name."""
