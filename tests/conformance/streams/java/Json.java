import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.TimeWindow;

/** Rows as JSON: keys are arrays, values are {@link Row}s. An absent row has no bytes. */
final class Json {
  static final ObjectMapper MAPPER = new ObjectMapper();
  static final Serde<Object> KEYS = serde(Json::cells, Json::list);

  /** Keys with bounds, as Streams' windowed serdes read them. */
  static final Serde<Object> WINDOWED = serde(Json::cells, Json::windowed);

  static final Serde<Row> ROWS =
      serde(
          row -> List.of(row.time(), row.values()),
          node -> new Row(list(node.get(1)), node.get(0).asLong()));

  /** A row and the timestamp of the record that brought it. */
  record Row(List<Object> values, long time) {}

  /** For the internal topics of foreign-key joins after a mapValues or a filter. */
  public static final class RowSerde extends Serdes.WrapperSerde<Row> {
    public RowSerde() {
      super(ROWS.serializer(), ROWS.deserializer());
    }
  }

  private Json() {}

  /** The columns of a key: of a windowed one also the bounds of its window. */
  @SuppressWarnings("unchecked")
  static List<Object> cells(Object key) {
    if (key instanceof Windowed<?> windowed) {
      List<Object> cells = new ArrayList<>((List<Object>) windowed.key());
      cells.add(windowed.window().start());
      cells.add(windowed.window().end());
      return cells;
    }
    return (List<Object>) key;
  }

  static List<Object> list(JsonNode array) {
    List<Object> values = new ArrayList<>();
    array.forEach(value -> values.add(plain(value)));
    return values;
  }

  private static Object windowed(JsonNode array) {
    return windowed(list(array));
  }

  /** The key that ends with the bounds of a window. */
  static Windowed<Object> windowed(List<Object> cells) {
    int inner = cells.size() - 2;
    TimeWindow window = new TimeWindow((long) cells.get(inner), (long) cells.get(inner + 1));
    return new Windowed<Object>(new ArrayList<>(cells.subList(0, inner)), window);
  }

  static Object plain(JsonNode value) {
    if (value.isNull()) {
      return null;
    }
    if (value.isArray()) {
      return list(value);
    }
    if (value.isIntegralNumber()) {
      return value.asLong();
    }
    if (value.isNumber()) {
      return value.asDouble();
    }
    return value.isBoolean() ? (Object) value.asBoolean() : value.asText();
  }

  private static <T> Serde<T> serde(Function<T, Object> toJson, Function<JsonNode, T> fromJson) {
    return Serdes.serdeFrom(
        (topic, data) -> data == null ? null : bytes(toJson.apply(data)),
        (topic, data) -> data == null ? null : fromJson.apply(read(data)));
  }

  private static byte[] bytes(Object value) {
    try {
      return MAPPER.writeValueAsBytes(value);
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
  }

  private static JsonNode read(byte[] data) {
    try {
      return MAPPER.readTree(data);
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
  }
}
