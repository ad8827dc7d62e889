import java.util.Map;
import java.util.function.BiConsumer;
import org.apache.avro.Schema;
import org.apache.avro.SchemaBuilder;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/**
 * The rows of bench/engine/schema_formats.py for Kafka Streams, with values in Avro.
 *
 * <p>Usage: {@code Orders ROW NAME=VALUE…}: the options of {@link Run}, {@code source}, {@code result} and {@code registry}.
 */
public final class Orders {
  private static final Serde<String> TEXT = Serdes.String();

  private static final Map<String, BiConsumer<Orders, StreamsBuilder>> ROWS =
      Map.of("stateless", Orders::stateless, "aggregate", Orders::aggregate);

  /** The columns that {@code orders.py} declares, with the total. */
  private static final Schema PRICED =
      SchemaBuilder.record("Priced")
          .fields()
          .optionalString("item")
          .optionalString("variant")
          .optionalInt("quantity")
          .optionalDouble("price")
          .optionalString("currency")
          .optionalBoolean("paid")
          .optionalLong("ordered_at")
          .optionalString("note")
          .optionalDouble("total")
          .endRecord();

  private static final Schema SUM =
      SchemaBuilder.record("Sum")
          .fields()
          .optionalLong("orders")
          .optionalLong("quantity")
          .optionalDouble("price")
          .endRecord();

  private static final int TOTAL = PRICED.getField("total").pos();

  private final Run run;
  private final AvroRecords avro;

  private Orders(Run run) {
    this.run = run;
    this.avro = new AvroRecords(run.option("registry"));
  }

  private KStream<String, GenericRecord> orders(StreamsBuilder builder) {
    String source = run.option("source");
    return builder.stream(
        source, Consumed.with(TEXT, avro.of(PRICED, topic -> run.seen(source, topic))));
  }

  private void stateless(StreamsBuilder builder) {
    orders(builder)
        .filter((key, order) -> (Integer) order.get("quantity") >= 20)
        .mapValues(Orders::priced)
        .to(run.option("result"), Produced.with(TEXT, avro.of(PRICED)));
  }

  private static GenericRecord priced(GenericRecord order) {
    GenericRecord priced = new GenericData.Record(PRICED);
    for (int i = 0; i < TOTAL; i++) {
      priced.put(i, order.get(i));
    }
    priced.put(TOTAL, (Double) order.get("price") * (Integer) order.get("quantity"));
    return priced;
  }

  private void aggregate(StreamsBuilder builder) {
    Serde<GenericRecord> sum = avro.of(SUM);
    orders(builder)
        .groupByKey(Grouped.with(TEXT, avro.of(PRICED)))
        .aggregate(Orders::empty, (key, order, kept) -> added(order, kept), Materialized.with(TEXT, sum))
        .toStream()
        .to(run.option("result"), Produced.with(TEXT, sum));
  }

  private static GenericRecord empty() {
    GenericRecord sum = new GenericData.Record(SUM);
    sum.put(0, 0L);
    sum.put(1, 0L);
    sum.put(2, 0.0);
    return sum;
  }

  private static GenericRecord added(GenericRecord order, GenericRecord kept) {
    GenericRecord sum = new GenericData.Record(SUM);
    sum.put(0, (Long) kept.get(0) + 1);
    sum.put(1, (Long) kept.get(1) + (Integer) order.get("quantity"));
    sum.put(2, (Double) kept.get(2) + (Double) order.get("price"));
    return sum;
  }

  /** Runs a row until all its orders were seen. */
  public static void main(String[] args) throws Exception {
    Run run = new Run(args, 1);
    StreamsBuilder builder = new StreamsBuilder();
    ROWS.get(args[0]).accept(new Orders(run), builder);
    run.until(builder);
  }
}
