package org.apache.kafka.streams;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.streams.processor.internals.StreamTask;

/**
 * TopologyTestDriver, with several records between two commits.
 *
 * <p>The driver itself commits after each record, and a record cache that is emptied after each
 * record shows nothing of what it does. Here records wait in their topics' queues, the task takes
 * them as it does in a running application (smallest timestamp first), and the commit comes when
 * it is asked for. It is in the driver's package because the task is package-private.
 */
public final class MicroBatchDriver implements AutoCloseable {
  private final TopologyTestDriver driver;
  private final StreamTask task;
  private final Runnable beforeEach;

  /** @param beforeEach run before each record that the task takes */
  public MicroBatchDriver(Topology topology, Properties config, Runnable beforeEach) {
    this.beforeEach = beforeEach;
    driver = new TopologyTestDriver(topology, config);
    task = driver.task;
  }

  public TopologyTestDriver driver() {
    return driver;
  }

  /** Puts a record at the end of its topic; a row of a global table is there at once. */
  public void add(String topic, long time, byte[] key, byte[] value, Headers headers) {
    Object partition =
        call("getInputTopicOrPatternPartition", new Class<?>[] {String.class}, topic);
    if (partition == null) {
      call(
          "pipeRecord",
          new Class<?>[] {String.class, long.class, byte[].class, byte[].class, Headers.class},
          topic,
          time,
          key,
          value,
          headers);
      return;
    }
    call(
        "enqueueTaskRecord",
        new Class<?>[] {
          String.class,
          TopicPartition.class,
          long.class,
          byte[].class,
          byte[].class,
          Headers.class
        },
        topic,
        partition,
        time,
        key,
        value,
        headers);
  }

  /** Processes what waits and commits, until nothing waits and no cache holds anything back. */
  public void run() {
    while (process()) {
      Map<?, ?> offsets = task.prepareCommit(true);
      call("commit", new Class<?>[] {Map.class}, offsets);
      task.postCommit(true);
      call("captureOutputsAndReEnqueueInternalResults", new Class<?>[] {});
    }
  }

  @Override
  public void close() {
    driver.close();
  }

  private boolean process() {
    boolean worked = false;
    task.resumePollingForPartitionsWithAvailableSpace();
    task.updateLags();
    while (task.hasRecordsQueued() && task.isProcessable(0)) {
      beforeEach.run();
      worked |= task.process(0);
      call("captureOutputsAndReEnqueueInternalResults", new Class<?>[] {});
    }
    return worked;
  }

  private Object call(String name, Class<?>[] types, Object... arguments) {
    try {
      Method method = TopologyTestDriver.class.getDeclaredMethod(name, types);
      method.setAccessible(true);
      return method.invoke(driver, arguments);
    } catch (InvocationTargetException error) {
      throw new IllegalStateException(error.getCause());
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException(error);
    }
  }
}
