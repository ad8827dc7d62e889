package org.duolog.kernel.functions.format.protobuf;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A message, as its descriptor declares it. Linking the files completes it. */
final class MessageType {
  final String name;
  final String fullName;
  final boolean isMapEntry;

  /** In the order of their declaration. */
  final List<FieldType> fields = new ArrayList<>();

  /** Fields that other messages and files add. */
  final List<FieldType> extensions = new ArrayList<>();

  /** The names of its oneofs; those that stand for `optional` are the last. */
  final List<String> oneofs;

  /**
   * The messages inside it that have a place of their own: all but groups. Entries of maps are the
   * last, except those of a schema that was registered as a descriptor, whose writers count them.
   */
  final List<MessageType> places = new ArrayList<>();

  MessageType(String name, String fullName, boolean isMapEntry, List<String> oneofs) {
    this.name = name;
    this.fullName = fullName;
    this.isMapEntry = isMapEntry;
    this.oneofs = oneofs;
  }

  /** Returns the field of a name; null if there is none. */
  FieldType field(String name) {
    return fields.stream().filter(field -> field.name.equals(name)).findFirst().orElse(null);
  }

  /** Returns the fields that are in no oneof, by name. */
  Map<String, FieldType> plainFields() {
    Map<String, FieldType> found = new LinkedHashMap<>();
    for (FieldType field : fields) {
      if (!field.isInOneof()) {
        found.put(field.name, field);
      }
    }
    return found;
  }

  /** Returns the members of each oneof, by the name of the column that it is. */
  Map<String, List<FieldType>> unions() {
    Map<String, List<FieldType>> found = new LinkedHashMap<>();
    for (int i = 0; i < oneofs.size(); i++) {
      int index = i;
      List<FieldType> members =
          fields.stream().filter(field -> field.isInOneof() && field.oneof == index).toList();
      if (!members.isEmpty()) {
        found.put(oneofs.get(i) + "_" + i, members);
      }
    }
    return found;
  }

  /** Returns true for the entries of a map that Kafka Connect writes as repeated messages. */
  boolean isEntry() {
    return name.endsWith("Entry")
        && fields.size() == 2
        && fields.get(0).name.equals("key")
        && fields.get(1).name.equals("value")
        && fields.stream().noneMatch(field -> field.isRepeated);
  }
}
