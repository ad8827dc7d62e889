package org.duolog.kernel.functions.format.protobuf;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.duolog.kernel.functions.format.protobuf.MessageReader.FieldReader;
import org.duolog.kernel.functions.format.protobuf.MessageReader.Finisher;
import org.duolog.kernel.functions.format.protobuf.Scalars.Scalar;

/**
 * Makes readers of messages for columns. The rules are those of {@code
 * duolog.serde.protobuf_reading}, which reads the same bytes in Python:
 *
 * <pre>
 *   absent, with presence       null
 *   absent, without presence    the default of the type; null for BYTES, as in Kafka Connect
 *   column without a field      null
 *   oneof                       a STRUCT, null if no member is set
 *   map                         true maps, and the repeated entries that Kafka Connect writes
 * </pre>
 *
 * <p>Columns of another type than their fields are a {@code SerializationException}. Threads: not
 * shared; the readers may be.
 */
final class ReaderMaker {
  private static final int KEY = 0;
  private static final int VALUE = 1;

  private final Checks checks = new Checks();

  /** Returns the reader of a message as a row. */
  MessageReader row(MessageType message, StructType columns, String path) {
    MessageReader reader = new MessageReader();
    Object[] blank = new Object[columns.size()];
    Map<String, FieldType> fields = message.plainFields();
    Map<String, List<FieldType>> unions = message.unions();
    List<String> all = new ArrayList<>(unions.keySet());
    all.addAll(fields.keySet());
    Names names = new Names(all);
    for (int slot = 0; slot < blank.length; slot++) {
      StructField column = columns.fields()[slot];
      String name = names.field(column.name());
      String below = path.isEmpty() ? column.name() : path + "." + column.name();
      if (unions.containsKey(name)) {
        union(reader, unions.get(name), column.dataType(), slot, below);
      } else if (name != null) {
        field(reader, fields.get(name), column.dataType(), slot, below, blank);
      }
    }
    reader.startWith(blank);
    checks.add(reader, message);
    return reader;
  }

  private void field(
      MessageReader reader,
      FieldType field,
      DataType type,
      int slot,
      String path,
      Object[] blank) {
    if (field.isMap()) {
      if (!(type instanceof MapType map)) {
        throw mismatch(field, type, path);
      }
      MessageReader entry = entry(field.message, map, path);
      repeated(reader, field, nested(field, entry), slot);
      blank[slot] = MapEntries.EMPTY;
      reader.finish(slot, items -> MapEntries.map((Items) items, map.keyType()));
    } else if (field.isRepeated) {
      if (!(type instanceof ArrayType array)) {
        throw mismatch(field, type, path);
      }
      DataType element = array.elementType();
      repeated(reader, field, value(field, element, path + "[]"), slot);
      blank[slot] = Items.NONE;
      reader.finish(slot, items -> ((Items) items).array());
    } else if (field.isMessage()) {
      MessageReader inner = message(field, type, path);
      reader.add(field.number, merging(field, inner, slot));
      reader.finish(slot, slots -> inner.finish((Object[]) slots));
    } else {
      single(reader, field, type, slot, path);
      boolean isNull = field.hasPresence() || type instanceof BinaryType;
      blank[slot] = isNull ? null : Scalars.defaultOf(field, type);
    }
  }

  private void single(
      MessageReader reader, FieldType field, DataType type, int slot, String path) {
    Scalar scalar = scalar(field, type, path);
    int expected = field.wireType();
    if (field.type == FieldType.BYTES && !field.hasPresence()) {
      reader.add(
          field.number,
          (wireType, in, slots) -> {
            if (wireType != expected) {
              return false;
            }
            byte[] bytes = in.bytes();
            slots[slot] = bytes.length == 0 ? null : bytes;
            return true;
          });
      return;
    }
    boolean isVerifiedLast = field.type == FieldType.STRING && !field.features.verified();
    Scalar read = isVerifiedLast ? WireInput::text : scalar;
    reader.add(
        field.number,
        (wireType, in, slots) -> {
          if (wireType != expected) {
            return false;
          }
          Object value = read.read(in);
          if (value != null) {
            slots[slot] = value;
          }
          return true;
        });
    if (isVerifiedLast) {
      reader.finish(slot, text -> Scalars.verified((UTF8String) text));
    }
  }

