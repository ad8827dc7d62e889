import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.processor.api.ContextualFixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;

/**
 * Metadata of a record (timestamp, topic, partition, offset, headers), which the DSL's lambdas do not see:
 * processors read and write it.
 */
final class RecordMetadata {
  private RecordMetadata() {}

  static KStream<Object, Json.Row> project(
      KStream<Object, Json.Row> stream, Columns columns, JsonNode values) {
    return processed(
        stream,
        at ->
            at.record().value() == null
                ? at.record()
                : at.record()
                    .withValue(
                        new Json.Row(
                            Columns.all(values, at.scope(columns)), at.record().timestamp())));
  }

  static KStream<Object, Json.Row> writeTime(
      KStream<Object, Json.Row> stream, Columns columns, JsonNode time) {
    return processed(
        stream,
        at -> {
          long now = (Long) Expressions.evaluate(time, at.scope(columns));
          Json.Row row = at.record().value();
          return at.record()
              .withTimestamp(now)
              .withValue(row == null ? null : new Json.Row(row.values(), now));
        });
  }

  static KStream<Object, Json.Row> writeHeaders(
      KStream<Object, Json.Row> stream, Columns columns, JsonNode node) {
    return processed(
        stream,
        at -> {
          Headers headers =
              node.get("clears").asBoolean()
                  ? new RecordHeaders()
                  : new RecordHeaders(at.record().headers());
          node.get("removed").forEach(name -> headers.remove(name.asText()));
          List<Object> values = Columns.all(node.get("values"), at.scope(columns));
          for (int i = 0; i < values.size(); i++) {
            String name = node.get("written").get(i).asText();
            headers.remove(name);
            headers.add(name, bytes(values.get(i)));
          }
          return at.record().withHeaders(headers);
        });
  }

  /** The last header of a name, or null. */
  static byte[] header(Map<String, Object> beside, String name) {
    Header last = ((Headers) beside.get("headers")).lastHeader(name);
    return last == null ? null : last.value();
  }

  private static byte[] bytes(Object value) {
    return value == null ? null : ((String) value).getBytes(StandardCharsets.UTF_8);
  }

  /** A record and its metadata. */
  private record At(FixedKeyRecord<Object, Json.Row> record, Map<String, Object> beside) {
    Expressions.Scope scope(Columns columns) {
      return columns.scope(record.key(), record.value(), record.timestamp(), beside);
    }
  }

  private static KStream<Object, Json.Row> processed(
      KStream<Object, Json.Row> stream, Function<At, FixedKeyRecord<Object, Json.Row>> step) {
    return stream.processValues(
        () ->
            new ContextualFixedKeyProcessor<Object, Json.Row, Json.Row>() {
              @Override
              public void process(FixedKeyRecord<Object, Json.Row> record) {
                Map<String, Object> beside = new HashMap<>();
                context()
                    .recordMetadata()
                    .ifPresent(
                        place -> {
                          beside.put("topic", place.topic());
                          beside.put("partition", (long) place.partition());
                          beside.put("offset", place.offset());
                        });
                beside.put("headers", record.headers());
                context().forward(step.apply(new At(record, beside)));
              }
            });
  }
}
