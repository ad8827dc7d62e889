package org.duolog.kernel.functions;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A DOUBLE compared with others in their order, as Java compares them:
 * {@code duolog_among(value, a, b, …)} is SQL's {@code IN},
 * {@code duolog_between(value, low, high)} its {@code BETWEEN}.
 *
 * <p>The value is computed once, and the others only until the result is certain: what is not
 * needed may fail. So no part of it is shared with other expressions, which {@link CodegenFallback}
 * ensures.
 */
public final class InTurn extends Expression implements CodegenFallback, Serializable {
  private static final long serialVersionUID = 1L;

  private final List<Expression> compared;
  private final boolean isBetween;

  /**
   * @param compared the value, then what it is compared with, all of type DOUBLE
   */
  public InTurn(List<Expression> compared, boolean isBetween) {
    this.compared = compared;
    this.isBetween = isBetween;
  }

  static void register(FunctionRegistry registry) {
    registry.createOrReplaceTempFunction(
        "duolog_among", arguments -> of(arguments, false), "scala_udf");
    registry.createOrReplaceTempFunction(
        "duolog_between", arguments -> of(arguments, true), "scala_udf");
  }

  private static InTurn of(Seq<Expression> arguments, boolean isBetween) {
    List<Expression> numbers = new ArrayList<>();
    for (Expression one : CollectionConverters.asJava(arguments)) {
      numbers.add(Cast$.MODULE$.apply(one, DataTypes.DoubleType, false));
    }
    return new InTurn(numbers, isBetween);
  }

  @Override
  public Object eval(InternalRow input) {
    Object value = compared.get(0).eval(input);
    if (value == null) {
      return null;
    }
    return isBetween ? between((Double) value, input) : among((Double) value, input);
  }

  /** Null if none is equal and one is null. */
  private Boolean among(double value, InternalRow input) {
    boolean unknown = false;
    for (Expression one : compared.subList(1, compared.size())) {
      Object other = one.eval(input);
      if (other == null) {
        unknown = true;
      } else if (value == (Double) other) {
        return true;
      }
    }
    return unknown ? null : false;
  }

  /** Null if a bound is null and the other one holds. */
  private Boolean between(double value, InternalRow input) {
    Object low = compared.get(1).eval(input);
    if (low != null && !(value >= (Double) low)) {
      return false;
    }
    Object high = compared.get(2).eval(input);
    if (high != null && !(value <= (Double) high)) {
      return false;
    }
    return low == null || high == null ? null : true;
  }

  @Override
  public Seq<Expression> children() {
    return CollectionConverters.asScala(compared).toSeq();
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new InTurn(new ArrayList<>(CollectionConverters.asJava(children)), isBetween);
  }

  @Override
  public DataType dataType() {
    return DataTypes.BooleanType;
  }

  @Override
  public boolean nullable() {
    return true;
  }

  @Override
  public boolean foldable() {
    return compared.stream().allMatch(Expression::foldable);
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    return CodegenFallback.super.doGenCode(context, code);
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof InTurn;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof InTurn turn
        && turn.isBetween == isBetween
        && turn.compared.equals(compared);
  }

  @Override
  public int hashCode() {
    return 31 * compared.hashCode() + (isBetween ? 1 : 0);
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public Object productElement(int index) {
    return index == 0 ? children() : (Object) isBetween;
  }
}
