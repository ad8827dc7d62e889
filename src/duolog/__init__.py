"""Kafka-compatible stream processing for Python, on Spark.

    from duolog import Topology, avg, col, count

    topology = Topology("delays")
    flights = topology.stream("flights", key="carrier STRING", value="dep_delay BIGINT")
    flights.group_by_key().aggregate(flights=count(), mean=avg("dep_delay")).to("by-carrier")

Names are loaded on first use, so that importing this package is fast and needs no JVM.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duolog.client.asynchronous import connect_async
    from duolog.client.connection import connect
    from duolog.core.errors import DuologError
    from duolog.dsl.expressions.aggregates import (
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
    from duolog.dsl.expressions.columns import (
        acc,
        array,
        coalesce,
        col,
        concat,
        greatest,
        least,
        lit,
        other,
        row_time,
        when,
    )
    from duolog.dsl.expressions.python_functions import call
    from duolog.dsl.expressions.sums import avg, count, max_, min_, sum_
    from duolog.dsl.expressions.windows import (
        calendar,
        hopping,
        session,
        sliding,
        tumbling,
        unlimited,
    )
    from duolog.dsl.steps.metadata import header, headers, offset, partition, topic, wall_clock
    from duolog.dsl.steps.processors import (
        key_value_store,
        session_store,
        versioned_store,
        window_store,
    )
    from duolog.dsl.topology import Topology
    from duolog.functions.processors import FixedKeyProcessor, Processor, Record
    from duolog.ksql.udf.decorators import udaf, udf, udtf
    from duolog.runtime.application import Application
    from duolog.runtime.listing import applications
    from duolog.runtime.sql.asking import sql
    from duolog.runtime.sql.shared import sql_declare, sql_statements, sql_stream, sql_table
    from duolog.runtime.typed_serde import TypedSerde
    from duolog.schemas.classes import Meta, schema_of

__version__ = "0.1.0"

__all__ = [
    "Application",
    "DuologError",
    "FixedKeyProcessor",
    "Meta",
    "Processor",
    "Record",
    "Topology",
    "TypedSerde",
    "__version__",
    "acc",
    "applications",
    "approx_count_distinct",
    "array",
    "avg",
    "calendar",
    "call",
    "coalesce",
    "col",
    "collect_list",
    "collect_map",
    "collect_set",
    "concat",
    "connect",
    "connect_async",
    "corr",
    "count",
    "count_distinct",
    "first",
    "greatest",
    "header",
    "headers",
    "histogram",
    "hopping",
    "key_value_store",
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
    "schema_of",
    "session",
    "session_store",
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
    "udaf",
    "udf",
    "udtf",
    "unlimited",
    "variance",
    "versioned_store",
    "wall_clock",
    "when",
    "window_store",
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
    **dict.fromkeys(_AGGREGATES, "duolog.dsl.expressions.aggregates"),
    **dict.fromkeys(("avg", "count", "max_", "min_", "sum_"), "duolog.dsl.expressions.sums"),
    "Application": "duolog.runtime.application",
    "applications": "duolog.runtime.listing",
    "connect": "duolog.client.connection",
    "connect_async": "duolog.client.asynchronous",
    "DuologError": "duolog.core.errors",
    "Meta": "duolog.schemas.classes.meta",
    "schema_of": "duolog.schemas.classes.schema_of",
    "Topology": "duolog.dsl.topology",
    "TypedSerde": "duolog.runtime.typed_serde",
    "header": "duolog.dsl.steps.metadata",
    "headers": "duolog.dsl.steps.metadata",
    "call": "duolog.dsl.expressions.python_functions",
    "offset": "duolog.dsl.steps.metadata",
    "partition": "duolog.dsl.steps.metadata",
    "sql": "duolog.runtime.sql.asking",
    "topic": "duolog.dsl.steps.metadata",
    **dict.fromkeys(("udaf", "udf", "udtf"), "duolog.ksql.udf.decorators"),
    "wall_clock": "duolog.dsl.steps.metadata",
    **dict.fromkeys(("FixedKeyProcessor", "Processor", "Record"), "duolog.functions.processors"),
    **dict.fromkeys(
        ("key_value_store", "session_store", "versioned_store", "window_store"),
        "duolog.dsl.steps.processors",
    ),
    **dict.fromkeys(
        ("sql_declare", "sql_statements", "sql_stream", "sql_table"), "duolog.runtime.sql.shared"
    ),
    **dict.fromkeys(
        ("calendar", "hopping", "session", "sliding", "tumbling", "unlimited"),
        "duolog.dsl.expressions.windows",
    ),
}


_ELSEWHERE = {
    "sum": "sum_",
    "min": "min_",
    "max": "max_",
    "mean": "avg",
    "median": 'percentile("amount", 0.5)',
    "nunique": "count_distinct",
    "countDistinct": "count_distinct",
    "window": "tumbling or hopping",
    "StreamsBuilder": "Topology",
    "KafkaStreams": "Application",
    "TopologyTestDriver": "duolog.testing.TopologyDriver",
    "TopologyDriver": "duolog.testing.TopologyDriver",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        meant = f"; write {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{meant}")
    return getattr(import_module(_HOME.get(name, "duolog.dsl.expressions.columns")), name)


def __dir__() -> list[str]:
    return __all__
