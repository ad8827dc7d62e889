package org.duolog.kernel;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType$;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;
import org.duolog.kernel.functions.AggregateFunctions;
import org.duolog.kernel.functions.DecimalSums;
import org.duolog.kernel.functions.FormatFunctions;
import org.duolog.kernel.functions.SqlOperators;
import org.duolog.kernel.functions.TextFunctions;
import org.duolog.kernel.functions.Texts;
import org.duolog.kernel.functions.ValueFunctions;
import org.duolog.kernel.functions.format.JsonReader;
import org.duolog.kernel.python.KeyFunctions;
import org.duolog.kernel.python.PythonFunction;
import org.duolog.kernel.record.Headers;
import org.duolog.kernel.record.KafkaBytes;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * SQL functions over {@link KafkaBytes}, {@link Headers}, {@link JsonReader} and {@link Texts},
 * compiled into expressions like Spark's own.
 */
final class Functions {
  private static final DataType HEADERS =
      DataType.fromDDL("ARRAY<STRUCT<key: STRING, value: BINARY>>");

  private Functions() {}

  static void register(SparkSession spark) {
    FunctionRegistry registry =
        ((org.apache.spark.sql.classic.SparkSession) spark).sessionState().functionRegistry();
    encoder(registry, "duolog_int_be", "ofInt", DataTypes.IntegerType);
    encoder(registry, "duolog_bigint_be", "ofLong", DataTypes.LongType);
    encoder(registry, "duolog_double_be", "ofDouble", DataTypes.DoubleType);
    decoder(registry, "duolog_int", "toInt", DataTypes.IntegerType);
    decoder(registry, "duolog_bigint", "toLong", DataTypes.LongType);
    decoder(registry, "duolog_double", "toDouble", DataTypes.DoubleType);
    register(
        registry, "duolog_headers", Headers.class, "encode", HEADERS, DataTypes.BinaryType);
    register(
        registry,
        "duolog_json_is_null",
        JsonReader.class,
        "isNull",
        DataTypes.BinaryType,
        DataTypes.BooleanType);
    FormatFunctions.register(registry);
    AggregateFunctions.register(registry);
    SqlOperators.register(registry);
    TextFunctions.register(registry);
    ValueFunctions.register(registry);
    KeyFunctions.register(registry);
    PythonFunction.register(registry);
    registry.createOrReplaceTempFunction(
        "duolog_header",
        arguments -> ofHeaders("last", DataTypes.BinaryType, arguments, DataTypes.StringType),
        "scala_udf");
    registry.createOrReplaceTempFunction(
        "duolog_header_list", arguments -> ofHeaders("list", HEADERS, arguments), "scala_udf");
    register(
        registry,
        "duolog_wall_clock",
        KafkaBytes.class,
        "wallClock",
        DataTypes.LongType,
        DataTypes.LongType);
    registry.createOrReplaceTempFunction(
        "duolog_split", Functions::split, "scala_udf");
    registry.createOrReplaceTempFunction(
        "duolog_add_exact", Functions::addExact, "scala_udf");
    registry.createOrReplaceTempFunction(
        "duolog_from_json", arguments -> fromJson(arguments, "read"), "scala_udf");
    registry.createOrReplaceTempFunction(
        "duolog_from_json_value", arguments -> fromJson(arguments, "readAlone"), "scala_udf");
  }

  /** duolog_header(BINARY, STRING), duolog_header_list(BINARY): null if there are no headers. */
  private static Expression ofHeaders(
      String method, DataType gives, Seq<Expression> arguments, DataType... more) {
    List<AbstractDataType> inputs = new ArrayList<>(List.of(DataTypes.BinaryType));
    inputs.addAll(List.of(more));
    return new StaticInvoke(
        Headers.class,
        gives,
        method,
        arguments,
        CollectionConverters.asScala(inputs).toSeq(),
        false,
        true,
        true,
        Option.empty());
  }

  /** duolog_split(STRING, STRING) */
  private static Expression split(Seq<Expression> arguments) {
    List<AbstractDataType> inputs = List.of(DataTypes.StringType, DataTypes.StringType);
    return new StaticInvoke(
        Texts.class,
        DataTypes.createArrayType(DataTypes.StringType, false),
        "split",
        arguments,
        CollectionConverters.asScala(inputs).toSeq(),
        true,
        true,
        true,
        Option.empty());
  }

  /** duolog_add_exact(DECIMAL, DECIMAL, precision, scale) */
  private static Expression addExact(Seq<Expression> arguments) {
    int precision = (Integer) ((Literal) arguments.apply(2)).value();
    int scale = (Integer) ((Literal) arguments.apply(3)).value();
    AbstractDataType decimal = DecimalType$.MODULE$;
    List<AbstractDataType> inputs =
        List.of(decimal, decimal, DataTypes.IntegerType, DataTypes.IntegerType);
    return new StaticInvoke(
        DecimalSums.class,
        DataTypes.createDecimalType(precision, scale),
        "add",
        arguments,
        CollectionConverters.asScala(inputs).toSeq(),
        true,
        true,
        true,
        Option.empty());
  }

  /** duolog_from_json(BINARY, 'name TYPE, …') */
  private static Expression fromJson(Seq<Expression> arguments, String method) {
    if (arguments.size() != 2 || !(arguments.apply(1) instanceof Literal schema)) {
      throw new IllegalArgumentException("expected bytes and the text of a schema");
    }
    StructType type = StructType.fromDDL(schema.value().toString());
    Expression reader =
        Literal.fromObject(new JsonReader(type), new ObjectType(JsonReader.class));
    return new Invoke(
        reader,
        method,
        type,
        seq(arguments.apply(0)),
        seq(DataTypes.BinaryType),
        true,
        true,
        true);
  }

  private static <T> Seq<T> seq(T item) {
    return CollectionConverters.asScala(List.of(item)).toSeq();
  }

  private static void encoder(
      FunctionRegistry registry, String name, String method, DataType from) {
    register(registry, name, KafkaBytes.class, method, from, DataTypes.BinaryType);
  }

  private static void decoder(FunctionRegistry registry, String name, String method, DataType to) {
    register(registry, name, KafkaBytes.class, method, DataTypes.BinaryType, to);
  }

  private static void register(
      FunctionRegistry registry,
      String name,
      Class<?> in,
      String method,
      DataType from,
      DataType to) {
    Seq<AbstractDataType> inputs = seq(from);
    registry.createOrReplaceTempFunction(
        name,
        (Seq<Expression> arguments) ->
            new StaticInvoke(
                in, to, method, arguments, inputs, true, true, true, Option.empty()),
        "scala_udf");
  }
}
