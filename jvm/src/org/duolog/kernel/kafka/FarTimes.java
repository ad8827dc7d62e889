package org.duolog.kernel.kafka;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.commons.lang3.ClassUtils;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.duolog.kernel.task.Timestamps;

/**
 * Lets Spark's Kafka source read records whose timestamps exceed Spark's range, such as
 * nanoseconds. Spark would fail, before any error handler sees the record.
 *
 * <pre>
 *   Kafka's consumer -> its timestamp becomes {@link Timestamps#END_MS} -> Spark's reader
 *     -> {@link Timestamps}: invalid
 * </pre>
 *
 * <p>Spark refuses interceptors in a source's options, so they are set when its partitions are
 * planned.
 *
 * <p>Threads: a consumer's. Created by Kafka's consumer, which needs a public constructor.
 */
public final class FarTimes implements ConsumerInterceptor<byte[], byte[]> {
  public FarTimes() {}

  /** Returns the stream of Spark's source, with partitions that are read in this way. */
  static MicroBatchStream reach(MicroBatchStream kafka) {
    Class<?>[] kinds = ClassUtils.getAllInterfaces(kafka.getClass()).toArray(Class<?>[]::new);
    return (MicroBatchStream)
        Proxy.newProxyInstance(
            FarTimes.class.getClassLoader(),
            kinds,
            (stream, method, arguments) -> {
              if (method.getName().equals("equals")) {
                return stream == arguments[0];
              }
              try {
                Object found = method.invoke(kafka, arguments);
                if (found instanceof PartitionReaderFactory readers) {
                  return new WakingReaders(readers);
                }
                return found instanceof InputPartition[] planned ? reach(planned) : found;
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  private static InputPartition[] reach(InputPartition[] planned) {
    InputPartition[] found = new InputPartition[planned.length];
    for (int i = 0; i < planned.length; i++) {
      KafkaBatchInputPartition of = (KafkaBatchInputPartition) planned[i];
      Map<String, Object> consumer = new HashMap<>(of.executorKafkaParams());
      consumer.put(ConsumerConfig.INTERCEPTOR_CLASSES_CONFIG, FarTimes.class.getName());
      found[i] =
          new KafkaBatchInputPartition(
              of.offsetRange(),
              consumer,
              of.pollTimeoutMs(),
              of.failOnDataLoss(),
              of.includeHeaders());
    }
    return found;
  }

  @Override
  public ConsumerRecords<byte[], byte[]> onConsume(ConsumerRecords<byte[], byte[]> records) {
    Map<TopicPartition, List<ConsumerRecord<byte[], byte[]>>> found = null;
    for (ConsumerRecord<byte[], byte[]> record : records) {
      if (isFar(record)) {
        found = new HashMap<>();
        break;
      }
    }
    if (found == null) {
      return records;
    }
    for (TopicPartition partition : records.partitions()) {
      List<ConsumerRecord<byte[], byte[]>> near = new ArrayList<>();
      records.records(partition).forEach(of -> near.add(isFar(of) ? near(of) : of));
      found.put(partition, near);
    }
    return new ConsumerRecords<>(found);
  }

  private static boolean isFar(ConsumerRecord<byte[], byte[]> record) {
    return record.timestamp() > Timestamps.END_MS || record.timestamp() < -Timestamps.END_MS;
  }

  /** Returns the timestamp if Spark can represent it, otherwise the nearest one. */
  static long near(long timestamp) {
    return Math.max(-Timestamps.END_MS, Math.min(Timestamps.END_MS, timestamp));
  }

  private static ConsumerRecord<byte[], byte[]> near(ConsumerRecord<byte[], byte[]> far) {
    return new ConsumerRecord<>(
        far.topic(),
        far.partition(),
        far.offset(),
        near(far.timestamp()),
        far.timestampType(),
        far.serializedKeySize(),
        far.serializedValueSize(),
        far.key(),
        far.value(),
        far.headers(),
        far.leaderEpoch());
  }

  @Override
  public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {}

  @Override
  public void close() {}

  @Override
  public void configure(Map<String, ?> options) {}
}
