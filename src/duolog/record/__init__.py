"""Record batch v2: read, check, patch in place, encode and decode. Pure.

The unit on the wire and on the disk is the batch; the broker passes its bytes through and never
looks at the records, except on compacted topics and in its own internal topics.
Imports only `core`. Start with `batch`.
"""

from duolog.record.batch import (
    HEADER_BYTES,
    BatchHeader,
    crc_matches,
    patch_batch,
    read_header,
    whole_batches,
)
from duolog.record.compression import Compression
from duolog.record.records import Record, decode_records, encode_batch

__all__ = [
    "HEADER_BYTES",
    "BatchHeader",
    "Compression",
    "Record",
    "crc_matches",
    "decode_records",
    "encode_batch",
    "patch_batch",
    "read_header",
    "whole_batches",
]
