import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.streams.errors.StreamsException;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.processor.FailOnInvalidTimestamp;
import org.apache.kafka.streams.processor.LogAndSkipOnInvalidTimestamp;
import org.apache.kafka.streams.processor.TimestampExtractor;
import org.apache.kafka.streams.processor.UsePartitionTimeOnInvalidTimestamp;

/** A source's timestamps: an expression over the record, and what becomes of invalid ones. */
final class Extractor implements TimestampExtractor {
  private final JsonNode time;
  private final Columns columns;
  private final TimestampExtractor otherwise;

  private Extractor(JsonNode source) {
    time = source.get("timestamp");
    columns = new Columns(source);
    otherwise = otherwise(source.has("invalid_timestamp") ? source.get("invalid_timestamp").asText() : "skip");
  }

  static boolean isIn(JsonNode source) {
    return source.has("timestamp") || source.has("invalid_timestamp");
  }

  static Consumed<Object, Json.Row> consumed(JsonNode source) {
    Consumed<Object, Json.Row> consumed = Consumed.with(PlanBuilder.keys(source), Json.ROWS);
    return isIn(source) ? consumed.withTimestampExtractor(new Extractor(source)) : consumed;
  }

  @Override
  public long extract(ConsumerRecord<Object, Object> record, long partitionTime) {
    Long found = time == null ? (Long) record.timestamp() : computed(record);
    if (found == null && record.value() == null) {
      return record.timestamp();
    }
    return found != null && found >= 0 ? found : otherwise.extract(invalid(record), partitionTime);
  }

  private Long computed(ConsumerRecord<Object, Object> record) {
    Map<String, Object> beside = new HashMap<>();
    beside.put("topic", record.topic());
    beside.put("partition", (long) record.partition());
    beside.put("offset", record.offset());
    beside.put("headers", record.headers());
    Json.Row row = (Json.Row) record.value();
    return (Long)
        Expressions.evaluate(
            time, columns.scope(record.key(), row, record.timestamp(), beside));
  }

  /** Streams' own extractors look at the record's timestamp. */
  private static ConsumerRecord<Object, Object> invalid(ConsumerRecord<Object, Object> record) {
    return new ConsumerRecord<>(
        record.topic(),
        record.partition(),
        record.offset(),
        -1,
        record.timestampType(),
        0,
        0,
        record.key(),
        record.value(),
        record.headers(),
        record.leaderEpoch());
  }

  private static TimestampExtractor otherwise(String name) {
    return switch (name) {
      case "fail" -> new FailOnInvalidTimestamp();
      case "skip" -> new LogAndSkipOnInvalidTimestamp();
      case "partition_time" -> new UsePartitionTimeOnInvalidTimestamp();
      default -> throw new StreamsException("no extractor " + name);
    };
  }
}
