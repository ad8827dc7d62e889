package org.duolog.kernel.functions.format.schema;

import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.apache.kafka.common.errors.SerializationException;
import org.duolog.kernel.functions.format.Reasons;

/**
 * A reader's preparation for each writer's schema, made on first use and kept: the schema of an id
 * never changes. If a schema does not fit the columns or cannot be parsed, that is kept too; an
 * unknown id is not.
 *
 * <p>Threads: one at a time.
 */
public final class BySchema<T> {
  private final IntFunction<WriterSchema> schemas;
  private final Function<String, WriterSchema> schemasByGuid;
  private final Function<Object, String> described;
  private final Maker<T> maker;
  private final Map<Object, T> made = new HashMap<>();
  private final Map<Object, String> refused = new HashMap<>();
  private int lastId;
  private T last;

  /** Prepares a reader; a {@code SerializationException} if the schema does not fit the columns. */
  @FunctionalInterface
  public interface Maker<T> {
    T make(WriterSchema schema);
  }

  /**
   * Prepares nothing yet.
   *
   * @param schemas returns the schema of an id, such as {@code registry::avro}
   * @param schemasByGuid returns the schema of a GUID
   * @param described returns what a schema is called in a message, such as {@code
   *     registry::described}; it gets an Integer or the text of a GUID
   */
  public BySchema(
      IntFunction<WriterSchema> schemas,
      Function<String, WriterSchema> schemasByGuid,
      Function<Object, String> described,
      Maker<T> maker) {
    this.schemas = schemas;
    this.schemasByGuid = schemasByGuid;
    this.described = described;
    this.maker = maker;
  }

  /** Prepares nothing yet. Records that name their schema by a GUID are refused. */
  public BySchema(IntFunction<WriterSchema> schemas, Maker<T> maker) {
    this(schemas, BySchema::refuse, id -> "the schema of id " + id, maker);
  }

  private static WriterSchema refuse(String guid) {
    throw new SerializationException("the format does not read schemas by their GUID: " + guid);
  }

  /** Returns what is prepared for the schema of bytes, whose payload is at {@link Frame#end}. */
  public T of(byte[] bytes) {
    if (Frame.hasGuid(bytes)) {
      String guid = Frame.guid(bytes);
      T found = made.get(guid);
      return found == null ? make(guid, () -> schemasByGuid.apply(guid)) : found;
    }
    return of(Frame.id(bytes));
  }

  /** Returns what is prepared for the schema of an id; most records have that of the one before. */
  public T of(int id) {
    if (last == null || lastId != id) {
      T found = made.get(id);
      last = found == null ? make(id, () -> schemas.apply(id)) : found;
      lastId = id;
    }
    return last;
  }

  private T make(Object key, Supplier<WriterSchema> schema) {
    String why = refused.get(key);
    if (why != null) {
      throw new SerializationException(why);
    }
    WriterSchema of = schema.get();
    try {
      T found = maker.make(of);
      made.put(key, found);
      return found;
    } catch (RegistryAwayException e) {
      throw e;
    } catch (SerializationException e) {
      refused.put(key, e.getMessage());
      throw e;
    } catch (RuntimeException | StackOverflowError e) {
      // A schema that cannot be parsed is not parsed again for each of its records.
      why = described.apply(key) + " cannot be used: " + Reasons.of(e);
      refused.put(key, why);
      throw new SerializationException(why, e);
    }
  }
}
