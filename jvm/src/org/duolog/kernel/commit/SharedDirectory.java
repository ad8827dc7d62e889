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
 * Whether the executors of a cluster have a directory of the driver's at the same path.
 *
 * <p>State lies there: where an executor has another directory of that name it would find no state, begin with none and
 * commit it. Threads: the driver's.
 */
public final class SharedDirectory {
  /** An executor that is busy with another query's task may leave its part to others: some parts too many do no harm. */
  private static final int PARTS_PER_SLOT = 2;

  private SharedDirectory() {}

  /**
   * The executors that do not see a file as the driver does, or may not write beside it: each with its host, in words; empty
   * where all is well. It asks those that have a free slot.
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
        "executor " + SparkEnv.get().executorId() + " on " + InetAddress.getLocalHost().getHostName();
    try {
      if (!Remote.readString(file).equals(content)) {
        found.add(who + " has another " + Remote.text(file));
      } else if (!Remote.isWritable(file.getParent())) {
        found.add(who + " may not write to " + Remote.text(file.getParent()));
      }
    } catch (NoSuchFileException missing) {
      found.add(who + " has no " + Remote.text(file));
    } catch (IOException unseen) {
      found.add(who + " cannot read " + Remote.text(file) + ": " + unseen.getMessage());
    }
    return found;
  }
}
