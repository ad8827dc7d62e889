"""The life of what runs: the broker's process and the application of a topology.

May import `dsl`, `engine`, `broker` and everything below them; knows nothing of a terminal.
Start with `application`; `supervisor` holds the broker that stands beside it.
"""
