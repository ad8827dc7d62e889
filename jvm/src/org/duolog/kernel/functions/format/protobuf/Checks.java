package org.duolog.kernel.functions.format.protobuf;

import java.util.HashMap;
import java.util.Map;
import org.duolog.kernel.functions.format.protobuf.MessageReader.FieldReader;
import org.duolog.kernel.functions.format.protobuf.Scalars.Scalar;

/**
 * Readers of fields without a column, which only find out whether their bytes are valid. A message
 * may contain itself: there is one reader for each message. Threads: not shared; readers may be.
 */
final class Checks {
  private final Map<MessageType, MessageReader> made = new HashMap<>();

  /** Returns the reader that checks a message. */
  MessageReader of(MessageType message) {
    MessageReader found = made.get(message);
    if (found == null) {
      found = new MessageReader();
      made.put(message, found);
      add(found, message);
    }
    return found;
  }

  /** Adds checks of the fields of a message that a reader does not read. */
  void add(MessageReader reader, MessageType message) {
    message.fields.forEach(field -> add(reader, field));
    message.extensions.forEach(field -> add(reader, field));
  }

  private void add(MessageReader reader, FieldType field) {
    FieldReader check = reader.reads(field.number) ? null : check(field);
    if (check != null) {
      reader.add(field.number, check);
    }
  }

  private FieldReader check(FieldType field) {
    int expected = field.wireType();
    int number = field.number;
    if (field.isMessage()) {
      MessageReader inner = of(field.message);
      return (wireType, in, slots) -> {
        boolean isRead = wireType == expected;
        if (isRead) {
          inner.nested(wireType, number, in, slots);
        }
        return isRead;
      };
    } else if (field.isPackable()) {
      return (wireType, in, slots) -> wireType == WireInput.BYTES && packed(expected, in);
    } else if (field.type == FieldType.STRING && field.features.verified()) {
      return (wireType, in, slots) -> {
        boolean isRead = wireType == expected;
        if (isRead) {
          Scalars.verified(in.text());
        }
        return isRead;
      };
    }
    return null; // As an unknown field: a value of a wire type that can be skipped.
  }

  private static boolean packed(int wireType, WireInput in) {
    int outer = in.enter();
    while (!in.isAtEnd()) {
      in.skip(wireType);
    }
    in.leave(outer);
    return true;
  }

  /** Reads a value of a oneof's member without a column: not null, if the member is set. */
  Scalar scalar(FieldType field) {
    return Scalars.of(field, ColumnTypes.of(field));
  }
}
