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
 * Files and directories of a checkpoint that a power cut could still take, synced together.
 *
 * <p>A commit writes some twenty files, and only the entry in the commit log makes them matter. One
 * sync for each would cost more than the rest of the commit; together, from several threads, they
 * share the journal of the file system.
 *
 * <p>Invariant: a path leaves the set before its sync begins, and comes back where it could not be opened. So
 * nothing that is written meanwhile is taken for durable.
 *
 * <p>A sync that fails is not tried again, by whichever query of this JVM: after it the page cache may call clean what
 * never reached the disk, and another one would tell that it has. Nothing of that checkpoint is durable from there on.
 * Threads: any.
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

  /** What was said of checkpoints whose syncs have failed. A claim that is made anew knows no more of their disk. */
  private static final Map<Path, String> FAILED = new ConcurrentHashMap<>();

  private final Path checkpoint;
  private final Set<Path> paths = ConcurrentHashMap.newKeySet();

  /** Those whose paths have left the set: where a sync was stopped or failed, the next one waits for them. */
  private final Set<Future<?>> running = ConcurrentHashMap.newKeySet();

  PendingSyncs(Path checkpoint) {
    this.checkpoint = checkpoint;
  }

  /** What is behind an URL is durable as it is closed. */
  void add(Path path) {
    if (!Remote.is(path)) {
      paths.add(path);
    }
  }

  /** Forgets what was deleted or has another name now. */
  void remove(Path path) {
    paths.remove(path);
  }

  /** Syncs all that was added; nothing of it is in the set any more where this returns. */
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
      throw new InterruptedIOException("stopped while a checkpoint was made durable");
    }
  }

  /** Makes the content of a file, or the names in a directory, durable. */
  static void sync(Path path) throws IOException {
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
      force(channel, path);
    } catch (NoSuchFileException deleted) {
      // Nothing is left of it that could be lost.
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

  /** The system could not bring a file to the disk, and nobody knows what of it is there. */
  static final class NotSyncedException extends IOException {
    private static final long serialVersionUID = 1L;

    /** Without a cause, as {@link LocalFiles.NotWrittenException}. */
    NotSyncedException(String told) {
      super(told);
    }
  }
}
