package org.duolog.kernel.functions.format.schema;

import java.util.HashMap;
import java.util.Map;
import java.util.function.IntFunction;
import org.apache.kafka.common.errors.SerializationException;

/**
 * What a reader has prepared for each writer's schema, made on first use and kept: the schema of an
 * id never changes. If a schema does not fit the columns, that is kept too; an unknown id is not.
 *
 * <p>Threads: one at a time.
 */
public final class BySchema<T> {
  private final IntFunction<WriterSchema> schemas;
  private final Maker<T> maker;
  private final Map<Integer, T> made = new HashMap<>();
  private final Map<Integer, String> refused = new HashMap<>();
  private int lastId;
  private T last;

  /** Prepares a reader; a {@code SerializationException} if the schema does not fit the columns. */
  @FunctionalInterface
  public interface Maker<T> {
    T make(WriterSchema schema);
  }

  /**
   * @param schemas returns the schema of an id, such as {@code registry::avro}
   */
  public BySchema(IntFunction<WriterSchema> schemas, Maker<T> maker) {
    this.schemas = schemas;
    this.maker = maker;
  }

  /** Returns what is prepared for the schema of an id; most records have that of the one before. */
  public T of(int id) {
    if (last == null || lastId != id) {
      T found = made.get(id);
      last = found == null ? make(id) : found;
      lastId = id;
    }
    return last;
  }

  private T make(int id) {
    String why = refused.get(id);
    if (why != null) {
      throw new SerializationException(why);
    }
    WriterSchema schema = schemas.apply(id);
    try {
      T found = maker.make(schema);
      made.put(id, found);
      return found;
    } catch (SerializationException e) {
      refused.put(id, e.getMessage());
      throw e;
    }
  }
}
