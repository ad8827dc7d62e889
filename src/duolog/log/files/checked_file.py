"""Small files that say themselves whether they are whole: the one form of all of them.

    #duolog log-start-offset 1 5 8fa3c1d2      magic, name, version, bytes that follow, CRC32C
    1200                                       the content, in most files text

The checksum covers the first line up to it, and the content. This detects a file that was cut, that
grew, or in which one bit differs, and one that was copied over another. The first line is a comment
where the content is a properties file, and every such file can be shown with `cat`.

A file is replaced in one step, so a crash never leaves half of one: what is damaged was damaged by
the disk or by another program, and is refused by its name.
"""

from typing import Final

from crc32c import crc32c

from duolog.log.errors import DamagedFile
from duolog.log.files.disk import Disk, read_file, replace_file

_MAGIC: Final = b"#duolog "
_FIRST_LINE_BYTES_MAX: Final = 200
_WORDS: Final = 5


def encode_checked(name: str, content: bytes, *, version: int = 1) -> bytes:
    """Return the bytes of a file called `name` with this content."""
    head = b"%s%s %d %d " % (_MAGIC, name.encode(), version, len(content))
    return b"%s%08x\n%s" % (head, crc32c(content, crc32c(head)), content)


def decode_checked(path: str, data: bytes, *, version: int = 1, hint: str = "") -> bytes:
    """Return the content of a file.

    Raises:
        DamagedFile: it is not whole, not of this name, or of another version. `hint` says what to
            do in this case; without it, to restore the file.
    """
    name = path.rpartition("/")[2]
    words = data[:_FIRST_LINE_BYTES_MAX].partition(b"\n")[0].split(b" ")
    known = len(words) == _WORDS and data.startswith(_MAGIC) and words[2].isdigit()
    found = int(words[2]) if known else 0
    content = data.partition(b"\n")[2]
    if not known or encode_checked(name, content, version=found) != data:
        raise DamagedFile(path, "It is not whole, or was changed.", hint=hint)
    if found != version:
        raise DamagedFile(path, f"It has the version {found}, and this Duolog knows {version}.")
    return content


def write_checked(
    disk: Disk, directory: str, name: str, content: bytes, *, version: int = 1
) -> None:
    """Replace a small file, durably.

    Raises:
        OSError: the disk refused.
    """
    replace_file(disk, directory, name, encode_checked(name, content, version=version))


def read_checked(
    disk: Disk, directory: str, name: str, *, version: int = 1, hint: str = ""
) -> bytes | None:
    """Return the content of a small file, or None if it does not exist.

    Raises:
        DamagedFile: see `decode_checked`.
        OSError: the read failed.
    """
    path = f"{directory}/{name}"
    try:
        data = read_file(disk, path)
    except (IsADirectoryError, NotADirectoryError) as error:
        raise DamagedFile(
            path, "It is not a file, or its parent is not a directory.", hint=hint
        ) from error
    return None if data is None else decode_checked(path, data, version=version, hint=hint)
