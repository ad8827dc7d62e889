import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reads the committed offset right after commitAsync, and counts how often it is the old one. */
public class Committed {
  public static void main(String[] args) {
    int old = 0, times = Integer.parseInt(args[2]);
    Properties config = new Properties();
    config.put("bootstrap.servers", args[0]);
    config.put("group.id", "committed");
    config.put("enable.auto.commit", "false");
    TopicPartition partition = new TopicPartition(args[1], 0);
    try (var consumer = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      consumer.assign(List.of(partition));
      consumer.commitSync(Map.of(partition, new OffsetAndMetadata(0)));
      for (int offset = 1; offset <= times; offset++) {
        consumer.commitAsync(Map.of(partition, new OffsetAndMetadata(offset)), null);
        long found = consumer.committed(Set.of(partition), Duration.ofSeconds(20)).get(partition).offset();
        if (found != offset) old++;
      }
    }
    System.out.println("old " + old + " of " + times);
  }
}
