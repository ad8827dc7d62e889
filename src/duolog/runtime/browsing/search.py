"""Search a text in keys, values and headers of records.

Letters match in both cases. The decoded text is searched and the bytes, so that a text is found in
a value whose format is not known.

Threads: any.
"""

from typing import Final, Literal

from duolog.runtime.browsing.decoding import Decoder
from duolog.runtime.browsing.record import BrowsedRecord, Part

EVERYWHERE: Final = frozenset({"key", "value", "headers"})


class TextSearch:
    """Finds records with a text.

    Args:
        text: the text; not empty.
        parts: where to look: `key`, `value` and `headers`.
        decoder: decodes what has a schema.
    """

    def __init__(self, text: str, parts: frozenset[str], decoder: Decoder) -> None:
        self._text = text.casefold()
        self._parts = parts
        self._decoder = decoder

    def finds(self, record: BrowsedRecord) -> bool:
        """Return whether a record has the text."""
        return (
            ("key" in self._parts and self._in_part("key", record.key, record))
            or ("value" in self._parts and self._in_part("value", record.value, record))
            or ("headers" in self._parts and self._in_headers(record))
        )

    def _in_part(
        self, which: Literal["key", "value"], part: Part | None, record: BrowsedRecord
    ) -> bool:
        if part is None:
            return False
        if self._in_bytes(part.data):
            return True
        # Bytes of a text have been searched.
        if self._decoder.is_plain(which, part, record.headers):
            return False
        found = self._decoder.decoded(which, part, record.headers)
        return found.form not in ("STRING", "JSON") and self._text in found.text.casefold()

    def _in_headers(self, record: BrowsedRecord) -> bool:
        return any(
            self._text in name.casefold() or (data is not None and self._in_bytes(data))
            for name, data in record.headers
        )

    def _in_bytes(self, data: bytes) -> bool:
        return self._text in data.decode(errors="replace").casefold()
