package org.duolog.kernel;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;

/**
 * An executor that has counted in two runs of one application and in one of another, and whose driver is in the second.
 *
 * <p>Prints what it has told by the end of its first task, then the runs that it still knows of.
 */
public final class CountsOfAnExecutor {
  private CountsOfAnExecutor() {}

  public static void main(String[] args) throws Exception {
    List<String> told = new ArrayList<>();
    PluginContext context =
        (PluginContext)
            Proxy.newProxyInstance(
                PluginContext.class.getClassLoader(),
                new Class<?>[] {PluginContext.class},
                (self, method, given) ->
                    switch (method.getName()) {
                      case "executorID" -> "7";
                      case "send", "ask" -> takes(told, (MetricsPlugin.Report) given[0]);
                      default -> throw new UnsupportedOperationException(method.toString());
                    });
    ExecutorPlugin plugin = new MetricsPlugin().executorPlugin();
    for (String run : List.of("a#1", "a#2", "b#1")) {
      Metrics.of(run).recordsIn.increment();
    }
    plugin.init(context, Map.of());
    plugin.onTaskSucceeded();
    System.out.println(String.join(",", new TreeSet<>(told)));
    System.out.println(String.join(",", new TreeSet<>(Metrics.ofThisJvm().keySet())));
    System.exit(0);
  }

  private static boolean takes(List<String> told, MetricsPlugin.Report report) {
    boolean isWanted = !report.run().equals("a#1");
    if (isWanted) {
      told.add(report.run());
    }
    return isWanted;
  }
}
