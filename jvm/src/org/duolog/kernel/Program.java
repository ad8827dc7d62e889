package org.duolog.kernel;

import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A bound list of SQL expressions: row in, row out.
 *
 * <p>Bound on the driver by {@link Binder}, sent to the executors, compiled there on {@link #open}.
 * A processor lives for one micro-batch only, so what was compiled goes back to a pool of the JVM on
 * {@link #close} and is taken from there the next time.
 *
 * <p>The row that {@link #apply} returns is overwritten by the next call: whoever needs two rows at
 * once takes a {@link #twin}. Threads: one at a time between open and close.
 */
final class Program implements Serializable {
  private static final long serialVersionUID = 1L;

  private final String id;
  private final Expression[][] stages;
  private final DataType[] types;
  private transient UnsafeProjection[] compiled;
  private transient UnsafeRow empty;

  Program(Expression[][] stages, DataType[] types) {
    this(UUID.randomUUID().toString(), stages, types);
  }

  private Program(String id, Expression[][] stages, DataType[] types) {
    this.id = id;
    this.stages = stages;
    this.types = types;
  }

  Program twin() {
    return new Program(id, stages, types);
  }

  DataType[] types() {
    return types;
  }

  void open(int partition) {
    compiled = Pool.take(id);
    if (compiled == null) {
      compiled = compile();
    }
    for (UnsafeProjection projection : compiled) {
      projection.initialize(partition);
    }
    empty = new UnsafeRow(0);
    empty.pointTo(new byte[0], 0);
  }

  void close() {
    if (compiled != null) {
      Pool.give(id, compiled);
      compiled = null;
    }
  }

  UnsafeRow apply(InternalRow row) {
    InternalRow result = row;
    for (UnsafeProjection projection : compiled) {
      result = projection.apply(result);
    }
    return compiled.length == 0 ? empty : (UnsafeRow) result;
  }

  /** Whether the first expression holds; null counts as false. */
  boolean test(InternalRow row) {
    UnsafeRow result = apply(row);
    return !result.isNullAt(0) && result.getBoolean(0);
  }

  /** The bytes of the first expression, or null. */
  byte[] bytes(InternalRow row) {
    UnsafeRow result = apply(row);
    return result.isNullAt(0) ? null : result.getBinary(0);
  }

  private UnsafeProjection[] compile() {
    UnsafeProjection[] projections = new UnsafeProjection[stages.length];
    for (int i = 0; i < stages.length; i++) {
      projections[i] =
          UnsafeProjection.create(
              CollectionConverters.asScala(Arrays.asList(stages[i])).toSeq());
    }
    return projections;
  }

  /** Compiled programs that no task uses now; the programs used longest ago are forgotten. */
  private static final class Pool {
    private static final int PROGRAMS_MAX = 4096;
    private static final int IDLE_MAX = 64;
    private static final Map<String, Deque<UnsafeProjection[]>> IDLE =
        new LinkedHashMap<>(16, 0.75f, true) {
          private static final long serialVersionUID = 1L;

          @Override
          protected boolean removeEldestEntry(Map.Entry<String, Deque<UnsafeProjection[]>> eldest) {
            return size() > PROGRAMS_MAX;
          }
        };

    static synchronized UnsafeProjection[] take(String id) {
      Deque<UnsafeProjection[]> idle = IDLE.get(id);
      return idle == null ? null : idle.poll();
    }

    static synchronized void give(String id, UnsafeProjection[] compiled) {
      Deque<UnsafeProjection[]> idle = IDLE.computeIfAbsent(id, unused -> new ArrayDeque<>());
      if (idle.size() < IDLE_MAX) {
        idle.push(compiled);
      }
    }
  }
}
