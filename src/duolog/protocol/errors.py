"""Errors of the protocol."""

from duolog.core.errors import DuologError


class MalformedRequest(DuologError):
    """Bytes that are not a valid request; their connection is closed."""


class UnsupportedRequest(MalformedRequest):
    """An unsupported API key or version; like Kafka, the broker closes the connection."""
