package org.duolog.kernel.state;

import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessorWithInitialState;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.duolog.kernel.record.Envelope;
import org.duolog.kernel.topology.InitialEntry;
import org.duolog.kernel.topology.Level;
import scala.collection.Iterator;

/**
 * A {@link Level} whose stores start with entries of another checkpoint. Spark passes these in the
 * first micro-batch, before any record, and commits them with it.
 *
 * <p>Spark's checkpoint does not distinguish it from a plain level, which later starts use.
 * Threads: as there.
 */
public final class LevelWithInitialState
    extends StatefulProcessorWithInitialState<Long, Envelope, Envelope, InitialEntry> {
  private static final long serialVersionUID = 1L;

  private final Level level;

  public LevelWithInitialState(Level level) {
    this.level = level;
  }

  @Override
  public void init(OutputMode outputMode, TimeMode timeMode) {
    level.setHandle(getHandle());
    level.init(outputMode, timeMode);
  }

  @Override
  public void handleInitialState(Long group, InitialEntry entry, TimerValues timers) {
    level.put(entry);
  }

  @Override
  public Iterator<Envelope> handleInputRows(
      Long group, Iterator<Envelope> records, TimerValues timers) {
    return level.handleInputRows(group, records, timers);
  }

  @Override
  public void close() {
    level.close();
  }
}
