package org.duolog.kernel.functions.format.schema;

import java.io.Serializable;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.duolog.kernel.functions.format.Reasons;

/**
 * Reads the bytes of one format; a reader throws a {@code SerializationException} for bad bytes.
 *
 * <p>Threads: one at a time. Called from code that Spark generates.
 */
public final class SchemaReader implements Serializable {
  private static final long serialVersionUID = 1L;

  private final SchemaFormat format;
  private final Columns columns;
  private final Options options;
  private transient RowReader reader;

  public SchemaReader(SchemaFormat format, String ddl, String options) {
    this.format = format;
    this.columns = Columns.of(ddl);
    this.options = Options.of(options);
  }

  /** Returns the columns; null if the bytes stand for a missing key or value. */
  public InternalRow read(byte[] bytes) {
    try {
      if (reader == null) {
        reader = made();
      }
      return reader.read(bytes);
    } catch (RegistryAwayException e) {
      throw e;
    } catch (SerializationException e) {
      throw problem(e.getMessage(), e);
    } catch (RuntimeException | StackOverflowError e) {
      // Damaged bytes cause exceptions of many kinds.
      throw problem("the bytes do not fit their schema: " + Reasons.of(e), e);
    }
  }

  private RowReader made() {
    try {
      return format.reader(columns, options);
    } catch (RegistryAwayException | SerializationException e) {
      throw e;
    } catch (RuntimeException | StackOverflowError e) {
      throw new SerializationException(
          "the schema to read with cannot be used: " + Reasons.of(e), e);
    }
  }

  /** The option {@code problem} names the part of the record, for {@code ProcessingLog}. */
  private SerializationException problem(String why, Throwable cause) {
    String what = options.get("problem");
    return new SerializationException(what == null ? why : what + ": " + why, cause);
  }

  /** Returns the type of rows. */
  public StructType type() {
    return columns.spark();
  }
}
