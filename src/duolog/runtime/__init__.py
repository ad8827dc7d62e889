"""Run applications and brokers: the lifecycle of a topology, and the broker as a child process.

May import `dsl`, `engine`, `broker` and everything below them; does not depend on a terminal. Start
with `application`. `supervisor` runs the broker next to it.
"""
