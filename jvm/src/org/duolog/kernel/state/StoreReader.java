package org.duolog.kernel.state;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.duolog.kernel.python.PythonFunction;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.record.StoredRow;
import org.duolog.kernel.record.SuppressedChange;
import org.duolog.kernel.spec.Binder;
import org.duolog.kernel.spec.Binding;
import org.duolog.kernel.spec.Closing;
import org.duolog.kernel.spec.Operator;
import org.duolog.kernel.spec.ProcessorOperators;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.spec.Spec;
import org.duolog.kernel.store.window.EmittedPosition;
import org.duolog.kernel.store.window.MigratedEmittedPosition;
import org.duolog.kernel.task.Operands;

/**
 * Reads the rows of a table's store from the entries of its state: those that a lookup would find,
 * as JSON.
 *
 * <pre>
 *   number by which Spark groups an entry, key bytes, value bytes
 *     ->  key, row, timestamp; or nothing
 * </pre>
 *
 * <p>Other entries in a store's map are recognized by the length of their key (the length of a
 * row's key is a multiple of eight) and by their number (that of a task, or of a bucket). Expired
 * rows are skipped even if they are still stored, so the stream times of the tasks are read first.
 *
 * <p>Threads: one at a time between open and close.
 */
public final class StoreReader implements Serializable, MapPartitionsFunction<Row, Row> {
  private static final long serialVersionUID = 1L;
  private static final byte STREAM_TIME = 0;
  private static final byte TOLD_BEFORE = 4;
  private static final String OF_TIME = "entry_key IN (X'00', X'04')";
  private static final List<String> BYTES = List.of("BINARY");
  private static final StructType RESULT =
      new StructType()
          .add("key", DataTypes.BinaryType)
          .add("value", DataTypes.BinaryType)
          .add("ts", DataTypes.LongType)
          .add("task", DataTypes.IntegerType);

  private final Layout layout;
  private final int valueColumns;
  private final Program values;
  private final Program texts;
  private final Program orderBytes;
  private final Map<Long, Expiry> expiries = new HashMap<>();
  private final Map<Long, MigratedEmittedPosition> migratedPositions = new HashMap<>();
  private transient SuppressedChange held;
  private transient Operands keys;
  private transient Operands kept;
  private transient Operands shown;

  /**
   * The store to read, and the expressions over its rows.
   *
   * @param values computed from key, {@code v0…} as stored, and {@code ts}
   * @param keyText computed from the key and these values, as is {@code valueText}: JSON as BINARY
   * @param condition computed from the same columns; null for all rows
   */
  public record StoreQuery(
      String store,
      List<String> values,
      List<String> valueTypes,
      String keyText,
      String valueText,
      String condition) {
    public StoreQuery {
      values = Spec.orEmpty(values);
      valueTypes = Spec.orEmpty(valueTypes);
    }
  }

  /**
   * A row of a store; key and value are JSON.
   *
   * @param task its task, as {@link Grouping#owner} counts them
   */
  public record StoreRow(byte[] key, byte[] value, long ts, int task) {}

  /**
   * The layout of an operator's rows.
   *
   * @param closing for rows that expire with their windows; else null
   * @param onClose the bytes of a key that order results, if rows do not expire with the record
   *     that emits them; else null
   * @param ttlMs for rows that expire if they are not updated for so long; else null
   * @param heldBack true if they are suppressed changes
   */
  private record Layout(
      List<String> keyTypes,
      List<String> keptTypes,
      boolean inBuckets,
      Closing closing,
      String onClose,
      Long ttlMs,
      boolean heldBack)
      implements Serializable {
    private static final long serialVersionUID = 1L;

    static Layout of(Operator of) {
      if (of instanceof Operator.Table table) {
        return byKey(of, table.valueTypes(), table.ttlMs());
      }
      if (of instanceof Operator.Fold fold) {
        return byKey(of, fold.accTypes(), fold.ttlMs());
      }
      if (of instanceof Operator.WindowedFold fold) {
        List<String> keys = Closing.keyTypes(of);
        return new Layout(
            keys, fold.accTypes(), true, fold.closing(), fold.onClose(), null, false);
      }
      if (of instanceof Operator.Suppress held) {
        List<String> keys = held.untilClose() ? of.keyTypes() : Closing.keyTypes(of);
        return new Layout(keys, of.valueTypes(), true, null, null, null, true);
      }
      if (of instanceof ProcessorOperators.Process) {
        return new Layout(BYTES, BYTES, true, null, null, null, false);
      }
      throw new IllegalArgumentException("a " + of.kind() + " has no rows of a table");
    }

    private static Layout byKey(Operator of, List<String> keptTypes, Long ttlMs) {
      return new Layout(of.keyTypes(), keptTypes, false, null, null, ttlMs, false);
    }

    boolean isOfTime() {
      return closing != null || ttlMs != null;
    }

    /** Returns when rows have expired, given the stored time of a task. */
    Expiry expiry(ByteBuffer time) {
      long streamTime = time.getLong();
      long over = closing == null ? streamTime : closing.expiredUntil(streamTime);
      return new Expiry(
          over, onClose == null ? Long.MAX_VALUE : new EmittedPosition(time).before());
    }

    boolean isExpired(UnsafeRow key, long ts, long goneBy) {
      return closing != null
          ? key.getLong(keyTypes.size() - 1) <= goneBy
          : ttlMs != null && goneBy - ts >= ttlMs;
    }
  }

