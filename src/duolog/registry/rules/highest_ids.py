"""Keeping the ids of forgotten schemas from being given out again.

A compacted topic has no trace of a hard-deleted schema. Clients that know it keep it under its id
for ever, so that the id is written down if it is the highest one of its context: a record of its
own, which other registries read as a NOOP.
"""

from collections.abc import Iterable

from duolog.registry.names import context_of
from duolog.registry.records import Record
from duolog.registry.records.keys import HighestIdsKey
from duolog.registry.records.values import HighestIdsValue, SchemaValue
from duolog.registry.rules.basis import Basis


def kept_ids(basis: Basis, forgotten: Iterable[SchemaValue]) -> list[Record]:
    """Return the record that remembers the ids of versions of which no record will be left."""
    if any(
        value.schema_id == basis.versions.highest_id(context_of(value.subject))
        for value in forgotten
    ):
        return [Record(HighestIdsKey(), HighestIdsValue(dict(basis.versions.highest_ids)))]
    return []
