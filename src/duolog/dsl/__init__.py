"""The streams DSL: Kafka Streams' interfaces for Python.

Only builds plans; imports `plan` and `core`. Start with `topology`.
"""
