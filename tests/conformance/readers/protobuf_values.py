"""Read Protobuf values with Google's classes alone, from descriptors that protoc has compiled."""

import functools
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import Message

FIRST_MESSAGE = 6
"""Bytes before a value of the schema's first message: 0, four bytes of the id, the index 0."""


@functools.lru_cache
def message_class(descriptors: bytes, name: str) -> type[Message]:
    """Return the class of a message; `descriptors` is a FileDescriptorSet."""
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(descriptors).file:
        pool.Add(file)
    found: type[Message] = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
    return found


def fields_of(descriptors: bytes, name: str, value: bytes) -> dict[str, Any]:
    """Return the fields of a record's value, as Protobuf's JSON form has them."""
    assert value[0] == value[5] == 0, value[:FIRST_MESSAGE]
    message = message_class(descriptors, name).FromString(value[FIRST_MESSAGE:])
    found: dict[str, Any] = json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return found
