package org.duolog.kernel.task;

import java.io.Serializable;
import org.apache.spark.sql.streaming.MapState;

/**
 * What a sub-topology keeps between records, apart for each task: {@code KeyValueStore}, and
 * {@code BucketStore} for what must be scanned.
 *
 * <p>Built on the driver, where {@link #attach} gives it Spark's state too; opened on an executor for
 * one micro-batch or epoch. Threads: one at a time. Source: Kafka Streams StateStore.
 */
public interface Store extends Serializable {
  String name();

  void attach(MapState<byte[], byte[]> state);

  void open(NodeContext scope);

  /** What follows belongs to this task. */
  void select(long grouping);

  /** The task's micro-batch ends: hand on what was held back. Other stores may be looked up meanwhile. */
  default void handOn() {}

  /** All stores have handed on: write, and forget what was read. */
  void flush();
}
