package org.duolog.kernel.commit;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.spark.SparkContext;
import org.apache.spark.util.CollectionAccumulator;
import org.duolog.kernel.commit.TransactionFinisher.Part;

/**
 * The executors' transactions that make up an epoch, as the driver of a cluster knows them from the
 * reports of finished tasks.
 *
 * <pre>
 *   CHECKPOINT/transactions/CLAIM/ID    a transactional id that an executor uses in the start CLAIM
 *   CHECKPOINT/transactions/CLAIM.over  the same while the executors are being fenced
 * </pre>
 *
 * <p>Once an epoch is decided, its transactions are committed, by this driver or by a later start,
 * and never aborted: they are kept as decided from before the decision until Spark has the epoch's
 * entry. Fencing a producer makes its coordinator forget whether the transaction was committed, so
 * it must not happen while a marker names the transaction.
 *
 * <p>Threads: Spark's stream thread, and the one that commits for it. Source: Flink's {@code
 * TwoPhaseCommitSinkFunction}, for transactions that another process ends.
 */
final class EpochParts {
  private static final String OVER = ".over";
  private static final int CLAIM_LETTERS = 13;
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final Path directory;
  private final String prefix;
  private final Map<String, Object> settings;
  private final TransactionFinisher ends;
  private final CollectionAccumulator<String> reports = new CollectionAccumulator<>();
  private final Set<String> decided = new TreeSet<>();
  private boolean isClosed;

  /**
   * @param directory the directory for the transactions of all starts, in the checkpoint
   * @param name name of the application's transactions
   * @param claim unique for the start
   */
  EpochParts(Path directory, String name, String claim, Map<String, Object> settings)
      throws IOException {
    // Enough of a UUID to distinguish starts: a transactional id is in each record of the
    // coordinator.
    String start = claim.substring(0, CLAIM_LETTERS);
    this.directory = directory.resolve(start);
    this.settings = new HashMap<>(settings);
    prefix = name + "-" + start;
    ends = new TransactionFinisher(settings);
    Remote.createDirectories(this.directory);
    Remote.sync(directory.getParent());
    Remote.sync(directory);
  }

  /** Returns what the tasks of a query need to write. */
  ExecutorTransactions.Claim handOut(SparkContext spark) {
    if (!reports.isRegistered()) {
      spark.register(reports, prefix);
    }
    return claim();
  }

  /** The same without a Spark context to deliver the tasks' reports. */
  ExecutorTransactions.Claim claim() {
    return new ExecutorTransactions.Claim(
        directory.toString(), prefix, new HashMap<>(settings), reports);
  }

  /**
   * Returns the transactions of an epoch whose tasks have all ended; each is still open.
   *
   * @throws EpochBrokenException if the broker has aborted one
   */
  List<Part> of(long epoch) throws IOException {
    Set<String> ids = new TreeSet<>();
    for (String one : reports.value()) {
      String id = ExecutorTransactions.Claim.idOf(one, epoch);
      if (id != null) {
        ids.add(id);
      }
    }
    reports.reset();
    Map<String, TransactionDescription> found = ends.describe(ids);
    List<Part> parts = new ArrayList<>();
    for (String id : ids) {
      TransactionDescription known = found.get(id);
      if (known == null || known.state() != TransactionState.ONGOING) {
        throw new EpochBrokenException(
            String.format(
                "the broker has ended transaction %s of epoch %d (%s), which took longer than"
                    + " transaction.timeout.ms=%s",
                id,
                epoch,
                known == null ? "unknown" : known.state(),
                settings.get("transaction.timeout.ms")),
            null);
      }
      parts.add(new Part(id, known.producerId(), known.producerEpoch(), known.coordinatorId()));
    }
    return parts;
  }

  /**
   * Marks transactions as decided: from now on a marker may state that they are committed.
   *
   * @throws EpochBrokenException if they are being aborted
   */
  synchronized void decide(List<Part> parts) {
    if (isClosed) {
      throw new EpochBrokenException(
          "its transactions were aborted, because the query stops", null);
    }
    parts.forEach(part -> decided.add(part.id()));
  }

  /** Ends the last decided epoch: its entry is written, so no start will need its transactions. */
  synchronized void done() {
    decided.clear();
  }

  /** Commits decided transactions, and lets the executors continue. */
  void commit(List<Part> parts, long epoch) throws IOException {
    ends.commit(parts);
    for (Part part : parts) {
      // Atomic, because an executor may be reading it. It need not survive a power failure: neither
      // do the executors.
      Remote.replace(
          directory.resolve(part.id()), String.valueOf(epoch).getBytes(StandardCharsets.US_ASCII));
    }
  }

  /** Renders what coordinators report about transactions as JSON, by transactional id. */
  static String render(Map<String, TransactionDescription> found) throws JsonProcessingException {
    Map<String, Object> states = new LinkedHashMap<>();
    found.forEach(
        (id, known) -> {
          Map<String, Object> state = new LinkedHashMap<>();
          state.put("state", known.state().toString());
          state.put("producer", known.producerId());
          state.put("epoch", known.producerEpoch());
          states.put(id, state);
        });
    return MAPPER.writeValueAsString(states);
  }

  /** Runs before executors are fenced. */
  interface Before {
    void run() throws IOException;
  }

  /**
   * Aborts transactions that are not decided, and fences the executors; decided ones are left to
   * the next start.
   *
   * @param forget removes the transactions from the marker
   */
  synchronized void close(Before forget) throws IOException {
    isClosed = true;
    try {
      if (decided.isEmpty()) {
        forget.run();
        end(directory, ends);
      }
    } finally {
      ends.close();
    }
  }

  /**
   * Aborts transactions that other starts have left open, and fences their executors. Call it after
   * all decided transactions are committed.
   */
  static void endOthers(Path all, String claim, Map<String, Object> settings) throws IOException {
    String own = claim.substring(0, CLAIM_LETTERS);
    List<Path> others;
    try {
      others =
          Remote.list(all).stream()
              .filter(start -> !start.getFileName().toString().equals(own))
              .toList();
    } catch (NoSuchFileException never) {
      return;
    }
    if (others.isEmpty()) {
      return;
    }
    try (TransactionFinisher ends = new TransactionFinisher(settings)) {
      for (Path start : others) {
        end(start, ends);
      }
    }
  }

  private static void end(Path start, TransactionFinisher ends) throws IOException {
    Path over = start;
    if (!start.toString().endsWith(OVER)) {
      over = start.resolveSibling(start.getFileName() + OVER);
      try {
        Remote.rename(start, over);
      } catch (NoSuchFileException gone) {
        return;
      } catch (DirectoryNotEmptyException | FileAlreadyExistsException both) {
        throw new IOException(
            "both " + Remote.text(start) + " and " + Remote.text(over) + " are there", both);
      }
    }
    List<Path> files = Remote.list(over);
    ends.fence(
        files.stream()
            .map(file -> file.getFileName().toString())
            .filter(name -> !name.startsWith("."))
            .toList());
    for (Path file : files) {
      Remote.deleteIfExists(file);
    }
    Remote.deleteIfExists(over);
  }
}
