package org.duolog.kernel.commit;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Set;

/**
 * A file of a checkpoint that this JVM owns gets its name, and with it everything that is to come before and behind:
 *
 * <pre>
 *   prepared.N       is durable, with all that was written before       entries of Spark's logs
 *   owner.json       is still this JVM's                                all files
 *   transaction      is committed, with the marker                      commits/N, exactly once
 *   the file         gets its name, durably
 *   topic of commits tells                                              commits/N, with changelogs
 * </pre>
 *
 * <p>Threads: any; the entries of one log come one behind the other.
 */
final class EntryRename {
  private static final String COMMITS = "commits";

  /** The logs whose entries make a micro-batch planned, and done. */
  static final Set<String> LOGS = Set.of("offsets", COMMITS);

  private EntryRename() {}

  /** Gives a file its name; tells whether it could. */
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
    // Last, as little time as can be before the rename. Behind an URL each look is a request.
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

  /** The transactions that end with a file, which are those of a commit; null of any other. */
  private static Transactions transactions(Path entry) {
    Path log = entry.getParent();
    return log.endsWith(COMMITS) && number(entry) >= 0
        ? Transactions.of(log.getParent())
        : null;
  }

  /** The number of an entry; -1 of what stands beside entries, such as their checksums. */
  private static long number(Path entry) {
    String name = entry.getFileName().toString();
    return name.chars().allMatch(Character::isDigit) ? Long.parseLong(name) : -1;
  }
}
