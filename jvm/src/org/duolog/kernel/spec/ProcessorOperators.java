package org.duolog.kernel.spec;

import java.util.List;

/** The operators of a user's processors. */
public final class ProcessorOperators {
  private ProcessorOperators() {}

  /**
   * Calls a Python processor with records of a stream, and by time. Forwards the number of an
   * output with key and value as JSON.
   *
   * @param function its name in the spec
   * @param record JSON as bytes: the columns of key and value
   * @param store the store of its stream time and its schedules
   * @param stores the stores that it accesses, which others may write too
   * @param waits true if it may be called with many records at once
   */
  public record Process(
      NodeSpec node,
      String function,
      String record,
      String store,
      List<String> stores,
      boolean waits)
      implements Operator {
    public Process {
      stores = Spec.orEmpty(stores);
    }
  }

  /** Turns what is forwarded to one output into records. */
  public record ProcessOutput(
      NodeSpec node,
      int output,
      List<String> keys,
      List<String> keyColumns,
      List<String> values,
      List<String> valueColumns)
      implements Operator {
    public ProcessOutput {
      keys = Spec.orEmpty(keys);
      keyColumns = Spec.orEmpty(keyColumns);
      values = Spec.orEmpty(values);
      valueColumns = Spec.orEmpty(valueColumns);
    }
  }

  /** Passes the time by the wall clock to a processor. */
  public record Punctuate(NodeSpec node, int process) implements Operator {}
}
