package org.duolog.kernel.functions;

import java.util.List;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Operators that differ from Spark's: a DOUBLE divided by zero is infinite or NaN, NaN compares as
 * in Java, and a function that fails returns null without affecting the rest of the record.
 *
 * <p>Called from code that Spark generates. Source: the Java Language Specification 15.17; ksqlDB's
 * documentation of errors in expressions.
 */
public final class SqlOperators {
  /** Comparisons of DOUBLEs as in Java; in Spark, NaN equals itself and is the greatest value. */
  private static final List<String> COMPARISONS =
      List.of("equal", "unequal", "apart", "less", "lessOrEqual", "greater", "greaterOrEqual");

  private SqlOperators() {}

  public static void register(FunctionRegistry registry) {
    registry.createOrReplaceTempFunction("duolog_try", Attempt::of, "scala_udf");
    registry.createOrReplaceTempFunction(
        "duolog_weighed",
        arguments -> new Weighed(arguments.apply(0), arguments.apply(1)),
        "scala_udf");
    ofDoubles(registry, "duolog_divide", "divide", DataTypes.DoubleType);
    ofDoubles(registry, "duolog_remainder", "remainder", DataTypes.DoubleType);
    ofDoubles(registry, "duolog_atan2", "atan2", DataTypes.DoubleType);
    for (String comparison : COMPARISONS) {
      ofDoubles(registry, "duolog_" + comparison, comparison, DataTypes.BooleanType);
    }
    InTurn.register(registry);
  }

  public static boolean equal(double left, double right) {
    return left == right;
  }

  public static boolean unequal(double left, double right) {
    return left != right;
  }

  /** The {@code <>} of ksqlDB, which is false if a side is NaN. */
  public static boolean apart(double left, double right) {
    return left < right || left > right;
  }

  public static boolean less(double left, double right) {
    return left < right;
  }

  public static boolean lessOrEqual(double left, double right) {
    return left <= right;
  }

  public static boolean greater(double left, double right) {
    return left > right;
  }

  public static boolean greaterOrEqual(double left, double right) {
    return left >= right;
  }

  /** Spark's own turns -0.0 into 0.0 first. */
  public static double atan2(double y, double x) {
    return Math.atan2(y, x);
  }

  public static double divide(double left, double right) {
    return left / right;
  }

  public static double remainder(double left, double right) {
    return left % right;
  }

  private static void ofDoubles(
      FunctionRegistry registry, String name, String method, DataType gives) {
    register(
        registry, name, method, gives, List.of(DataTypes.DoubleType, DataTypes.DoubleType));
  }

  private static void register(
      FunctionRegistry registry,
      String name,
      String method,
      DataType gives,
      List<AbstractDataType> inputs) {
    Seq<AbstractDataType> types = CollectionConverters.asScala(inputs).toSeq();
    registry.createOrReplaceTempFunction(
        name,
        (Seq<Expression> arguments) ->
            new StaticInvoke(
                SqlOperators.class,
                gives,
                method,
                arguments,
                types,
                true,
                true,
                true,
                Option.empty()),
        "scala_udf");
  }
}
