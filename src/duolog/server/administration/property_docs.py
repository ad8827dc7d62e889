"""Documentation of the properties of SQL statements, in the style of Kafka's settings."""

from collections.abc import Mapping
from typing import Final

from duolog.ksql import settings

DOCS: Final[Mapping[str, str]] = {
    settings.KEY_FORMAT: "Format of keys, for statements that name none.",
    settings.VALUE_FORMAT: "Format of values, for statements that name none.",
    settings.WRAP: "If false, a value of a single column is written without a record around it.",
    settings.SUBSTITUTION: "If true, ${NAME} in statements stands for the value of DEFINE.",
    settings.REGISTRY: "Address of the schema registry.",
    settings.SUBJECTS["Key"]: "Strategy that names the subjects of keys.",
    settings.SUBJECTS["Value"]: "Strategy that names the subjects of values.",
    settings.THROW_ON_INVALID_TIME: "If true, a record whose time cannot be read stops the query.",
    settings.OFFSET_RESET: "Place where new queries start to read: earliest or latest.",
    settings.COMMIT_INTERVAL: "Interval between commits of persistent queries, in milliseconds.",
    settings.LIST_LIMIT: "Largest number of values that COLLECT_LIST keeps for a key.",
    settings.SET_LIMIT: "Largest number of values that COLLECT_SET keeps for a key.",
    settings.ANSWER_TIMEOUT: "Time limit of a pull query, in milliseconds; 0: no limit.",
    settings.ANSWER_MEMORY: "Memory limit for the rows of a pull query, in bytes; 0: 80 % of the "
    "machine's memory.",
    settings.ANSWER_CONSISTENCY: "latest: each topic is read to its end; snapshot: all topics of "
    "a query are read to one moment.",
    settings.ANSWER_STALENESS: "Largest age of records that a pull query may miss, in "
    "milliseconds; 0: it includes all.",
    settings.ANSWER_ROWS: "A pull query with more rows is stopped; 0: no limit.",
    settings.DEAD_LETTERS: "Topic for records that queries cannot read or process; empty: the "
    "processing log.",
    settings.GUARANTEE: "at_least_once or exactly_once_v2, for queries that start from now on.",
    settings.JVM_GROUP: "Group of the queries that start from now on: each has a JVM of its own.",
    settings.COMPATIBILITY: "If strict, statements that ksqlDB refuses are refused.",
    settings.OUTPUT_PREFIX: "Prefix of the topic of a query's result, if the statement names none.",
    settings.TABLE_SCAN: "If false, pull queries without a key are refused in strict mode.",
    settings.RANGE_SCAN: "If false, pull queries over a range of keys are refused in strict mode.",
    settings.LIMIT: "If false, pull queries with LIMIT are refused in strict mode.",
    "ksql.service.id": "Name of the service: each has its own streams, tables and queries.",
    "ksql.logging.processing.topic.name": "Topic of the processing log.",
    "ksql.query.retry.backoff.initial.ms": "First pause before a failed query is started again, "
    "in milliseconds.",
    "ksql.query.retry.backoff.max.ms": "Longest pause before a failed query is started again, in "
    "milliseconds.",
}
"""One sentence for each property, by name."""
