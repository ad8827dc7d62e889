import org.apache.kafka.common.serialization.Serdes;

/** {@link Json#ROWS} as Kafka Streams can make it by itself, for tables that nobody gave a serde. */
public final class RowsSerde extends Serdes.WrapperSerde<Object> {
  @SuppressWarnings({"unchecked", "rawtypes"})
  public RowsSerde() {
    super((org.apache.kafka.common.serialization.Serializer) Json.ROWS.serializer(),
        (org.apache.kafka.common.serialization.Deserializer) Json.ROWS.deserializer());
  }
}
