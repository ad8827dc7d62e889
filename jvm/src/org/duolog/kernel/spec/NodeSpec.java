package org.duolog.kernel.spec;

import java.io.Serializable;
import java.util.List;

/**
 * The fields that a node of any kind has in a spec. {@code engine/lowering/spec/node_spec.py}
 * writes them.
 *
 * @param kind the kind, which determines the other fields ({@link Operator})
 * @param name its name in messages; null if it has none
 * @param children the nodes that it feeds
 * @param keyTypes the types of the key columns of its input
 * @param valueTypes the types of the value columns of its input
 * @param table true if the input carries changes of a table
 */
public record NodeSpec(
    String kind,
    String name,
    List<Integer> children,
    List<String> keyTypes,
    List<String> valueTypes,
    boolean table)
    implements Serializable {
  private static final long serialVersionUID = 1L;

  public NodeSpec {
    children = Spec.orEmpty(children);
    keyTypes = Spec.orEmpty(keyTypes);
    valueTypes = Spec.orEmpty(valueTypes);
  }
}
