package org.duolog.kernel.state;

import java.io.ByteArrayOutputStream;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.TaskCompletionListener;
import org.duolog.kernel.python.ProcessorStores;
import org.duolog.kernel.python.PythonFunction;
import org.duolog.kernel.spec.Binder;
import org.duolog.kernel.spec.Binding;
import org.duolog.kernel.spec.Program;
import org.duolog.kernel.spec.Spec;
import org.duolog.kernel.task.Operands;
import org.duolog.kernel.topology.Topology;

/**
 * Finds the record key in the key of a processor's row, for a new number of tasks.
 *
 * <pre>
 *   ["ann",3] as Python has written it  ->  {"c0":"ann","c1":3}  ->  the record key's columns
 * </pre>
 *
 * <p>User code may choose any key, so each row is checked: is it in the task of the record key that
 * it contains? Threads: one at a time between open and close.
 */
public final class ProcessorKeys implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final List<String> GIVEN = List.of("BINARY");

  private final Program columns;
  private transient Operands operands;
  private transient UnsafeRowWriter writer;

  ProcessorKeys(Binding binding, InitialState.StoreCopy kept) {
    columns =
        binding.typed(
            "store " + kept.store(),
            Binder.withTs(Binder.with(new StructType(), "k", GIVEN)),
            kept.keys(),
            kept.keyTypes());
  }

  void open(int partition) {
    columns.open(partition);
    operands = new Operands(GIVEN.size(), 0, 0);
    writer = new UnsafeRowWriter(GIVEN.size());
  }

  void close() {
    columns.close();
  }

  /** Returns the record key; valid until the next call. */
  UnsafeRow of(byte[] entryKey) {
    writer.reset();
    writer.zeroOutNullBytes();
    writer.write(0, named(written(entryKey)));
    return columns.apply(operands.of(writer.getRow(), null, null, 0));
  }

  /** Returns the key as its processor has written it. */
  static byte[] written(byte[] entryKey) {
    UnsafeRow row = new UnsafeRow(ProcessorStores.COLUMNS);
    row.pointTo(entryKey, entryKey.length);
    return row.getBinary(0);
  }

  /**
   * Renders the elements of a JSON array as the fields of an object; their own text is unchanged.
   */
  static byte[] named(byte[] array) {
    ByteArrayOutputStream named = new ByteArrayOutputStream(array.length + 16);
    int column = 0;
    int depth = 0;
    boolean inText = false;
    for (int at = 0; at < array.length; at++) {
      byte one = array[at];
      if (inText) {
        named.write(one);
        if (one == '\\') {
          named.write(array[++at]);
        }
        inText = one != '"';
        continue;
      }
      inText = one == '"';
      boolean opens = one == '[' || one == '{';
      boolean closes = one == ']' || one == '}';
      depth += opens ? 1 : closes ? -1 : 0;
      if (depth == 1 && (opens && at == 0 || one == ',')) {
        named.writeBytes(
            ((at == 0 ? "{" : ",") + "\"c" + column++ + "\":").getBytes(StandardCharsets.US_ASCII));
      } else {
        named.write(depth == 0 && closes ? '}' : one);
      }
    }
    return named.toByteArray();
  }

  /**
   * Finds rows of processors that are not in the task of the record key that they contain: the
   * first one of each store, as the store's name and the key in JSON; null if there is none.
   *
   * @param keptJson as passed to {@code Kernel.apply}
   */
  public static List<String> misplaced(SparkSession spark, String specJson, String keptJson) {
    Spec spec = Spec.parse(specJson);
    Topology topology = new Topology(spec, spark);
    PythonFunction.define(spec);
    Binding binding = new Binding(spec, new Binder(spark, PythonFunction.versions(spec)));
    List<String> found = new ArrayList<>();
    for (InitialState.StoreCopy kept : InitialState.parse(keptJson)) {
      if (StateRepartitioner.Form.of(kept.form()) == StateRepartitioner.Form.PROCESSOR) {
        Dataset<Row> entries =
            StoreReader.entries(
                    spark, kept.checkpoint(), kept.operator(), kept.commit(), kept.store())
                .where("NOT (" + StateRepartitioner.Form.PROCESSOR.own() + ")");
        StateRepartitioner.ToTaskOfKey to =
            new StateRepartitioner.ToTaskOfKey(topology.grouping(), binding, kept);
        entries
            .mapPartitions(new Misplaced(to), Encoders.STRING())
            .limit(1)
            .collectAsList()
            .forEach(key -> found.add(kept.store() + " " + key));
      }
    }
    return found;
  }

  private record Misplaced(StateRepartitioner.ToTaskOfKey to)
      implements MapPartitionsFunction<Row, String> {
    private static final long serialVersionUID = 1L;

    @Override
    public Iterator<String> call(Iterator<Row> entries) {
      to.open(TaskContext.getPartitionId());
      TaskCompletionListener closing = ended -> to.close();
      TaskContext.get().addTaskCompletionListener(closing);
      while (entries.hasNext()) {
        Row entry = entries.next();
        byte[] key = entry.getAs(1);
        if (!to.isInItsTask(entry.getLong(0), to.keyBytes(entry.getLong(0), key, entry.getAs(2)))) {
          return List.of(new String(written(key), StandardCharsets.UTF_8)).iterator();
        }
      }
      return Collections.emptyIterator();
    }
  }
}
