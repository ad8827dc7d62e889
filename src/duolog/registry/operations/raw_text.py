"""Schemas as the whole body of an answer."""


class RawText(str):
    """An answer that is sent as it is, not as a string of JSON."""

    __slots__ = ()
