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

/**
 * Spark's Kafka source for real time, with the same options. It also reads records with timestamps
 * beyond Spark's range: {@link FarTimes}. The source for micro-batches is {@link OrderedKafka}.
 *
 * <p>Each source is read at its own pace, so a short stream can overtake a long table that was
 * written before it.
 *
 * <p>Threads: the driver's. Named to Spark as the format of a stream, so it has a public
 * constructor.
 */
public final class RealTimeKafka implements TableProvider {
  private final TableProvider kafka = new KafkaSourceProvider();

  public RealTimeKafka() {}

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return kafka.inferSchema(options);
  }

  @Override
  public Table getTable(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new FarTable((SupportsRead) kafka.getTable(schema, partitioning, properties));
  }

  private record FarTable(SupportsRead kafka) implements SupportsRead {
    @Override
    public String name() {
      return kafka.name();
    }

    @Override
    @SuppressWarnings("deprecation") // Spark still calls it.
    public StructType schema() {
      return kafka.schema();
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.MICRO_BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      Scan scan = kafka.newScanBuilder(options).build();
      return () -> new FarScan(scan);
    }
  }

  private record FarScan(Scan kafka) implements Scan {
    @Override
    public StructType readSchema() {
      return kafka.readSchema();
    }

    @Override
    public String description() {
      return kafka.description();
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
      return FarTimes.reach(kafka.toMicroBatchStream(checkpointLocation));
    }
  }
}
