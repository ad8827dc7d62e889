"""Streams and tables over one log, for Python people.

    from duolog import Topology, avg, col, count

    topology = Topology("delays")
    flights = topology.stream("flights", key="carrier STRING", value="dep_delay BIGINT")
    flights.group_by_key().aggregate(flights=count(), mean=avg("dep_delay")).to("by-carrier")

Names are loaded on first use: importing this package costs nothing and needs no JVM.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duolog.core.errors import DuologError
    from duolog.dsl.aggregates import (
        approx_count_distinct,
        collect_list,
        collect_map,
        collect_set,
        corr,
        count_distinct,
        first,
        histogram,
        last,
        percentile,
        stddev,
        top_k,
        top_k_distinct,
        variance,
    )
    from duolog.dsl.columns import (
        acc,
        array,
        avg,
        coalesce,
        col,
        concat,
        count,
        greatest,
        least,
        lit,
        max_,
        min_,
        other,
        row_time,
        sum_,
        when,
    )
    from duolog.dsl.metadata import header, headers, offset, partition, topic, wall_clock
    from duolog.dsl.topology import Topology
    from duolog.dsl.windows import calendar, hopping, session, sliding, tumbling, unlimited
    from duolog.runtime.application import Application
    from duolog.runtime.sql.asking import sql
    from duolog.runtime.sql.shared import sql_declare, sql_statements, sql_stream, sql_table

__version__ = "0.1.0"

__all__ = [
    "Application",
    "DuologError",
    "Topology",
    "__version__",
    "acc",
    "approx_count_distinct",
    "array",
    "avg",
    "calendar",
    "coalesce",
    "col",
    "collect_list",
    "collect_map",
    "collect_set",
    "concat",
    "corr",
    "count",
    "count_distinct",
    "first",
    "greatest",
    "header",
    "headers",
    "histogram",
    "hopping",
    "last",
    "least",
    "lit",
    "max_",
    "min_",
    "offset",
    "other",
    "partition",
    "percentile",
    "row_time",
    "session",
    "sliding",
    "sql",
    "sql_declare",
    "sql_statements",
    "sql_stream",
    "sql_table",
    "stddev",
    "sum_",
    "top_k",
    "top_k_distinct",
    "topic",
    "tumbling",
    "unlimited",
    "variance",
    "wall_clock",
    "when",
]

_AGGREGATES = (
    "approx_count_distinct",
    "collect_list",
    "collect_map",
    "collect_set",
    "corr",
    "count_distinct",
    "first",
    "histogram",
    "last",
    "percentile",
    "stddev",
    "top_k",
    "top_k_distinct",
    "variance",
)
_HOME = {
    **dict.fromkeys(_AGGREGATES, "duolog.dsl.aggregates"),
    "Application": "duolog.runtime.application",
    "DuologError": "duolog.core.errors",
    "Topology": "duolog.dsl.topology",
    "header": "duolog.dsl.metadata",
    "headers": "duolog.dsl.metadata",
    "offset": "duolog.dsl.metadata",
    "partition": "duolog.dsl.metadata",
    "sql": "duolog.runtime.sql.asking",
    "topic": "duolog.dsl.metadata",
    "wall_clock": "duolog.dsl.metadata",
    **dict.fromkeys(
        ("sql_declare", "sql_statements", "sql_stream", "sql_table"), "duolog.runtime.sql.shared"
    ),
    **dict.fromkeys(
        ("calendar", "hopping", "session", "sliding", "tumbling", "unlimited"), "duolog.dsl.windows"
    ),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME.get(name, "duolog.dsl.columns")), name)


def __dir__() -> list[str]:
    return __all__
