"""One file for each family of plan nodes: node and input row in, kernel nodes and output row out.

    required.py    which columns are needed behind a node, so that the rest is not shuffled
    operators.py   the kernel's operators: a class for each kind
    rows.py        where the columns of a record stand between two kernel nodes
    topics.py      sources and sinks: bytes <-> columns
    stateless.py   filter, project, explode, split, to_stream
    keys.py        select_key, group_by and the way to another task
    buckets.py     how long the buckets are of what goes with time
    tables.py      the store of a table, and the join that looks it up
    stream_joins.py  the sides of a join of streams
    aggregates.py  the fold

Each function is pure and knows nothing of its neighbours; `duolog.engine.lowering.lower` walks the plan and
links what they return.
"""
