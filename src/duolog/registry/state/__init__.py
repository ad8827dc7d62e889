"""The registry's state: the result of replaying the records of `_schemas`.

    state.py          all of it, and the replay; start here
    versions.py       subjects and versions, with what finds them by id, content and reference
    scopes.py         configurations and modes, and which one holds for a subject
    associations.py   subjects of topics
    foreign_keys.py   keys that other registries wrote with other bytes
    journal.py        changes that can be taken back

Apart from DELETE_SUBJECT and CLEAR_SUBJECT, the state depends on the last record of each key only,
so that a compacted topic gives the same state. Nothing here parses a schema.
"""

from duolog.registry.state.state import State

__all__ = ["State"]
