package org.duolog.kernel.functions;

import java.util.List;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.types.AbstractDataType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;
import org.duolog.kernel.functions.format.Delimited;
import org.duolog.kernel.functions.format.JsonReader;
import org.duolog.kernel.functions.format.KsqlJsonWriter;
import org.duolog.kernel.functions.format.protobuf.Protobuf;
import org.duolog.kernel.functions.format.schema.Avro;
import org.duolog.kernel.functions.format.schema.JsonSr;
import org.duolog.kernel.functions.format.schema.SchemaFormat;
import org.duolog.kernel.functions.format.schema.SchemaReader;
import org.duolog.kernel.functions.format.schema.SchemaWriter;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * SQL functions over formats: {@code read(BINARY, 'name TYPE, …')} returns a row,
 * {@code write(STRUCT, 'name TYPE, …')} bytes; further arguments are specific to the format. All
 * but the first are literals. Formats with schemas take their options as a JSON object; their
 * reader returns null for a missing value, and fails for bytes that cannot be read.
 */
public final class FormatFunctions {
  private static final Seq<AbstractDataType> NO_TYPES =
      CollectionConverters.asScala(List.<AbstractDataType>of()).toSeq();

  private FormatFunctions() {}

  public static void register(FunctionRegistry registry) {
    Function<List<String>, Object> reader =
        given -> new JsonReader(type(given), JsonReader.Dialect.KSQLDB);
    Function<List<String>, Object> writer = given -> new KsqlJsonWriter(type(given), false);
    Function<List<String>, Object> delimited = given -> new Delimited(type(given), given.get(1));
    reads(registry, "duolog_ksql_json_read", JsonReader.class, reader, "read");
    reads(registry, "duolog_ksql_json_read_alone", JsonReader.class, reader, "readAlone");
    problems(registry, "duolog_ksql_json_problem", reader, "problem");
    problems(registry, "duolog_ksql_json_problem_alone", reader, "problemAlone");
    Function<List<String>, Object> duologs = given -> new JsonReader(type(given));
    problems(registry, "duolog_json_problem", duologs, "problem");
    problems(registry, "duolog_json_problem_alone", duologs, "problemAlone");
    writes(registry, "duolog_ksql_json_write", KsqlJsonWriter.class, writer, "write");
    writes(registry, "duolog_ksql_json_write_alone", KsqlJsonWriter.class, writer, "writeAlone");
    reads(registry, "duolog_delimited_read", Delimited.class, delimited, "read");
    writes(registry, "duolog_delimited_write", Delimited.class, delimited, "write");
    ofSchemas(registry, "avro", new Avro());
    ofSchemas(registry, "json_sr", new JsonSr());
    ofSchemas(registry, "protobuf", new Protobuf());
    ofSchemas(registry, "protobuf_nosr", new Protobuf.Plain());
  }

  private static void ofSchemas(FunctionRegistry registry, String name, SchemaFormat format) {
    registry.createOrReplaceTempFunction(
        "duolog_" + name + "_read",
        (Seq<Expression> arguments) -> {
          List<String> given = literals(arguments);
          SchemaReader reader = new SchemaReader(format, given.get(0), given.get(1));
          return invoked(reader, SchemaReader.class, "read", reader.type(), arguments);
        },
        "scala_udf");
    Function<List<String>, Object> writer =
        given -> new SchemaWriter(format, given.get(0), given.get(1));
    writes(registry, "duolog_" + name + "_write", SchemaWriter.class, writer, "write");
  }

  private static StructType type(List<String> given) {
    return StructType.fromDDL(given.get(0));
  }

  private static void reads(
      FunctionRegistry registry,
      String name,
      Class<?> in,
      Function<List<String>, Object> make,
      String method) {
    registry.createOrReplaceTempFunction(
        name,
        (Seq<Expression> arguments) -> {
          List<String> given = literals(arguments);
          return invoked(make.apply(given), in, method, type(given), arguments);
        },
        "scala_udf");
  }

  /** Functions that say why a reader returns null: {@code problem(BINARY, 'name TYPE, …')}. */
  private static void problems(
      FunctionRegistry registry, String name, Function<List<String>, Object> make, String method) {
    registry.createOrReplaceTempFunction(
        name,
        (Seq<Expression> arguments) ->
            invoked(
                make.apply(literals(arguments)),
                JsonReader.class,
                method,
                DataTypes.StringType,
                arguments),
        "scala_udf");
  }

  private static void writes(
      FunctionRegistry registry,
      String name,
      Class<?> in,
      Function<List<String>, Object> make,
      String method) {
    registry.createOrReplaceTempFunction(
        name,
        (Seq<Expression> arguments) -> {
          Object object = make.apply(literals(arguments));
          return invoked(object, in, method, DataTypes.BinaryType, arguments);
        },
        "scala_udf");
  }

  private static Expression invoked(
      Object object, Class<?> in, String method, DataType type, Seq<Expression> arguments) {
    Expression on = Literal.fromObject(object, new ObjectType(in));
    return new Invoke(on, method, type, first(arguments), NO_TYPES, true, true, true);
  }

  private static Seq<Expression> first(Seq<Expression> arguments) {
    return CollectionConverters.asScala(List.of(arguments.apply(0))).toSeq();
  }

  private static List<String> literals(Seq<Expression> arguments) {
    return CollectionConverters.asJava(arguments).stream()
        .skip(1)
        .map(literal -> ((Literal) literal).value().toString())
        .toList();
  }
}
