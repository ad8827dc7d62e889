package org.duolog.kernel.functions.format.schema;

import org.apache.avro.Schema;
import org.apache.spark.unsafe.types.UTF8String;

/** Reads values of plain Avro types as a STRING. */
final class AvroTexts {
  private static final UTF8String TRUE = UTF8String.fromString("true");
  private static final UTF8String FALSE = UTF8String.fromString("false");

  private AvroTexts() {}

  /** Returns null if values of the type have no text. */
  static AvroReading of(Schema schema) {
    return switch (schema.getType()) {
      case STRING -> AvroInput::text;
      case ENUM -> {
        UTF8String[] symbols =
            schema.getEnumSymbols().stream().map(UTF8String::fromString).toArray(UTF8String[]::new);
        yield in -> symbols[in.choice(symbols.length)];
      }
      case BOOLEAN -> in -> in.bool() ? TRUE : FALSE;
      case INT -> in -> UTF8String.fromString(Integer.toString(in.integer()));
      case LONG -> in -> UTF8String.fromString(Long.toString(in.number()));
      case FLOAT -> in -> UTF8String.fromString(Double.toString(in.real()));
      case DOUBLE -> in -> UTF8String.fromString(Double.toString(in.doubleReal()));
      default -> null;
    };
  }
}
