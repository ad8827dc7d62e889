"""Read files and lines written by users, in UTF-8 with or without a byte order mark.

Windows editors may write a byte order mark, which is removed. Other encodings are rejected, because
decoding them as UTF-8 could produce wrong text without an error.
"""

import codecs
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from duolog.core.errors import EncodingError

_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SHOWN_MAX: Final = 60


def read_text_file(path: Path) -> str:
    r"""Return the text of a file, with `\n` as line ending.

    Raises:
        EncodingError: the file is not UTF-8; the error names file and line.
        OSError: the file cannot be read.
    """
    return decode_text(path.read_bytes(), str(path))


def decode_text(data: bytes, name: str) -> str:
    """Decode `data` read from the file `name`; raises as `read_text_file`."""
    return "".join(decode_lines(data.splitlines(keepends=True), name))


def decode_lines(lines: Iterable[bytes], name: str) -> Iterator[str]:
    r"""Yield decoded lines with `\n` as line ending, without a byte order mark.

    Example:
        >>> list(decode_lines([b"\xef\xbb\xbfa\r\n", b"b"], "a.sql"))
        ['a\n', 'b']

    Raises:
        EncodingError: as `read_text_file`.
    """
    for number, line in enumerate(lines, 1):
        if number == 1:
            if line.startswith(_UTF_16):
                raise EncodingError(
                    f'file "{name}" is UTF-16, not UTF-8', hint=f"Save {name} as UTF-8."
                )
            line = line.removeprefix(codecs.BOM_UTF8)  # noqa: PLW2901 - still the same line
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise EncodingError(
                f'file "{name}", line {number}, is not UTF-8: '
                f"it contains the byte 0x{line[error.start]:02x}",
                hint=f"Save {name} as UTF-8. Line {number} begins: {_shown(line)}",
            ) from error
        stripped = text.removesuffix("\n").removesuffix("\r")
        yield text if stripped == text else f"{stripped}\n"


def _shown(line: bytes) -> str:
    text = line.decode(errors="replace").strip()[:_SHOWN_MAX]
    return "".join(one if one.isprintable() else " " for one in text)
