"""Protobuf schemas: .proto texts, their forms, descriptors and rules of compatibility.

    text or base64 ──parser, descriptor_reader──→ elements.File
    elements.File  ──text──→ canonical text     ──normal──→ normalized text
                   ──descriptor_writer──→ FileDescriptorProto, pool, message classes
    two files      ──differences──→ incompatibilities

Start reading in `schema.py`.
"""

from duolog.schemas.protobuf.indexes import decode_indexes, encode_indexes
from duolog.schemas.protobuf.schema import ProtobufSchema, parse

__all__ = ["ProtobufSchema", "decode_indexes", "encode_indexes", "parse"]
