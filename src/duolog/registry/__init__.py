"""Schema registry: subjects, versions and compatibility, stored in the topic `_schemas`.

    names, errors, fields, json_text   what all of it shares
    contracts/   metadata and rules that a version holds besides its schema
    records/     the records of `_schemas`, byte for byte
    state/       the result of replaying the records
    rules/       requests -> answers and records; start with `rules/registry.py`

None of these does I/O. The languages of schemas are in `duolog.schemas`.
"""
