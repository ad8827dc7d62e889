package org.duolog.kernel.commit;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.TreeSet;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * Checks that the executors of a cluster see a directory of the driver at the same path.
 *
 * <p>It holds the state: an executor with another directory of that name would find no state, start
 * without it and commit that. Threads: the driver's.
 */
public final class SharedDirectory {
  /**
   * An executor that is busy with another query may leave its check to others; a few extra checks
   * do no harm.
   */
  private static final int PARTS_PER_SLOT = 2;

  private SharedDirectory() {}

  /**
   * Returns the executors that do not see a file as the driver does, or cannot write next to it:
   * each with its host, in words; an empty text if there are none. Checks the executors that have a
   * free slot.
   */
  public static String unseen(JavaSparkContext spark, String file, int slots) throws IOException {
    String content = Remote.readString(Path.of(file));
    int parts = Math.max(1, slots) * PARTS_PER_SLOT;
    List<String> asked =
        spark
            .parallelize(Collections.nCopies(parts, 0), parts)
            .mapPartitions(unused -> complaint(Path.of(file), content).iterator())
            .collect();
    return String.join("; ", new TreeSet<>(asked));
  }

  private static List<String> complaint(Path file, String content) throws IOException {
    List<String> found = new ArrayList<>();
    String who =
        "executor "
            + SparkEnv.get().executorId()
            + " on "
            + InetAddress.getLocalHost().getHostName();
    try {
      if (!Remote.readString(file).equals(content)) {
        found.add(who + " has another " + Remote.text(file));
      } else if (!Remote.isWritable(file.getParent())) {
        found.add(who + " cannot write to " + Remote.text(file.getParent()));
      }
    } catch (NoSuchFileException missing) {
      found.add(who + " has no " + Remote.text(file));
    } catch (IOException unseen) {
      found.add(who + " cannot read " + Remote.text(file) + ": " + unseen.getMessage());
    }
    return found;
  }
}
