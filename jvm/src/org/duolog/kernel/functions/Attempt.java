package org.duolog.kernel.functions;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.ConditionalExpression;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.JavaCode;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The value of an expression, or null if it fails: {@code duolog_try(expression)}, or with the name
 * of the function, {@code duolog_try(expression, 'NAME')}. A failure is noted in {@link CallNotes},
 * for the processing log.
 *
 * <p>Spark computes an expression that occurs twice only once, ahead of both places, so the
 * exception of a shared value would escape from Spark's own {@code try_eval}. An attempt is
 * therefore a conditional expression with no input that is always evaluated: Spark may share whole
 * attempts, but nothing from the inside of one.
 */
public final class Attempt extends Expression implements ConditionalExpression, Serializable {
  private static final long serialVersionUID = 1L;

  private final Expression tried;
  private final String call;

  /**
   * @param call the name of the function, for people; empty if there is none
   */
  public Attempt(Expression tried, String call) {
    this.tried = tried;
    this.call = call;
  }

  static Attempt of(Seq<Expression> arguments) {
    boolean isNamed = arguments.size() > 1;
    String call = isNamed ? ((Literal) arguments.apply(1)).value().toString() : "";
    return new Attempt(arguments.apply(0), call);
  }

  @Override
  public Seq<Expression> children() {
    return seq(List.of(tried));
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new Attempt(children.apply(0), call);
  }

  @Override
  public DataType dataType() {
    return tried.dataType();
  }

  @Override
  public boolean nullable() {
    return true;
  }

  @Override
  public boolean foldable() {
    return tried.foldable();
  }

  @Override
  public Object eval(InternalRow input) {
    try {
      return tried.eval(input);
    } catch (Exception e) { // Scala does not declare what expressions throw.
      CallNotes.add(call, e);
      return null;
    }
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    ExprCode child = tried.genCode(context);
    String type = CodeGenerator.javaType(dataType());
    String start = CodeGenerator.defaultValue(dataType(), false);
    String failure = context.freshName("failure");
    String name = context.addReferenceObj("call", call, "java.lang.String");
    List<String> parts =
        List.of(
            "boolean ",
            " = true;\n" + type + " ",
            " = " + start + ";\ntry {\n",
            "\n",
            " = ",
            ";\n",
            " = ",
            ";\n} catch (Exception " + failure + ") {\n"
                + CallNotes.class.getName() + ".add(" + name + ", " + failure + ");\n}");
    List<JavaCode> inputs =
        List.of(
            code.isNull(),
            code.value(),
            child.code(),
            code.isNull(),
            child.isNull(),
            code.value(),
            child.value());
    return code.copy(new CodeBlock(seq(parts), seq(inputs)), code.isNull(), code.value());
  }

  @Override
  public Seq<Expression> alwaysEvaluatedInputs() {
    return seq(List.of());
  }

  @Override
  public ConditionalExpression withNewAlwaysEvaluatedInputs(Seq<Expression> inputs) {
    return this;
  }

  @Override
  public Seq<Seq<Expression>> branchGroups() {
    return seq(List.of());
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof Attempt;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Attempt attempt
        && attempt.tried.equals(tried)
        && attempt.call.equals(call);
  }

  @Override
  public int hashCode() {
    return 31 * tried.hashCode() + 1;
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public Object productElement(int index) {
    return index == 0 ? tried : call;
  }

  private static <T> Seq<T> seq(List<T> items) {
    return CollectionConverters.asScala(items).toSeq();
  }
}
