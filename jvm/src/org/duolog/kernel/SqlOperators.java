package org.duolog.kernel;

import java.util.List;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.TryEval;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataTypes;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What SQL's operators are where Spark's are otherwise: DOUBLE by zero is infinite or no number, and a
 * function that fails is null in its place, with the rest of the record as it is.
 *
 * <p>Called by the code that Spark generates. Source: the Java Language Specification 15.17; ksqlDB's
 * documentation of errors in expressions.
 */
public final class SqlOperators {
  private SqlOperators() {}

  static void register(FunctionRegistry registry) {
    registry.createOrReplaceTempFunction(
        "duolog_try", arguments -> new TryEval(arguments.apply(0)), "scala_udf");
    ofDoubles(registry, "duolog_divide", "divide");
    ofDoubles(registry, "duolog_remainder", "remainder");
  }

  public static double divide(double left, double right) {
    return left / right;
  }

  public static double remainder(double left, double right) {
    return left % right;
  }

  private static void ofDoubles(FunctionRegistry registry, String name, String method) {
    List<AbstractDataType> inputs = List.of(DataTypes.DoubleType, DataTypes.DoubleType);
    Seq<AbstractDataType> types = CollectionConverters.asScala(inputs).toSeq();
    registry.createOrReplaceTempFunction(
        name,
        (Seq<Expression> arguments) ->
            new StaticInvoke(
                SqlOperators.class,
                DataTypes.DoubleType,
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
