package org.duolog.kernel.node;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.duolog.kernel.spec.Binding;
import org.duolog.kernel.spec.Operator;
import org.duolog.kernel.spec.Spec;

/** Reads a node of each kind from FILE; prints each as it was read, and whether a graph builds it. */
public final class NodeKinds {
  private NodeKinds() {}

  public static void main(String[] args) throws IOException {
    Spec spec = Spec.parse("{\"application_id\": \"a\", \"tasks\": 1, \"shuffle_partitions\": 1}");
    Graph graph = new Graph(new Binding(spec, null), null, List.of());
    for (String line : Files.readAllLines(Path.of(args[0]))) {
      Operator operator = Spec.parse(line, Operator.class);
      String read = operator.toString().replace(" ", "");
      System.out.println((graph.builds(operator) ? "built:" : "not-built:") + read);
    }
  }
}