  /**
   * The limits below which rows of a task have expired: by the end of their windows, or by stream
   * time.
   *
   * @param told rows after this position have not been emitted, so they have not expired, except
   *     for those that earlier tasks have emitted ({@link MigratedEmittedPosition})
   */
  private record Expiry(long over, long told) implements Serializable {
    private static final long serialVersionUID = 1L;

    long by(long toldBefore) {
      return Math.min(over, Math.max(told, toldBefore));
    }
  }

  public StoreReader(Spec spec, SparkSession spark, StoreQuery look) {
    Operator of =
        spec.nodes().values().stream()
            .filter(node -> writes(node, look.store()))
            .findFirst()
            .orElseThrow(() -> new IllegalArgumentException("no table writes " + look.store()));
    PythonFunction.define(spec);
    Binding binding = new Binding(spec, new Binder(spark, PythonFunction.versions(spec)));
    String owner = "store " + look.store();
    layout = Layout.of(of);
    valueColumns = look.valueTypes().size();
    StructType key = Binder.with(new StructType(), "k", layout.keyTypes);
    orderBytes =
        layout.onClose == null
            ? null
            : binding.bind(owner, Binder.withTs(key), List.of(layout.onClose));
    StructType inStore = Binder.withTs(Binder.with(key, "v", layout.keptTypes));
    values = binding.typed(owner, inStore, look.values(), look.valueTypes());
    String condition = Binding.orElse(look.condition(), "true");
    texts =
        binding.bind(
            owner,
            Binder.withTs(Binder.with(key, "v", look.valueTypes())),
            List.of(look.keyText(), look.valueText(), condition));
  }

  /**
   * Returns true if a node writes a store whose rows can be read: of a table, or of a processor.
   */
  private static boolean writes(Operator of, String store) {
    return of instanceof Operator.TableStore table
        ? table.store().equals(store)
        : of instanceof ProcessorOperators.Process process && process.stores().contains(store);
  }

  /**
   * Returns the rows of a store in a checkpoint as of a commit: key and value as JSON, ts, and the
   * number of the task.
   *
   * @param operator the level that has the store
   * @param commit the number of the micro-batch or epoch
   * @param store its name there, which differs from that in the spec until an upgrade has committed
   */
  public static Dataset<Row> read(
      SparkSession spark,
      String checkpoint,
      int operator,
      long commit,
      String store,
      String specJson,
      String lookJson) {
    StoreQuery look = Spec.parse(lookJson, StoreQuery.class);
    StoreReader reader = new StoreReader(Spec.parse(specJson), spark, look);
    Dataset<Row> entries = entries(spark, checkpoint, operator, commit, store);
    if (reader.layout.isOfTime()) {
      entries
          .where(OF_TIME)
          .collectAsList()
          .forEach(row -> reader.sees(row.getLong(0), row.getAs(1), row.getAs(2)));
    }
    return entries.mapPartitions(reader, Encoders.row(RESULT));
  }

