package org.duolog.kernel.functions.format.protobuf;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.duolog.kernel.functions.format.Reasons;
import org.duolog.kernel.functions.format.schema.BySchema;
import org.duolog.kernel.functions.format.schema.Columns;
import org.duolog.kernel.functions.format.schema.Frame;
import org.duolog.kernel.functions.format.schema.Options;
import org.duolog.kernel.functions.format.schema.RowReader;
import org.duolog.kernel.functions.format.schema.RowWriter;
import org.duolog.kernel.functions.format.schema.SchemaFormat;
import org.duolog.kernel.functions.format.schema.SchemaRegistry;
import org.duolog.kernel.functions.format.schema.WriterSchema;

/**
 * Format PROTOBUF: the id or the GUID of the writer's schema, the place of the message in it, the
 * message.
 *
 * <p>A schema to write with is given as the option `descriptor`, a FileDescriptorProto in base64
 * that needs no files but those that come with Protobuf; without it, the registry has the schema of
 * the option `id`. {@code duolog.serde.protobuf} is the same in Python.
 */
public final class Protobuf implements SchemaFormat {
  private static final long serialVersionUID = 1L;
  private static final String DESCRIPTOR = "descriptor";
  private static final String LANGUAGE = "PROTOBUF";
  private static final int[] FIRST = {0};
  private static final byte[] NO_HEAD = {};

  @Override
  public RowReader reader(Columns columns, Options options) {
    SchemaRegistry registry = options.registry();
    BySchema<Messages> schemas =
        new BySchema<>(
            registry::protobuf,
            registry::protobuf,
            registry::described,
            schema -> new Messages(ProtobufFiles.of(schema), columns.declared()));
    return bytes -> schemas.of(bytes).read(bytes, Frame.end(bytes));
  }

  /** The messages of one schema, with the reader of each that was met. */
  private static final class Messages {
    private final ProtobufFiles files;
    private final StructType columns;
    private final Map<List<Integer>, MessageReader> readers = new HashMap<>();
    private final Map<List<Integer>, String> refused = new HashMap<>();
    private MessageReader first;

    Messages(ProtobufFiles files, StructType columns) {
      this.files = files;
      this.columns = columns;
    }

    InternalRow read(byte[] bytes, int from) {
      if (bytes.length > from && bytes[from] == 0) {
        if (first == null) {
          first = reader(List.of(0));
        }
        return row(first, bytes, from + 1);
      }
      MessageIndexes place = MessageIndexes.read(bytes, from);
      List<Integer> indexes = Arrays.stream(place.indexes()).boxed().toList();
      return row(reader(indexes), bytes, place.end());
    }

    private MessageReader reader(List<Integer> place) {
      MessageReader found = readers.get(place);
      if (found != null) {
        return found;
      }
      String why = refused.get(place);
      if (why != null) {
        throw new SerializationException(why);
      }
      int[] indexes = place.stream().mapToInt(Integer::intValue).toArray();
      // Outside of the try: records can name any number of places that do not exist.
      MessageType message = files.messageAt(indexes);
      try {
        found = new ReaderMaker().row(message, columns, "");
      } catch (SerializationException e) {
        refused.put(place, e.getMessage());
        throw e;
      } catch (RuntimeException | StackOverflowError e) {
        why = String.format("message \"%s\" cannot be read: %s", message.fullName, Reasons.of(e));
        refused.put(place, why);
        throw new SerializationException(why, e);
      }
      readers.put(place, found);
      return found;
    }
  }

  private static InternalRow row(MessageReader reader, byte[] bytes, int from) {
    return (InternalRow) reader.whole(new WireInput(bytes, from));
  }

  @Override
  public RowWriter writer(Columns columns, Options options) {
    int id = options.schemaId();
    String given = options.get(DESCRIPTOR);
    WriterSchema schema = given == null ? options.registry().protobuf(id) : schema(given);
    ProtobufFiles files = ProtobufFiles.of(schema);
    String name = options.get("message");
    int[] indexes = name == null ? FIRST : files.indexesOf(name);
    return writer(
        files.messageAt(indexes), columns, MessageIndexes.written(Frame.of(id), indexes));
  }

  private static WriterSchema schema(String descriptor) {
    return new WriterSchema(0, LANGUAGE, descriptor, Map.of());
  }

  private static RowWriter writer(MessageType message, Columns columns, byte[] head) {
    MessageWriter writer = WriterMaker.row(message, columns.declared(), "");
    ReversedOutput out = new ReversedOutput();
    return row -> {
      out.clear();
      writer.write(row, out);
      return out.take(head);
    };
  }

  /** Format PROTOBUF_NOSR: the message alone, of the schema in the option `descriptor`. */
  public static final class Plain implements SchemaFormat {
    private static final long serialVersionUID = 1L;

    @Override
    public RowReader reader(Columns columns, Options options) {
      MessageReader reader = new ReaderMaker().row(message(options), columns.declared(), "");
      return bytes -> row(reader, bytes, 0);
    }

    @Override
    public RowWriter writer(Columns columns, Options options) {
      return Protobuf.writer(message(options), columns, NO_HEAD);
    }

    private static MessageType message(Options options) {
      return ProtobufFiles.of(schema(options.get(DESCRIPTOR))).messageAt(FIRST);
    }
  }
}
