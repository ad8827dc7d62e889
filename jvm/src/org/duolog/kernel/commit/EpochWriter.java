package org.duolog.kernel.commit;

import org.apache.kafka.clients.producer.KafkaProducer;

/**
 * Writes the exactly-once results of an epoch for a task: the producer of its JVM, in whose
 * transaction they are. Threads: any.
 */
public interface EpochWriter {
  /** Returns a producer for queries before {@link #begin}; it must not be used for writing. */
  KafkaProducer<byte[], byte[]> producer();

  /**
   * Starts the transaction of an epoch, unless another task has; call it before the first write.
   */
  void begin(long number);

  /** Returns the cause of a producer's failure: another owner, a timeout, or the failure itself. */
  RuntimeException failure(RuntimeException failed);
}
