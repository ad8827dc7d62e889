package org.duolog.kernel.state;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.Utils;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.record.StoredRow;
import org.duolog.kernel.spec.Binder;
import org.duolog.kernel.spec.Binding;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.task.Operands;
import org.duolog.kernel.topology.InitialEntry;

/**
 * Distributes the entries of a store to a new number of tasks: entries of a record key move to the
 * task of their key; entries of tasks themselves are merged from those of the earlier tasks
 * ({@link TaskStateMigration}).
 *
 * <p>The {@link Form} of a store determines where an entry has its record key. Threads: the
 * driver's.
 */
final class StateRepartitioner {
  /**
   * The content of a store's map in addition to plain rows by key. {@code engine/repartition.py}
   * knows the form of each store.
   */
  enum Form {
    /** Rows by key ({@code KeyValueStore}), and their pages ({@code PagedRows}). */
    ROWS,
    /** {@code ExpiringRows}. */
    EXPIRING,
    /** {@code VersionRows}. */
    VERSIONS,
    /** {@code WindowRows}, and the entries of {@code WindowIndex}. */
    WINDOWS,
    /**
     * The same, with rows that are emitted when their windows close, and stay after that
     * ({@code EmittedPosition}).
     */
    CLOSING,
    /** {@code StreamJoinRows}. */
    LISTS,
    /** {@code UnmatchedJoinRows}. */
    UNMATCHED,
    /** {@code TimeOrderedRecords}. */
    WAITING,
    /** {@code SubscriptionsNode}. */
    SUBSCRIPTIONS,
    /** {@code Counter}. */
    NUMBERS,
    /**
     * A store that processors access ({@code ProcessorStores}), whose keys contain the record key
     * ({@link ProcessorKeys}).
     */
    PROCESSOR,
    /**
     * Stream time and schedules of a processor ({@code ProcessorTask}); its last turn is dropped.
     */
    SCHEDULES;

    boolean hasTasksOwn() {
      return this != ROWS && this != SUBSCRIPTIONS;
    }

    boolean isOfProcessor() {
      return this == PROCESSOR || this == SCHEDULES;
    }

    /** Returns an SQL condition for the entries of tasks themselves. */
    String own() {
      return isOfProcessor() ? OF_PROCESSOR : OF_TASK;
    }

    static Form of(String name) {
      return name == null ? ROWS : valueOf(name.toUpperCase(java.util.Locale.ROOT));
    }
  }

  /**
   * An entry with a key of one byte belongs to a task itself; a record key has at least eight
   * bytes.
   */
  private static final String OF_TASK = "number >= 0 AND length(entry_key) = 1";

  /** Entries that processors keep per task are in its first bucket, where no others are. */
  private static final String OF_PROCESSOR =
      "number < 0 AND (number & " + Grouping.placeOfBucket(-1) + ") = 0";

  private static final int CHUNK = Long.BYTES;
  private static final int PAGE = Integer.BYTES + Long.BYTES + 1;
  private static final int PARTS_OF_WAITING = 5;
  private static final int KEY_OF_WAITING = 1;

  private StateRepartitioner() {}

  /** Reads the entries of tasks themselves from all stores, by name, in one job. */
  static Map<String, TaskStateMigration> tasksOwn(
      Map<InitialState.StoreCopy, Dataset<Row>> stores, Grouping grouping) {
    Map<String, TaskStateMigration> found = new HashMap<>();
    Dataset<Row> all = null;
    for (Map.Entry<InitialState.StoreCopy, Dataset<Row>> store : stores.entrySet()) {
      InitialState.StoreCopy kept = store.getKey();
      found.put(kept.becomes(), new TaskStateMigration(kept, grouping));
      if (Form.of(kept.form()).hasTasksOwn()) {
        Dataset<Row> own =
            store
                .getValue()
                .where(Form.of(kept.form()).own())
                .withColumn("store", functions.lit(kept.becomes()));
        all = all == null ? own : all.union(own);
      }
    }
    if (all != null) {
      for (Row row : all.collectAsList()) {
        found.get(row.getString(3)).add(row.getLong(0), row.getAs(1), row.getAs(2));
      }
    }
    return found;
  }

  static Dataset<InitialEntry> read(
      InitialState.StoreCopy kept,
      Dataset<Row> entries,
      TaskStateMigration own,
      Grouping grouping,
      Binding binding,
      SparkSession spark) {
    Dataset<InitialEntry> moved =
        entries
            .where("NOT (" + Form.of(kept.form()).own() + ")")
            .mapPartitions(new ToTaskOfKey(grouping, binding, kept), InitialState.ENTRY);
    if (own.counts()) {
      moved.mapPartitions(new Count(), InitialState.ENTRY).collectAsList().forEach(own::count);
    }
    List<InitialEntry> made = own.entries();
    return made.isEmpty() ? moved : moved.union(spark.createDataset(made, InitialState.ENTRY));
  }

  /** Returns the record key of an entry, as bytes of a row that starts with its columns. */
  static byte[] recordKey(Form form, boolean inBucket, byte[] key, byte[] value) {
    if (!inBucket) {
      return switch (key.length % Long.BYTES) {
        case 0 -> key;
        case 1 -> Arrays.copyOf(key, key.length - 1); // The time of a deletion.
        case PAGE % Long.BYTES -> Arrays.copyOf(key, key.length - PAGE);
        default -> throw new IllegalStateException("a key of " + key.length + " bytes is no row's");
      };
    }
    return switch (form) {
      case EXPIRING, WINDOWS, CLOSING, SUBSCRIPTIONS -> key;
      case LISTS -> Arrays.copyOf(key, key.length - CHUNK);
      case UNMATCHED -> Arrays.copyOf(key, key.length - Long.BYTES - CHUNK);
      case VERSIONS -> row(key, 2).getBinary(0);
      case WAITING -> StoredRow.row(value, PARTS_OF_WAITING).getBinary(KEY_OF_WAITING);
      case ROWS, NUMBERS, PROCESSOR, SCHEDULES ->
          throw new IllegalStateException("a store of " + form + " has buckets");
    };
  }

