package org.duolog.kernel;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.ImplicitGroupingKeyTracker;
import org.apache.spark.sql.streaming.ListState;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.QueryInfo;
import org.apache.spark.sql.streaming.StatefulProcessorHandle;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.ValueState;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

/**
 * State in memory for {@link Driver}: maps from bytes to bytes, separately for each grouping
 * number.
 *
 * <p>Implements what {@code Level} uses; other methods fail. Threads: not shared.
 */
public final class MemoryHandle implements StatefulProcessorHandle {
  private static final long serialVersionUID = 1L;

  private final HashMap<String, Bytes> states = new HashMap<>();
  private final HashMap<String, Map<Object, Map<ByteBuffer, byte[]>>> kept = new HashMap<>();

  /** Selects the task of the following accesses, as Spark does. */
  public void select(long grouping) {
    ImplicitGroupingKeyTracker.setImplicitKey(grouping);
  }

  /** Returns the number of entries of a state, in all tasks and buckets. */
  public int size(String name) {
    Bytes state = states.get(name);
    return state == null ? 0 : state.tasks.values().stream().mapToInt(Map::size).sum();
  }

  /** Saves the current state for {@link #rollBack}. */
  public void keep() {
    kept.clear();
    states.forEach((name, state) -> kept.put(name, copy(state.tasks)));
  }

  /** Restores the saved state. */
  public void rollBack() {
    states.forEach(
        (name, state) -> {
          state.tasks.clear();
          state.tasks.putAll(copy(kept.getOrDefault(name, Map.of())));
        });
  }

  private static Map<Object, Map<ByteBuffer, byte[]>> copy(
      Map<Object, Map<ByteBuffer, byte[]>> tasks) {
    Map<Object, Map<ByteBuffer, byte[]>> found = new HashMap<>();
    tasks.forEach((grouping, entries) -> found.put(grouping, new TreeMap<>(entries)));
    return found;
  }

  /** Receives an entry: the number under which it is stored, its key and its value. */
  public interface Visitor {
    void visit(long grouping, byte[] key, byte[] value);
  }

  /** Visits all entries of a state. */
  public void visit(String name, Visitor visitor) {
    Bytes state = states.get(name);
    if (state != null) {
      state.tasks.forEach(
          (grouping, entries) ->
              entries.forEach((key, value) -> visitor.visit((Long) grouping, key.array(), value)));
    }
  }

  @Override
  @SuppressWarnings("unchecked")
  public <K, V> MapState<K, V> getMapState(
      String name, Encoder<K> keys, Encoder<V> values, TTLConfig ttl) {
    return (MapState<K, V>) states.computeIfAbsent(name, unused -> new Bytes());
  }

  @Override
  public <K, V> MapState<K, V> getMapState(
      String name, TTLConfig ttl, Encoder<K> keys, Encoder<V> values) {
    return getMapState(name, keys, values, ttl);
  }

  @Override
  public <T> ValueState<T> getValueState(String name, Encoder<T> values, TTLConfig ttl) {
    throw new UnsupportedOperationException();
  }

  @Override
  public <T> ValueState<T> getValueState(String name, TTLConfig ttl, Encoder<T> values) {
    throw new UnsupportedOperationException();
  }

  @Override
  public <T> ListState<T> getListState(String name, Encoder<T> values, TTLConfig ttl) {
    throw new UnsupportedOperationException();
  }

  @Override
  public <T> ListState<T> getListState(String name, TTLConfig ttl, Encoder<T> values) {
    throw new UnsupportedOperationException();
  }

  @Override
  public QueryInfo getQueryInfo() {
    throw new UnsupportedOperationException();
  }

  @Override
  public void registerTimer(long expiresAtMs) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void deleteTimer(long expiresAtMs) {
    throw new UnsupportedOperationException();
  }

  @Override
  public scala.collection.Iterator<Object> listTimers() {
    throw new UnsupportedOperationException();
  }

  @Override
  public void deleteIfExists(String name) {
    states.remove(name);
  }

  private final class Bytes implements MapState<byte[], byte[]> {
    private static final long serialVersionUID = 1L;

    private final HashMap<Object, Map<ByteBuffer, byte[]>> tasks = new HashMap<>();

    private Map<ByteBuffer, byte[]> entries() {
      Object grouping = ImplicitGroupingKeyTracker.getImplicitKeyOption().get();
      return tasks.computeIfAbsent(grouping, unused -> new TreeMap<>());
    }

    @Override
    public boolean exists() {
      return !entries().isEmpty();
    }

    @Override
    public byte[] getValue(byte[] key) {
      byte[] value = entries().get(ByteBuffer.wrap(key));
      return value == null ? null : value.clone();
    }

    @Override
    public boolean containsKey(byte[] key) {
      return entries().containsKey(ByteBuffer.wrap(key));
    }

    @Override
    public void updateValue(byte[] key, byte[] value) {
      entries().put(ByteBuffer.wrap(key.clone()), value.clone());
    }

    @Override
    public void removeKey(byte[] key) {
      entries().remove(ByteBuffer.wrap(key));
    }

    @Override
    public void clear() {
      entries().clear();
    }

    @Override
    public scala.collection.Iterator<Tuple2<byte[], byte[]>> iterator() {
      return CollectionConverters.asScala(
          new TreeMap<>(entries())
              .entrySet().stream()
              .map(entry -> Tuple2.apply(entry.getKey().array(), entry.getValue()))
              .iterator());
    }

    @Override
    public scala.collection.Iterator<byte[]> keys() {
      return CollectionConverters.asScala(
          new ArrayList<>(entries().keySet()).stream().map(ByteBuffer::array).iterator());
    }

    @Override
    public scala.collection.Iterator<byte[]> values() {
      return CollectionConverters.asScala(new ArrayList<>(entries().values()).iterator());
    }
  }
}