  /** Adds each value to the items in a slot; numbers may be packed. */
  private static void repeated(MessageReader reader, FieldType field, Scalar value, int slot) {
    int expected = field.wireType();
    boolean isPackable = field.isPackable();
    reader.add(
        field.number,
        (wireType, in, slots) -> {
          if (wireType == expected) {
            slots[slot] = Items.with((Items) slots[slot], value.read(in));
            return true;
          }
          if (!isPackable || wireType != WireInput.BYTES) {
            return false;
          }
          Items items = (Items) slots[slot];
          int outer = in.enter();
          while (!in.isAtEnd()) {
            items = Items.with(items, value.read(in));
          }
          in.leave(outer);
          slots[slot] = items;
          return true;
        });
  }

  private static FieldReader merging(FieldType field, MessageReader inner, int slot) {
    int expected = field.wireType();
    int number = field.number;
    return (wireType, in, slots) -> {
      if (wireType != expected) {
        return false;
      }
      if (slots[slot] == null) {
        slots[slot] = inner.start();
      }
      inner.nested(wireType, number, in, (Object[]) slots[slot]);
      return true;
    };
  }

  /** Returns the reader of one value of a repeated field. */
  private Scalar value(FieldType field, DataType type, String path) {
    return field.isMessage()
        ? nested(field, message(field, type, path))
        : scalar(field, type, path);
  }

  private static Scalar nested(FieldType field, MessageReader inner) {
    int wireType = field.wireType();
    int number = field.number;
    return in -> {
      Object[] slots = inner.start();
      inner.nested(wireType, number, in, slots);
      return inner.finish(slots);
    };
  }

  /** Returns the reader of a message as a value of a type. */
  private MessageReader message(FieldType field, DataType type, String path) {
    MessageType message = field.message;
    if (Logical.WRAPPERS.contains(message.fullName)) {
      MessageReader reader = new MessageReader();
      FieldType value = message.field("value");
      Scalar scalar = Scalars.of(value, type);
      if (scalar == null) {
        throw mismatch(field, type, path);
      }
      read(reader, value, scalar, 0);
      reader.startWith(new Object[] {Scalars.defaultOf(value, type)});
      reader.finishWith(slots -> ((Object[]) slots)[0]);
      checks.add(reader, message);
      return reader;
    } else if (type instanceof StructType struct) {
      return row(message, struct, path);
    }
    Logical logical = Logical.of(message.fullName, type);
    if (logical == null) {
      throw mismatch(field, type, path);
    }
    MessageReader reader = row(message, logical.columns(), path);
    reader.finishWith(slots -> logical.value((Object[]) slots));
    return reader;
  }

  private static void read(MessageReader reader, FieldType field, Scalar scalar, int slot) {
    int expected = field.wireType();
    reader.add(
        field.number,
        (wireType, in, slots) -> {
          if (wireType != expected) {
            return false;
          }
          slots[slot] = scalar.read(in);
          return true;
        });
  }

  /** Returns the reader of a map's entry, whose value is one of {@link MapEntries}. */
  private MessageReader entry(MessageType message, MapType map, String path) {
    MessageReader reader = new MessageReader();
    Object[] blank = new Object[message.isMapEntry ? VALUE + 2 : VALUE + 1];
    DataType[] types = {map.keyType(), map.valueType()};
    String[] below = {path + "{key}", path + "{}"};
    for (int slot = KEY; slot <= VALUE; slot++) {
      FieldType field = message.field(slot == KEY ? "key" : "value");
      if (!message.isMapEntry) {
        field(reader, field, types[slot], slot, below[slot], blank);
      } else if (field.isMessage()) {
        MessageReader inner = message(field, types[slot], below[slot]);
        reader.add(field.number, merging(field, inner, slot));
        finishOrEmpty(reader, inner, slot);
        blank[slot] = null;
      } else {
        entryPart(reader, field, scalar(field, types[slot], below[slot]), slot);
        blank[slot] = Scalars.defaultOf(field, types[slot]);
      }
    }
    reader.startWith(blank);
    if (!message.isMapEntry) {
      reader.finishWith(slots -> MapEntries.entry((Object[]) slots));
    }
    checks.add(reader, message);
    return reader;
  }

