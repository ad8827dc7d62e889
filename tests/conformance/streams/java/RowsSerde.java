import org.apache.kafka.common.serialization.Serdes;

/** {@link Json#ROWS} as a class that Kafka Streams can instantiate, for tables without a serde. */
public final class RowsSerde extends Serdes.WrapperSerde<Object> {
  @SuppressWarnings({"unchecked", "rawtypes"})
  public RowsSerde() {
    super((org.apache.kafka.common.serialization.Serializer) Json.ROWS.serializer(),
        (org.apache.kafka.common.serialization.Deserializer) Json.ROWS.deserializer());
  }
}
