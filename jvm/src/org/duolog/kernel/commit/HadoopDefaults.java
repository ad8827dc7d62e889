package org.duolog.kernel.commit;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkContext;

/**
 * Removes Hadoop's defaults for YARN and MapReduce, as neither is used.
 *
 * <p>Each stateful operator of each micro-batch broadcasts Hadoop's whole configuration, and its
 * tasks read it again. Two thirds of its 1,100 entries are for YARN and MapReduce; writing them
 * took an eighth of a micro-batch with few records.
 */
public final class HadoopDefaults {
  private static final Set<String> UNUSED = Set.of("yarn-default.xml", "mapred-default.xml");

  private HadoopDefaults() {}

  /**
   * Called whenever a query is built, as Hadoop's classes add the defaults again when they are
   * loaded. Settings of the user are kept.
   */
  public static void forget(SparkContext context) {
    if (context.master().startsWith("yarn")) {
      return;
    }
    Configuration configuration = context.hadoopConfiguration();
    List<String> unused = new ArrayList<>();
    for (Map.Entry<String, String> entry : configuration) {
      String[] sources = configuration.getPropertySources(entry.getKey());
      if (sources != null && sources.length > 0 && UNUSED.contains(sources[sources.length - 1])) {
        unused.add(entry.getKey());
      }
    }
    unused.forEach(configuration::unset);
  }
}
