"""Record batches (v2): read, check, patch in place, encode and decode. Does no I/O.

The batch is the unit on the wire and on disk. The broker passes its bytes through and never decodes
the records, except in compacted topics and in its internal topics. Imports only `core`. Start with
`batch`.
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
from duolog.record.records import BatchProducer, Record, decode_records, encode_batch

__all__ = [
    "HEADER_BYTES",
    "BatchHeader",
    "BatchProducer",
    "Compression",
    "Record",
    "crc_matches",
    "decode_records",
    "encode_batch",
    "patch_batch",
    "read_header",
    "whole_batches",
]
