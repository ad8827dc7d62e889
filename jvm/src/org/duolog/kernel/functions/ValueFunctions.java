package org.duolog.kernel.functions;

import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType$;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.ObjectType;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Registers the functions of {@link Numbers}, {@link Divisors}, {@link Maps}, {@link ArraySets},
 * {@link TimeTexts} and {@link TimeUnits}, under the names that
 * {@code duolog.engine.lowering.sql_functions} uses. The result is null if an argument is.
 */
public final class ValueFunctions {
  private static final DataType TEXT = DataTypes.StringType;
  private static final DataType INT = DataTypes.IntegerType;
  private static final DataType BIGINT = DataTypes.LongType;
  private static final DataType DOUBLE = DataTypes.DoubleType;
  private static final DataType DATE = DataTypes.DateType;
  private static final DataType TIMESTAMP = DataTypes.TimestampType;

  private final FunctionRegistry registry;

  private ValueFunctions(FunctionRegistry registry) {
    this.registry = registry;
  }

  public static void register(FunctionRegistry registry) {
    ValueFunctions functions = new ValueFunctions(registry);
    functions.registerNumbers();
    functions.registerMaps();
    functions.registerArrays();
    functions.registerTimes();
  }

  private void registerNumbers() {
    register("ln", Math.class, "log", DOUBLE, DOUBLE);
    register("log", Numbers.class, "log", DOUBLE, DOUBLE, DOUBLE);
    register("ceil", Math.class, "ceil", DOUBLE, DOUBLE);
    register("floor", Math.class, "floor", DOUBLE, DOUBLE);
    register("round", Math.class, "round", BIGINT, DOUBLE);
    register("round_at", Numbers.class, "round", DOUBLE, DOUBLE, INT);
    register("truncate_at", Numbers.class, "truncate", DOUBLE, DOUBLE, INT);
    register("distance", Numbers.class, "distance", DOUBLE, DOUBLE, DOUBLE, DOUBLE, DOUBLE, TEXT);
    register(
        "series",
        Numbers.class,
        "series",
        DataTypes.createArrayType(BIGINT, false),
        BIGINT,
        BIGINT,
        BIGINT);
    register("joined", Texts.class, "joined", TEXT, DataTypes.createArrayType(TEXT), TEXT);
    registerSame("bounded", Limits.class);
    registerSame("divisor", Divisors.class);
    add(
        "decimal_text",
        arguments ->
            call(Numbers.class, "text", TEXT, arguments, List.of(DecimalType$.MODULE$), true));
    registerDecimal("round_decimal", "roundDecimal");
    registerDecimal("truncate_decimal", "truncateDecimal");
    registerOther("random", Math.class, "random", DOUBLE);
  }

  private void registerMaps() {
    registerMap("map_of", "of");
    registerMap("map_distinct", "distinct");
  }

  private void registerArrays() {
    for (String name : List.of("distinct", "except", "intersect", "union")) {
      registerArray("array_" + name, name);
    }
  }

  private void registerTimes() {
    register("date_text", TimeTexts.class, "ofDate", TEXT, DATE, TEXT);
    register("days_text", TimeTexts.class, "ofDate", TEXT, INT, TEXT);
    register("time_text", TimeTexts.class, "ofTime", TEXT, INT, TEXT);
    register("timestamp_text", TimeTexts.class, "ofTimestamp", TEXT, TIMESTAMP, TEXT, TEXT);
    register("millis_text", TimeTexts.class, "ofMillis", TEXT, BIGINT, TEXT, TEXT);
    register("text_date", TimeTexts.class, "toDate", DATE, TEXT, TEXT);
    register("text_days", TimeTexts.class, "toWholeDate", INT, TEXT, TEXT);
    register("text_time", TimeTexts.class, "toTime", INT, TEXT, TEXT);
    register("text_millis", TimeTexts.class, "toMillis", BIGINT, TEXT, TEXT, TEXT);
    register("convert_zone", TimeTexts.class, "convert", TIMESTAMP, TIMESTAMP, TEXT, TEXT);
    register("add_to_date", TimeUnits.class, "addToDate", DATE, TEXT, INT, DATE);
    register("add_to_time", TimeUnits.class, "addToTime", INT, TEXT, INT, INT);
    register(
        "add_to_timestamp", TimeUnits.class, "addToTimestamp", TIMESTAMP, TEXT, INT, TIMESTAMP);
    register("near_date", TimeUnits.class, "nearDate", DATE, DATE);
    register("near_timestamp", TimeUnits.class, "nearTimestamp", TIMESTAMP, TIMESTAMP);
    registerOther("now", System.class, "currentTimeMillis", BIGINT);
  }

