package org.duolog.kernel.functions.format.protobuf;

import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ShortType;

/** Types of columns for fields, and for people. */
final class ColumnTypes {
  private ColumnTypes() {}

  /** Returns the type that a number, text or enum has as a column. */
  static DataType of(FieldType field) {
    return switch (field.type) {
      case FieldType.DOUBLE, FieldType.FLOAT -> DataTypes.DoubleType;
      case FieldType.INT32, FieldType.SINT32, FieldType.SFIXED32 -> DataTypes.IntegerType;
      case FieldType.BOOL -> DataTypes.BooleanType;
      case FieldType.STRING, FieldType.ENUM -> DataTypes.StringType;
      case FieldType.BYTES -> DataTypes.BinaryType;
      default -> DataTypes.LongType;
    };
  }

  /** Returns the name that a plan has for a type. */
  static String told(DataType type) {
    if (type instanceof ShortType) {
      return "TIME";
    }
    return type instanceof BinaryType ? "BYTES" : type.sql().replace("BINARY", "BYTES");
  }
}
