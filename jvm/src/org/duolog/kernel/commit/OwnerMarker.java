package org.duolog.kernel.commit;

import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The owner in the marker topic: written by a start, and read when its producer has been fenced, to
 * name the process that has taken over.
 *
 * <p>Threads: any.
 */
final class OwnerMarker {
  private static final int READS_MAX = 20;
  private static final long READ_EVERY_MS = 100;

  private final EpochMarkers markers;
  private final String claim;
  private final Path directory;
  private final Object lock = new Object();

  /**
   * The owner, once it was read: if it is another one, the transactions of this start cannot be
   * used any more.
   */
  private Map<String, Object> found;

  /** @param directory the application's directory */
  OwnerMarker(EpochMarkers markers, String claim, Path directory) {
    this.markers = markers;
    this.claim = claim;
    this.directory = directory;
  }

  /** Returns the marker of this start, on a machine with this name. */
  Map<String, Object> marker(String host) {
    Map<String, Object> owner = new LinkedHashMap<>();
    owner.put("claim", claim);
    owner.put("host", host);
    owner.put("pid", OwnerProcess.pid());
    owner.put("checkpoint", Remote.text(directory));
    return owner;
  }

  /**
   * Reads the current owner; an owner that has fenced this one writes its marker a moment later.
   */
  Map<String, Object> now() {
    // All tasks of an epoch fail at once if the broker has problems: one of them asks.
    synchronized (lock) {
      Map<String, Object> owner = found == null ? read() : found;
      found = Thread.currentThread().isInterrupted() ? found : owner;
      return owner;
    }
  }

  private Map<String, Object> read() {
    Map<String, Object> owner = Map.of("claim", claim);
    try {
      for (int reads = 0; reads < READS_MAX && claim.equals(owner.get("claim")); reads++) {
        Thread.sleep(reads == 0 ? 0 : READ_EVERY_MS);
        owner = markers.read(EpochMarkers.OWNER).getOrDefault(EpochMarkers.OWNER, owner);
      }
    } catch (IOException | RuntimeException unknown) {
      // The only information left is the producer's error.
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
    return owner;
  }
}
