package org.apache.kafka.streams.kstream.internals;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.internals.graph.StreamStreamJoinNode;
import org.apache.kafka.streams.processor.TaskId;

/**
 * Makes stream-stream joins emit unmatched records as soon as their windows have closed.
 *
 * <p>To save iterators, a join looks for them only when time has passed the window of the earliest. What it
 * takes for the earliest is the last one that it checked, so that some are emitted late, by one window of
 * the join or more. Here it forgets that before each record. The other shortcut, by the wall clock, has a
 * setting. It is in the package of the joins because their clocks are package-private.
 */
public final class ImmediateJoins {
  private static final int SUB_TOPOLOGIES_MAX = 32;
  private final List<KStreamImplJoin.TimeTrackerSupplier> clocks = new ArrayList<>();

  /** A stream whose records a downstream join checks at once. */
  public <K, V> KStream<K, V> before(KStream<K, V> stream) {
    return stream.peek((key, value) -> forget());
  }

  /** Takes the clock of a join. */
  public <K, V> KStream<K, V> watch(KStream<K, V> joined) {
    var node = (StreamStreamJoinNode<?, ?, ?, ?>) ((AbstractStream<?, ?>) joined).graphNode;
    Object join = node.thisProcessorParameters().processorSupplier();
    try {
      Field clock = KStreamKStreamJoin.class.getDeclaredField("sharedTimeTrackerSupplier");
      clock.setAccessible(true);
      clocks.add((KStreamImplJoin.TimeTrackerSupplier) clock.get(join));
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException(error);
    }
    return joined;
  }

  /** Lets the next record of each join look for what has closed. */
  public void forget() {
    for (KStreamImplJoin.TimeTrackerSupplier clock : clocks) {
      for (int part = 0; part < SUB_TOPOLOGIES_MAX; part++) {
        clock.get(new TaskId(part, 0)).minTime = Long.MIN_VALUE / 2;
      }
    }
  }
}
