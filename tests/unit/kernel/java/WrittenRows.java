package org.duolog.kernel.functions.format.schema;

import java.util.HexFormat;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;
import org.duolog.kernel.functions.format.protobuf.Protobuf;

/**
 * Writes values that no format reads, but Spark makes. Its arguments are the options of AVRO and of
 * PROTOBUF_NOSR. Prints the bytes as hexadecimal digits: of points in time in microseconds, then of
 * texts that are not UTF-8.
 */
public final class WrittenRows {
  private static final long[] MICROSECONDS = {-1001, -1000, -1, 0, 999, 1000};
  private static final byte[][] TEXTS = {
    {'a', (byte) 0xff, 'b'}, {(byte) 0xe2, (byte) 0x82}, {(byte) 0xc3, (byte) 0xa9}
  };

  private WrittenRows() {}

  public static void main(String[] options) {
    SchemaWriter times = new SchemaWriter(new Avro(), "A TIMESTAMP", options[0]);
    for (long time : MICROSECONDS) {
      print(times.write(new GenericInternalRow(new Object[] {time})));
    }
    SchemaWriter texts =
        new SchemaWriter(new Protobuf.Plain(), "S STRING, M MAP<STRING, STRING>", options[1]);
    for (byte[] bytes : TEXTS) {
      UTF8String text = UTF8String.fromBytes(bytes);
      GenericArrayData one = new GenericArrayData(new Object[] {text});
      Object[] values = {text, new ArrayBasedMapData(one, one)};
      print(texts.write(new GenericInternalRow(values)));
    }
  }

  private static void print(byte[] bytes) {
    System.out.println(HexFormat.of().formatHex(bytes));
  }
}
