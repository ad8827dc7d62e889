package org.duolog.kernel.functions.format.schema;

import java.util.IdentityHashMap;
import java.util.Map;
import org.apache.avro.Schema;

/** Skips values of fields without a column. A type that contains itself is compiled once. */
final class AvroSkipping implements AvroReading {
  private AvroReading compiled;

  private AvroSkipping() {}

  @Override
  public Object read(AvroInput in) {
    return compiled.read(in);
  }

  static AvroReading of(Schema schema) {
    return of(schema, new IdentityHashMap<>());
  }

  private static AvroReading of(Schema schema, Map<Schema, AvroSkipping> around) {
    AvroSkipping known = around.get(schema);
    if (known == null) {
      known = new AvroSkipping();
      around.put(schema, known);
      known.compiled = made(schema, around);
    }
    return known.compiled == null ? known : known.compiled;
  }

  private static AvroReading made(Schema schema, Map<Schema, AvroSkipping> around) {
    return switch (schema.getType()) {
      case NULL -> in -> null;
      case BOOLEAN -> skipping(1);
      case FLOAT -> skipping(Float.BYTES);
      case DOUBLE -> skipping(Double.BYTES);
      case FIXED -> skipping(schema.getFixedSize());
      case INT, LONG, ENUM -> in -> in.number();
      case BYTES, STRING -> AvroSkipping::skipBytes;
      case ARRAY -> items(of(schema.getElementType(), around), false);
      case MAP -> items(of(schema.getValueType(), around), true);
      case UNION -> {
        AvroReading[] branches =
            schema.getTypes().stream()
                .map(branch -> of(branch, around))
                .toArray(AvroReading[]::new);
        yield in -> branches[in.choice(branches.length)].read(in);
      }
      case RECORD -> {
        AvroReading[] fields =
            schema.getFields().stream()
                .map(field -> of(field.schema(), around))
                .toArray(AvroReading[]::new);
        yield in -> all(fields, in);
      }
    };
  }

  private static AvroReading skipping(int size) {
    return in -> {
      in.skip(size);
      return null;
    };
  }

  private static Object skipBytes(AvroInput in) {
    in.skipBytes();
    return null;
  }

  private static Object all(AvroReading[] fields, AvroInput in) {
    for (AvroReading field : fields) {
      field.read(in);
    }
    return null;
  }

  private static AvroReading items(AvroReading item, boolean hasKeys) {
    return in -> {
      for (int left = in.block(); left > 0; left = in.block()) {
        for (; left > 0; left--) {
          int start = in.at;
          if (hasKeys) {
            in.skipBytes();
          }
          item.read(in);
          in.ensureUsed(start);
        }
      }
      return null;
    };
  }
}
