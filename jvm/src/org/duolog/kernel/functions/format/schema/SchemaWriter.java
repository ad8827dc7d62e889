package org.duolog.kernel.functions.format.schema;

import java.io.Serializable;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.duolog.kernel.functions.format.Reasons;

/**
 * Writes rows in one format; what a writer throws for a row is a {@code SerializationException}.
 *
 * <p>Threads: one at a time. Called from code that Spark generates.
 */
public final class SchemaWriter implements Serializable {
  private static final long serialVersionUID = 1L;

  private final SchemaFormat format;
  private final Columns columns;
  private final Options options;
  private transient RowWriter writer;

  public SchemaWriter(SchemaFormat format, String ddl, String options) {
    this.format = format;
    this.columns = Columns.of(ddl);
    this.options = Options.of(options);
  }

  /** Returns the bytes; null for a record without key or value. */
  public byte[] write(InternalRow row) {
    try {
      if (writer == null) {
        writer = made();
      }
      return writer.write(row);
    } catch (RegistryAwayException | SerializationException e) {
      throw e;
    } catch (RuntimeException | StackOverflowError e) {
      throw new SerializationException(
          "a value does not fit its schema: " + Reasons.of(e), e);
    }
  }

  private RowWriter made() {
    try {
      return format.writer(columns, options);
    } catch (RegistryAwayException | SerializationException e) {
      throw e;
    } catch (RuntimeException | StackOverflowError e) {
      String id = options.get("id");
      throw new SerializationException(
          String.format(
              "the schema%s to write with cannot be used: %s",
              id == null ? "" : " of id " + id, Reasons.of(e)),
          e);
    }
  }
}
