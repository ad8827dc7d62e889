"""DescribeClients, API key 31000, version 0: a request of Duolog's own, as kio has schemas.

    request   limit i32
    response  throttle time i32 · error code i16 · error message · now i64 · left out i32 ·
              [id i64 · client id · software name · software version · address · listener · user ·
               connected i64 · last request i64 · closed i64 · requests i64 · bytes in i64 ·
               bytes out i64 · [topics written] · [topics read]]

Times are milliseconds since 1970; `closed` is -1 while the connection is open. All texts are
compact, and the version is flexible (KIP-482).

Kafka numbers its APIs from 0 on, so that its brokers do not serve this key: a client asks
ApiVersions first. The decision is ADR 0149.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from kio.schema.errors import ErrorCode
from kio.schema.request_header.v2.header import RequestHeader
from kio.schema.response_header.v1.header import ResponseHeader
from kio.static.constants import EntityType
from kio.static.primitive import i16, i32, i32Timedelta, i64

from duolog.protocol.messages import DESCRIBE_CLIENTS


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClientsRequest:
    """The request: the largest number of clients to return."""

    __type__: ClassVar = EntityType.request
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(DESCRIBE_CLIENTS)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    limit: i32 = field(metadata={"kafka_type": "int32"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedClient:
    """One connection."""

    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(DESCRIBE_CLIENTS)
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    id: i64 = field(metadata={"kafka_type": "int64"})
    client_id: str = field(metadata={"kafka_type": "string"})
    software_name: str = field(metadata={"kafka_type": "string"})
    software_version: str = field(metadata={"kafka_type": "string"})
    address: str = field(metadata={"kafka_type": "string"})
    listener: str = field(metadata={"kafka_type": "string"})
    user: str = field(metadata={"kafka_type": "string"})
    connected_ms: i64 = field(metadata={"kafka_type": "int64"})
    last_request_ms: i64 = field(metadata={"kafka_type": "int64"})
    closed_ms: i64 = field(metadata={"kafka_type": "int64"})
    requests: i64 = field(metadata={"kafka_type": "int64"})
    bytes_in: i64 = field(metadata={"kafka_type": "int64"})
    bytes_out: i64 = field(metadata={"kafka_type": "int64"})
    written: tuple[str, ...] = field(metadata={"kafka_type": "string"}, default=())
    read: tuple[str, ...] = field(metadata={"kafka_type": "string"}, default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClientsResponse:
    """The response: open connections and those closed lately, the newest request first."""

    __type__: ClassVar = EntityType.response
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(DESCRIBE_CLIENTS)
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    throttle_time: i32Timedelta = field(metadata={"kafka_type": "timedelta_i32"})
    error_code: ErrorCode = field(metadata={"kafka_type": "error_code"})
    error_message: str | None = field(metadata={"kafka_type": "string"}, default=None)
    now_ms: i64 = field(metadata={"kafka_type": "int64"})
    left_out: i32 = field(metadata={"kafka_type": "int32"})
    clients: tuple[DescribedClient, ...]
