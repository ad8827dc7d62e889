package org.duolog.kernel.commit;

import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Threads that end transactions.
 *
 * <p>A stop interrupts Spark's stream thread, but a commit that has started should be completed.
 */
final class CommitThread {
  private static final ExecutorService THREADS =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task, "duolog-epoch-commit");
            thread.setDaemon(true);
            return thread;
          });

  private CommitThread() {}

  static Future<Void> submit(Callable<Void> work) {
    return THREADS.submit(work);
  }

  /** Completes the work even if the caller is interrupted, and interrupts the caller after it. */
  static void uninterruptibly(Callable<Void> work) throws IOException {
    Future<Void> running = submit(work);
    boolean interrupted = false;
    try {
      while (true) {
        try {
          running.get();
          return;
        } catch (InterruptedException later) {
          interrupted = true;
        }
      }
    } catch (ExecutionException failed) {
      if (failed.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw new IOException(failed.getCause());
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
