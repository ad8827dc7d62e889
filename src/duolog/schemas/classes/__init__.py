"""Schemas of Python classes: dataclasses, TypedDicts, NamedTuples and pydantic models.

    meta.py        Meta, what an annotation says besides the type
    shapes.py      the types that a schema can describe, without a language
    classes.py     the fields of each kind of class, and how its instances are made
    reading.py     a class as a shape; refuses what no schema can describe
    unions.py      the branch of a union that a value belongs to
    avro.py        a shape as an Avro schema
    json.py        a shape as a JSON Schema
    protobuf.py    a shape as a Protobuf schema
    columns.py     a shape as columns, and rows as instances
    conversion.py  the walk over a shape that makes functions for values
    checks.py      checks of values before they are written
    schema_of.py   the schema of a class; start here

`duolog.serde.typed` reads and writes instances with these schemas.
"""

from duolog.schemas.classes.meta import Meta
from duolog.schemas.classes.schema_of import schema_of

__all__ = ["Meta", "schema_of"]
