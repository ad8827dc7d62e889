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
 * What stores of a fresh checkpoint begin with: entries that other checkpoints have, as a commit has left
 * them there.
 *
 * <pre>  (old sub-topology, task), key -> value      becomes      (new sub-topology, task), key -> value
 * </pre>
 *
 * <p>Where there are to be as many tasks, these stay tasks, and buckets of time stay buckets; where there are to be others, each
 * entry goes to the task of its key ({@link StateRepartitioner}). The sub-topology and the level of a store may be others than
 * before, and so may its name. Bytes are not looked at: that two stores have one layout is known before.
 *
 * <p>Threads: the driver's.
 */
public final class InitialState {
  public static final Encoder<InitialEntry> ENTRY = Encoders.bean(InitialEntry.class);

  private final List<Kept> stores;
  private final Grouping grouping;
  private final Binding binding;
  private final SparkSession spark;

  /**
   * A store that is kept.
   *
   * @param checkpoint where it is: Spark's directory
   * @param operator of Spark, that has it there
   * @param commit the micro-batch or epoch
   * @param store its name there
   * @param becomes its name here
   * @param subtopology that has it here
   * @param keyTypes of its keys, where the number of tasks is another one here; else empty
   * @param keys of a processor's store: over its key as JSON, {@code k0}, the columns of the record key; else empty
   * @param keyBytes over such a key, {@code k0…}: what chooses its task, BINARY
   * @param form what lies there beside rows by key: an {@link StateRepartitioner.Form}
   * @param tasksBefore how many tasks it has there
   */
  record Kept(
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
    Kept {
      keyTypes = Spec.orEmpty(keyTypes);
      keys = Spec.orEmpty(keys);
    }
  }

  /** All of them; as JSON it is {@code {"stores": [...]}}. */
  record KeptStores(List<Kept> stores) {
    KeptStores {
      stores = Spec.orEmpty(stores);
    }
  }

  public InitialState(List<Kept> stores, Topology topology) {
    this.stores = stores;
    this.grouping = topology.grouping();
    this.binding = topology.binding();
    this.spark = topology.spark();
  }

  public static List<Kept> parse(String json) {
    return json == null ? List.of() : Spec.parse(json, KeptStores.class).stores();
  }

  /** The entries of all stores of some sub-topologies; null where these begin empty. */
  public Dataset<InitialEntry> of(Set<Integer> subtopologies) {
    return read(stores.stream().filter(kept -> subtopologies.contains(kept.subtopology())));
  }

  /** The entries of all stores; null where there are none. */
  Dataset<InitialEntry> all() {
    return read(stores.stream());
  }

  private Dataset<InitialEntry> read(Stream<Kept> stores) {
    Map<Kept, Dataset<Row>> entries = new LinkedHashMap<>();
    Map<Kept, Dataset<Row>> toOthers = new LinkedHashMap<>();
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

  private Dataset<InitialEntry> read(Kept kept, Dataset<Row> entries, TaskStateMigration own) {
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
      // What is above a bucket's own bits is cut off there.
      long becomes = number < 0 ? grouping.bucket(owner, number) : owner;
      return new InitialEntry(owner, becomes, store, row.getAs(1), row.getAs(2));
    }
  }
}