  private static UnsafeRow row(byte[] bytes, int columns) {
    UnsafeRow row = new UnsafeRow(columns);
    row.pointTo(bytes, bytes.length);
    return row;
  }

  /**
   * Returns the new number of a waiting record: records of several tasks are interleaved without
   * collisions.
   */
  static long numberOf(long number, int tasksBefore, int taskBefore) {
    return number * tasksBefore + taskBefore;
  }

  /**
   * Returns true if an entry is in the task that the bytes of its record key determine; true for a
   * null key.
   */
  static boolean isInItsTask(long number, byte[] keyBytes, int tasks) {
    return keyBytes != null
        && Grouping.owner(number) % tasks == Utils.toPositive(Utils.murmur2(keyBytes)) % tasks;
  }

  /** Moves entries. Threads: one at a time between open and close. */
  static final class ToTaskOfKey implements MapPartitionsFunction<Row, InitialEntry> {
    private static final long serialVersionUID = 1L;

    private final Grouping grouping;
    private final Program keyBytes;
    private final int keyColumns;
    private final int subtopology;
    private final int tasksBefore;
    private final Form form;
    private final String store;
    private final ProcessorKeys ofProcessor;
    private transient Operands operands;

    ToTaskOfKey(Grouping grouping, Binding binding, InitialState.StoreCopy kept) {
      StructType key = Binder.withTs(Binder.with(new StructType(), "k", kept.keyTypes()));
      this.grouping = grouping;
      this.keyBytes =
          binding.typed(
              "store " + kept.store(), key, List.of(kept.keyBytes()), List.of("BINARY"));
      this.keyColumns = kept.keyTypes().size();
      this.subtopology = kept.subtopology();
      this.tasksBefore = kept.tasksBefore();
      this.form = Form.of(kept.form());
      this.store = kept.becomes();
      this.ofProcessor = form == Form.PROCESSOR ? new ProcessorKeys(binding, kept) : null;
    }

    void open(int partition) {
      keyBytes.open(partition);
      operands = new Operands(keyColumns, 0, 0);
      if (ofProcessor != null) {
        ofProcessor.open(partition);
      }
    }

    void close() {
      keyBytes.close();
      if (ofProcessor != null) {
        ofProcessor.close();
      }
    }

    /** Returns the bytes that determine the task of an entry. */
    byte[] keyBytes(long number, byte[] key, byte[] value) {
      UnsafeRow of =
          ofProcessor == null
              ? row(recordKey(form, number < 0, key, value), keyColumns)
              : ofProcessor.of(key);
      return keyBytes.bytes(operands.of(of, null, null, 0));
    }

    /** Returns true if an entry with these bytes was in the correct task before. */
    boolean isInItsTask(long number, byte[] bytes) {
      return StateRepartitioner.isInItsTask(number, bytes, tasksBefore);
    }

    @Override
    public Iterator<InitialEntry> call(Iterator<Row> entries) {
      open(TaskContext.getPartitionId());
      TaskCompletionListener closing = ended -> close();
      TaskContext.get().addTaskCompletionListener(closing);
      return new Iterator<>() {
        @Override
        public boolean hasNext() {
          return entries.hasNext();
        }

        @Override
        public InitialEntry next() {
          return moved(entries.next());
        }
      };
    }

    private InitialEntry moved(Row entry) {
      long number = entry.getLong(0);
      byte[] key = entry.getAs(1);
      byte[] value = entry.getAs(2);
      byte[] bytes = keyBytes(number, key, value);
      if (ofProcessor != null && !isInItsTask(number, bytes)) {
        throw new IllegalStateException(
            "store " + store + " has rows whose keys are not those of records");
      }
      long owner = grouping.of(subtopology, grouping.taskOfKey(bytes, Long.MAX_VALUE));
      // Bits above those of a bucket are cut off here.
      long becomes = number < 0 ? grouping.bucket(owner, number) : owner;
      if (form == Form.WAITING) {
        UnsafeRow place = row(key.clone(), 2);
        int taskBefore = (int) (Grouping.owner(number) % tasksBefore);
        place.setLong(1, numberOf(place.getLong(1), tasksBefore, taskBefore));
        key = place.getBytes();
      }
      return new InitialEntry(owner, becomes, store, key, value);
    }
  }

  /** Counts rows and bytes of each task in buckets: one entry for each task, without the rows. */
  private static final class Count implements MapPartitionsFunction<InitialEntry, InitialEntry> {
    private static final long serialVersionUID = 1L;

    @Override
    public Iterator<InitialEntry> call(Iterator<InitialEntry> entries) {
      Map<Long, long[]> counted = new HashMap<>();
      while (entries.hasNext()) {
        InitialEntry entry = entries.next();
        if (entry.getNumber() < 0) {
          long[] of = counted.computeIfAbsent(entry.getGrouping(), unused -> new long[2]);
          of[0]++;
          of[1] += entry.getKey().length + entry.getValue().length - Long.BYTES;
        }
      }
      List<InitialEntry> found = new ArrayList<>();
      counted.forEach(
          (task, of) -> {
            byte[] numbers =
                ByteBuffer.allocate(2 * Long.BYTES).putLong(of[0]).putLong(of[1]).array();
            found.add(new InitialEntry(task, task, "", new byte[0], numbers));
          });
      return found.iterator();
    }
  }
}
