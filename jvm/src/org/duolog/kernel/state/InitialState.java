package org.duolog.kernel.state;

import java.io.Serializable;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.spec.Binding;
import org.duolog.kernel.spec.Spec;
import org.duolog.kernel.topology.InitialEntry;
import org.duolog.kernel.topology.Topology;

/**
 * The initial content of stores in a fresh checkpoint: entries of other checkpoints, as of a
 * commit.
 *
 * <pre>
 *   (old sub-topology, task), key -> value    becomes    (new sub-topology, task), key -> value
 * </pre>
 *
 * <p>If the number of tasks is unchanged, tasks and time buckets are kept; otherwise each entry
 * moves to the task of its key ({@link StateRepartitioner}). The sub-topology, the level and the
 * name of a store may change. Bytes are not checked: the engine has compared the layouts before.
 *
 * <p>Threads: the driver's.
 */
public final class InitialState {
  public static final Encoder<InitialEntry> ENTRY = Encoders.bean(InitialEntry.class);

  private final List<StoreCopy> stores;
  private final Grouping grouping;
  private final Binding binding;
  private final SparkSession spark;

  /**
   * A store to be copied.
   *
   * @param checkpoint Spark's directory of its checkpoint
   * @param operator number of the Spark operator that has it there
   * @param commit the micro-batch or epoch
   * @param store its name there
   * @param becomes its name here
   * @param subtopology the sub-topology that has it here
   * @param keyTypes types of its keys if the number of tasks changes; else empty
   * @param keys for a processor's store: compute the columns of the record key from its key as
   *     JSON, {@code k0}; else empty
   * @param keyBytes computes the bytes, BINARY, that determine the task of a key, {@code k0…}
   * @param form what the store has in addition to rows by key: a {@link StateRepartitioner.Form}
   * @param tasksBefore the number of tasks there
   */
  record StoreCopy(
      String checkpoint,
      int operator,
      long commit,
      String store,
      String becomes,
      int subtopology,
      List<String> keyTypes,
      List<String> keys,
      String keyBytes,
      String form,
      int tasksBefore) {
    StoreCopy {
      keyTypes = Spec.orEmpty(keyTypes);
      keys = Spec.orEmpty(keys);
    }
  }

  /** All of them; as JSON it is {@code {"stores": [...]}}. */
  record StoreCopies(List<StoreCopy> stores) {
    StoreCopies {
      stores = Spec.orEmpty(stores);
    }
  }

  public InitialState(List<StoreCopy> stores, Topology topology) {
    this.stores = stores;
    this.grouping = topology.grouping();
    this.binding = topology.binding();
    this.spark = topology.spark();
  }

  public static List<StoreCopy> parse(String json) {
    return json == null ? List.of() : Spec.parse(json, StoreCopies.class).stores();
  }

  /** Returns the entries of all stores of some sub-topologies; null if these start empty. */
  public Dataset<InitialEntry> of(Set<Integer> subtopologies) {
    return read(stores.stream().filter(kept -> subtopologies.contains(kept.subtopology())));
  }

  /** Returns the entries of all stores; null if there are none. */
  Dataset<InitialEntry> all() {
    return read(stores.stream());
  }

  private Dataset<InitialEntry> read(Stream<StoreCopy> stores) {
    Map<StoreCopy, Dataset<Row>> entries = new LinkedHashMap<>();
    Map<StoreCopy, Dataset<Row>> toOthers = new LinkedHashMap<>();
    stores.forEach(
        kept -> {
          Dataset<Row> of =
              StoreReader.entries(
                  spark, kept.checkpoint(), kept.operator(), kept.commit(), kept.store());
          entries.put(kept, of);
          if (kept.keyBytes() != null) {
            toOthers.put(kept, of);
          }
        });
    Map<String, TaskStateMigration> own = StateRepartitioner.tasksOwn(toOthers, grouping);
    return entries.entrySet().stream()
        .map(of -> read(of.getKey(), of.getValue(), own.get(of.getKey().becomes())))
        .reduce(Dataset::union)
        .orElse(null);
  }

  private Dataset<InitialEntry> read(StoreCopy kept, Dataset<Row> entries, TaskStateMigration own) {
    return own == null
        ? entries.map(new ToEntry(grouping, kept.subtopology(), kept.becomes()), ENTRY)
        : StateRepartitioner.read(kept, entries, own, grouping, binding, spark);
  }

  private record ToEntry(Grouping grouping, int subtopology, String store)
      implements MapFunction<Row, InitialEntry>, Serializable {
    private static final long serialVersionUID = 1L;

    @Override
    public InitialEntry call(Row row) {
      long number = row.getLong(0);
      int task = (int) (Grouping.owner(number) % grouping.tasks());
      long owner = grouping.of(subtopology, task);
      // Bits above those of a bucket are cut off here.
      long becomes = number < 0 ? grouping.bucket(owner, number) : owner;
      return new InitialEntry(owner, becomes, store, row.getAs(1), row.getAs(2));
    }
  }
}
