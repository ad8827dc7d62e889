package org.duolog.kernel.functions.format.schema;

import java.util.List;
import java.util.Locale;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.NameValidator;
import org.apache.avro.Schema;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.TimestampType;

/** Facts about Avro types that readers and writers share. */
final class AvroTypes {
  /** The names of the fields of a map's entries. */
  static final String KEY = "key";

  static final String VALUE = "value";
  private static final String ENTRY_MARK = "connect.internal.type";
  private static final String ENTRY = "MapEntry";
  private static final String ENTRY_NAME = "io.confluent.connect.avro.MapEntry";
  private static final String LOCAL = "local-";

  private AvroTypes() {}

  /** Parses a schema that a registry has accepted: names and defaults are not checked again. */
  static Schema parse(String text) {
    return new Schema.Parser(NameValidator.NO_VALIDATION).setValidateDefaults(false).parse(text);
  }

  static boolean isNull(Schema schema) {
    return schema.getType() == Schema.Type.NULL;
  }

  static boolean isNullable(Schema schema) {
    return schema.isUnion() && schema.getTypes().stream().anyMatch(AvroTypes::isNull);
  }

  /** Returns the only branch of a union besides null; any other type as it is. */
  static Schema withoutNull(Schema schema) {
    if (schema.isUnion()) {
      List<Schema> branches =
          schema.getTypes().stream().filter(branch -> !isNull(branch)).toList();
      if (branches.size() == 1) {
        return branches.get(0);
      }
    }
    return schema;
  }

  /** Returns the name of the field for a branch of a union, as Kafka Connect calls it. */
  static String branchName(Schema branch) {
    return branch.getName();
  }

  /** Returns the record of an array's entries if the array stands for a MAP; else null. */
  static Schema entryOf(Schema schema) {
    if (schema.getType() != Schema.Type.ARRAY
        || schema.getElementType().getType() != Schema.Type.RECORD) {
      return null;
    }
    Schema item = schema.getElementType();
    boolean isMarked =
        ENTRY.equals(item.getObjectProp(ENTRY_MARK)) || item.getFullName().equals(ENTRY_NAME);
    boolean isNamed =
        item.getFields().size() == 2 && item.getField(KEY) != null && item.getField(VALUE) != null;
    return isMarked && isNamed ? item : null;
  }

  /** Returns a decimal's logical type, or null. */
  static LogicalTypes.Decimal decimal(Schema schema) {
    return schema.getLogicalType() instanceof LogicalTypes.Decimal decimal ? decimal : null;
  }

  /**
   * Returns the units of the type in a millisecond, if it is a time of the column's kind; else 0. A
   * DATE has 1.
   */
  static int perMillisecond(Schema schema, DataType column) {
    LogicalType logical = schema.getLogicalType();
    String name = logical == null ? "" : logical.getName();
    if (column instanceof DateType) {
      return name.equals("date") ? 1 : 0;
    }
    String kind = column instanceof TimestampType ? "timestamp-" : "time-";
    String plain = name.startsWith(LOCAL) ? name.substring(LOCAL.length()) : name;
    if (!plain.startsWith(kind)) {
      return 0;
    }
    return switch (plain.substring(kind.length())) {
      case "millis" -> 1;
      case "micros" -> 1_000;
      case "nanos" -> 1_000_000;
      default -> 0;
    };
  }

  /** Returns true if values are milliseconds of a day, days, or a point in time. */
  static boolean isTime(DataType column) {
    return column instanceof DateType
        || column instanceof TimestampType
        || column.equals(Columns.TIME);
  }

  static SerializationException mismatch(String verb, Schema schema, DataType of, String path) {
    LogicalType logical = schema.getLogicalType();
    String kind = schema.getType().getName().toLowerCase(Locale.ROOT);
    return new SerializationException(
        String.format(
            "cannot %s the Avro type %s as column \"%s\" %s",
            verb,
            logical == null ? kind : logical.getName(),
            path,
            of.equals(Columns.TIME) ? "TIME" : of.sql()));
  }
}
