package org.duolog.kernel.spec;

import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.StructsToJson;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Runs twins of a {@link Program} that writes JSON in two threads.
 *
 * <p>Usage: ROWS. Prints how many of the texts do not belong to their rows.
 */
public final class ConcurrentPrograms {
  private ConcurrentPrograms() {}

  public static void main(String[] args) throws Exception {
    int rows = Integer.parseInt(args[0]);
    Expression struct =
        new CreateNamedStruct(
            CollectionConverters.asScala(
                    List.<Expression>of(
                        new Literal(UTF8String.fromString("n"), DataTypes.StringType),
                        new BoundReference(0, DataTypes.LongType, true)))
                .toSeq());
    Expression json =
        new StructsToJson(Map$.MODULE$.<String, String>empty(), struct, Option.apply("UTC"))
            .replacement();
    Program one =
        new Program(new Expression[][] {{json}}, new DataType[] {DataTypes.StringType});
    Program two = one.twin();
    one.open(0);
    two.open(0);

    ExecutorService threads = Executors.newFixedThreadPool(2);
    List<Callable<Integer>> both = List.of(() -> wrong(one, rows, 1), () -> wrong(two, rows, -1));
    int wrong = 0;
    for (Future<Integer> found : threads.invokeAll(both)) {
      wrong += found.get();
    }
    threads.shutdown();
    System.out.println(wrong);
  }

  private static int wrong(Program program, int rows, int sign) {
    int wrong = 0;
    for (long n = 0; n < rows; n++) {
      String text;
      try {
        text = program.apply(new GenericInternalRow(new Object[] {n * sign})).getString(0);
      } catch (RuntimeException e) {
        text = e.toString();
      }
      wrong += text.equals("{\"n\":" + n * sign + "}") ? 0 : 1;
    }
    return wrong;
  }
}
