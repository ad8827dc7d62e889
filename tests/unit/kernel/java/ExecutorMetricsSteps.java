package org.duolog.kernel.python;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.duolog.kernel.metrics.Metrics;

/**
 * An executor that has counted in two runs of one application and in one run of another, with a driver that is in the
 * second run.
 *
 * <p>Prints what it has reported by the end of its first task, which asks nothing; then the runs that it still knows
 * after its poll.
 */
public final class ExecutorMetricsSteps {
  private static final String OVER = "a#1";
  private static final long WAIT_NS = 20_000_000_000L;

  private ExecutorMetricsSteps() {}

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
                      case "send" -> takes(told, (MetricsPlugin.Report) given[0]);
                      case "ask" -> !of(given[0]).equals(OVER);
                      default -> throw new UnsupportedOperationException(method.toString());
                    });
    ExecutorPlugin plugin = new MetricsPlugin().executorPlugin();
    for (String run : List.of("a#1", "a#2", "b#1")) {
      Metrics.of(run).recordsIn.increment();
    }
    plugin.init(context, Map.of());
    plugin.onTaskSucceeded();
    System.out.println(String.join(",", new TreeSet<>(told)));
    for (long until = System.nanoTime() + WAIT_NS;
        Metrics.ofThisJvm().containsKey(OVER) && System.nanoTime() < until; ) {
      Thread.sleep(50);
    }
    System.out.println(String.join(",", new TreeSet<>(Metrics.ofThisJvm().keySet())));
    System.exit(0);
  }

  private static Object takes(List<String> told, MetricsPlugin.Report report) {
    told.add(of(report));
    return null;
  }

  private static String of(Object report) {
    return ((MetricsPlugin.Report) report).run();
  }
}
