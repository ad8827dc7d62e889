"""JSON Schema, drafts 4, 6, 7, 2019-09 and 2020-12. Start with `schema.parse`.

    json_text.py      JSON with limits and exact numbers
    drafts.py         which keywords contain schemas, by draft
    documents.py      where a `$ref` leads to
    checks.py         conformance to the meta-schema, unresolvable and endless references
    patterns.py       regular expressions for RE2
    shapes.py         the form in which schemas are compared
    compatibility/    the difference of two schemas
    validation/       the first problem of a value under a schema

Nothing is ever fetched: a `$ref` leads into the text or into a reference of the registry.
"""

from duolog.schemas.json_schema.schema import JsonSchema, parse

__all__ = ["JsonSchema", "parse"]
