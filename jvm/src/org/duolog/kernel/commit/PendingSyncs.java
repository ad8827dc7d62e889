package org.duolog.kernel.commit;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Files and directories of a checkpoint that a power failure could still lose, to be synced
 * together.
 *
 * <p>A commit writes some twenty files, and only the entry in the commit log refers to them. One
 * sync for each would take longer than the rest of the commit; syncs from several threads at once
 * share the journal of the file system.
 *
 * <p>Invariant: a path is removed from the set before its sync starts, and added again if it could
 * not be opened. So data that is written meanwhile is never taken for durable.
 *
 * <p>A failed sync is not retried, by any query of this JVM: afterwards the page cache may report
 * pages as clean that never reached the disk, so a retry would succeed without effect. Nothing in
 * that checkpoint is durable from then on. Threads: any.
 */
final class PendingSyncs {
  private static final int THREADS = 4;
  private static final ExecutorService SYNCS =
      Executors.newFixedThreadPool(
          THREADS,
          task -> {
            Thread thread = new Thread(task, "duolog-checkpoint-sync");
            thread.setDaemon(true);
            return thread;
          });

  /**
   * The errors of checkpoints whose syncs have failed. A new claim does not know more about the
   * disk.
   */
  private static final Map<Path, String> FAILED = new ConcurrentHashMap<>();

  private final Path checkpoint;
  private final Set<Path> paths = ConcurrentHashMap.newKeySet();

  /**
   * Syncs whose paths have been removed from the set: after an interruption or a failure, the next
   * sync waits for them.
   */
  private final Set<Future<?>> running = ConcurrentHashMap.newKeySet();

  PendingSyncs(Path checkpoint) {
    this.checkpoint = checkpoint;
  }

  /** Adds a path. Remote files are durable when they are closed. */
  void add(Path path) {
    if (!Remote.is(path)) {
      paths.add(path);
    }
  }

  /** Removes a path that was deleted or renamed. */
  void remove(Path path) {
    paths.remove(path);
  }

  /** Syncs all paths in the set, which have left the set when this returns. */
  void sync() throws IOException {
    ensureNoneFailed();
    for (Path path : paths) {
      running.add(SYNCS.submit(() -> syncOne(path)));
    }
    IOException failed = null;
    for (Future<?> one : List.copyOf(running)) {
      try {
        await(one);
      } catch (InterruptedIOException stopped) {
        throw stopped;
      } catch (IOException e) {
        failed = failed == null ? e : failed;
      }
      running.remove(one);
    }
    if (failed != null) {
      throw failed;
    }
  }

  private void ensureNoneFailed() throws NotSyncedException {
    String failed = FAILED.get(checkpoint);
    if (failed != null) {
      throw new NotSyncedException(failed);
    }
  }

  private void syncOne(Path path) {
    if (!paths.remove(path)) {
      return;
    }
    try {
      sync(path);
    } catch (NotSyncedException failed) {
      FAILED.putIfAbsent(checkpoint, failed.getMessage());
      throw new UncheckedIOException(failed);
    } catch (IOException failed) {
      paths.add(path);
      throw new UncheckedIOException(new LocalFiles.NotWrittenException(path, failed));
    }
  }

  private static void await(Future<?> one) throws IOException {
    try {
      one.get();
    } catch (ExecutionException failed) {
      if (failed.getCause() instanceof UncheckedIOException cause) {
        throw cause.getCause();
      }
      throw new IOException(failed.getCause());
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while syncing a checkpoint");
    }
  }

  /** Makes the content of a file, or the names in a directory, durable. */
  static void sync(Path path) throws IOException {
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
      force(channel, path);
    } catch (NoSuchFileException deleted) {
      // A deleted file has nothing to lose.
      if (Files.exists(path)) {
        throw deleted;
      }
    }
  }

  private static void force(FileChannel channel, Path path) throws IOException {
    try {
      FailPoints.at("checkpoint.sync");
      channel.force(true);
    } catch (ClosedByInterruptException stopped) {
      throw stopped;
    } catch (IOException | UncheckedIOException e) {
      String why = e.getCause() == null ? e.getMessage() : e.getCause().getMessage();
      throw new NotSyncedException("cannot sync " + path + ": " + why);
    }
  }

  /** The system could not write a file to the disk, so its content on disk is unknown. */
  static final class NotSyncedException extends IOException {
    private static final long serialVersionUID = 1L;

    /** Has no cause, as in {@link LocalFiles.NotWrittenException}. */
    NotSyncedException(String told) {
      super(told);
    }
  }
}
