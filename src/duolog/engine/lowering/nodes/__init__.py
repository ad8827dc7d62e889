"""Lower plan nodes, one file for each family: from node and input row to kernel nodes and a row.

    required.py    which columns are needed downstream of a node, so that the rest is not shuffled
    rows.py        the positions of a record's columns between two kernel nodes
    sources_and_sinks.py  sources and sinks: bytes <-> columns
    stateless.py   filter, project, explode, split, to_stream
    keys.py        select_key, group_by and the routing to another task
    buckets.py     the length of time buckets
    tables.py      the store of a table, and the join that looks it up
    stream_joins.py  the sides of a join of streams
    aggregates.py  the fold

Each function is pure and independent of its neighbors; `duolog.engine.lowering.lower` walks the
plan and links their results.
"""
