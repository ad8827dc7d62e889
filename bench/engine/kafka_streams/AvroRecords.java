import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;

/**
 * Values in Avro after the id of their schema, by Apache Avro's generic records.
 *
 * <p>Confluent's serializers are not available to this benchmark. This serde writes the same bytes (wire format,
 * version 0) and keeps what theirs keeps: a reader for each id, an id for each topic and schema. Decoders and encoders
 * are reused for each thread.
 */
final class AvroRecords {
  private static final int FRAME = 5;
  private static final ObjectMapper JSON = new ObjectMapper();

  private final HttpClient http = HttpClient.newHttpClient();
  private final String registry;
  private final Map<Integer, GenericDatumReader<GenericRecord>> readers = new ConcurrentHashMap<>();
  private final Map<String, Integer> ids = new ConcurrentHashMap<>();
  private final ThreadLocal<BinaryDecoder> decoder = new ThreadLocal<>();
  private final ThreadLocal<Output> output = ThreadLocal.withInitial(Output::new);

  /** The buffer and the encoder of a thread. */
  private static final class Output {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream(256);
    BinaryEncoder encoder;
  }

  /** The registry is at a URL. */
  AvroRecords(String registry) {
    this.registry = registry;
  }

  /** Returns a serde that writes with a schema and reads with that of the writer. */
  Serde<GenericRecord> of(Schema schema) {
    return of(schema, topic -> {});
  }

  /** As {@link #of(Schema)}; {@code whenRead} is called with the topic of each value that is read. */
  Serde<GenericRecord> of(Schema schema, Consumer<String> whenRead) {
    GenericDatumWriter<GenericRecord> writer = new GenericDatumWriter<>(schema);
    return Serdes.serdeFrom(
        (topic, value) -> value == null ? null : write(writer, id(topic, schema), value),
        (topic, bytes) -> {
          whenRead.accept(topic);
          return bytes == null ? null : read(bytes);
        });
  }

  private GenericRecord read(byte[] bytes) {
    ByteBuffer frame = ByteBuffer.wrap(bytes);
    if (frame.get() != 0) {
      throw new IllegalArgumentException("the bytes do not start with the id of a schema");
    }
    GenericDatumReader<GenericRecord> reader =
        readers.computeIfAbsent(frame.getInt(), id -> new GenericDatumReader<>(schema(id)));
    BinaryDecoder in =
        DecoderFactory.get().binaryDecoder(bytes, FRAME, bytes.length - FRAME, decoder.get());
    decoder.set(in);
    try {
      return reader.read(null, in);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private byte[] write(GenericDatumWriter<GenericRecord> writer, int id, GenericRecord value) {
    Output out = output.get();
    out.bytes.reset();
    out.bytes.write(0);
    for (int shift = 24; shift >= 0; shift -= 8) {
      out.bytes.write(id >>> shift);
    }
    out.encoder = EncoderFactory.get().binaryEncoder(out.bytes, out.encoder);
    try {
      writer.write(value, out.encoder);
      out.encoder.flush();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
    return out.bytes.toByteArray();
  }

  private Schema schema(int id) {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(registry + "/schemas/ids/" + id));
    return new Schema.Parser().parse(answer(request, "schema"));
  }

  private int id(String topic, Schema schema) {
    Integer known = ids.get(topic);
    if (known != null) {
      return known;
    }
    try {
      String body = JSON.writeValueAsString(Map.of("schema", schema.toString()));
      HttpRequest.Builder request =
          HttpRequest.newBuilder(URI.create(registry + "/subjects/" + topic + "-value/versions"))
              .header("Content-Type", "application/vnd.schemaregistry.v1+json")
              .POST(HttpRequest.BodyPublishers.ofString(body));
      int id = Integer.parseInt(answer(request, "id"));
      ids.put(topic, id);
      return id;
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private String answer(HttpRequest.Builder request, String field) {
    try {
      HttpResponse<String> found = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
      if (found.statusCode() != 200) {
        throw new IllegalStateException("the registry answers " + found.body());
      }
      return JSON.readTree(found.body()).get(field).asText();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(error);
    }
  }
}
