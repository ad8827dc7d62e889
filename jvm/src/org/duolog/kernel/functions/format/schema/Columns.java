package org.duolog.kernel.functions.format.schema;

import java.io.Serializable;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The columns of a row, with the types that formats know: an INT in Spark is an INT or a TIME,
 * which is written as {@link #TIME} here.
 *
 * @param declared the columns, with {@link #TIME}
 * @param spark the columns as Spark has them
 */
public record Columns(StructType declared, StructType spark) implements Serializable {
  /** Milliseconds of the day, an INT in rows. Nothing else has this type. */
  public static final DataType TIME = DataTypes.ShortType;

  /** Parses DDL in which TIME is SMALLINT. */
  static Columns of(String ddl) {
    StructType declared = StructType.fromDDL(ddl);
    return new Columns(declared, (StructType) inSpark(declared));
  }

  /** Returns the type of the only column. */
  public DataType single() {
    return declared.fields()[0].dataType();
  }

  private static DataType inSpark(DataType type) {
    if (type instanceof ShortType) {
      return DataTypes.IntegerType;
    } else if (type instanceof ArrayType array) {
      return new ArrayType(inSpark(array.elementType()), array.containsNull());
    } else if (type instanceof MapType map) {
      return new MapType(
          inSpark(map.keyType()), inSpark(map.valueType()), map.valueContainsNull());
    } else if (type instanceof StructType struct) {
      StructField[] fields = struct.fields().clone();
      for (int i = 0; i < fields.length; i++) {
        fields[i] =
            new StructField(
                fields[i].name(),
                inSpark(fields[i].dataType()),
                fields[i].nullable(),
                fields[i].metadata());
      }
      return new StructType(fields);
    }
    return type;
  }
}
