"""Bridge to kio for the APIs that are not hot: decode requests to entities, encode responses.

kio has one module for each message and version, about a thousand in total. A schema is loaded at
the first request of its API and version, or before (`broker.requests.preloading`). Loading takes 3
to 22 ms: a caller that must not block checks `loaded` and calls `load` in another thread.

A response is a kio entity, or a mapping from the schema's field names to plain values:

    {"throttle_time": 0, "topics": [{"name": "a", "error_code": 3}]}

Fields of a mapping that the version lacks are ignored; missing ones get the schema's default or the
zero value of their type. Therefore one handler can serve all versions. Times are in milliseconds,
ids are UUIDs, error codes are numbers.

Source: kio 0.6 (reading is native, 0.2 to 11 us; writing is Python, 10 to 100 us).
"""

import dataclasses
import io
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, get_args

from duolog.protocol.encoder import encoder
from duolog.protocol.error_reply import mirror_error
from duolog.protocol.errors import MalformedRequest
from duolog.protocol.frames import write_frame
from duolog.protocol.headers import RequestHeader, response_header
from duolog.protocol.lengths import ensure_lengths
from duolog.protocol.schema import Fields, Schema, is_message

if TYPE_CHECKING:
    from kio.static.protocol import Entity

DESCRIBE_CLIENTS: Final = 31_000
"""A request of Duolog's own, see `describe_clients`; the number is here, without kio's types."""
_Reader = Callable[[bytes, int], tuple[object, int]]

_MODULES: Final = {
    0: "produce",
    1: "fetch",
    2: "list_offsets",
    3: "metadata",
    8: "offset_commit",
    9: "offset_fetch",
    10: "find_coordinator",
    11: "join_group",
    12: "heartbeat",
    13: "leave_group",
    14: "sync_group",
    15: "describe_groups",
    16: "list_groups",
    17: "sasl_handshake",
    18: "api_versions",
    19: "create_topics",
    20: "delete_topics",
    21: "delete_records",
    22: "init_producer_id",
    23: "offset_for_leader_epoch",
    24: "add_partitions_to_txn",
    25: "add_offsets_to_txn",
    26: "end_txn",
    27: "write_txn_markers",
    28: "txn_offset_commit",
    29: "describe_acls",
    30: "create_acls",
    31: "delete_acls",
    32: "describe_configs",
    33: "alter_configs",
    34: "alter_replica_log_dirs",
    35: "describe_log_dirs",
    36: "sasl_authenticate",
    37: "create_partitions",
    42: "delete_groups",
    43: "elect_leaders",
    44: "incremental_alter_configs",
    45: "alter_partition_reassignments",
    46: "list_partition_reassignments",
    47: "offset_delete",
    48: "describe_client_quotas",
    49: "alter_client_quotas",
    50: "describe_user_scram_credentials",
    51: "alter_user_scram_credentials",
    55: "describe_quorum",
    60: "describe_cluster",
    61: "describe_producers",
    65: "describe_transactions",
    66: "list_transactions",
    68: "consumer_group_heartbeat",
    69: "consumer_group_describe",
    74: "list_config_resources",
    75: "describe_topic_partitions",
    77: "share_group_describe",
    89: "streams_group_describe",
    90: "describe_share_group_offsets",
    DESCRIBE_CLIENTS: "describe_clients",
}
"""Also of requests that only another broker serves, for clients."""


def entity_type(api_key: int, version: int, kind: str) -> type[Any]:  # Its fields are the schema's.
    """Return kio's class for a `"request"` or `"response"`."""
    name = _MODULES[api_key]
    if api_key == DESCRIBE_CLIENTS:  # The only one that is not Kafka's.
        module = import_module(f"duolog.protocol.{name}")
    else:
        module = import_module(f"kio.schema.{name}.v{version}.{kind}")
    class_name = "".join(word.capitalize() for word in name.split("_")) + kind.capitalize()
    found: type[Any] = getattr(module, class_name)
    return found


class Messages:
    """Decodes requests and encodes responses, caching loaded schemas."""

    def __init__(self) -> None:
        self._readers: dict[tuple[int, int], tuple[Schema, _Reader]] = {}
        self._response_types: dict[tuple[int, int], Schema] = {}
        self._item_encoders: dict[tuple[int, int, str], Callable[[Fields], bytes]] = {}

    def loaded(self, header: RequestHeader) -> bool:
        """Return whether the schemas of a request and its response are loaded."""
        return (header.api_key, header.api_version) in self._readers

    def load(self, header: RequestHeader) -> None:
        """Load the schemas of a request and its response. Thread-safe."""
        if not self.loaded(header):
            encoder(self.response_type(header))
            self._load_request(header)

    def _load_request(self, header: RequestHeader) -> tuple[Schema, _Reader]:
        from kio._kio_native import entity_reader  # noqa: PLC0415  kio.serial loads asyncio.

        key = header.api_key, header.api_version
        type_ = entity_type(*key, "request")
        found = self._readers[key] = type_, entity_reader(type_)
        return found

    def decode_request(
        self, header: RequestHeader, body: memoryview, *, large: bool = False
    ) -> Any:
        """Decode a request's body to an entity; with `large`, other threads can run in between.

        Raises:
            MalformedRequest: the bytes are not a valid message of this version.
        """
        found = self._readers.get((header.api_key, header.api_version))
        type_, read = found or self._load_request(header)
        if large:
            from duolog.protocol.large_requests import large_reader  # noqa: PLC0415

            read = large_reader(type_)
        # Copy the bytes: the receive buffer is reused, and kio requires an immutable object.
        data = bytes(body)
        ensure_lengths(type_, data)
        try:
            entity, _ = read(data, 0)
        except Exception as error:  # kio raises unrelated exception types for invalid bytes.
            raise MalformedRequest(
                "request cannot be decoded",
                detail=f"api {header.api_key} version {header.api_version}: {error}",
            ) from error
        return entity

    def encode_response(self, header: RequestHeader, response: "Fields | Entity") -> bytes:
        """Encode a response as a whole frame: size, header and body."""
        if isinstance(response, Mapping):
            body = encoder(self.response_type(header))(response)
        else:
            body = _entity_bytes(response)
        return write_frame(
            response_header(header.api_key, header.api_version, header.correlation_id), body
        )

    def encode_item(self, header: RequestHeader, path: str, item: Fields) -> bytes:
        """Encode one array item of a response; the bytes can be used in place of the item.

        `path` names the array: `"topics"`, or `"topics.partitions"` for one inside another.
        """
        key = header.api_key, header.api_version, path
        write = self._item_encoders.get(key)
        if write is None:
            type_ = self.response_type(header)
            for name in path.split("."):
                types = {field.name: field.type for field in dataclasses.fields(type_)}
                item_type = get_args(types[name])[0]
                assert is_message(item_type), path
                type_ = item_type
            write = self._item_encoders[key] = encoder(type_)
        return write(item)

    def error_response(
        self,
        header: RequestHeader,
        request: object,
        code: int,
        message: str | None = None,
    ) -> Fields:
        """Return a response with one error for the request, or for each of its entities."""
        return mirror_error(self.response_type(header), request, code, message)

    def response_type(self, header: RequestHeader) -> Schema:
        """Return kio's class for the response to a request."""
        key = header.api_key, header.api_version
        found = self._response_types.get(key)
        if found is None:
            found = self._response_types[key] = entity_type(*key, "response")
        return found


def _entity_bytes(entity: "Entity") -> bytes:
    from kio.serial import entity_writer  # noqa: PLC0415

    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()
