"""Serdes of Python classes: instances to bytes and back, by the schemas of their classes.

class_serde.py  ClassSerde, with the registry; start here
avro.py         payloads in Avro, read by the writer's schema
json.py         payloads in JSON
protobuf.py     payloads in Protobuf
"""

from duolog.serde.typed.class_serde import ClassSerde

__all__ = ["ClassSerde"]
