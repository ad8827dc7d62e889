package org.duolog.kernel.commit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

/**
 * Syncs the pipe PIPE, which blocks until its other end is opened; is interrupted meanwhile, and syncs again.
 *
 * <p>Prints {@code stopped}, then {@code waits} or {@code returned} for the second sync, then how it ended.
 */
public final class InterruptedSync {
  private static final long LOOKS_MS = 1_000;

  private InterruptedSync() {}

  public static void main(String[] args) throws Exception {
    Path pipe = Path.of(args[0]);
    PendingSyncs unsynced = new PendingSyncs(pipe);
    unsynced.add(pipe);
    CountDownLatch begun = new CountDownLatch(1);
    Thread first = new Thread(() -> System.out.println(sync(unsynced, begun)));
    first.start();
    begun.await();
    Thread.sleep(LOOKS_MS);
    first.interrupt();
    first.join();
    Thread second = new Thread(() -> System.out.println(sync(unsynced, begun)));
    second.start();
    second.join(LOOKS_MS);
    System.out.println(second.isAlive() ? "waits" : "returned");
    Files.newOutputStream(pipe).close();
    second.join();
  }

  private static String sync(PendingSyncs unsynced, CountDownLatch begun) {
    begun.countDown();
    try {
      unsynced.sync();
      return "synced";
    } catch (java.io.InterruptedIOException e) {
      return "stopped";
    } catch (IOException e) {
      return "failed";
    }
  }
}
