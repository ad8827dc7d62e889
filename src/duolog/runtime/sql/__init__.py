"""The SQL engine: statements in a command topic, persistent queries on one JVM, results as rows.

    service.py            what all sessions share: catalog, queries, rows of tables
    statement_runner.py   the statements of one session
    engine.py             a service with one session

Start with `statement_runner`; `answers` has its results. `reply` runs a SELECT.
"""
