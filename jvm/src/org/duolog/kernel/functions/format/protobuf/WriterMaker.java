package org.duolog.kernel.functions.format.protobuf;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.duolog.kernel.functions.format.protobuf.MessageWriter.FieldWriter;
import org.duolog.kernel.functions.format.protobuf.ScalarWriters.ScalarWriter;

/**
 * Makes writers of messages for columns, byte for byte those of {@code
 * duolog.serde.protobuf_writing}: fields in the order of their numbers, without the defaults of
 * fields that have no presence. A null leaves a field, or the value of an entry of a map, unset.
 *
 * <p>A column of another type than its field is a {@code SerializationException}, as is a null in
 * an array. Threads: not shared; the writers may be.
 */
final class WriterMaker {
  private WriterMaker() {}

  /** Writes the content of a message from a value. */
  private interface Content {
    void write(SpecializedGetters values, int at, ReversedOutput out);
  }

  /** Returns the writer of a row as a message. */
  static MessageWriter row(MessageType message, StructType columns, String path) {
    MessageWriter writer = new MessageWriter(message);
    Map<String, FieldType> fields = message.plainFields();
    Map<String, List<FieldType>> unions = message.unions();
    List<String> all = new ArrayList<>(unions.keySet());
    all.addAll(fields.keySet());
    Names names = new Names(all);
    for (int i = 0; i < columns.size(); i++) {
      StructField column = columns.fields()[i];
      String name = names.field(column.name());
      String below = path.isEmpty() ? column.name() : path + "." + column.name();
      if (unions.containsKey(name)) {
        union(writer, unions.get(name), column.dataType(), i, below);
      } else if (name != null) {
        writer.add(fields.get(name), i, field(fields.get(name), column.dataType(), below));
      }
    }
    return writer;
  }

  private static void union(
      MessageWriter writer, List<FieldType> members, DataType type, int column, String path) {
    if (!(type instanceof StructType struct)) {
      throw mismatch("oneof", type, path);
    }
    Names names = new Names(members.stream().map(member -> member.name).toList());
    List<Integer> inside = new ArrayList<>();
    for (int i = 0; i < struct.size(); i++) {
      StructField of = struct.fields()[i];
      String name = names.field(of.name());
      if (name != null) {
        inside.add(i);
        FieldType member =
            members.stream().filter(each -> each.name.equals(name)).findFirst().orElseThrow();
        int[] places = inside.stream().mapToInt(Integer::intValue).toArray();
        FieldWriter written = field(member, of.dataType(), path + "." + of.name());
        writer.addMember(member, column, places, struct.size(), written);
      }
    }
  }

  private static FieldWriter field(FieldType field, DataType type, String path) {
    if (field.isMap()) {
      if (!(type instanceof MapType map)) {
        throw mismatch("map", type, path);
      }
      return field.message.isMapEntry
          ? MapWriters.declared(field, map, path)
          : MapWriters.entries(field, map, path);
    } else if (field.isRepeated) {
      if (!(type instanceof ArrayType array)) {
        throw mismatch("repeated", type, path);
      }
      return repeated(field, array.elementType(), path);
    } else if (field.isMessage()) {
      return message(field, content(field.message, type, path));
    }
    ScalarWriter scalar = scalar(field, type, path);
    boolean evenDefault = field.hasPresence();
    return (values, at, out) -> {
      if (scalar.write(values, at, evenDefault, out)) {
        out.tag(field.number, field.wireType());
      }
    };
  }

  /** Returns the writer of a field of an entry. */
  static FieldWriter part(MessageType entry, String name, DataType type, String path) {
    return field(entry.field(name), type, path);
  }

  private static FieldWriter message(FieldType field, Content content) {
    return (values, at, out) -> {
      int after = end(field, out);
      content.write(values, at, out);
      start(field, after, out);
    };
  }

  /** Writes what comes after a message; returns the size for {@link #start}. */
  static int end(FieldType field, ReversedOutput out) {
    if (field.type == FieldType.GROUP) {
      out.tag(field.number, WireInput.END_GROUP);
    }
    return out.size();
  }

