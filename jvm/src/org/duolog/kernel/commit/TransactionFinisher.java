package org.duolog.kernel.commit;

import java.io.IOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.ClientUtils;
import org.apache.kafka.clients.DefaultHostResolver;
import org.apache.kafka.clients.ManualMetadataUpdater;
import org.apache.kafka.clients.NetworkClient;
import org.apache.kafka.clients.NetworkClientUtils;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.DescribeTransactionsResult;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TransactionalIdNotFoundException;
import org.apache.kafka.common.message.EndTxnRequestData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.EndTxnRequest;
import org.apache.kafka.common.requests.EndTxnResponse;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;

/**
 * Describes and commits transactions that producers in other JVMs have started, and fences these
 * producers.
 *
 * <p>Kafka's producer only ends transactions that it has started itself. This class sends its own
 * request (EndTxn) to the coordinator that a description names. Repeating a request for an end that
 * has already happened succeeds, so it is safe to retry until there is an answer. A transaction
 * that the broker has aborted has a newer epoch since then, so the request fails.
 *
 * <p>Threads: one at a time. Source: KIP-98, KIP-664; Flink's
 * {@code FlinkKafkaInternalProducer.resumeTransaction}, which does the same through private fields
 * of a producer.
 */
final class TransactionFinisher implements AutoCloseable {
  private static final int REQUESTS_AT_ONCE = 20;
  private static final int REQUEST_TIMEOUT_MS = 10_000;
  private static final long PATIENCE_MS = 30_000;
  private static final long PAUSE_MS = 20;
  private static final int UNKNOWN = -1;

  /** Errors for a producer whose transaction the broker has ended. */
  private static final Set<Errors> BROKEN_OFF =
      Set.of(Errors.PRODUCER_FENCED, Errors.INVALID_PRODUCER_EPOCH);

  /**
   * A transaction, with everything that is needed to end it. {@code coordinator} is the broker that
   * was its coordinator last.
   */
  record Part(String id, long producerId, int epoch, int coordinator) {
    /** Renders it as in a marker. */
    Map<String, Object> toJson() {
      Map<String, Object> json = new LinkedHashMap<>();
      json.put("id", id);
      json.put("producer", producerId);
      json.put("epoch", epoch);
      return json;
    }

    static Part of(Map<String, Object> json) {
      return new Part(
          String.valueOf(json.get("id")),
          ((Number) json.get("producer")).longValue(),
          ((Number) json.get("epoch")).intValue(),
          UNKNOWN);
    }
  }

  private final Admin admin;
  private final ManualMetadataUpdater brokers = new ManualMetadataUpdater();
  private final Metrics metrics = new Metrics();
  private final NetworkClient client;
  private Map<Integer, Node> nodes = Map.of();

  /** @param settings settings of Kafka's clients, as a producer has them */
  TransactionFinisher(Map<String, Object> settings) {
    Map<String, Object> config = new HashMap<>(settings);
    config.keySet().removeIf(name -> name.startsWith("transaction"));
    admin = Admin.create(config);
    client =
        ClientUtils.createNetworkClient(
            new AdminClientConfig(config),
            "duolog-transaction-ends",
            metrics,
            "transaction-ends",
            new LogContext(),
            new ApiVersions(),
            Time.SYSTEM,
            REQUESTS_AT_ONCE,
            REQUEST_TIMEOUT_MS,
            brokers,
            new DefaultHostResolver());
  }

  /**
   * Returns the coordinators' descriptions of transactional ids, without those that they do not
   * know.
   */
  synchronized Map<String, TransactionDescription> describe(Collection<String> ids)
      throws IOException {
    Map<String, TransactionDescription> found = new TreeMap<>();
    if (ids.isEmpty()) {
      return found;
    }
    DescribeTransactionsResult asked = admin.describeTransactions(ids);
    for (String id : ids) {
      try {
        found.put(id, await(asked.description(id)));
      } catch (TransactionalIdNotFoundException forgotten) {
        // It has been idle for transactional.id.expiration.ms, or was never started.
      }
    }
    return found;
  }

  /**
   * Commits transactions that are open or already committed.
   *
   * @throws LostException if the broker has aborted one
   * @throws TimeoutException if no coordinator answers in time
   */
  void commit(Collection<Part> parts) throws IOException {
    end(parts, true);
  }

  /**
   * Aborts transactions that are open or already aborted.
   *
   * @throws LostException if one is committed
   * @throws TimeoutException if no coordinator answers in time
   */
  void abort(Collection<Part> parts) throws IOException {
    end(parts, false);
  }

