package org.duolog.kernel.functions.format.schema;

import java.util.Map;
import org.apache.kafka.common.errors.SerializationException;

/**
 * Asks {@link BySchema} for schemas by the names in its arguments: ids, or {@code guid} and a
 * character. Prints for each {@code schema} if the registry is asked, {@code make} if a reader is
 * made, and the result, or the message. The schema 13 does not fit the columns; 14 cannot be
 * parsed.
 */
public final class SchemaCacheSteps {
  private static final int GUID_LENGTH = 17;

  private SchemaCacheSteps() {}

  public static void main(String[] names) {
    BySchema<String> schemas =
        new BySchema<>(
            id -> schema(Integer.toString(id)),
            SchemaCacheSteps::schema,
            key -> "schema " + key,
            SchemaCacheSteps::made);
    for (String name : names) {
      try {
        System.out.println(of(schemas, name));
      } catch (SerializationException e) {
        System.out.println(e.getMessage());
      }
    }
  }

  private static String of(BySchema<String> schemas, String name) {
    if (name.startsWith("guid")) {
      byte[] bytes = new byte[GUID_LENGTH];
      bytes[0] = 1;
      bytes[GUID_LENGTH - 1] = (byte) name.charAt(name.length() - 1);
      return schemas.of(bytes);
    }
    return schemas.of(Integer.parseInt(name));
  }

  private static WriterSchema schema(String name) {
    System.out.println("schema");
    return new WriterSchema(0, "AVRO", name, Map.of());
  }

  private static String made(WriterSchema schema) {
    System.out.println("make");
    if (schema.text().equals("13")) {
      throw new SerializationException("it does not fit");
    }
    if (schema.text().equals("14")) {
      throw new NullPointerException("Cannot invoke \"Schema.getType()\"");
    }
    return schema.text();
  }
}
