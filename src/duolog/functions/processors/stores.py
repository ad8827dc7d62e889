"""The kinds of stores of processors, and the layout of their rows.

    kind        bucket and key of a row          content of a row
    key-value   1, key                           the value, with the record's timestamp
    versioned   1, key                           its versions, earliest first
    window      16 + segment of the start, key   the windows of the key in that segment
    session     16 + segment of the end, key     its sessions
    all others  0, ""                            the greatest time put, and the segments

A key of one column is its value, a key of several is a tuple; a value of one column is that value,
a value of several is a dict. A query by range, or without a key, scans the whole store of one task.
"""

from typing import Final

from duolog.functions.processors.key_values import KeyValueStore
from duolog.functions.processors.store import Store
from duolog.functions.processors.versioned import VersionedStore
from duolog.functions.processors.windowed import SessionStore, WindowStore

KINDS: Final[dict[str, type[Store]]] = {
    "key-value": KeyValueStore,
    "window": WindowStore,
    "session": SessionStore,
    "versioned": VersionedStore,
}
