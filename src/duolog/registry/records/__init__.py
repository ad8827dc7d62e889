"""Records of the topic `_schemas` in Confluent's form: what they mean, and their bytes.

    keys.py, values.py   the kinds of records
    encoding.py          exact bytes, so that compaction keeps one record of a key
    decoding.py          bytes of this and of older registries

Start with `keys.py`. `state` replays the records, `rules` decides which ones to append.
"""

from duolog.registry.records.decoding import decode
from duolog.registry.records.encoding import encode
from duolog.registry.records.record import BARRIER, Record

__all__ = ["BARRIER", "Record", "decode", "encode"]
