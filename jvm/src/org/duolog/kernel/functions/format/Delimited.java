package org.duolog.kernel.functions.format;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Format DELIMITED: columns as texts between delimiters, quoted if necessary; a line that cannot be
 * read is null.
 *
 * <p>A column without text is null. Threads: one at a time. Called from code that Spark generates.
 * {@code duolog.serde.delimited} reads and writes the same bytes in Python. Source: ksqlDB, and for
 * quotes RFC 4180 and the rules of the library that it writes with (Commons CSV).
 */
public final class Delimited implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final long MICROS = 1000;
  private static final char QUOTE = '"';
  private static final String SPACES = " \t\u000B\f\u001C\u001D\u001E\u001F";

  private final StructType schema;
  private final char delimiter;

  public Delimited(StructType schema, String delimiter) {
    this.schema = schema;
    this.delimiter = delimiter.charAt(0);
  }

  /** Reads the columns of one line; null if it is invalid. */
  public InternalRow read(byte[] bytes) {
    UTF8String text = UTF8String.fromBytes(bytes);
    if (!text.isFullAscii() && !text.isValid()) {
      return null;
    }
    List<String> texts = texts(text.toString());
    DataType[] types = types();
    if (texts == null || texts.size() != types.length) {
      return null;
    }
    Object[] values = new Object[types.length];
    try {
      for (int i = 0; i < types.length; i++) {
        values[i] = texts.get(i).isEmpty() ? null : value(texts.get(i), types[i]);
      }
    } catch (IllegalArgumentException e) {
      return null; // Includes NumberFormatException.
    }
    return new GenericInternalRow(values);
  }

  public byte[] write(InternalRow row) {
    StringBuilder out = new StringBuilder();
    DataType[] types = types();
    for (int i = 0; i < types.length; i++) {
      if (i > 0) {
        out.append(delimiter);
      }
      if (!row.isNullAt(i)) {
        append(text(row, i, types[i]), i == 0, out);
      }
    }
    return out.toString().getBytes(StandardCharsets.UTF_8);
  }

  private DataType[] types() {
    DataType[] types = new DataType[schema.size()];
    for (int i = 0; i < types.length; i++) {
      types[i] = schema.apply(i).dataType();
    }
    return types;
  }

  /**
   * Returns the texts of the first line that has any; null if there is none, or a quote is not
   * closed.
   */
  private List<String> texts(String line) {
    int at = 0;
    while (at < line.length() && isEnd(line.charAt(at))) {
      at++;
    }
    if (at == line.length()) {
      return null;
    }
    List<String> found = new ArrayList<>();
    StringBuilder text = new StringBuilder();
    while (true) {
      text.setLength(0);
      boolean quoted = at < line.length() && line.charAt(at) == QUOTE && delimiter != QUOTE;
      at = quoted ? quoted(line, at + 1, text) : plain(line, at, text);
      if (at < 0) {
        return null;
      }
      found.add(text.toString());
      if (at == line.length() || isEnd(line.charAt(at))) {
        return found;
      }
      at++;
    }
  }

  private int plain(String line, int from, StringBuilder text) {
    int at = from;
    while (at < line.length() && line.charAt(at) != delimiter && !isEnd(line.charAt(at))) {
      text.append(line.charAt(at++));
    }
    return at;
  }

  /**
   * Returns the end of a quoted text and the blanks after it, which is a delimiter or the end of
   * the line; else -1.
   */
  private int quoted(String line, int from, StringBuilder text) {
    int at = from;
    while (at < line.length()) {
      char found = line.charAt(at++);
      if (found != QUOTE) {
        text.append(found);
      } else if (at < line.length() && line.charAt(at) == QUOTE) {
        text.append(QUOTE);
        at++;
      } else {
        return afterSpace(line, at);
      }
    }
    return -1;
  }

  private int afterSpace(String line, int from) {
    int at = from;
    while (at < line.length()
        && line.charAt(at) != delimiter
        && SPACES.indexOf(line.charAt(at)) >= 0) {
      at++;
    }
    boolean ends = at == line.length() || line.charAt(at) == delimiter || isEnd(line.charAt(at));
    return ends ? at : -1;
  }

  private static boolean isEnd(char of) {
    return of == '\n' || of == '\r';
  }

  private static Object value(String text, DataType type) {
    if (type instanceof StringType) {
      return UTF8String.fromString(text);
    } else if (type instanceof IntegerType) {
      return (int) TextNumbers.integer(text, Integer.MIN_VALUE, Integer.MAX_VALUE);
    } else if (type instanceof LongType) {
      return TextNumbers.integer(text, Long.MIN_VALUE, Long.MAX_VALUE);
    } else if (type instanceof DoubleType) {
      return TextNumbers.real(text);
    } else if (type instanceof DecimalType decimal) {
      return TextNumbers.decimal(text, decimal);
    } else if (type instanceof BooleanType) {
      return "true".equalsIgnoreCase(text);
    } else if (type instanceof BinaryType) {
      if (text.length() % 4 != 0) {
        // Java's decoder accepts text without padding too.
        throw new IllegalArgumentException(text);
      }
      return Base64.getDecoder().decode(text);
    } else if (type instanceof DateType) {
      return (int) TextNumbers.integer(text, KsqlJson.DAYS_MIN, KsqlJson.DAYS_MAX);
    } else if (type instanceof TimestampType) {
      return TextNumbers.integer(text, JsonValue.TIMESTAMP_MS_MIN, JsonValue.TIMESTAMP_MS_MAX)
          * MICROS;
    }
    throw new IllegalStateException("DELIMITED cannot be read as " + type.sql());
  }

  private static String text(InternalRow row, int at, DataType type) {
    if (type instanceof StringType) {
      return row.getUTF8String(at).toString();
    } else if (type instanceof IntegerType || type instanceof DateType) {
      return Integer.toString(row.getInt(at));
    } else if (type instanceof LongType) {
      return Long.toString(row.getLong(at));
    } else if (type instanceof DoubleType) {
      return Double.toString(row.getDouble(at));
    } else if (type instanceof DecimalType decimal) {
      return row.getDecimal(at, decimal.precision(), decimal.scale())
          .toJavaBigDecimal()
          .toPlainString();
    } else if (type instanceof BooleanType) {
      return Boolean.toString(row.getBoolean(at));
    } else if (type instanceof BinaryType) {
      return Base64.getEncoder().encodeToString(row.getBinary(at));
    } else if (type instanceof TimestampType) {
      return Long.toString(Math.floorDiv(row.getLong(at), MICROS));
    }
    throw new IllegalStateException("DELIMITED cannot be written from " + type.sql());
  }

  private void append(String text, boolean isFirst, StringBuilder out) {
    if (needsQuotes(text, isFirst)) {
      out.append(QUOTE).append(text.replace("\"", "\"\"")).append(QUOTE);
    } else {
      out.append(text);
    }
  }

  /**
   * Returns true for the first text of a line, unless it starts with an ASCII letter or digit, and
   * for texts with special characters.
   */
  private boolean needsQuotes(String text, boolean isFirst) {
    if (text.isEmpty()) {
      return isFirst;
    }
    char first = text.charAt(0);
    if ((isFirst && !isWord(first)) || first <= '#' || text.charAt(text.length() - 1) <= ' ') {
      return true;
    }
    for (int i = 0; i < text.length(); i++) {
      char found = text.charAt(i);
      if (found == delimiter || found == QUOTE || isEnd(found)) {
        return true;
      }
    }
    return false;
  }

  private static boolean isWord(char of) {
    return (of >= '0' && of <= '9') || (of >= 'A' && of <= 'Z') || (of >= 'a' && of <= 'z');
  }
}
