package org.duolog.kernel.record;

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;

/**
 * An envelope as a row, without a copy of its bytes.
 *
 * <p>Threads: not shared; the instance is reused for the next envelope.
 */
public final class EnvelopeRow extends GenericInternalRow {
  private static final long serialVersionUID = 1L;

  public EnvelopeRow() {
    super(Envelope.COLUMNS);
  }

  public EnvelopeRow of(Envelope envelope) {
    update(Envelope.GROUPING, envelope.getGrouping());
    update(Envelope.PACKED, envelope.getPacked());
    return this;
  }
}
