package org.duolog.kernel;

import java.io.Serializable;
import java.util.List;

/** Joins the records of one stream with those of another; the window is as its own see it. */
record StreamJoinOperator(
    String name,
    List<Integer> children,
    List<String> keyTypes,
    List<String> valueTypes,
    boolean table,
    String store,
    String otherStore,
    boolean fills,
    boolean left,
    boolean tellsUnmatched,
    String unmatched,
    String otherUnmatched,
    long beforeMs,
    long afterMs,
    long graceMs,
    String keyBytes,
    List<String> rightTypes,
    List<String> values)
    implements Operator, Serializable {
  StreamJoinOperator {
    children = Spec.orEmpty(children);
    keyTypes = Spec.orEmpty(keyTypes);
    valueTypes = Spec.orEmpty(valueTypes);
    rightTypes = Spec.orEmpty(rightTypes);
    values = Spec.orEmpty(values);
  }
}