  private synchronized void end(Collection<Part> parts, boolean commit) throws IOException {
    Map<String, Part> left = new LinkedHashMap<>();
    parts.forEach(part -> left.put(part.id(), part));
    long deadline = System.currentTimeMillis() + PATIENCE_MS;
    Map<String, Errors> lost = new TreeMap<>();
    while (!left.isEmpty()) {
      for (Map.Entry<String, Errors> answer : ask(left.values(), commit).entrySet()) {
        Errors error = answer.getValue();
        if (error == Errors.NONE || (!commit && BROKEN_OFF.contains(error))) {
          left.remove(answer.getKey());
        } else if (!(error.exception() instanceof RetriableException)) {
          left.remove(answer.getKey());
          lost.put(answer.getKey(), error);
        }
      }
      if (!left.isEmpty()) {
        if (System.currentTimeMillis() > deadline) {
          throw new TimeoutException(
              "the coordinator of transaction " + left.keySet() + " has not ended it in "
                  + PATIENCE_MS + " ms");
        }
        Time.SYSTEM.sleep(PAUSE_MS);
        findCoordinators(left);
      }
    }
    if (!lost.isEmpty()) {
      throw new LostException(lost);
    }
  }

  /** Aborts open transactions of transactional ids, and fences their producers. */
  synchronized void fence(Collection<String> ids) throws IOException {
    if (!ids.isEmpty()) {
      await(admin.fenceProducers(ids).all());
    }
  }

  @Override
  public synchronized void close() {
    client.close();
    metrics.close();
    admin.close();
  }

  /** Sends a request for each transaction; returns the answers that have arrived. */
  private Map<String, Errors> ask(Collection<Part> parts, boolean commit)
      throws IOException {
    Map<String, Errors> answers = new HashMap<>();
    for (Part part : List.copyOf(parts)) {
      Node node = node(part.coordinator());
      if (node == null) {
        continue;
      }
      try {
        // Answers to earlier requests arrive meanwhile.
        if (NetworkClientUtils.awaitReady(client, node, Time.SYSTEM, REQUEST_TIMEOUT_MS)) {
          FailPoints.at("transaction.end");
          client.send(request(node, part, commit, answers), Time.SYSTEM.milliseconds());
          client.poll(0, Time.SYSTEM.milliseconds());
        }
      } catch (IOException away) {
        // Retried until the time limit.
      }
    }
    while (client.hasInFlightRequests()) {
      client.poll(REQUEST_TIMEOUT_MS, Time.SYSTEM.milliseconds());
    }
    return answers;
  }

  private ClientRequest request(
      Node node, Part part, boolean commit, Map<String, Errors> answers) {
    EndTxnRequestData data =
        new EndTxnRequestData()
            .setTransactionalId(part.id())
            .setProducerId(part.producerId())
            .setProducerEpoch((short) part.epoch())
            .setCommitted(commit);
    return client.newClientRequest(
        node.idString(),
        new EndTxnRequest.Builder(data),
        Time.SYSTEM.milliseconds(),
        true,
        REQUEST_TIMEOUT_MS,
        response -> answers.put(part.id(), error(response)));
  }

  private static Errors error(ClientResponse response) {
    if (response.authenticationException() != null) {
      return Errors.forException(response.authenticationException());
    }
    if (response.versionMismatch() != null) {
      return Errors.forException(response.versionMismatch());
    }
    return response.wasDisconnected() || !response.hasResponse()
        ? Errors.NETWORK_EXCEPTION
        : ((EndTxnResponse) response.responseBody()).error();
  }

  private Node node(int coordinator) throws IOException {
    if (!nodes.containsKey(coordinator)) {
      Map<Integer, Node> found = new HashMap<>();
      await(admin.describeCluster().nodes()).forEach(node -> found.put(node.id(), node));
      nodes = found;
      brokers.setNodes(List.copyOf(found.values()));
    }
    return nodes.get(coordinator);
  }

  private void findCoordinators(Map<String, Part> parts) throws IOException {
    nodes = Map.of();
    describe(List.copyOf(parts.keySet()))
        .forEach(
            (id, found) ->
                parts.computeIfPresent(
                    id,
                    (unused, part) ->
                        new Part(id, part.producerId(), part.epoch(), found.coordinatorId())));
  }

  private static <T> T await(KafkaFuture<T> future) throws IOException {
    try {
      return future.get();
    } catch (ExecutionException failed) {
      if (failed.getCause() instanceof KafkaException cause) {
        throw cause;
      }
      throw new IOException(failed.getCause());
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while ending a transaction", stopped);
    }
  }

  /** Transactions have ended in another way than requested; lists their ids. */
  static final class LostException extends KafkaException {
    private static final long serialVersionUID = 1L;

    LostException(Map<String, Errors> lost) {
      super("transactions have already ended in another way: " + lost);
    }
  }
}
