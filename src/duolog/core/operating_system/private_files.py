"""Files for calls that read a secret only from a path, such as OpenSSL's of a private key.

On Linux the file is in memory and has no name in any folder. Elsewhere it is a temporary file that
only its owner can read, and it is deleted afterwards.

Source: Linux `memfd_create(2)`; POSIX `mkstemp(3)`.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from duolog.core.operating_system.portable import PORTABLE


@contextmanager
def private_path(data: bytes) -> Iterator[str]:
    """Give the path of a file with these bytes; it ends with the context."""
    if sys.platform == "linux" and not PORTABLE:
        descriptor = os.memfd_create("duolog", os.MFD_CLOEXEC)
        path = f"/proc/self/fd/{descriptor}"
        named = None
    else:
        descriptor, path = tempfile.mkstemp(prefix="duolog-")
        named = Path(path)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        yield path
    finally:
        os.close(descriptor)
        if named is not None:
            named.unlink()
