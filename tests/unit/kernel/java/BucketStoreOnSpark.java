package org.duolog.kernel.store;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.spark.api.java.function.MapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.ForeachWriter;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.streaming.sources.LowLatencyMemoryStream;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.Trigger;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import org.duolog.kernel.record.Grouping;
import org.duolog.kernel.topology.Level;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Runs commands on a {@link BucketStore} in streaming queries on one checkpoint.
 *
 * <p>Usage: CHECKPOINT then, for each start, MODE and COMMANDS. A command is "TASK put BUCKET KEY VALUE TS", "TASK
 * delete BUCKET KEY", "TASK get BUCKET KEY", "TASK scan BUCKET" or "TASK move BUCKET", which moves the rows of a scan
 * to the next bucket during the scan. Prints the results of gets and scans.
 */
public final class BucketStoreOnSpark {
  private static final Queue<String> FOUND = new ConcurrentLinkedQueue<>();

  /** Both tasks are in one Spark partition, and so in one Spark store. */
  private static final Grouping GROUPING = new Grouping(1, 2, 1);

  private static final long TIMEOUT_MS = 60_000;

  private BucketStoreOnSpark() {}

  public static void main(String[] args) throws Exception {
    SparkSession spark = SparkSession.builder().getOrCreate();
    LowLatencyMemoryStream<String> commands =
        LowLatencyMemoryStream.singlePartition(spark, Encoders.STRING());
    for (int i = 1; i < args.length; i += 2) {
      List<String> lines = List.of(args[i + 1].split(";"));
      commands.addData(CollectionConverters.asScala(lines));
      StreamingQuery query = start(commands.toDS(), args[0], args[i]);
      await(query, lines.size());
      query.stop();
      System.out.println("found " + args[i] + " " + new ArrayList<>(FOUND));
      FOUND.clear();
    }
    spark.stop();
  }

  private static StreamingQuery start(Dataset<String> commands, String checkpoint, String mode)
      throws Exception {
    return commands
        .map(
            (MapFunction<String, Command>) Command::parse,
            Encoders.bean(Command.class))
        .groupBy("grouping")
        .as(Encoders.LONG(), Encoders.bean(Command.class))
        .transformWithState(
            new Commands(), TimeMode.None(), OutputMode.Update(), Encoders.STRING())
        .writeStream()
        .outputMode("update")
        .option("checkpointLocation", checkpoint)
        .trigger(
            mode.equals("real-time") ? Trigger.RealTime("2 seconds") : Trigger.AvailableNow())
        .foreach(new Collect())
        .start();
  }

  /** Waits until an epoch with the commands has been committed. */
  private static void await(StreamingQuery query, int commands) throws Exception {
    long deadline = System.currentTimeMillis() + TIMEOUT_MS;
    while (query.isActive() && System.currentTimeMillis() < deadline) {
      long read = 0;
      for (var progress : query.recentProgress()) {
        read += progress.numInputRows();
      }
      if (read >= commands) {
        return;
      }
      Thread.sleep(50);
    }
    if (query.exception().isDefined()) {
      throw query.exception().get();
    }
  }

  /** A command and the grouping number of its task. */
  public static final class Command implements Serializable {
    private static final long serialVersionUID = 1L;

    private long grouping;
    private String text;

    static Command parse(String line) {
      Command command = new Command();
      command.grouping = GROUPING.of(0, Integer.parseInt(line.substring(0, 1)));
      command.text = line;
      return command;
    }

    public long getGrouping() {
      return grouping;
    }

    public void setGrouping(long grouping) {
      this.grouping = grouping;
    }

    public String getText() {
      return text;
    }

    public void setText(String text) {
      this.text = text;
    }
  }

  private static final class Commands extends StatefulProcessor<Long, Command, String> {
    private static final long serialVersionUID = 1L;

    private final BucketStore store = new BucketStore("buckets", 1, 1, GROUPING);
    private transient UnsafeProjection row;

    @Override
    public void init(OutputMode outputMode, TimeMode timeMode) {
      store.attach(Level.state(getHandle(), store.name()));
    }

    @Override
    public scala.collection.Iterator<String> handleInputRows(
        Long task, scala.collection.Iterator<Command> commands, TimerValues timers) {
      GROUPING.check(task);
      store.select(task);
      row = UnsafeProjection.create(new DataType[] {DataTypes.StringType});
      return commands.flatMap(command -> run(command.getText().split(" ")));
    }

    private scala.collection.Iterator<String> run(String[] words) {
      long bucket = Long.parseLong(words[2]);
      List<String> found = new ArrayList<>();
      switch (words[1]) {
        case "put" ->
            store.put(bucket, row(words[3]), row(words[4]), Long.parseLong(words[5]));
        case "delete" -> store.delete(bucket, row(words[3]));
        case "get" -> {
          UnsafeRow value = store.get(bucket, row(words[3]));
          found.add(value == null ? "nothing" : value.getString(0));
        }
        case "scan" -> store.scan(bucket, (key, value, ts) -> found.add(shown(key, value, ts)));
        case "move" ->
            store.scan(
                bucket,
                (key, value, ts) -> {
                  store.delete(bucket, key);
                  store.put(bucket + 1, key, value, ts);
                  store.put(bucket, row(value.getString(0)), value, ts);
                });
        default -> throw new IllegalArgumentException(words[1]);
      }
      boolean asks = words[1].equals("scan") || words[1].equals("get");
      String answer =
          String.join(" ", words) + " -> " + String.join(" ", found.stream().sorted().toList());
      return CollectionConverters.asScala((asks ? List.of(answer) : List.<String>of()).iterator());
    }

    private UnsafeRow row(String text) {
      return row.apply(new GenericInternalRow(new Object[] {UTF8String.fromString(text)})).copy();
    }

    private static String shown(UnsafeRow key, UnsafeRow value, long ts) {
      return key.getString(0) + "=" + value.getString(0) + "@" + ts;
    }
  }

  private static final class Collect extends ForeachWriter<String> {
    private static final long serialVersionUID = 1L;

    @Override
    public boolean open(long partition, long epoch) {
      return true;
    }

    @Override
    public void process(String line) {
      FOUND.add(line);
    }

    @Override
    public void close(Throwable error) {}
  }
}
