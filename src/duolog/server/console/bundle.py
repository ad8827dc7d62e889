"""The built files of the console, read when they are first asked for.

    assets/manifest.json    name of a file ─▶ media type, and which compressed forms exist
    assets/NAME-HASH.js     one file, with NAME-HASH.js.br and NAME-HASH.js.gz
    assets/index.html       the page; `page.py` fills in its values

In a clone they are in this package, built by `scripts/install`; users get them with the
distribution `duolog`, as the data package `duolog_console`. Only names in the manifest are read,
so that a path of a client never becomes a path of the file system.

Thread: any; a file is read at most once by each thread that asks for it first.
"""

import json
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

INSTALLED: Final = "duolog_console"
MANIFEST: Final = "manifest.json"
INDEX: Final = "index.html"
_ENCODINGS: Final = (("br", ".br"), ("gzip", ".gz"))


class Asset(NamedTuple):
    """One file.

    Attributes:
        encoding: of HTTP: `br`, `gzip` or, if it is not compressed, empty.
    """

    content: bytes
    media_type: str
    encoding: str = ""


class Bundle:
    """The files of one build.

    Args:
        folder: where they are.
    """

    def __init__(self, folder: Traversable) -> None:
        self._folder = folder
        manifest: dict[str, Any] = json.loads(folder.joinpath(MANIFEST).read_bytes())
        self._files: dict[str, dict[str, Any]] = manifest["files"]
        self.main: str = manifest["main"]
        """The name of the script that the page starts with; another one for each build."""
        self.index = folder.joinpath(INDEX).read_text(encoding="utf-8")
        self._read: dict[str, bytes] = {}

    def asset(self, name: str, accepted: str) -> Asset | None:
        """Return a file, compressed if the client accepts that; None if there is none.

        `accepted` is the header Accept-Encoding.
        """
        known = self._files.get(name)
        if known is None:
            return None
        for encoding, suffix in _ENCODINGS:
            if encoding in known["encodings"] and _accepts(accepted, encoding):
                return Asset(self._content(name + suffix), known["type"], encoding)
        return Asset(self._content(name), known["type"])

    def _content(self, name: str) -> bytes:
        found = self._read.get(name)
        if found is None:
            found = self._read[name] = self._folder.joinpath(name).read_bytes()
        return found


def find_bundle() -> Bundle | None:
    """Return the files of this installation; None if the console was not built."""
    for folder in _folders():
        if folder.joinpath(MANIFEST).is_file():
            return Bundle(folder)
    return None


def _folders() -> Iterator[Traversable]:
    yield resources.files("duolog.server.console") / "assets"
    if find_spec(INSTALLED) is not None:
        yield resources.files(INSTALLED)


def _accepts(header: str, encoding: str) -> bool:
    """Return whether a header Accept-Encoding names an encoding and does not exclude it.

    Example:
        >>> _accepts("gzip, br;q=0.9", "br"), _accepts("gzip, br;q=0", "br"), _accepts("", "br")
        (True, False, False)
    """
    for part in header.lower().split(","):
        name, _, quality = part.partition(";")
        if name.strip() == encoding:
            return quality.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False
