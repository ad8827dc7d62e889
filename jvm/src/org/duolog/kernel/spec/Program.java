package org.duolog.kernel.spec;

import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.spark.SparkConf;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.CaseWhen;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.Divide;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.duolog.kernel.functions.CallNotes;
import org.duolog.kernel.functions.format.schema.RegistryAwayException;
import org.duolog.kernel.record.RecordException;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * A bound list of SQL expressions: row in, row out.
 *
 * <p>Bound on the driver by {@link Binder}, sent to the executors and compiled there in
 * {@link #open}. A Spark processor lives for one micro-batch only, so compiled code returns to a
 * pool of the JVM in {@link #close} and is taken from it the next time.
 *
 * <p>The row that {@link #apply} returns is overwritten by the next call; use a {@link #twin} to
 * hold two rows at once. Threads: one at a time between open and close.
 */
public final class Program implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final List<Class<? extends Expression>> PLAIN =
      List.of(
          BoundReference.class,
          Literal.class,
          Alias.class,
          If.class,
          CaseWhen.class,
          Coalesce.class,
          IsNull.class,
          IsNotNull.class,
          EqualTo.class,
          Divide.class,
          Cast.class);

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

  public Program twin() {
    return new Program(id, stages, types);
  }

  public DataType[] types() {
    return types;
  }

  public void open(int partition) {
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

  public void close() {
    if (compiled != null) {
      Pool.give(id, compiled);
      compiled = null;
    }
  }

  /**
   * Computes the row.
   *
   * @throws RecordException if an expression cannot be computed for this row
   * @throws RegistryAwayException if that needs a registry that does not answer
   */
  public UnsafeRow apply(InternalRow row) {
    InternalRow result = row;
    try {
      for (UnsafeProjection projection : compiled) {
        result = projection.apply(result);
      }
    } catch (RegistryAwayException e) {
      throw e;
    } catch (Exception e) { // Scala does not declare what expressions throw.
      throw new RecordException(e);
    }
    return compiled.length == 0 ? empty : (UnsafeRow) result;
  }

  /**
   * Computes the row; null if that fails. Used for a table's old side and for rows that are looked
   * up: a row that failed when it was new was reported then and not forwarded, so there is nothing
   * to retract. Calls that fail add no notes, for the same reason.
   */
  public UnsafeRow applyToOld(InternalRow row) {
    int notes = CallNotes.count();
    try {
      return apply(row);
    } catch (RecordException e) {
      return null;
    } finally {
      CallNotes.forgetAfter(notes);
    }
  }

  /** Returns true if some row may fail; only the simplest expressions are known not to. */
  public boolean mayFail() {
    for (Expression[] stage : stages) {
      for (Expression expression : stage) {
        if (mayFail(expression)) {
          return true;
        }
      }
    }
    return false;
  }

  private static boolean mayFail(Expression expression) {
    boolean plain = PLAIN.stream().anyMatch(kind -> kind.isInstance(expression));
    return !plain
        || CollectionConverters.asJava(expression.children()).stream().anyMatch(Program::mayFail);
  }

  /** Returns true if the first expression is true; null counts as false. */
  public boolean test(InternalRow row) {
    return holds(apply(row));
  }

  /** Returns true if a computed condition is true; null counts as false. */
  public static boolean holds(UnsafeRow result) {
    return result != null && !result.isNullAt(0) && result.getBoolean(0);
  }

  /** Returns the bytes of the first expression, or null. */
  public byte[] bytes(InternalRow row) {
    UnsafeRow result = apply(row);
    return result.isNullAt(0) ? null : result.getBinary(0);
  }

  /**
   * Expressions such as to_json write into buffers that they own, and twins share them. Through the
   * pool, the code compiled for twins may be used by two tasks at once, so each twin compiles a
   * copy.
   */
  private UnsafeProjection[] compile() {
    Expression[][] own = copied(stages);
    UnsafeProjection[] projections = new UnsafeProjection[own.length];
    for (int i = 0; i < own.length; i++) {
      projections[i] =
          UnsafeProjection.create(CollectionConverters.asScala(Arrays.asList(own[i])).toSeq());
    }
    return projections;
  }

  private static Expression[][] copied(Expression[][] stages) {
    SerializerInstance serializer = new JavaSerializer(new SparkConf(false)).newInstance();
    ClassTag<Expression[][]> type = ClassTag$.MODULE$.apply(Expression[][].class);
    ClassLoader loader = Program.class.getClassLoader();
    return serializer.deserialize(serializer.serialize(stages, type), loader, type);
  }

  /**
   * Compiled programs that no task uses at the moment; the least recently used ones are evicted.
   */
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
