package org.duolog.kernel.kafka;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnionExec;
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Changes Spark's plans that read {@link OrderedKafka}; set as {@code spark.sql.extensions}.
 *
 * <pre>
 *   Sort ← Exchange ← Union ← scans  ->  Ingest ← scans   if all have {@code PartitionRouting}
 *   scan                             ->  Ingest ← scan    otherwise
 * </pre>
 *
 * <p>A columnar rule, because those run last: after the rule that inserts exchanges.
 *
 * <p>Threads: Spark's stream execution threads.
 */
public final class Extensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
  public Extensions() {}

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    extensions.injectColumnar(
        new AbstractFunction1<>() {
          @Override
          public ColumnarRule apply(org.apache.spark.sql.SparkSession session) {
            return new Rules();
          }
        });
    return BoxedUnit.UNIT;
  }

  private static final class Rules extends ColumnarRule {
    @Override
    public Rule<SparkPlan> preColumnarTransitions() {
      return new Ingesting();
    }
  }

  private static final class Ingesting extends Rule<SparkPlan> {
    @Override
    public SparkPlan apply(SparkPlan plan) {
      if (plan instanceof SortExec sort
          && sort.child() instanceof ShuffleExchangeExec exchange) {
        SparkPlan ingest = direct(exchange.child());
        if (ingest != null) {
          return ingest;
        }
      }
      if (ordered(plan) != null) {
        return new IngestExec(plan.output(), null, List.of(plan));
      }
      List<SparkPlan> children = new ArrayList<>();
      for (SparkPlan child : CollectionConverters.asJava(plan.children())) {
        children.add(apply(child));
      }
      return plan.withNewChildren(CollectionConverters.asScala(children).toSeq());
    }

    /**
     * Returns the plan without a shuffle; null if an input of the first level has no
     * {@code PartitionRouting}.
     */
    private static SparkPlan direct(SparkPlan input) {
      List<SparkPlan> scans = new ArrayList<>();
      if (!gather(input, scans) || scans.isEmpty()) {
        return null;
      }
      return new IngestExec(input.output(), ordered(scans.get(0)).direct(), scans);
    }

    /**
     * Collects the scans of a union; returns false if there is anything else, or a scan is not
     * partitioned by task.
     */
    private static boolean gather(SparkPlan plan, List<SparkPlan> scans) {
      if (plan instanceof UnionExec) {
        return CollectionConverters.asJava(plan.children()).stream()
            .allMatch(child -> gather(child, scans));
      }
      if (plan instanceof ProjectExec project
          && project.output().equals(project.child().output())) {
        return gather(project.child(), scans);
      }
      if (plan instanceof LocalTableScanExec local) { // A topic without new records.
        return local.rows().isEmpty();
      }
      if (ordered(plan) != null && isByTasks((MicroBatchScanExec) plan)) {
        scans.add(plan);
        return true;
      }
      return false;
    }

    private static boolean isByTasks(MicroBatchScanExec scan) {
      if (ordered(scan).direct() == null) {
        return false;
      }
      for (InputPartition part : CollectionConverters.asJava(scan.inputPartitions())) {
        if (!(part instanceof RecordReader.Part)) {
          return false;
        }
      }
      return true;
    }

    private static OrderedStream ordered(SparkPlan plan) {
      return plan instanceof MicroBatchScanExec scan
              && scan.stream() instanceof OrderedStream stream
          ? stream
          : null;
    }
  }
}
