package org.duolog.kernel.functions.format.protobuf;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;

/**
 * Writes a row as a message, in the order of the fields' numbers. Made once for a message and the
 * columns. Threads: any, once made.
 */
final class MessageWriter {
  private final List<Part> parts = new ArrayList<>();
  private final List<FieldType> missing = new ArrayList<>();

  /** Writes one field with its tag, from a value that is not null. */
  interface FieldWriter {
    void write(SpecializedGetters values, int at, ReversedOutput out);
  }

  /** A field and its column; of a oneof, its column in the STRUCT, and those that precede it. */
  private record Part(
      FieldType field, int column, int[] inside, int size, FieldWriter writer) {}

  MessageWriter(MessageType message) {
    message.fields.stream().filter(FieldType::isRequired).forEach(missing::add);
  }

  void add(FieldType field, int column, FieldWriter writer) {
    add(new Part(field, column, null, 0, writer));
  }

  /**
   * Adds a member of a oneof.
   *
   * @param inside the columns of a STRUCT: the member's last, before it those that count instead of
   *     it if they are not null
   */
  void addMember(FieldType field, int column, int[] inside, int size, FieldWriter writer) {
    add(new Part(field, column, inside, size, writer));
  }

  private void add(Part part) {
    parts.add(part);
    parts.sort(Comparator.comparingInt((Part each) -> each.field.number).reversed());
    missing.remove(part.field);
  }

  /** Writes the fields of a message. */
  void write(SpecializedGetters row, ReversedOutput out) {
    ensureComplete();
    for (Part part : parts) {
      if (row.isNullAt(part.column)) {
        if (part.field.isRequired()) {
          throw incomplete(part.field);
        }
      } else if (part.inside == null) {
        part.writer.write(row, part.column, out);
      } else {
        writeMember(row.getStruct(part.column, part.size), part, out);
      }
    }
  }

  private static void writeMember(InternalRow members, Part part, ReversedOutput out) {
    int last = part.inside.length - 1;
    for (int i = 0; i < last; i++) {
      if (!members.isNullAt(part.inside[i])) {
        return;
      }
    }
    if (!members.isNullAt(part.inside[last])) {
      part.writer.write(members, part.inside[last], out);
    }
  }

  /** Writes a message without values, which is nothing, if that is allowed. */
  void ensureEmptyIsComplete() {
    ensureComplete();
    for (Part part : parts) {
      if (part.field.isRequired()) {
        throw incomplete(part.field);
      }
    }
  }

  private void ensureComplete() {
    if (!missing.isEmpty()) {
      throw incomplete(missing.get(0));
    }
  }

  private static SerializationException incomplete(FieldType field) {
    return new SerializationException(
        String.format("the Protobuf message requires the field \"%s\"", field.name));
  }
}
