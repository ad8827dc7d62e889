"""Kafka's wire protocol: bytes to messages and back, without a socket.

`frames` and `headers` cut and read what every request has. Produce, Fetch, ApiVersions and
Metadata are read and written by hand, because they are hot or needed at start; all other APIs
go through `messages`, the bridge to kio, which loads the schema of an API version at its first
use. Imports `record` and `core` only; does no I/O. Start reading at `headers`.
"""
