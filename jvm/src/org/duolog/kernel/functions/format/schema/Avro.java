package org.duolog.kernel.functions.format.schema;

import org.apache.avro.Schema;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;

/**
 * AVRO: Avro's binary form after the id of the writer's schema. Each writer's schema is compiled to
 * a reader once, see {@link AvroReading}; {@code duolog.serde.avro} has the same rules in Python.
 */
public final class Avro implements SchemaFormat {
  private static final long serialVersionUID = 1L;

  @Override
  public RowReader reader(Columns columns, Options options) {
    boolean isBare = options.isBare();
    AvroInput in = new AvroInput();
    SchemaRegistry registry = options.registry();
    BySchema<AvroReading> bySchema =
        new BySchema<>(
            registry::avro,
            registry::avro,
            registry::described,
            schema -> compiled(schema, columns, isBare));
    Object[] missing = new Object[columns.declared().length()];
    return bytes -> {
      AvroReading reading = bySchema.of(bytes);
      in.set(bytes, Frame.end(bytes));
      Object value = reading.read(in);
      if (isBare) {
        return new GenericInternalRow(new Object[] {value});
      }
      return value == null ? new GenericInternalRow(missing.clone()) : (InternalRow) value;
    };
  }

  private static AvroReading compiled(WriterSchema of, Columns columns, boolean isBare) {
    Schema root = AvroTypes.parse(of.text());
    if (isBare) {
      return AvroReading.of(root, columns.single(), columns.declared().fieldNames()[0]);
    }
    Schema.Type kind = AvroTypes.withoutNull(root).getType();
    // Of a union of several types, each is a column.
    if (kind != Schema.Type.RECORD && kind != Schema.Type.UNION) {
      throw new SerializationException(
          String.format(
              "the Avro schema is a %s, and columns need a record: set WRAP_SINGLE_VALUE = false if"
                  + " the value is a single column",
              root.getType().getName()));
    }
    return AvroReading.of(root, columns.declared(), "");
  }

  @Override
  public RowWriter writer(Columns columns, Options options) {
    boolean isBare = options.isBare();
    byte[] frame = Frame.of(options.schemaId());
    Schema schema = AvroTypes.parse(options.get("schema"));
    AvroOutput out = new AvroOutput();
    if (isBare) {
      AvroWriting item =
          AvroWriting.of(schema, columns.single(), columns.declared().fieldNames()[0]);
      return row -> {
        if (row.isNullAt(0)) {
          return null;
        }
        out.start(frame);
        item.write(row, 0, out);
        return out.bytes();
      };
    }
    AvroWriting whole = AvroWriting.of(schema, columns.declared(), "");
    GenericInternalRow outer = new GenericInternalRow(1);
    return row -> {
      out.start(frame);
      outer.update(0, row);
      whole.write(outer, 0, out);
      return out.bytes();
    };
  }
}
