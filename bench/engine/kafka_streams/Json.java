import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.ObjectWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;

/** Values as JSON, by Jackson. */
final class Json {
  private static final ObjectMapper JSON = new ObjectMapper();

  private Json() {}

  static <T> Serde<T> of(Class<T> type) {
    return of(type, topic -> {});
  }

  /** As {@link #of(Class)}; {@code whenRead} hears of the topic of each value that is read, a store's changelog too. */
  static <T> Serde<T> of(Class<T> type, java.util.function.Consumer<String> whenRead) {
    ObjectReader reader = JSON.readerFor(type);
    ObjectWriter writer = JSON.writerFor(type);
    return Serdes.serdeFrom(
        (topic, value) -> {
          try {
            return value == null ? null : writer.writeValueAsBytes(value);
          } catch (IOException error) {
            throw new UncheckedIOException(error);
          }
        },
        (topic, bytes) -> {
          whenRead.accept(topic);
          try {
            return bytes == null ? null : reader.readValue(bytes);
          } catch (IOException error) {
            throw new UncheckedIOException(error);
          }
        });
  }
}
