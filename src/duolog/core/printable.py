"""Keep control characters of other people's text away from a terminal, which would obey them.

A key of eight bytes, a value, or the name of a group may hold any character: an escape sequence in it could clear the
screen, rename the window or type for the user. Files and pipes get what is there.
"""

import re
import sys
from typing import BinaryIO, Final, TextIO

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""All but tab and line feed; from 0x80 on those that a terminal in 8 bits takes for an escape."""
_IN_JSON: Final = re.compile(r"[\x7f-\x9f]")


def printable(text: str) -> str:
    r"""Return text with its control characters as escapes; tab and line feed stay.

    Example:
        >>> printable("a\tb\x1b[2J\x9b1m")
        'a\tb\\x1b[2J\\x9b1m'
    """
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def for_stream(text: str, stream: TextIO | None = None) -> str:
    """Return text as it may be written to a stream, by default standard output."""
    stream = sys.stdout if stream is None else stream
    return printable(text) if stream.isatty() else text


def bytes_for(data: bytes, out: BinaryIO) -> bytes:
    r"""Return bytes as they may be written: for a terminal, those that are not text are escapes.

    Example:
        >>> import io
        >>> bytes_for(b"\x1b", io.BytesIO())
        b'\x1b'
    """
    return printable(data.decode(errors="backslashreplace")).encode() if out.isatty() else data


def json_safe(text: str) -> str:
    r"""Return JSON text with the control characters that JSON allows unescaped as escapes.

    Example:
        >>> print(json_safe('"\x9b"'))
        "\u009b"
    """
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
