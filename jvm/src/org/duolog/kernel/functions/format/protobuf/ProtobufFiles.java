package org.duolog.kernel.functions.format.protobuf;

import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.common.errors.SerializationException;
import org.duolog.kernel.functions.format.schema.WriterSchema;

/**
 * The messages of a schema: of its file, of those that it imports, and of those that come with
 * Protobuf ({@link BuiltinFiles}).
 *
 * <p>Types are found by their full names. Imports are only followed for a file that does nothing
 * but import another one publicly: it has the messages of the other. Threads: any, once made.
 */
final class ProtobufFiles {
  // Numbers of google.protobuf.FileDescriptorProto.
  private static final int PACKAGE = 2;
  private static final int DEPENDENCY = 3;
  private static final int MESSAGE_TYPE = 4;
  private static final int ENUM_TYPE = 5;
  private static final int SERVICE = 6;
  private static final int EXTENSION = 7;
  private static final int PUBLIC_DEPENDENCY = 10;
  private static final int FILE_NAME = 1;

  private final Map<String, DescribedFile> files = new LinkedHashMap<>();
  private final DescribedFile root;

  private ProtobufFiles(RawMessage root, Map<String, RawMessage> others) {
    Types types = new Types();
    others.forEach((name, file) -> files.put(name, new DescribedFile(file, types)));
    this.root = new DescribedFile(root, types);
    files.values().forEach(DescribedFile::link);
    this.root.link();
  }

  /**
   * Reads a schema as a registry returns it.
   *
   * @throws IllegalArgumentException if its files are damaged
   */
  static ProtobufFiles of(WriterSchema schema) {
    Map<String, RawMessage> others = new LinkedHashMap<>();
    BuiltinFiles.all().forEach(file -> others.put(file.text(FILE_NAME), file));
    try {
      schema.files().forEach((name, file) -> others.put(name, decoded(file)));
      return new ProtobufFiles(decoded(schema.text()), others);
    } catch (SerializationException e) {
      // It is not the record that is bad.
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  private static RawMessage decoded(String base64) {
    return new RawMessage(Base64.getDecoder().decode(base64));
  }

  /** Returns the message of a full name. */
  MessageType message(String fullName) {
    MessageType found = root.types.messages.get(fullName);
    if (found == null) {
      throw new SerializationException("the schema has no message \"" + fullName + '"');
    }
    return found;
  }

  /** Returns the message at a place: the index in the file, then the index in that message, …. */
  MessageType messageAt(int[] indexes) {
    List<MessageType> among = fileOfMessages().places;
    MessageType found = null;
    for (int index : indexes) {
      if (index < 0 || index >= among.size() || among.get(index).isMapEntry) {
        throw new SerializationException("the schema has no message at this place");
      }
      found = among.get(index);
      among = found.places;
    }
    return found;
  }

  /** Returns the place of a message. */
  int[] indexesOf(String fullName) {
    List<Integer> indexes = new ArrayList<>();
    List<MessageType> among = fileOfMessages().places;
    while (true) {
      int index = 0;
      while (index < among.size() && !isInside(fullName, among.get(index).fullName)) {
        index++;
      }
      if (index == among.size()) {
        throw new SerializationException("the schema has no message \"" + fullName + '"');
      }
      indexes.add(index);
      if (among.get(index).fullName.equals(fullName)) {
        return indexes.stream().mapToInt(Integer::intValue).toArray();
      }
      among = among.get(index).places;
    }
  }

  private static boolean isInside(String name, String outer) {
    return name.equals(outer) || name.startsWith(outer + ".");
  }

  private DescribedFile fileOfMessages() {
    RawMessage raw = root.raw;
    boolean isEmpty =
        !raw.has(MESSAGE_TYPE) && !raw.has(ENUM_TYPE) && !raw.has(SERVICE) && !raw.has(EXTENSION);
    List<String> imports = raw.texts(DEPENDENCY);
    if (!isEmpty || imports.size() != 1 || !raw.has(PUBLIC_DEPENDENCY)) {
      return root;
    }
    DescribedFile other = files.get(imports.get(0));
    boolean hasTypes = other != null && (other.raw.has(MESSAGE_TYPE) || other.raw.has(ENUM_TYPE));
    return hasTypes ? other : root;
  }

  /** All types by full name. */
  static final class Types {
    final Map<String, MessageType> messages = new HashMap<>();
    final Map<String, FieldType.EnumType> enums = new HashMap<>();

    boolean contains(String fullName) {
      return messages.containsKey(fullName) || enums.containsKey(fullName);
    }
  }

  /** A file. Its types are known at once; {@link #link} lets fields find them. */
  private static final class DescribedFile {
    final RawMessage raw;
    final Types types;
    final List<MessageType> places;
    private final DescriptorReader reader;

    DescribedFile(RawMessage raw, Types types) {
      this.raw = raw;
      this.types = types;
      String scope = raw.text(PACKAGE);
      this.reader = new DescriptorReader(raw, types);
      Collection<String> groups = reader.groups(raw.messages(EXTENSION), scope);
      List<MessageType> made =
          raw.messages(MESSAGE_TYPE).stream()
              .map(message -> reader.message(message, scope))
              .collect(Collectors.toList());
      raw.messages(ENUM_TYPE).forEach(each -> reader.enumeration(each, scope, reader.features()));
      made.removeIf(message -> groups.contains(message.fullName));
      this.places = made;
    }

    void link() {
      reader.link(raw.messages(EXTENSION), raw.text(PACKAGE));
    }
  }
}