  private void register(
      String name, Class<?> in, String method, DataType gives, DataType... takes) {
    add(name, arguments -> call(in, method, gives, arguments, List.of(takes), true));
  }

  /** Different for each record and each occurrence, so it is neither evaluated ahead nor shared. */
  private void registerOther(String name, Class<?> in, String method, DataType gives) {
    add(name, arguments -> call(in, method, gives, arguments, List.of(), false));
  }

  /** duolog_NAME(DECIMAL, places, precision, scale) */
  private void registerDecimal(String name, String method) {
    List<AbstractDataType> takes = List.of(DecimalType$.MODULE$, INT, INT, INT);
    add(
        name,
        arguments -> {
          int precision = (Integer) ((Literal) arguments.apply(2)).value();
          int scale = (Integer) ((Literal) arguments.apply(3)).value();
          DataType gives = DataTypes.createDecimalType(precision, scale);
          return call(Numbers.class, method, gives, arguments, takes, true);
        });
  }

  /** duolog_NAME(ARRAY, ARRAY, 'MAP&lt;…&gt;') */
  private void registerMap(String name, String method) {
    add(
        name,
        arguments -> {
          String text = ((Literal) arguments.apply(2)).value().toString();
          MapType type = (MapType) DataType.fromDDL(text);
          return new Invoke(
              Literal.fromObject(new Maps(type), new ObjectType(Maps.class)),
              method,
              type,
              seq(List.of(arguments.apply(0), arguments.apply(1))),
              seq(
                  List.of(
                      DataTypes.createArrayType(type.keyType()),
                      DataTypes.createArrayType(type.valueType()))),
              true,
              true,
              true);
        });
  }

  /** duolog_NAME(ARRAY, …, 'ARRAY&lt;…&gt;') */
  private void registerArray(String name, String method) {
    add(
        name,
        arguments -> {
          int last = arguments.size() - 1;
          String text = ((Literal) arguments.apply(last)).value().toString();
          ArrayType type = (ArrayType) DataType.fromDDL(text);
          return new Invoke(
              Literal.fromObject(new ArraySets(type), new ObjectType(ArraySets.class)),
              method,
              type,
              seq(CollectionConverters.asJava(arguments).subList(0, last)),
              seq(Collections.nCopies(last, type)),
              true,
              true,
              true);
        });
  }

  /** duolog_NAME(value, 'TYPE'), which returns the value or something else of its type */
  private void registerSame(String name, Class<?> in) {
    add(
        name,
        arguments -> {
          DataType type = DataType.fromDDL(((Literal) arguments.apply(1)).value().toString());
          Seq<Expression> value = seq(List.of(arguments.apply(0)));
          return call(in, name, type, value, List.of(type), true);
        });
  }

  private void add(String name, scala.Function1<Seq<Expression>, Expression> builder) {
    registry.createOrReplaceTempFunction("duolog_" + name, builder, "scala_udf");
  }

  private static Expression call(
      Class<?> in,
      String method,
      DataType gives,
      Seq<Expression> arguments,
      List<? extends AbstractDataType> takes,
      boolean deterministic) {
    return new StaticInvoke(
        in, gives, method, arguments, seq(takes), true, true, deterministic, Option.empty());
  }

  private static <T> Seq<T> seq(List<? extends T> items) {
    return CollectionConverters.asScala(List.<T>copyOf(items)).toSeq();
  }
}