  /** A message that an entry of a map does not have is an empty one. */
  private static void finishOrEmpty(MessageReader reader, MessageReader inner, int slot) {
    reader.finishWith(
        given -> {
          Object[] slots = (Object[]) given;
          Object[] value = slots[slot] == null ? inner.start() : (Object[]) slots[slot];
          slots[slot] = inner.finish(value);
          return MapEntries.entry(slots);
        });
  }

  /**
   * An entry whose value a closed enum does not have is dropped: its last slot is set. An entry
   * with an unknown field is kept. Google's compiler generates classes for Java that do both; its C
   * library (upb) drops the second entry too.
   */
  private static void entryPart(MessageReader reader, FieldType field, Scalar scalar, int slot) {
    int expected = field.wireType();
    reader.add(
        field.number,
        (wireType, in, slots) -> {
          if (wireType != expected) {
            return false;
          }
          Object value = scalar.read(in);
          slots[value == null ? VALUE + 1 : slot] = value == null ? MapEntries.DROPPED : value;
          return true;
        });
    if (slot == VALUE) {
      reader.finishWith(
          given -> {
            Object[] slots = (Object[]) given;
            return slots[VALUE + 1] == MapEntries.DROPPED ? null : MapEntries.entry(slots);
          });
    }
  }

  private void union(
      MessageReader reader, List<FieldType> members, DataType type, int slot, String path) {
    if (!(type instanceof StructType struct)) {
      throw new SerializationException(text("oneof", type, path));
    }
    Names names = new Names(members.stream().map(member -> member.name).toList());
    Map<String, Integer> places = new HashMap<>();
    for (int i = 0; i < struct.size(); i++) {
      places.put(names.field(struct.fields()[i].name()), i);
    }
    for (FieldType member : members) {
      Integer place = places.get(member.name);
      StructField column = place == null ? null : struct.fields()[place];
      unionMember(reader, member, column, path, slot, place == null ? -1 : place);
    }
    int size = struct.size();
    reader.finish(slot, chosen -> ((Chosen) chosen).row(size));
  }

  /** A oneof while it is read: the member that was set last, and its value so far. */
  private record Chosen(int number, int place, Object value, Finisher finisher) {
    Object row(int size) {
      Object[] row = new Object[size];
      if (place >= 0) {
        row[place] = finisher.finish(value);
      }
      return new GenericInternalRow(row);
    }
  }

  private void unionMember(
      MessageReader reader,
      FieldType member,
      StructField column,
      String path,
      int slot,
      int place) {
    int expected = member.wireType();
    int number = member.number;
    String below = column == null ? path : path + "." + column.name();
    if (member.isMessage()) {
      MessageReader inner =
          column == null ? checks.of(member.message) : message(member, column.dataType(), below);
      Finisher finisher = slots -> inner.finish((Object[]) slots);
      reader.add(
          number,
          (wireType, in, slots) -> {
            if (wireType != expected) {
              return false;
            }
            if (!(slots[slot] instanceof Chosen chosen && chosen.number == number)) {
              slots[slot] = new Chosen(number, place, inner.start(), finisher);
            }
            inner.nested(wireType, number, in, (Object[]) ((Chosen) slots[slot]).value);
            return true;
          });
      return;
    }
    boolean isText = member.type == FieldType.STRING;
    boolean isVerifiedLast = isText && !member.features.verified();
    Function<Object, Object> last =
        isVerifiedLast && column != null ? text -> Scalars.verified((UTF8String) text) : x -> x;
    Scalar scalar =
        column == null ? checks.scalar(member) : scalar(member, column.dataType(), below);
    Scalar read = isVerifiedLast ? WireInput::text : scalar;
    reader.add(
        number,
        (wireType, in, slots) -> {
          if (wireType != expected) {
            return false;
          }
          Object value = read.read(in);
          if (value != null) {
            slots[slot] = new Chosen(number, place, value, last::apply);
          }
          return true;
        });
  }

  private static Scalar scalar(FieldType field, DataType type, String path) {
    Scalar found = Scalars.of(field, type);
    if (found == null) {
      throw mismatch(field, type, path);
    }
    return found;
  }

  private static SerializationException mismatch(FieldType field, DataType type, String path) {
    return new SerializationException(text(field.told(), type, path));
  }

  private static String text(String written, DataType type, String path) {
    return String.format(
        "cannot read the Protobuf type %s as column \"%s\" %s",
        written, path, ColumnTypes.told(type));
  }
}
