"""The corpus of .proto texts, and the answers of Wire and protoc that are kept next to it.

    tests/golden/protobuf/corpus.txt   ==== name [no-wire] [no-protoc], then the text
                          wire.txt     ==== name, then Wire's text without comments
                          protoc.txt   ==== name, then the base64 of protoc's FileDescriptorProto

`no-wire` and `no-protoc` mark texts that one of the two refuses or reads differently.
"""

import base64
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorProto

GOLDEN = Path(__file__).parents[2] / "golden" / "protobuf"
_MARK = "\n==== "


@dataclass(frozen=True, slots=True)
class Section:
    """One .proto file of the corpus."""

    name: str
    text: str
    flags: frozenset[str]


def sections(file: str) -> dict[str, Section]:
    """Return the sections of a file of the folder, by name."""
    with (GOLDEN / file).open(encoding="utf-8", newline="") as lines:
        return parse_sections(lines.read())


def parse_sections(text: str) -> dict[str, Section]:
    found = {}
    for part in f"\n{text}".split(_MARK)[1:]:
        head, _, body = part.partition("\n")
        name, *flags = head.split()
        found[name] = Section(name, f"{body}\n" if body else "", frozenset(flags))
    return found


def descriptors() -> dict[str, FileDescriptorProto]:
    """Return protoc's descriptors by name."""
    return {
        name: FileDescriptorProto.FromString(base64.b64decode(section.text))
        for name, section in sections("protoc.txt").items()
    }


CORPUS = sections("corpus.txt")
FOR_WIRE = [section for section in CORPUS.values() if "no-wire" not in section.flags]
FOR_PROTOC = [section for section in CORPUS.values() if "no-protoc" not in section.flags]
