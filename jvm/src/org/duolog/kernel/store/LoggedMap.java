package org.duolog.kernel.store;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.streaming.MapState;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * A map of Spark's state that records its changes.
 *
 * <p>Threads: one at a time.
 */
final class LoggedMap implements MapState<byte[], byte[]> {
  private static final long serialVersionUID = 1L;

  private final MapState<byte[], byte[]> state;
  private final Changelog.Note note;

  LoggedMap(MapState<byte[], byte[]> state, Changelog.Note note) {
    this.state = state;
    this.note = note;
  }

  @Override
  public boolean exists() {
    return state.exists();
  }

  @Override
  public byte[] getValue(byte[] key) {
    return state.getValue(key);
  }

  @Override
  public boolean containsKey(byte[] key) {
    return state.containsKey(key);
  }

  @Override
  public void updateValue(byte[] key, byte[] value) {
    state.updateValue(key, value);
    note.of(number(), key, value);
  }

  @Override
  public void removeKey(byte[] key) {
    state.removeKey(key);
    note.of(number(), key, null);
  }

  @Override
  public void clear() {
    List<byte[]> keys = new ArrayList<>();
    for (Iterator<byte[]> all = state.keys(); all.hasNext(); ) {
      keys.add(all.next());
    }
    keys.forEach(this::removeKey);
  }

  @Override
  public Iterator<Tuple2<byte[], byte[]>> iterator() {
    return state.iterator();
  }

  @Override
  public Iterator<byte[]> keys() {
    return state.keys();
  }

  @Override
  public Iterator<byte[]> values() {
    return state.values();
  }

  /**
   * Returns the current number under which Spark keeps entries: that of a task, or of one of its
   * buckets.
   */
  private static long number() {
    return (Long) ImplicitGroupingKeyTracker.getImplicitKeyOption().get();
  }
}
