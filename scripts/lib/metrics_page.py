"""Generate the page of application metrics: `docs/reference/metrics.md`."""

from typing import Final

from duolog.runtime.metrics.rows import AGES, AGES_DOC, ROWS

INTRO: Final = """\
`duolog run FILE --metrics HOST:PORT` and `duolog sql --metrics HOST:PORT` serve these metrics at
`/metrics`; `application.metrics()` returns them as Python objects. Metrics that Kafka Streams or
the consumer has, too, are named as by the JMX exporter. All others start with `duolog_`. Each
sample has the label `application_id`.

- `task_id` is `1_0` for task 0 of sub-topology 1, and `flights-0` for the reader of partition 0 of
  the topic `flights`.
- `processor_node_id` is the node's name in `--explain`. A connection between two sub-topologies is
  a separate node (`group-by-6-to-1`).
- `rocksdb_state_id` is the name of the store.
- Counters start at 0 with each JVM. Records that are read again after a failure are counted again.
- Rows and bytes of a store are counted by reading its keys at a commit, using at most one percent
  of the time. They are exact for an unchanged store and current to the last commit for a small one.
  For a large store they are an estimate, whose age is given by
  `duolog_store_counted_timestamp_seconds`."""


def metrics_page() -> str:
    """Return the page."""
    rows = [f"| `{row.name}` | {row.kind} | {row.doc} |" for row in ROWS]
    rows.append(f"| `{AGES}` | histogram | {AGES_DOC} |")
    table = "\n".join(("| name | kind | meaning |", "|---|---|---|", *rows))
    return "\n\n".join(("# Metrics of applications", INTRO, table))
