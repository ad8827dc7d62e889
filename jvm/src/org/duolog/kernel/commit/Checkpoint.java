package org.duolog.kernel.commit;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.io.Serializable;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/**
 * A checkpoint directory that this JVM owns: its lock, the proof of ownership, and the files that
 * are not durable yet.
 *
 * <pre>
 *   owner.lock     locked while this JVM lives; the system frees it, however the JVM ends
 *   owner.json     names the owner of the directory; another owner replaces it
 *   owner.N.beat   touched while the owner numbered N lives, for hosts that do not see the lock
 * </pre>
 *
 * <p>Python decides who may claim a directory, and when ({@code engine/checkpoint/owner.py}). This
 * class guards writes: each write checks that {@code owner.json} still holds the claim, so an owner
 * that was paused, taken for dead and replaced writes nothing more.
 *
 * <p>Threads: any.
 */
public final class Checkpoint {
  private static final String LOCK = "owner.lock";
  private static final String OWNER = "owner.json";
  private static final String STATES = "spark*";
  private static final long BEAT_MS = 2_000;

  /** Much shorter than the time after which another host takes this one for dead. */
  private static final long PROOF_NS = TimeUnit.SECONDS.toNanos(5);

  private static final Map<Path, FileChannel> LOCKED = new ConcurrentHashMap<>();
  private static final Map<Path, Checkpoint> OWNED = new ConcurrentHashMap<>();
  private static final ScheduledExecutorService BEATS =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "duolog-checkpoint-beat");
            thread.setDaemon(true);
            return thread;
          });

  private final Path directory;
  private final Path beat;
  private final String owner;
  private final PendingSyncs unsynced;
  private volatile long provenAt;
  private ScheduledFuture<?> beating;

  private Checkpoint(Path directory, String owner, long number) {
    this.directory = directory;
    this.owner = owner;
    unsynced = new PendingSyncs(directory);
    beat = directory.resolve("owner." + number + ".beat");
  }

  /**
   * Locks a directory for this JVM.
   *
   * @return {@code locked}, {@code held} if another process has the lock, or {@code unsupported} by
   *     the file system
   */
  public static synchronized String lock(String directory) throws IOException {
    Path path = Path.of(directory);
    if (Remote.is(path)) {
      return "unsupported";
    }
    // Closing a second channel on the same file would free the lock of this process.
    if (LOCKED.containsKey(path)) {
      return "held";
    }
    FileChannel channel =
        FileChannel.open(
            path.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    try {
      FileLock lock = channel.tryLock();
      if (lock == null) {
        channel.close();
        return "held";
      }
    } catch (IOException noLocks) {
      channel.close();
      return "unsupported";
    }
    LOCKED.put(path, channel);
    return "locked";
  }

  /** Makes this JVM the owner of a directory whose {@code owner.json} contains {@code owner}. */
  public static void own(String directory, String owner, long number) throws IOException {
    Checkpoint checkpoint = new Checkpoint(Path.of(directory), owner, number);
    checkpoint.ensureOwned();
    checkpoint.touch();
    checkpoint.addNamesOfLogs();
    checkpoint.beating =
        BEATS.scheduleWithFixedDelay(
            checkpoint::beat, BEAT_MS, BEAT_MS, TimeUnit.MILLISECONDS);
    OWNED.put(checkpoint.directory, checkpoint);
  }

  /**
   * Registers the names in Spark's logs to be synced before the next entry: an entry left by a
   * killed process may only be in the page cache, and the next computation builds on it.
   */
  private void addNamesOfLogs() throws IOException {
    if (Remote.is(directory)) {
      return;
    }
    try (DirectoryStream<Path> states = Files.newDirectoryStream(directory, STATES)) {
      for (Path state : states) {
        EntryRename.LOGS.stream()
            .map(state::resolve)
            .filter(Files::isDirectory)
            .forEach(unsynced::add);
      }
    }
  }

  /** Releases a directory and its lock. */
  public static synchronized void release(String directory) throws IOException {
    Path path = Path.of(directory);
    Checkpoint checkpoint = OWNED.remove(path);
    if (checkpoint != null) {
      checkpoint.beating.cancel(false);
      Remote.deleteIfExists(checkpoint.beat);
    }
    FileChannel channel = LOCKED.remove(path);
    if (channel != null) {
      channel.close();
    }
  }

  /** Returns the checkpoint that contains a path; null if this JVM does not own it. */
  public static Checkpoint of(Path path) {
    if (OWNED.isEmpty()) {
      return null;
    }
    for (Path above = Remote.is(path) ? path : path.toAbsolutePath();
        above != null;
        above = above.getParent()) {
      Checkpoint checkpoint = OWNED.get(above);
      if (checkpoint != null) {
        return checkpoint;
      }
    }
    return null;
  }

  /**
   * Lets tasks in other JVMs check, over a shared file system, whether this JVM still owns the
   * directory.
   */
  public record Claim(String directory, String owner) implements Serializable {
    private static final long serialVersionUID = 1L;

    /**
     * Returns the claim on the checkpoint that contains a path; null if this JVM does not own it.
     */
    public static Claim on(Path path) {
      Checkpoint checkpoint = of(path);
      return checkpoint == null
          ? null
          : new Claim(checkpoint.directory.toString(), checkpoint.owner);
    }

    /** Returns a checkpoint for checks in the JVM of a task; it does not touch the beat file. */
    public Checkpoint ask() {
      Checkpoint own = OWNED.get(Path.of(directory));
      return own != null ? own : new Checkpoint(Path.of(directory), owner, -1);
    }
  }

  PendingSyncs unsynced() {
    return unsynced;
  }

  /** Fails if another process has claimed the directory. */
  void ensureOwned() throws IOException {
    long asked = System.nanoTime();
    String found;
    try {
      found = Remote.readString(directory.resolve(OWNER));
    } catch (NoSuchFileException removed) {
      throw new CheckpointLostException(directory, "was removed while it was in use");
    }
    if (!found.equals(owner)) {
      throw new CheckpointLostException(directory, "was taken over by another process");
    }
    provenAt = asked;
  }

  /**
   * The same, if ownership has not been checked for some seconds: a process that was paused must
   * check first.
   */
  public void ensureRecentlyOwned() throws IOException {
    if (System.nanoTime() - provenAt > PROOF_NS) {
      ensureOwned();
    }
  }

  private void beat() {
    try {
      ensureOwned();
      touch();
    } catch (IOException lost) {
      // The next write checks again, and reports the error.
    }
  }

  /**
   * Touches the beat file, to show other hosts that this JVM lives. Not all remote file systems can
   * set times.
   */
  private void touch() throws IOException {
    byte[] seen = Remote.is(beat) ? Instant.now().toString().getBytes(US_ASCII) : new byte[0];
    Remote.write(beat, seen);
    if (!Remote.is(beat)) {
      Files.setLastModifiedTime(beat, FileTime.from(Instant.now()));
    }
  }

  /** This JVM no longer owns a checkpoint that it uses. */
  public static final class CheckpointLostException extends IOException {
    private static final long serialVersionUID = 1L;

    CheckpointLostException(Path directory, String how) {
      super("checkpoint " + Remote.text(directory) + " " + how);
    }
  }
}
