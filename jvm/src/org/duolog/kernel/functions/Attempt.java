package org.duolog.kernel.functions;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.ConditionalExpression;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.TryEval;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The value of an expression, or null if it fails: {@code duolog_try}.
 *
 * <p>Spark computes an expression that occurs twice only once, ahead of both places, so the exception of a shared value
 * would escape from Spark's own {@code try_eval}. An attempt is therefore a conditional expression with no input that
 * is always evaluated: Spark may share whole attempts, but nothing from the inside of one.
 */
public final class Attempt extends Expression implements ConditionalExpression, Serializable {
  private static final long serialVersionUID = 1L;

  private final Expression tried;

  public Attempt(Expression tried) {
    this.tried = tried;
  }

  @Override
  public Seq<Expression> children() {
    return seq(List.of(tried));
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new Attempt(children.apply(0));
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
      return null;
    }
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    return new TryEval(tried).doGenCode(context, code);
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
    return other instanceof Attempt attempt && attempt.tried.equals(tried);
  }

  @Override
  public int hashCode() {
    return 31 * tried.hashCode() + 1;
  }

  @Override
  public int productArity() {
    return 1;
  }

  @Override
  public Object productElement(int index) {
    return tried;
  }

  private static <T> Seq<T> seq(List<T> items) {
    return CollectionConverters.asScala(items).toSeq();
  }
}
