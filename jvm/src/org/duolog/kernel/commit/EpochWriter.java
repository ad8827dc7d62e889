package org.duolog.kernel.commit;

import org.apache.kafka.clients.producer.KafkaProducer;

/**
 * What a task writes an epoch's results with, where they are to be there once: the producer of its JVM, in whose
 * transaction they are. Threads: any.
 */
public interface EpochWriter {
  /** A producer that may be asked, before {@link #begin}, and not written with. */
  KafkaProducer<byte[], byte[]> producer();

  /** Begins the transaction of an epoch, unless another task of it has; call it before the first write. */
  void begin(long number);

  /** What a failure of the producer means: another owner, a timeout, or what it says. */
  RuntimeException failure(RuntimeException failed);
}
