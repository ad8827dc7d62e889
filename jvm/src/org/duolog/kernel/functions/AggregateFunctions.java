package org.duolog.kernel.functions;

import java.util.List;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * SQL functions over {@link ValueSets} and {@link Sketches}. The last argument of most is the type
 * of the values, as the text {@code 'c TYPE'}; nulls are passed to the functions.
 */
public final class AggregateFunctions {
  private static final DataType BYTES = DataTypes.BinaryType;
  private static final Seq<AbstractDataType> NO_TYPES =
      CollectionConverters.asScala(List.<AbstractDataType>of()).toSeq();

  private AggregateFunctions() {}

  public static void register(FunctionRegistry registry) {
    ofValues(registry, "values_add", "add", type -> BYTES);
    ofValues(registry, "values_subtract", "subtract", type -> BYTES);
    ofValues(registry, "values_add_within", "addWithin", type -> BYTES);
    ofValues(registry, "values_add_top", "addTop", type -> BYTES);
    ofValues(registry, "values_first", "first", DataTypes::createArrayType);
    ofValues(
        registry,
        "values_counts",
        "counts",
        type -> DataTypes.createMapType(type, DataTypes.LongType));
    ofValues(
        registry,
        "values_pairs",
        "pairs",
        type -> {
          StructType pair = (StructType) type;
          return DataTypes.createMapType(pair.apply(0).dataType(), pair.apply(1).dataType());
        });
    plain(registry, "values_merge", ValueSets.class, "merge", BYTES);
    plain(registry, "values_merge_top", ValueSets.class, "mergeTop", BYTES);
    plain(registry, "values_distinct", ValueSets.class, "distinct", DataTypes.LongType);
    typed(registry, "sketch_add", Sketches.class, Sketches::new, "add", type -> BYTES);
    plain(registry, "sketch_merge", Sketches.class, "merge", BYTES);
    plain(registry, "sketch_distinct", Sketches.class, "distinct", DataTypes.LongType);
    plain(registry, "quantile", Sketches.class, "quantile", DataTypes.DoubleType);
    registry.createOrReplaceTempFunction(
        "duolog_bucket",
        arguments -> of(Sketches.class, "bucket", DataTypes.IntegerType, arguments, true),
        "scala_udf");
  }

  private static void ofValues(
      FunctionRegistry registry, String name, String method, Function<DataType, DataType> result) {
    typed(registry, name, ValueSets.class, ValueSets::new, method, result);
  }

  /** Registers a method of an object that knows the type of the values. */
  private static void typed(
      FunctionRegistry registry,
      String name,
      Class<?> in,
      Function<DataType, Object> make,
      String method,
      Function<DataType, DataType> result) {
    registry.createOrReplaceTempFunction(
        "duolog_" + name,
        (Seq<Expression> arguments) -> {
          List<Expression> given = CollectionConverters.asJava(arguments);
          int last = given.size() - 1;
          String text = ((Literal) given.get(last)).value().toString();
          DataType type = StructType.fromDDL(text).apply(0).dataType();
          return new Invoke(
              Literal.fromObject(make.apply(type), new ObjectType(in)),
              method,
              result.apply(type),
              CollectionConverters.asScala(given.subList(0, last)).toSeq(),
              NO_TYPES,
              false,
              true,
              true);
        },
        "scala_udf");
  }

  private static void plain(
      FunctionRegistry registry, String name, Class<?> in, String method, DataType result) {
    registry.createOrReplaceTempFunction(
        "duolog_" + name, arguments -> of(in, method, result, arguments, false), "scala_udf");
  }

  private static Expression of(
      Class<?> in,
      String method,
      DataType result,
      Seq<Expression> arguments,
      boolean nullOfNull) {
    return new StaticInvoke(
        in, result, method, arguments, NO_TYPES, nullOfNull, true, true, Option.empty());
  }
}
