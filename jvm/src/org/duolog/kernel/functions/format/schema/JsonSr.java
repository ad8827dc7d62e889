package org.duolog.kernel.functions.format.schema;

import java.util.Arrays;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.duolog.kernel.functions.format.JsonReader;
import org.duolog.kernel.functions.format.KsqlJsonWriter;

/**
 * JSON_SR: ksqlDB's JSON after the id of a JSON Schema, which is not needed for reading. The option
 * {@code maps} is the form in which maps are written, "objects" or "entries".
 *
 * <p>{@code duolog.serde.json_sr} has the same rules in Python.
 */
public final class JsonSr implements SchemaFormat {
  private static final long serialVersionUID = 1L;

  @Override
  public RowReader reader(Columns columns, Options options) {
    JsonReader json = new JsonReader(columns.spark(), JsonReader.Dialect.KSQLDB_ENTRIES);
    boolean isBare = options.isBare();
    return bytes -> {
      byte[] payload = Arrays.copyOfRange(bytes, Frame.end(bytes), bytes.length);
      if (JsonReader.isNull(payload)) {
        return null;
      }
      InternalRow row = isBare ? json.readAlone(payload) : json.read(payload);
      if (row == null) {
        throw new SerializationException("the bytes are not JSON with these columns");
      }
      return row;
    };
  }

  @Override
  public RowWriter writer(Columns columns, Options options) {
    KsqlJsonWriter json =
        new KsqlJsonWriter(columns.spark(), !"objects".equals(options.get("maps")));
    boolean isBare = options.isBare();
    byte[] frame = Frame.of(options.schemaId());
    return row -> {
      byte[] payload = isBare ? json.writeAlone(row) : json.write(row);
      return payload == null ? null : Frame.before(payload, frame);
    };
  }
}