  /** Writes what comes before a message. */
  static void start(FieldType field, int after, ReversedOutput out) {
    if (field.type != FieldType.GROUP) {
      out.lengthSince(after);
    }
    out.tag(field.number, field.wireType());
  }

  private static FieldWriter repeated(FieldType field, DataType element, String path) {
    if (field.isMessage()) {
      FieldWriter each = message(field, content(field.message, element, path + "[]"));
      return (values, at, out) -> {
        ArrayData array = values.getArray(at);
        for (int i = array.numElements() - 1; i >= 0; i--) {
          each.write(present(array, i, path), i, out);
        }
      };
    }
    ScalarWriter scalar = scalar(field, element, path + "[]");
    int wireType = field.wireType();
    boolean isPacked = field.isPackable() && field.features.packed();
    return (values, at, out) -> {
      ArrayData array = values.getArray(at);
      int after = out.size();
      for (int i = array.numElements() - 1; i >= 0; i--) {
        scalar.write(present(array, i, path), i, true, out);
        if (!isPacked) {
          out.tag(field.number, wireType);
        }
      }
      if (isPacked && array.numElements() > 0) {
        out.lengthSince(after);
        out.tag(field.number, WireInput.BYTES);
      }
    };
  }

  /** Returns an array whose element is not null. */
  static ArrayData present(ArrayData array, int at, String path) {
    if (array.isNullAt(at)) {
      throw new SerializationException(
          String.format(
              "Protobuf has no null inside \"%s\": filter the elements with"
                  + " FILTER(…, x => x IS NOT NULL)",
              path));
    }
    return array;
  }

  private static Content content(MessageType message, DataType type, String path) {
    if (Logical.WRAPPERS.contains(message.fullName)) {
      FieldType value = message.field("value");
      ScalarWriter scalar = scalar(value, type, path);
      return (values, at, out) -> {
        if (scalar.write(values, at, false, out)) {
          out.tag(value.number, value.wireType());
        }
      };
    } else if (type instanceof StructType struct) {
      MessageWriter writer = row(message, struct, path);
      int size = struct.size();
      return (values, at, out) -> writer.write(values.getStruct(at, size), out);
    }
    LogicalWriter logical = LogicalWriter.of(message, type);
    if (logical == null) {
      throw mismatch(message.fullName, type, path);
    }
    return logical::write;
  }

  /** Returns the writer of a value of a declared map, which may be null: then it is the default. */
  static FieldWriter value(FieldType field, DataType type, String path) {
    if (!field.isMessage()) {
      ScalarWriter scalar = scalar(field, type, path);
      return (values, at, out) -> {
        if (values.isNullAt(at)) {
          ScalarWriters.number(defaultKind(field), 0, true, out);
        } else {
          scalar.write(values, at, true, out);
        }
        out.tag(field.number, field.wireType());
      };
    }
    Content content = content(field.message, type, path);
    MessageWriter empty =
        type instanceof StructType struct && !Logical.WRAPPERS.contains(field.message.fullName)
            ? row(field.message, struct, path)
            : null;
    FieldWriter written =
        message(
            field,
            (values, at, out) -> {
              if (!values.isNullAt(at)) {
                content.write(values, at, out);
              } else if (empty != null) {
                empty.ensureEmptyIsComplete();
              }
            });
    return written;
  }

  /** A text or bytes without content are the length zero, which is written as an int32 is. */
  private static int defaultKind(FieldType field) {
    return field.wireType() == WireInput.BYTES ? FieldType.INT32 : field.type;
  }

  static ScalarWriter scalar(FieldType field, DataType type, String path) {
    ScalarWriter found = ScalarWriters.of(field, type);
    if (found == null) {
      throw mismatch(ColumnTypes.told(ColumnTypes.of(field)), type, path);
    }
    return found;
  }

  private static SerializationException mismatch(String written, DataType type, String path) {
    return new SerializationException(
        String.format(
            "cannot write column \"%s\" %s as the Protobuf type %s",
            path, ColumnTypes.told(type), written));
  }
}
