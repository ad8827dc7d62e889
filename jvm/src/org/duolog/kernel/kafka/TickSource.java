package org.duolog.kernel.kafka;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Set;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;
import org.duolog.kernel.record.IdleTicks;

/**
 * A Spark source that emits the time when tasks request ticks ({@link IdleTicks}), and has no new
 * data otherwise.
 *
 * <p>Its offset is the last tick, stored in Spark's checkpoint like those of topics, so a retried
 * micro-batch has the same tick. Queries that end by themselves (available-now) have no ticks. The
 * only option is {@code application.id}. In real time the value of a tick is the start time of the
 * query; that is not in the checkpoint, so in micro-batches the value is 0.
 *
 * <p>Threads: Spark's stream execution thread, in real time a task's. Named to Spark as the format
 * of a stream, so it has a public constructor.
 */
public final class TickSource implements TableProvider {
  private static final StructType COLUMNS =
      new StructType()
          .add("key", DataTypes.BinaryType)
          .add("value", DataTypes.BinaryType)
          .add("topic", DataTypes.StringType)
          .add("partition", DataTypes.IntegerType)
          .add("offset", DataTypes.LongType)
          .add("timestamp_ms", DataTypes.LongType);

  public TickSource() {}

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return COLUMNS;
  }

  @Override
  public Table getTable(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new Ticks();
  }

  private static final class Ticks implements SupportsRead {
    @Override
    public String name() {
      return IdleTicks.TOPIC;
    }

    @Override
    @SuppressWarnings("deprecation") // Spark still calls it.
    public StructType schema() {
      return COLUMNS;
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.MICRO_BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return () -> new TickScan(options.get("application.id"));
    }
  }

  private record TickScan(String applicationId) implements Scan {
    @Override
    public StructType readSchema() {
      return COLUMNS;
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
      IdleTicks.of(applicationId).forget();
      return new TickStream(applicationId);
    }
  }

  /** The last tick. */
  private static final class Tick extends Offset {
    private final long ms;

    Tick(long ms) {
      this.ms = ms;
    }

    @Override
    public String json() {
      return "{\"" + IdleTicks.TOPIC + "\":{\"0\":" + ms + "}}";
    }
  }

  /**
   * One tick, or all ticks after one.
   *
   * @param start in real time the number of the start ({@link IdleTicks#forget});
   *     {@link #OF_MICRO_BATCH} for one tick
   * @param begunMs in real time the start time of the query; else 0
   */
  private record TickPartition(
      String applicationId, long after, long ms, long start, long begunMs)
      implements InputPartition {
    private static final long OF_MICRO_BATCH = 0;

    boolean isRealTime() {
      return start != OF_MICRO_BATCH;
    }
  }

  private record TickOffset(long ms) implements PartitionOffset {}

  private static final class TickStream
      implements MicroBatchStream, SupportsTriggerAvailableNow, SupportsRealTimeMode {
    private final String applicationId;
    private final long begunMs = System.currentTimeMillis();
    private boolean ends;

    TickStream(String applicationId) {
      this.applicationId = applicationId;
    }

    @Override
    public void prepareForTriggerAvailableNow() {
      ends = true;
    }

    @Override
    public Offset latestOffset(Offset start, ReadLimit limit) {
      long tick = ends ? IdleTicks.NONE : IdleTicks.of(applicationId).make(((Tick) start).ms);
      return tick == IdleTicks.NONE ? start : new Tick(tick);
    }

    @Override
    public Offset latestOffset() {
      throw new UnsupportedOperationException("a tick follows another one");
    }

    @Override
    public ReadLimit getDefaultReadLimit() {
      return ReadLimit.allAvailable();
    }

    @Override
    public InputPartition[] planInputPartitions(Offset start, Offset end) {
      long ms = ((Tick) end).ms;
      return ms == ((Tick) start).ms
          ? new InputPartition[0]
          : new InputPartition[] {
            new TickPartition(applicationId, ms - 1, ms, TickPartition.OF_MICRO_BATCH, 0)
          };
    }

    @Override
    public InputPartition[] planInputPartitions(Offset start) {
      long last = ((Tick) start).ms;
      // Spark asks for the latest offset, but does not use it here.
      long begun = IdleTicks.of(applicationId).forget();
      return new InputPartition[] {
        new TickPartition(applicationId, last, last, begun, begunMs)
      };
    }

    @Override
    public Offset mergeOffsets(PartitionOffset[] offsets) {
      long last = 0;
      for (PartitionOffset offset : offsets) {
        last = Math.max(last, ((TickOffset) offset).ms);
      }
      return new Tick(last);
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return new TickReaders(EpochClock.timeMs());
    }

    @Override
    public Offset initialOffset() {
      return new Tick(0);
    }

    @Override
    public Offset deserializeOffset(String json) {
      return new Tick(Long.parseLong(json.replaceAll(".*:(\\d+)}}", "$1")));
    }

    @Override
    public void commit(Offset end) {}

    @Override
    public void stop() {}
  }

  private record TickReaders(long plannedAtMs) implements PartitionReaderFactory {
    private static final long serialVersionUID = 1L;

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      TickPartition ticks = (TickPartition) partition;
      if (ticks.isRealTime()) {
        EpochClock.start(TaskContext.get(), plannedAtMs);
      }
      return new TickReader(ticks);
    }
  }

  /** The tick of a micro-batch; in real time all ticks of an epoch. */
  private static final class TickReader implements SupportsRealTimeRead<InternalRow> {
    private final TickPartition partition;
    private long last;

    TickReader(TickPartition partition) {
      this.partition = partition;
      last = partition.after;
    }

    @Override
    public boolean next() {
      boolean isNew = !partition.isRealTime() && last < partition.ms;
      last = partition.ms;
      return isNew;
    }

    @Override
    public RecordStatus nextWithTimeout(Long timeoutMs) {
      try {
        long until = System.currentTimeMillis() + timeoutMs;
        IdleTicks.Due due = new IdleTicks.Due(partition.applicationId, partition.start, last);
        long tick = IdleTicks.await(due, until);
        if (tick != IdleTicks.NONE) {
          last = tick;
        }
        return RecordStatus.newStatusWithoutArrivalTime(tick != IdleTicks.NONE);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return RecordStatus.newStatusWithoutArrivalTime(false);
      }
    }

    @Override
    public PartitionOffset getOffset() {
      return new TickOffset(last);
    }

    @Override
    public InternalRow get() {
      byte[] at = ByteBuffer.allocate(Long.BYTES).putLong(last).array();
      byte[] begun = ByteBuffer.allocate(Long.BYTES).putLong(partition.begunMs).array();
      UTF8String topic = UTF8String.fromString(IdleTicks.TOPIC);
      return new GenericInternalRow(new Object[] {at, begun, topic, 0, last, last});
    }

    @Override
    public void close() {}
  }
}
