package org.duolog.kernel.functions.format;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.core.util.JsonRecyclerPools;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Serializable;
import java.io.UncheckedIOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads a JSON object, or one bare value, from the bytes of a record; what cannot be read is null.
 *
 * <p>Text after an object is ignored; a bare value or null must be the only content. Depth and the
 * length of numbers are limited, so that the cost of a record is bounded by its size. The rules are
 * those of {@code duolog.serde.json}, which reads the same bytes in Python.
 *
 * <p>Threads: one at a time. Called from code that Spark generates.
 */
public final class JsonReader implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final int NESTING_MAX = 200;
  private static final byte[] NULL = {'n', 'u', 'l', 'l'};
  static final JsonFactory FACTORY =
      JsonFactory.builder()
          .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
          // Jackson would take bytes that contain NULs for UTF-16.
          .disable(JsonFactory.Feature.CHARSET_DETECTION)
          // The keys of a MAP are arbitrary: they must be neither cached, nor rejected because of
          // hash collisions.
          .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
          .disable(JsonFactory.Feature.FAIL_ON_SYMBOL_HASH_OVERFLOW)
          // Jackson's default keeps one pool per thread. Spark's tasks have many threads, which
          // makes the look-up expensive.
          .recyclerPool(JsonRecyclerPools.newConcurrentDequePool())
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(NESTING_MAX)
                  .maxNumberLength(Integer.MAX_VALUE)
                  .maxStringLength(Integer.MAX_VALUE)
                  .maxNameLength(Integer.MAX_VALUE)
                  .build())
          .build();

  private final StructType schema;
  private final Dialect dialect;
  private transient JsonValue object;
  private transient JsonValue alone;
  private transient Records records;

  public JsonReader(StructType schema) {
    this(schema, Dialect.DUOLOG);
  }

  public JsonReader(StructType schema, Dialect dialect) {
    this.schema = schema;
    this.dialect = dialect;
  }

  /** The rules of {@link JsonValue}, or of {@link KsqlJson} without and with maps as entries. */
  public enum Dialect {
    DUOLOG,
    KSQLDB,
    KSQLDB_ENTRIES;

    private JsonValue of(DataType type) {
      return this == DUOLOG ? JsonValue.of(type) : KsqlJson.of(type, this == KSQLDB_ENTRIES);
    }
  }

  /** Returns the object's fields, or null. */
  public InternalRow read(byte[] bytes) {
    if (object == null) {
      object = dialect.of(schema);
    }
    if (!isText(bytes)) {
      return null;
    }
    if (records == null) {
      records = new Records();
    }
    return (InternalRow) records.read(bytes, afterMark(bytes), object);
  }

  /** Returns a bare value as the only field of a row, or null. */
  public InternalRow readAlone(byte[] bytes) {
    if (alone == null) {
      alone = dialect.of(schema.fields()[0].dataType());
    }
    Object value = isText(bytes) ? readAlone(bytes, alone) : null;
    return value == null ? null : new GenericInternalRow(new Object[] {value});
  }

  /** Returns why {@link #read} returns null for these bytes; null if it does not. */
  public UTF8String problem(byte[] bytes) {
    return JsonProblem.of(bytes, afterMark(bytes), dialect.of(schema), false);
  }

  /** Returns why {@link #readAlone} returns null for these bytes; null if it does not. */
  public UTF8String problemAlone(byte[] bytes) {
    JsonValue value = dialect.of(schema.fields()[0].dataType());
    return JsonProblem.of(bytes, afterMark(bytes), value, true);
  }

  /** Returns true if the bytes are JSON's null, with or without white space around it. */
  public static boolean isNull(byte[] bytes) {
    int at = afterSpace(bytes, afterMark(bytes));
    for (byte expected : NULL) {
      if (at == bytes.length || bytes[at++] != expected) {
        return false;
      }
    }
    return afterSpace(bytes, at) == bytes.length;
  }

  static boolean isText(byte[] bytes) {
    UTF8String text = UTF8String.fromBytes(bytes);
    return text.isFullAscii() || text.isValid();
  }

  private static Object readAlone(byte[] bytes, JsonValue reader) {
    int start = afterMark(bytes);
    try (JsonParser parser = FACTORY.createParser(bytes, start, bytes.length - start)) {
      JsonToken first = parser.nextToken();
      if (first == null || first == JsonToken.VALUE_NULL) {
        return null;
      }
      Object value = reader.read(parser);
      return parser.nextToken() == null ? value : null;
    } catch (IOException e) {
      return null;
    }
  }

  private static int afterMark(byte[] bytes) {
    boolean marked =
        bytes.length >= 3
            && bytes[0] == (byte) 0xEF
            && bytes[1] == (byte) 0xBB
            && bytes[2] == (byte) 0xBF;
    return marked ? 3 : 0;
  }

  private static int afterSpace(byte[] bytes, int from) {
    int at = from;
    while (at < bytes.length
        && (bytes[at] == ' ' || bytes[at] == '\t' || bytes[at] == '\n' || bytes[at] == '\r')) {
      at++;
    }
    return at;
  }

  /**
   * Feeds the objects of many records to one parser, because creating a parser costs as much as
   * using it. The parser sees one text, which continues when it requests the next object.
   */
  private static final class Records extends InputStream {
    /** The parser caches all names that it has seen. */
    private static final int OBJECTS_MAX = 1_000;

    private JsonParser parser;
    private int objects;
    private byte[] bytes;
    private int at;

    /** Returns the first value of the text; null if it is invalid or JSON's null. */
    Object read(byte[] text, int start, JsonValue reader) {
      bytes = text;
      at = start;
      boolean stoodBehind = false;
      if (parser == null) {
        parser = parserOf(this);
        objects = 0;
      }
      try {
        JsonToken first = parser.nextToken();
        if (first == null || first == JsonToken.VALUE_NULL) {
          return null;
        }
        Object value = reader.read(parser);
        parser.releaseBuffered(OutputStream.nullOutputStream());
        stoodBehind = ++objects < OBJECTS_MAX;
        return value;
      } catch (IOException e) {
        return null;
      } finally {
        if (!stoodBehind) {
          forget();
        }
      }
    }

    private static JsonParser parserOf(InputStream text) {
      try {
        return FACTORY.createParser(text);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    /** Discards the parser, whose position is unknown. */
    private void forget() {
      JsonParser last = parser;
      parser = null;
      try {
        last.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public int read() {
      return at == bytes.length ? -1 : bytes[at++] & 0xFF;
    }

    @Override
    public int read(byte[] into, int offset, int length) {
      int count = Math.min(length, bytes.length - at);
      if (count == 0) {
        return -1;
      }
      System.arraycopy(bytes, at, into, offset, count);
      at += count;
      return count;
    }
  }
}
