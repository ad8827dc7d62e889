"""Generate `BuiltinFiles.java`: descriptors of the files that come with Protobuf, for the kernel.

The kernel needs the messages, fields and enums; everything else is left out.
"""

import base64
import re
import textwrap
import zlib
from pathlib import Path
from typing import Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorSet,
)

from duolog.schemas.protobuf.library import Library, builtin_files

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = ROOT / "jvm/src/org/duolog/kernel/functions/format/protobuf/BuiltinFiles.java"
WIDTH: Final = 94
BLOCK: Final = re.compile(r'"""\n(.*?)"""', re.DOTALL)
TEMPLATE: Final = '''\
package org.duolog.kernel.functions.format.protobuf;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Base64;
import java.util.List;
import java.util.zip.InflaterInputStream;

/**
 * The files that every schema may import without a reference: google/protobuf, google/type and
 * confluent. Written by scripts/docs from {@code duolog.schemas.protobuf.library}: change it there.
 */
final class BuiltinFiles {
  private static final int FILE = 1; // of google.protobuf.FileDescriptorSet
  private static final List<RawMessage> ALL = read();

  private BuiltinFiles() {}

  /** Returns a FileDescriptorProto for each file, with what {@link DescriptorReader} reads. */
  static List<RawMessage> all() {
    return ALL;
  }

  private static List<RawMessage> read() {
    byte[] compressed = Base64.getMimeDecoder().decode(compressed());
    try (InflaterInputStream in =
        new InflaterInputStream(new ByteArrayInputStream(compressed))) {
      return new RawMessage(in.readAllBytes()).messages(FILE);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A FileDescriptorSet, compressed with zlib, in base64. */
  private static String compressed() {
    return """
CONTENT
        """;
  }
}
'''


def builtin_files_source() -> str:
    """Return the text of `BuiltinFiles.java`; the present one if it has the same descriptors.

    Compressors differ in their bytes.
    """
    wanted = descriptors().SerializeToString(deterministic=True)
    if SOURCE.exists():
        text = SOURCE.read_text()
        if _content(text) == wanted:
            return text.removesuffix("\n")
    encoded = base64.b64encode(zlib.compress(wanted, 9)).decode()
    lines = textwrap.indent("\n".join(textwrap.wrap(encoded, WIDTH - 4)), " " * 8)
    return TEMPLATE.replace("CONTENT", lines).removesuffix("\n")


def _content(source: str) -> bytes:
    found = BLOCK.search(source)
    return b"" if found is None else zlib.decompress(base64.b64decode(found[1]))


def descriptors() -> FileDescriptorSet:
    """Return the descriptors of all files, without what the kernel does not read."""
    library, found = Library({}), FileDescriptorSet()
    for path, file in sorted(builtin_files().items()):
        descriptor, _ = library.descriptor(file, path)
        kept = found.file.add(
            name=path, package=descriptor.package, dependency=descriptor.dependency
        )
        if descriptor.syntax:
            kept.syntax = descriptor.syntax
        kept.message_type.extend(map(_message, descriptor.message_type))
        kept.enum_type.extend(map(_enum, descriptor.enum_type))
    return found


def _message(given: DescriptorProto) -> DescriptorProto:
    kept = DescriptorProto(name=given.name, oneof_decl=given.oneof_decl)
    kept.field.extend(map(_field, given.field))
    kept.nested_type.extend(map(_message, given.nested_type))
    kept.enum_type.extend(map(_enum, given.enum_type))
    if given.options.map_entry:
        kept.options.map_entry = True
    return kept


def _field(given: FieldDescriptorProto) -> FieldDescriptorProto:
    kept = FieldDescriptorProto()
    kept.CopyFrom(given)
    for name in ("json_name", "default_value", "options"):
        kept.ClearField(name)
    if given.options.HasField("packed"):
        kept.options.packed = given.options.packed
    return kept


def _enum(given: EnumDescriptorProto) -> EnumDescriptorProto:
    kept = EnumDescriptorProto(name=given.name)
    for value in given.value:
        kept.value.add(name=value.name, number=value.number)
    return kept