  /**
   * Returns all entries of a store unchanged: the number under which Spark keeps each, its key and
   * its value.
   */
  static Dataset<Row> entries(
      SparkSession spark, String checkpoint, int operator, long commit, String store) {
    Dataset<Row> state =
        spark
            .read()
            .format("statestore")
            .option("operatorId", operator)
            .option("batchId", commit)
            .option("stateVarName", store)
            .load(checkpoint);
    return state.selectExpr(
        inside(state, "key") + " AS number",
        inside(state, "user_map_key") + " AS entry_key",
        inside(state, "user_map_value") + " AS entry_value");
  }

  /**
   * Returns the only field of a column of the state: its name depends on what the level was grouped
   * by.
   */
  private static String inside(Dataset<Row> state, String column) {
    StructType type = (StructType) state.schema().apply(column).dataType();
    return column + ".`" + type.fieldNames()[0] + "`";
  }

  /**
   * Takes note of an entry with a task's time; to be called with all entries before rows are read.
   */
  public void sees(long number, byte[] key, byte[] value) {
    if (!layout.isOfTime() || number < 0 || key.length != 1) {
      return;
    }
    if (key[0] == STREAM_TIME) {
      expiries.put(Grouping.owner(number), layout.expiry(ByteBuffer.wrap(value)));
    } else if (key[0] == TOLD_BEFORE && layout.onClose != null) {
      migratedPositions.put(
          Grouping.owner(number), new MigratedEmittedPosition(ByteBuffer.wrap(value)));
    }
  }

  public void open(int partition) {
    values.open(partition);
    texts.open(partition);
    if (orderBytes != null) {
      orderBytes.open(partition);
    }
    held = new SuppressedChange(valueColumns);
    keys = new Operands(layout.keyTypes.size(), 0, 0);
    kept = new Operands(layout.keyTypes.size(), layout.keptTypes.size(), 0);
    shown = new Operands(layout.keyTypes.size(), valueColumns, 0);
  }

  public void close() {
    values.close();
    texts.close();
    if (orderBytes != null) {
      orderBytes.close();
    }
    expiries.clear();
    migratedPositions.clear();
  }

  /** Returns the row of an entry; null if it is not a row, has expired, or is not wanted. */
  public StoreRow row(long number, byte[] keyBytes, byte[] valueBytes) {
    if (keyBytes.length % Long.BYTES != 0 || layout.inBuckets != number < 0) {
      return null;
    }
    UnsafeRow key = new UnsafeRow(layout.keyTypes.size());
    key.pointTo(keyBytes, keyBytes.length);
    long ts = StoredRow.ts(valueBytes);
    long task = Grouping.owner(number);
    if (isExpired(task, key, ts)) {
      return null;
    }
    UnsafeRow value = kept(valueBytes);
    // A row that cannot be computed counts as deleted, as in lookups.
    UnsafeRow row = value == null ? null : values.applyToOld(kept.of(key, value, null, ts));
    return row == null ? null : found(shown.of(key, row, null, ts), ts, (int) task);
  }

  private boolean isExpired(long task, UnsafeRow key, long ts) {
    Expiry of = expiries.get(task);
    MigratedEmittedPosition before = migratedPositions.get(task);
    long told =
        before == null
            ? Long.MIN_VALUE
            : before.before(orderBytes.bytes(keys.of(key, null, null, ts)));
    return of != null && layout.isExpired(key, ts, of.by(told));
  }

  private UnsafeRow kept(byte[] bytes) {
    return layout.heldBack
        ? held.value(StoredRow.row(bytes, SuppressedChange.COLUMNS))
        : StoredRow.row(bytes, layout.keptTypes.size());
  }

  private StoreRow found(InternalRow row, long ts, int task) {
    UnsafeRow found = texts.apply(row);
    boolean isAskedFor = !found.isNullAt(2) && found.getBoolean(2);
    byte[] key = found.isNullAt(0) ? null : found.getBinary(0);
    return isAskedFor ? new StoreRow(key, found.getBinary(1), ts, task) : null;
  }

  @Override
  public Iterator<Row> call(Iterator<Row> entries) {
    open(TaskContext.getPartitionId());
    List<Row> rows = new ArrayList<>();
    while (entries.hasNext()) {
      Row entry = entries.next();
      StoreRow found = row(entry.getLong(0), entry.getAs(1), entry.getAs(2));
      if (found != null) {
        rows.add(RowFactory.create(found.key(), found.value(), found.ts(), found.task()));
      }
    }
    close();
    return rows.iterator();
  }
}
