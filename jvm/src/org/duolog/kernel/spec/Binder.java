package org.duolog.kernel.spec;

import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BindReferences;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.package$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Binds SQL text over a row layout to a {@link Program}.
 *
 * <p>The text is analysed and optimised as a projection over an empty RDD of that layout (an RDD,
 * because the optimiser folds an empty local relation away). The optimiser also replaces
 * expressions that only it can replace, and shares common parts. This may leave several projections
 * on top of each other: each becomes a stage of the program.
 *
 * <p>Threads: the driver's, one at a time.
 */
public final class Binder {
  private static final int BOUND_MAX = 1024;

  /**
   * Programs bound in this JVM. A query is built again when it changes its mode or restarts, and
   * analysing and compiling its expressions takes seconds. The least recently used programs are
   * evicted.
   */
  private static final Map<Text, Program> BOUND =
      Collections.synchronizedMap(
          new LinkedHashMap<>(16, 0.75f, true) {
            private static final long serialVersionUID = 1L;

            @Override
            protected boolean removeEldestEntry(Map.Entry<Text, Program> eldest) {
              return size() > BOUND_MAX;
            }
          });

  private final SparkSession spark;
  private final String functions;

  /**
   * Expressions over a layout, and the versions of the functions they call: together they determine
   * the result.
   */
  private record Text(StructType layout, List<String> expressions, String functions) {}

  /** @param functions identifies the code of the Python functions that expressions call by name */
  public Binder(SparkSession spark, String functions) {
    this.spark = spark;
    this.functions = functions;
  }

  /** Returns {@code base} with one nullable column for each type: prefix0, prefix1, … */
  public static StructType with(StructType base, String prefix, List<String> types) {
    StructType layout = base;
    for (int i = 0; i < types.size(); i++) {
      layout = layout.add(prefix + i, DataType.fromDDL(types.get(i)), true);
    }
    return layout;
  }

  /**
   * Returns {@code base} with the columns of a record's metadata, the timestamp in milliseconds
   * first.
   */
  public static StructType withTs(StructType base) {
    return base
        .add("ts", DataTypes.LongType, false)
        .add("topic", DataTypes.StringType, true)
        .add("partition", DataTypes.IntegerType, true)
        .add("offset", DataTypes.LongType, true)
        .add("headers", DataTypes.BinaryType, true);
  }

  Program bind(String owner, StructType layout, List<String> expressions) {
    if (expressions.isEmpty()) {
      return new Program(new Expression[0][], new DataType[0]);
    }
    boolean calls =
        expressions.stream()
            .anyMatch(one -> one.contains("duolog_python(") || one.contains("duolog_of_key("));
    Text text = new Text(layout, List.copyOf(expressions), calls ? functions : "");
    Program known = BOUND.get(text);
    if (known == null) {
      known = program(owner, layout, expressions);
      BOUND.put(text, known);
    }
    return known.twin();
  }

  private Program program(String owner, StructType layout, List<String> expressions) {
    LogicalPlan plan = optimised(owner, layout, expressions);
    DataType[] types =
        CollectionConverters.asJava(plan.output()).stream()
            .map(Attribute::dataType)
            .toArray(DataType[]::new);

    Deque<Expression[]> stages = new ArrayDeque<>();
    while (plan instanceof Project project) {
      stages.push(bound(project.projectList(), project.child().output()));
      plan = project.child();
    }
    if (!(plan instanceof LogicalRDD)) {
      throw new IllegalArgumentException(
          owner + ": only plain expressions can be compiled, not\n" + plan);
    }
    if (stages.isEmpty()) {
      stages.push(bound(plan.output(), plan.output()));
    }
    return new Program(stages.toArray(Expression[][]::new), types);
  }

  private LogicalPlan optimised(String owner, StructType layout, List<String> expressions) {
    String[] columns = new String[expressions.size()];
    for (int i = 0; i < columns.length; i++) {
      columns[i] = "(" + expressions.get(i) + ") AS c" + i;
    }
    try {
      JavaSparkContext context = new JavaSparkContext(spark.sparkContext());
      Dataset<Row> dummy = spark.createDataFrame(context.<Row>emptyRDD(), layout);
      return ((org.apache.spark.sql.classic.Dataset<Row>) dummy.selectExpr(columns))
          .queryExecution()
          .optimizedPlan();
    } catch (RuntimeException e) {
      throw new IllegalArgumentException(
          owner + ": cannot compile " + expressions + ": " + e.getMessage(), e);
    }
  }

  private static Expression[] bound(
      Seq<? extends NamedExpression> expressions, Seq<Attribute> input) {
    var attributes = package$.MODULE$.AttributeSeq(input);
    return CollectionConverters.asJava(expressions).stream()
        .map(named -> BindReferences.bindReference((Expression) named, attributes, false))
        .toArray(Expression[]::new);
  }
}
