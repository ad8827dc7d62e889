"""The streams DSL: Kafka Streams' interfaces in Python's clothes.

Builds plans and nothing else; imports `plan` and `core`. Start with `topology`.
"""
