package org.duolog.kernel.functions;

import java.util.List;
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
 * Registers the functions of {@link Texts}, {@link Bytes}, {@link Masks}, {@link Encodings},
 * {@link RegularExpressions}, {@link Urls}, {@link JsonTexts} and {@link ToJson}, under the names
 * that {@code duolog.engine.lowering.sql_functions} uses.
 */
public final class TextFunctions {
  private static final DataType TEXT = DataTypes.StringType;
  private static final DataType BYTES = DataTypes.BinaryType;
  private static final DataType INT = DataTypes.IntegerType;
  private static final DataType TEXTS = DataTypes.createArrayType(TEXT);
  private static final DataType LIST_OF_BYTES = DataTypes.createArrayType(BYTES);
  private static final DataType TEXT_BY_TEXT = DataTypes.createMapType(TEXT, TEXT);

  private final FunctionRegistry registry;

  private TextFunctions(FunctionRegistry registry) {
    this.registry = registry;
  }

  public static void register(FunctionRegistry registry) {
    TextFunctions functions = new TextFunctions(registry);
    functions.registerTexts();
    functions.registerBytes();
    functions.registerPatterns();
    functions.registerUrls();
    functions.registerJson();
  }

  private void registerTexts() {
    strict("length", Texts.class, "length", INT, TEXT);
    strict("substring", Texts.class, "substring", TEXT, TEXT, INT, INT);
    strict("pad_left", Texts.class, "padLeft", TEXT, TEXT, INT, TEXT);
    strict("pad_right", Texts.class, "padRight", TEXT, TEXT, INT, TEXT);
    strict("replace", Texts.class, "replace", TEXT, TEXT, TEXT, TEXT);
    strict("trim", Texts.class, "trim", TEXT, TEXT);
    strict("capitalized", Texts.class, "capitalized", TEXT, TEXT);
    strict("parts", Texts.class, "parts", TEXTS, TEXT, TEXT);
    strict("entries", Texts.class, "entries", TEXT_BY_TEXT, TEXT, TEXT, TEXT);
    strict("of_code_point", Texts.class, "ofCodePoint", TEXT, INT);
    strict("of_escapes", Texts.class, "ofEscapes", TEXT, TEXT);
    strict("encode", Encodings.class, "encode", TEXT, TEXT, TEXT, TEXT);
    strict("to_bytes", Encodings.class, "toBytes", BYTES, TEXT, TEXT);
    strict("from_bytes", Encodings.class, "fromBytes", TEXT, BYTES, TEXT);
    lenient("position", Texts.class, "position", INT, TEXT, TEXT, INT, INT);
    lenient("mask", Masks.class, "mask", TEXT, TEXT, TEXT, INT, TEXT, TEXT, TEXT, TEXT);
    // Different for each record and each occurrence, so it is neither evaluated ahead nor shared.
    registry.createOrReplaceTempFunction(
        "duolog_uuid",
        arguments -> call(Texts.class, "uuid", TEXT, arguments, seq(), true, false),
        "scala_udf");
  }

  private void registerBytes() {
    strict("bytes_substring", Bytes.class, "substring", BYTES, BYTES, INT, INT);
    strict("bytes_pad_left", Bytes.class, "padLeft", BYTES, BYTES, INT, BYTES);
    strict("bytes_pad_right", Bytes.class, "padRight", BYTES, BYTES, INT, BYTES);
    strict("bytes_parts", Bytes.class, "parts", LIST_OF_BYTES, BYTES, BYTES);
    strict("bytes_join", Bytes.class, "join", BYTES, BYTES, LIST_OF_BYTES);
    strict("bytes_uuid", Bytes.class, "uuid", TEXT, BYTES);
    strict("bytes_int", Bytes.class, "toInt", INT, BYTES, TEXT);
    strict("bytes_bigint", Bytes.class, "toLong", DataTypes.LongType, BYTES, TEXT);
    strict("bytes_double", Bytes.class, "toDouble", DataTypes.DoubleType, BYTES, TEXT);
  }

  private void registerPatterns() {
    strict("pattern_extract", RegularExpressions.class, "extract", TEXT, TEXT, TEXT, INT);
    strict("pattern_extract_all", RegularExpressions.class, "extractAll", TEXTS, TEXT, TEXT, INT);
    strict("pattern_replace", RegularExpressions.class, "replace", TEXT, TEXT, TEXT, TEXT);
    strict("pattern_split", RegularExpressions.class, "split", TEXTS, TEXT, TEXT);
  }

  private void registerUrls() {
    for (String part :
        List.of("encode", "decode", "protocol", "host", "path", "query", "fragment")) {
      strict("url_" + part, Urls.class, part, TEXT, TEXT);
    }
    strict("url_port", Urls.class, "port", INT, TEXT);
    strict("url_parameter", Urls.class, "parameter", TEXT, TEXT, TEXT);
  }

  private void registerJson() {
    strict("json_extract", JsonTexts.class, "extract", TEXT, TEXT, TEXT);
    lenient("json_is_json", JsonTexts.class, "isJson", DataTypes.BooleanType, TEXT);
    strict("json_array_length", JsonTexts.class, "arrayLength", INT, TEXT);
    strict(
        "json_array_contains",
        JsonTexts.class,
        "arrayContains",
        DataTypes.BooleanType,
        TEXT,
        TEXT);
    strict("json_concat", JsonTexts.class, "concat", TEXT, TEXTS);
    strict("json_items", JsonTexts.class, "items", TEXTS, TEXT);
    strict("json_keys", JsonTexts.class, "keys", TEXTS, TEXT);
    strict("json_records", JsonTexts.class, "records", TEXT_BY_TEXT, TEXT);
    registry.createOrReplaceTempFunction("duolog_to_json", TextFunctions::toJson, "scala_udf");
  }

  /** duolog_to_json(named_struct('v', value), 'v TYPE') */
  private static Expression toJson(Seq<Expression> arguments) {
    String text = ((Literal) arguments.apply(1)).value().toString();
    DataType type = StructType.fromDDL(text).apply(0).dataType();
    return new Invoke(
        Literal.fromObject(new ToJson(type), new ObjectType(ToJson.class)),
        "write",
        TEXT,
        CollectionConverters.asScala(List.of(arguments.apply(0))).toSeq(),
        seq(),
        true,
        true,
        true);
  }

  /** The result is null if an argument is. */
  private void strict(String name, Class<?> in, String method, DataType gives, DataType... takes) {
    registry.createOrReplaceTempFunction(
        "duolog_" + name,
        arguments -> call(in, method, gives, arguments, seq(takes), true, true),
        "scala_udf");
  }

  /** Null texts are passed to the method. */
  private void lenient(String name, Class<?> in, String method, DataType gives, DataType... takes) {
    registry.createOrReplaceTempFunction(
        "duolog_" + name,
        arguments -> call(in, method, gives, arguments, seq(takes), false, true),
        "scala_udf");
  }

  private static Expression call(
      Class<?> in,
      String method,
      DataType gives,
      Seq<Expression> arguments,
      Seq<AbstractDataType> takes,
      boolean nullOfNull,
      boolean deterministic) {
    return new StaticInvoke(
        in, gives, method, arguments, takes, nullOfNull, true, deterministic, Option.empty());
  }

  private static Seq<AbstractDataType> seq(DataType... types) {
    return CollectionConverters.asScala(List.<AbstractDataType>of(types)).toSeq();
  }
}
