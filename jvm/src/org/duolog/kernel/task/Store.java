package org.duolog.kernel.task;

import java.io.Serializable;
import org.apache.spark.sql.streaming.MapState;

/**
 * State that a sub-topology keeps between records, separately for each task: {@code KeyValueStore},
 * or {@code BucketStore} for state that must be scanned.
 *
 * <p>Created on the driver, where {@link #attach} connects it to Spark's state; opened on an
 * executor for one micro-batch or epoch. Threads: one at a time. Source: Kafka Streams StateStore.
 */
public interface Store extends Serializable {
  String name();

  void attach(MapState<byte[], byte[]> state);

  void open(NodeContext scope);

  /** Selects the task of the following accesses. */
  void select(long grouping);

  /**
   * Forwards buffered updates at the end of the task's micro-batch. Other stores may be read
   * meanwhile.
   */
  default void forwardUpdates() {}

  /** Writes changes after all stores have forwarded their updates, and drops what was read. */
  void flush();
}
