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
 * A checkpoint directory that this JVM owns: its lock, the proof that it is still the owner, and
 * what was written to it and is not yet durable.
 *
 * <pre>
 *   owner.lock     locked while this JVM lives; the system frees it, however the JVM ends
 *   owner.json     who owns the directory; the claim of another one replaces it
 *   owner.N.beat   touched while the owner numbered N lives, for hosts that do not see the lock
 * </pre>
 *
 * <p>Who may claim, and when, is decided in Python ({@code engine/owner.py}). Here stands what must
 * not outlive a claim: each write looks whether {@code owner.json} still holds what the claim put
 * there, so an owner that was paused, taken for dead and replaced writes nothing more.
 *
 * <p>Threads: any.
 */
public final class Checkpoint {
  private static final String LOCK = "owner.lock";
  private static final String OWNER = "owner.json";
  private static final String STATES = "spark*";
  private static final long BEAT_MS = 2_000;

  /** Much shorter than a host waits before it takes another one for dead. */
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
   * @return {@code locked}, {@code held} by somebody else, or {@code unsupported} by the file system
   */
  public static synchronized String lock(String directory) throws IOException {
    Path path = Path.of(directory);
    if (Remote.is(path)) {
      return "unsupported";
    }
    // A second channel on the same file would free the lock of this process when it is closed.
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

  /** Makes this JVM the owner of a directory in whose {@code owner.json} stands {@code owner}. */
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
   * Has the names in Spark's logs synced before the next entry: one that a killed process has left there may be in the
   * page cache alone, and what is computed now goes on behind it.
   */
  private void addNamesOfLogs() throws IOException {
    if (Remote.is(directory)) {
      return;
    }
    try (DirectoryStream<Path> states = Files.newDirectoryStream(directory, STATES)) {
      for (Path state : states) {
        EntryRename.LOGS.stream().map(state::resolve).filter(Files::isDirectory).forEach(unsynced::add);
      }
    }
  }

  /** Gives a directory up, and its lock. */
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

  /** The checkpoint that a path lies in, or null where this JVM owns none. */
  public static Checkpoint of(Path path) {
    if (OWNED.isEmpty()) {
      return null;
    }
    for (Path above = Remote.is(path) ? path : path.toAbsolutePath(); above != null; above = above.getParent()) {
      Checkpoint checkpoint = OWNED.get(above);
      if (checkpoint != null) {
        return checkpoint;
      }
    }
    return null;
  }

  /** What tells tasks in other JVMs, over a shared file system, whether this one still owns the directory. */
  public record Claim(String directory, String owner) implements Serializable {
    private static final long serialVersionUID = 1L;

    /** The claim on the checkpoint that a path lies in, or null where this JVM owns none. */
    public static Claim on(Path path) {
      Checkpoint checkpoint = of(path);
      return checkpoint == null
          ? null
          : new Claim(checkpoint.directory.toString(), checkpoint.owner);
    }

    /** What to ask in the JVM of a task; it touches no beat. */
    public Checkpoint ask() {
      Checkpoint own = OWNED.get(Path.of(directory));
      return own != null ? own : new Checkpoint(Path.of(directory), owner, -1);
    }
  }

  PendingSyncs unsynced() {
    return unsynced;
  }

  /** Throws where another process has claimed the directory. */
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

  /** Does so where this was not proven for some seconds: a process that was paused asks first. */
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
      // Whoever writes next asks again, and tells.
    }
  }

  /** Lets hosts that watch the beat see that this JVM lives. Not all file systems behind URLs can set times. */
  private void touch() throws IOException {
    byte[] seen = Remote.is(beat) ? Instant.now().toString().getBytes(US_ASCII) : new byte[0];
    Remote.write(beat, seen);
    if (!Remote.is(beat)) {
      Files.setLastModifiedTime(beat, FileTime.from(Instant.now()));
    }
  }

  /** This JVM no longer owns a checkpoint that it works on. */
  public static final class CheckpointLostException extends IOException {
    private static final long serialVersionUID = 1L;

    CheckpointLostException(Path directory, String how) {
      super("checkpoint " + Remote.text(directory) + " " + how);
    }
  }
}
