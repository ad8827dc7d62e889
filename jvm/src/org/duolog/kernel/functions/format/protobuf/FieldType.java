package org.duolog.kernel.functions.format.protobuf;

import java.util.Map;

/** A field, as its descriptor declares it. Linking the files completes it. */
final class FieldType {
  // Numbers of google.protobuf.FieldDescriptorProto.Type.
  static final int DOUBLE = 1;
  static final int FLOAT = 2;
  static final int INT64 = 3;
  static final int UINT64 = 4;
  static final int INT32 = 5;
  static final int FIXED64 = 6;
  static final int FIXED32 = 7;
  static final int BOOL = 8;
  static final int STRING = 9;
  static final int GROUP = 10;
  static final int MESSAGE = 11;
  static final int BYTES = 12;
  static final int UINT32 = 13;
  static final int ENUM = 14;
  static final int SFIXED32 = 15;
  static final int SFIXED64 = 16;
  static final int SINT32 = 17;
  static final int SINT64 = 18;

  final String name;
  final int number;
  final boolean isRepeated;

  /** The index of the oneof that it is in; -1 if it is in none, or only in that of `optional`. */
  final int oneof;

  /** The number of its type. Messages are MESSAGE, or GROUP if they are written as groups. */
  int type;

  Features features;

  /** The message that it contains; null for other types. */
  MessageType message;

  /** The enum of its values; null for other types. */
  EnumType enumeration;

  FieldType(String name, int number, boolean isRepeated, int oneof) {
    this.name = name;
    this.number = number;
    this.isRepeated = isRepeated;
    this.oneof = oneof;
  }

  /** An enum: its names, the number of each, and the first name of each number. */
  record EnumType(
      String fullName,
      boolean isClosed,
      Map<String, Integer> numbers,
      Map<Integer, String> names) {}

  boolean isInOneof() {
    return oneof >= 0;
  }

  boolean isMessage() {
    return message != null;
  }

  boolean isMap() {
    return isRepeated && isMessage() && (message.isMapEntry || message.isEntry());
  }

  boolean hasPresence() {
    return isMessage() || isInOneof() || features.presence() != Features.Presence.IMPLICIT;
  }

  boolean isRequired() {
    return !isRepeated && features.presence() == Features.Presence.REQUIRED;
  }

  /** Returns the wire type of one value. */
  int wireType() {
    return switch (type) {
      case DOUBLE, FIXED64, SFIXED64 -> WireInput.FIXED64;
      case FLOAT, FIXED32, SFIXED32 -> WireInput.FIXED32;
      case STRING, BYTES, MESSAGE -> WireInput.BYTES;
      case GROUP -> WireInput.GROUP;
      default -> WireInput.VARINT;
    };
  }

  boolean isPackable() {
    return isRepeated && wireType() != WireInput.BYTES && wireType() != WireInput.GROUP;
  }

  /** Returns the type for messages to people. */
  String told() {
    if (isMap()) {
      return "map";
    }
    String kind = isMessage() ? message.fullName : enumeration != null ? "enum" : scalarName();
    return isRepeated ? "repeated " + kind : kind;
  }

  private String scalarName() {
    return switch (type) {
      case DOUBLE, FLOAT -> "DOUBLE";
      case BOOL -> "BOOLEAN";
      case STRING -> "STRING";
      case BYTES -> "BYTES";
      case INT32, SINT32, SFIXED32 -> "INT";
      default -> "BIGINT";
    };
  }
}
