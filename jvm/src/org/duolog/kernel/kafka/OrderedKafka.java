package org.duolog.kernel.kafka;

import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.kafka010.KafkaSourceProvider;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.duolog.kernel.record.Envelope;

/**
 * Spark's Kafka source for micro-batches. All topics of a query end at one {@link BatchTimeLimit},
 * and their records become envelopes in {@link IngestExec}.
 *
 * <p>It has the options of Spark's source, and the same offset format, so either can read a
 * checkpoint. Additional options: {@code horizon}, a name that the sources of one query share;
 * {@code horizon.table}, true if a record precedes those of other topics with the same timestamp;
 * {@code horizon.global}, true for a global table; {@code horizon.input}, the index of the source
 * in the query; {@code horizon.until}, the offsets where reading stops; {@code horizon.start}, the
 * offsets of the first micro-batch in Spark's format, if not the first records.
 *
 * <p>Threads: the driver's. Named to Spark as the format of a stream, so it has a public
 * constructor.
 */
public final class OrderedKafka implements TableProvider {
  private final TableProvider kafka = new KafkaSourceProvider();

  public OrderedKafka() {}

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return Envelope.ENCODER.schema();
  }

  @Override
  public Table getTable(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    CaseInsensitiveStringMap options = new CaseInsensitiveStringMap(properties);
    StructType records = kafka.inferSchema(options);
    return new OrderedTable((SupportsRead) kafka.getTable(records, partitioning, properties));
  }

  private record OrderedTable(SupportsRead kafka) implements SupportsRead {
    @Override
    public String name() {
      return kafka.name();
    }

    @Override
    @SuppressWarnings("deprecation") // Spark still calls it.
    public StructType schema() {
      return Envelope.ENCODER.schema();
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.MICRO_BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      Scan scan = kafka.newScanBuilder(options).build();
      return () -> new OrderedScan(scan, options);
    }
  }

  private record OrderedScan(Scan kafka, CaseInsensitiveStringMap options) implements Scan {
    @Override
    public StructType readSchema() {
      return Envelope.ENCODER.schema();
    }

    @Override
    public String description() {
      return kafka.description();
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
      SourceRegistry.Route way =
          SourceRegistry.take(options.get("horizon"), options.getInt("horizon.input", 0));
      return new OrderedStream(
          kafka.toMicroBatchStream(checkpointLocation), options, BatchTimeLimit.of(options), way);
    }
  }
}
