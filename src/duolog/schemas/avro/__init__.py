"""Avro schemas by the rules of Avro's Java library 1.12, which the registry of Confluent uses.

    types.py         the graph of types that a schema is
    json_text.py     JSON with Java's numbers and escapes, and limits
    parsing.py       text to types: names, namespaces, references
    names.py         the characters that names may have
    logical_types.py decimal, timestamp-millis and the others
    defaults.py      is a default a value of its type?
    equality.py      when a name may be defined twice, when a look-up finds a schema
    texts.py         types to text: canonical, normalized, parsing form and its fingerprint
    resolution.py    why a reader cannot read what a writer wrote
    avro_schema.py   AvroSchema, what `parse` returns

Start at avro_schema.py.
"""

from duolog.schemas.avro.avro_schema import AvroSchema, parse

__all__ = ["AvroSchema", "parse"]
