package org.duolog.kernel.kafka;

import io.netty.buffer.Unpooled;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.network.client.RpcResponseCallback;
import org.apache.spark.network.client.TransportClient;
import org.apache.spark.network.shuffle.streaming.CreditControlMessage;
import org.apache.spark.network.shuffle.streaming.StreamingShuffleMessage;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleWriteMetricsReporter;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.streaming.StreamingShuffleHandle;
import org.apache.spark.shuffle.streaming.StreamingShuffleManager;
import org.apache.spark.shuffle.streaming.StreamingShuffleServerHandler;
import org.apache.spark.shuffle.streaming.StreamingShuffleWriter;
import org.apache.spark.util.ErrorNotifier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Function2;
import scala.Option;
import scala.runtime.BoxedUnit;

/**
 * Spark's real-time shuffle, protected from unrelated connections.
 *
 * <p>Each writing task listens on a port of all interfaces, and takes any error on any connection
 * for its own failure: a web browser, a Kafka client with a wrong port, or a port scan ends the
 * query. Here a connection counts only after it has identified itself as a reader, by Spark's
 * protocol; earlier errors close only the connection. If all tasks run in this JVM, connections
 * from other machines are closed at once.
 *
 * <p>Set as {@code spark.shuffle.manager.incremental}. Threads: Netty's, several at once.
 */
public final class GuardedShuffle extends StreamingShuffleManager {
  @Override
  public <K, V> ShuffleWriter<K, V> getWriter(
      ShuffleHandle handle, long mapId, TaskContext context, ShuffleWriteMetricsReporter metrics) {
    int readers =
        ((StreamingShuffleHandle<?, ?, ?>) handle).dependency().partitioner().numPartitions();
    ErrorNotifier errors = new ErrorNotifier();
    AtomicReference<StreamingShuffleWriter<K, V>> writer = new AtomicReference<>();
    // A reader acknowledges data that the writer has sent, so there is no acknowledgement without a
    // reader.
    Function2<Object, Object, BoxedUnit> acknowledged =
        (reader, number) -> {
          writer.get().onTerminationAckReceived((Integer) reader, (Long) number);
          return BoxedUnit.UNIT;
        };
    Readers served = new Readers(acknowledged, handle.shuffleId(), readers, context, errors);
    writer.set(new StreamingShuffleWriter<>(handle, mapId, context, Option.apply(served), errors));
    return writer.get();
  }

  /** The messages that a writing task receives from readers. */
  private static final class Readers extends StreamingShuffleServerHandler {
    private static final Logger LOGGER = LoggerFactory.getLogger(GuardedShuffle.class);

    private final Set<TransportClient> known = ConcurrentHashMap.newKeySet();
    private final boolean local =
        SparkEnv.get().conf().get("spark.master").matches("local(\\[.*\\])?");

    Readers(
        Function2<Object, Object, BoxedUnit> acknowledged,
        int shuffleId,
        int readers,
        TaskContext context,
        ErrorNotifier errors) {
      super(acknowledged, shuffleId, readers, context, errors);
    }

    @Override
    public void channelActive(TransportClient client) {
      InetSocketAddress from = (InetSocketAddress) client.getSocketAddress();
      if (local && !from.getAddress().isLoopbackAddress()) {
        showOut(client, "it comes from another machine");
      }
    }

    @Override
    public void receive(TransportClient client, ByteBuffer message, RpcResponseCallback callback) {
      if (known.contains(client) || introduces(message) && known.add(client)) {
        super.receive(client, message, callback);
      } else {
        showOut(client, "it is not a reader of this shuffle");
      }
    }

    @Override
    public void exceptionCaught(Throwable cause, TransportClient client) {
      if (known.contains(client)) {
        super.exceptionCaught(cause, client);
      } else {
        showOut(client, cause.toString());
      }
    }

    /** Returns true if a message is the first one of a reader that is not connected yet. */
    private boolean introduces(ByteBuffer message) {
      try {
        return StreamingShuffleMessage.decode(Unpooled.wrappedBuffer(message.duplicate()))
                instanceof CreditControlMessage first
            && first.shuffleReaderId >= 0
            && first.shuffleReaderId < futureClients().length
            && !futureClients()[first.shuffleReaderId].isDone();
      } catch (RuntimeException garbage) {
        return false;
      }
    }

    private static void showOut(TransportClient client, String why) {
      LOGGER.warn("closed a connection from {}: {}", client.getSocketAddress(), why);
      client.getChannel().close();
    }
  }
}
