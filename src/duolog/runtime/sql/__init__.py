"""The SQL engine: statements in a command topic, persistent queries on one JVM, results as rows.

Start with `engine`. `answers` has its results; `reply.pull` and `reply.push` run a SELECT.
"""
