"""Renders the page of metrics of applications: `docs/reference/metrics.md`."""

from typing import Final

from duolog.runtime.metrics.rows import AGES, AGES_DOC, ROWS

INTRO: Final = """\
What `duolog run FILE --metrics HOST:PORT` and `duolog sql --metrics HOST:PORT` serve at `/metrics`, and
`application.metrics()` has as Python objects. Names are those that the JMX exporter gives to Kafka Streams' and the
consumer's; what Kafka has no name for begins with `duolog_`. Each sample has the label `application_id`.

`task_id` is `1_0` for task 0 of sub-topology 1, and `flights-0` for what reads partition 0 of a topic. `processor_node_id` is
the name that `--explain` has; what lies between two sub-topologies is a node of its own (`group-by-6-to-1`). Counters begin
at 0 with each JVM, and records that are read again after a failure count again.

Rows and bytes of a store are counted by reading its keys when it is committed, in at most a hundredth of the time: of a store
that has not changed they are exact, a small one's are those of the last commit, and a large one's an estimate as old as
`duolog_store_counted_timestamp_seconds` says. `rocksdb_state_id` is the store's name."""


def metrics_page() -> str:
    """Return the page."""
    rows = [f"| `{row.name}` | {row.kind} | {row.doc} |" for row in ROWS]
    rows.append(f"| `{AGES}` | histogram | {AGES_DOC} |")
    table = "\n".join(("| name | kind | meaning |", "|---|---|---|", *rows))
    return "\n\n".join(("# Metrics of applications", INTRO, table))
