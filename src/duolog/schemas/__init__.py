"""Schema languages: Avro, JSON Schema and Protobuf, without any I/O.

    schema.py       what the three share: Schema, Reference, Incompatibility
    errors.py       InvalidSchemaError
    source.py, registry_users.py   sources of schemas by address, and the users of registries
    nesting.py      how deep a JSON text is nested
    languages.py    parse(language, text, references), loads a language on first use
    avro/           names, parsing, canonical form, resolution rules
    json_schema/    drafts 4 to 2020-12, the difference of two schemas
    protobuf/       parser and formatter of .proto files, rules of field numbers

`registry` decides with them what a subject accepts, `serde` encodes and decodes with them.
"""
