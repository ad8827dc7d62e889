"""Compute what a new version of a schema breaks, before it is registered.

analysis.py           all findings about one subject; start here
report.py             the findings as values, and as JSON
columns.py            the columns that a schema lacks, or has with another type
readers.py            streams, tables, queries and topologies, and the columns that they use
records.py            the last records, read with the new schema
cluster.py            topics, consumer groups and records of a Kafka cluster
readers_in_kafka.py   what SQL engines and applications have recorded there
trial_registry.py     a registry for the analysis of files of statements
of_registry.py        the same for a registry's HTTP interface, loaded when it is asked

See docs/adr/0120-check-schema-ids-and-schema-changes.md.
"""
