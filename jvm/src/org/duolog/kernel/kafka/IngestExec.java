package org.duolog.kernel.kafka;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.record.EnvelopeRow;
import org.duolog.kernel.record.SourceRecord;
import org.duolog.kernel.task.PartitionRouting;
import org.duolog.kernel.topology.MultiTopicReader;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Turns records of topics into envelopes in the task that reads them.
 *
 * <p>For a single scan it replaces Spark's rows. For the input of the first level it combines all
 * scans by task, without a shuffle: see {@link PartitionRouting}. Threads: the driver's; functions
 * that run in tasks are serialized.
 */
final class IngestExec extends SparkPlan {
  private static final long serialVersionUID = 1L;

  private final Seq<Attribute> output;
  private final PartitionRouting direct;
  private final IndexedSeq<SparkPlan> scans;

  /**
   * @param direct routes the records of all scans to the tasks of the first level; null for a
   *     single scan
   */
  IngestExec(Seq<Attribute> output, PartitionRouting direct, List<SparkPlan> scans) {
    this(output, direct, CollectionConverters.asScala(scans).toIndexedSeq());
  }

  private IngestExec(Seq<Attribute> output, PartitionRouting direct, IndexedSeq<SparkPlan> scans) {
    this.output = output;
    this.direct = direct;
    this.scans = scans;
  }

  @Override
  public Seq<Attribute> output() {
    return output;
  }

  @Override
  public Seq<SparkPlan> children() {
    return scans;
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> children) {
    return new IngestExec(output, direct, children);
  }

  /**
   * Returns a new instance: by default Spark would copy this one with a constructor that it cannot
   * find.
   */
  @Override
  public SparkPlan doCanonicalize() {
    return new IngestExec(output, direct, scans);
  }

  @Override
  public RDD<InternalRow> doExecute() {
    List<Part> parts = new ArrayList<>();
    for (SparkPlan scan : CollectionConverters.asJava(scans)) {
      parts.add(new Part(scan.execute().toJavaRDD(), readers(scan)));
    }
    return (direct == null ? alone(parts.get(0)) : together(parts, direct)).rdd();
  }

  private static MultiTopicReader readers(SparkPlan scan) {
    return ((OrderedStream) ((MicroBatchScanExec) scan).stream()).readers();
  }

  private static JavaRDD<InternalRow> alone(Part part) {
    MultiTopicReader readers = part.readers;
    return part.records.mapPartitions(rows -> unsafe(readers.call(opened(rows), null)));
  }

  private static JavaRDD<InternalRow> together(List<Part> parts, PartitionRouting direct) {
    JavaRDD<List<Iterator<Envelope>>> tasks = null;
    for (Part part : parts) {
      MultiTopicReader readers = part.readers;
      JavaRDD<List<Iterator<Envelope>>> one =
          part.records.mapPartitions(
              rows -> List.of(List.of(readers.call(opened(rows), direct))).iterator());
      tasks = tasks == null ? one : tasks.zipPartitions(one, IngestExec::both);
    }
    return tasks.mapPartitions(
        one -> rows(direct.through(TaskContext.getPartitionId(), one.next())));
  }

  private static Iterator<List<Iterator<Envelope>>> both(
      Iterator<List<Iterator<Envelope>>> some, Iterator<List<Iterator<Envelope>>> others) {
    List<Iterator<Envelope>> all = new ArrayList<>(some.next());
    all.addAll(others.next());
    return List.of(all).iterator();
  }

  private static Iterator<SourceRecord> opened(Iterator<InternalRow> rows) {
    return mapped(rows, RecordRow::open);
  }

  private static Iterator<InternalRow> rows(Iterator<Envelope> envelopes) {
    EnvelopeRow row = new EnvelopeRow();
    return mapped(envelopes, row::of);
  }

  private static Iterator<InternalRow> unsafe(Iterator<Envelope> envelopes) {
    UnsafeProjection toUnsafe = UnsafeProjection.create(Envelope.ENCODER.schema());
    return mapped(rows(envelopes), toUnsafe::apply);
  }

  private static <A, B> Iterator<B> mapped(
      Iterator<A> from, java.util.function.Function<? super A, ? extends B> to) {
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        return from.hasNext();
      }

      @Override
      public B next() {
        return to.apply(from.next());
      }
    };
  }

  private record Part(JavaRDD<InternalRow> records, MultiTopicReader readers) {}

  // Methods that Scala's compiler generates for a case class.

  @Override
  public boolean canEqual(Object other) {
    return other instanceof IngestExec;
  }

  @Override
  public int productArity() {
    return 3;
  }

  @Override
  public Object productElement(int index) {
    return switch (index) {
      case 0 -> output;
      case 1 -> direct;
      case 2 -> scans;
      default -> throw new IndexOutOfBoundsException(index);
    };
  }
}
