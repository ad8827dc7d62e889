"""Escape control characters in untrusted text before it is written to a terminal.

A key, a value or a group name may contain any character. An escape sequence in it could clear the
screen, rename the window or insert input, and a character that sets the direction of text could
show a name or an amount in another order than it has. Text written to files and pipes is not
changed.
"""

import re
import sys
from typing import BinaryIO, Final, TextIO

_CONTROL: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
"""All control characters except tab and line feed; 8-bit terminals interpret those from 0x80.

Also characters that set the direction of text, and separators of lines and paragraphs.
"""
_LATIN_MAX: Final = 0xFF
_IN_JSON: Final = re.compile(r"[\x7f-\x9f]")


def printable(text: str) -> str:
    r"""Return text with control characters escaped, except for tab and line feed.

    Example:
        >>> printable("a\tb\x1b[2J\x9b1m")
        'a\tb\\x1b[2J\\x9b1m'
    """
    return _CONTROL.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code <= _LATIN_MAX else f"\\u{code:04x}"


def for_stream(text: str, stream: TextIO | None = None) -> str:
    """Return text that is safe to write to a stream, by default standard output."""
    stream = sys.stdout if stream is None else stream
    return printable(text) if stream.isatty() else text


def bytes_for(data: bytes, out: BinaryIO) -> bytes:
    r"""Return bytes that are safe to write; for a terminal, non-printable ones are escaped.

    Example:
        >>> import io
        >>> bytes_for(b"\x1b", io.BytesIO())
        b'\x1b'
    """
    return printable(data.decode(errors="backslashreplace")).encode() if out.isatty() else data


def json_safe(text: str) -> str:
    r"""Return JSON text in which the control characters that JSON permits are escaped, too.

    Example:
        >>> print(json_safe('"\x9b"'))
        "\u009b"
    """
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
