"""Texts of the page of the streams DSL, between its tables."""

from typing import Final

from duolog.dsl.expressions.aggregates import LIMIT
from duolog.plan.types import DECIMAL_PRECISION_MAX
from duolog.serde.json_reading import NESTING_MAX, NUMBER_LENGTH_MAX

INTRO: Final = """\
Reference of the DSL. [From zero](../guide/from-zero.md) is a tutorial,
[topologies](../guide/topologies.md) explains the concepts. The last column names the counterpart in
Kafka Streams."""
BOTH: Final = "Each method returns a new object and leaves this one unchanged."
EXPRESSIONS_INTRO: Final = """\
`from duolog import col, lit, …`. Python values in an expression are literals: `col("delay") > 15`.
If an argument is null, the result is null unless documented otherwise. The column "types" lists
argument types → result type, with D(p,s) for DECIMAL(p,s); further arguments have the type of the
first."""
AGGREGATES_INTRO: Final = """\
Arguments of `aggregate(name=…)`, alone or in an expression: `sum_("amount") / count()`. Aggregates
ignore null. Rows of a grouped table can change or be deleted, so that it supports only aggregates
that can subtract a value. For anything else, use an `initializer` and an `adder`. The docstring of
an aggregate (`help(duolog.top_k)`) describes the state it stores for a group, and the result when
sessions merge."""
TYPES_INTRO: Final = """\
Declare columns as a string (`"dest STRING, delay BIGINT"`) or in Python
([columns](../guide/topologies.md#columns)). Values of all types can be null. The format KAFKA
contains a single column, in the encoding of Kafka's serializers."""
LIMITS: Final = f"""\
- DECIMAL has at most {DECIMAL_PRECISION_MAX} digits. INT has 32 bits, BIGINT 64, and both wrap.
- JSON can be nested {NESTING_MAX} levels deep, and a number can have {NUMBER_LENGTH_MAX:,}
  characters. Times must be in the years 0001 to 9999. A record beyond these limits is
  [invalid](../guide/topologies.md#records-that-are-wrong).
- A MAP in JSON has keys of type STRING. It cannot be part of a key, because its entries have no
  order.
- Lists, sets, maps and histograms of a group have at most {LIMIT:,} values; change this with
  `limit=`. `first(by="offset")` and `approx_count_distinct` do not support grouped tables, because
  they do not store what a subtraction would need.
- Key and value must have columns with different names, and so must both sides of a join.
- The first start fixes the number of tasks: the number of partitions of the largest source topic.
- A running real-time query occupies a slot for each source partition and for each task of each
  level (see `master` in the [settings](config.md#engine))."""
EVIDENCE_INTRO: Final = """\
For each operator: the modes in which it runs, with the test that runs it; the test that verifies
its results, and against what; its throughput relative to Kafka Streams, if measured (`throughput`
measures a join and an aggregate together); and intentional differences from Kafka Streams."""
NAMES_INTRO: Final = """\
All operators of Kafka Streams 4.1 with their counterparts."""
