package org.duolog.kernel.commit;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Set;

/**
 * Renames a file of a checkpoint that this JVM owns to its final name, with all steps that must
 * precede or follow:
 *
 * <pre>
 *   prepared.N       is durable, with all that was written before       entries of Spark's logs
 *   owner.json       is still this JVM's                                all files
 *   transaction      is committed, with the marker                      commits/N, exactly once
 *   the file         gets its name, durably
 *   commit topic     gets a record                                      commits/N, with changelogs
 * </pre>
 *
 * <p>Threads: any; the entries of one log are renamed one after the other.
 */
final class EntryRename {
  private static final String COMMITS = "commits";

  /** The logs whose entries plan and complete a micro-batch. */
  static final Set<String> LOGS = Set.of("offsets", COMMITS);

  private EntryRename() {}

  /** Renames a file; returns false if it could not. */
  interface Renaming {
    boolean run() throws IOException;
  }

  static boolean through(Checkpoint checkpoint, Path from, Path to, Renaming renaming)
      throws IOException {
    boolean isEntry = LOGS.contains(to.getParent().getFileName().toString());
    Transactions transactions = isEntry ? transactions(to) : null;
    if (transactions != null) {
      transactions.prepare(number(to), from, checkpoint.unsynced());
    }
    if (isEntry) {
      checkpoint.unsynced().sync();
    }
    String kind = isEntry ? to.getParent().getFileName().toString() : "state";
    FailPoints.at(kind + ".before");
    // The last check, as close to the rename as possible. On a remote file system each check is a
    // request.
    if (isEntry || !Remote.is(to)) {
      checkpoint.ensureOwned();
    } else {
      checkpoint.ensureRecentlyOwned();
    }
    if (transactions != null) {
      transactions.commit(number(to));
    }
    boolean renamed = renaming.run();
    checkpoint.unsynced().remove(from);
    checkpoint.unsynced().add(to);
    checkpoint.unsynced().add(to.getParent());
    if (isEntry) {
      checkpoint.unsynced().sync();
      CommitTopic.written(to);
    }
    FailPoints.at(kind + ".after");
    if (transactions != null) {
      transactions.committed();
    }
    return renamed;
  }

  /** Returns the transactions that end with a file, if it is a commit; null for other files. */
  private static Transactions transactions(Path entry) {
    Path log = entry.getParent();
    return log.endsWith(COMMITS) && number(entry) >= 0
        ? Transactions.of(log.getParent())
        : null;
  }

  /** Returns the number of an entry; -1 for other files, such as checksums. */
  private static long number(Path entry) {
    String name = entry.getFileName().toString();
    return name.chars().allMatch(Character::isDigit) ? Long.parseLong(name) : -1;
  }
}
