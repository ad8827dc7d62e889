"""`duolog mirror`: copy topics, records and consumer groups to another cluster, exactly once.

Start reading in `session.py`. The decision is ADR 0109.
"""
