"""Errors of the protocol."""

from duolog.core.errors import DuologError


class MalformedRequest(DuologError):
    """Bytes that are no request: the connection they came on is closed."""


class UnsupportedRequest(MalformedRequest):
    """A key or a version that is not served: Kafka closes the connection, and so do we."""
