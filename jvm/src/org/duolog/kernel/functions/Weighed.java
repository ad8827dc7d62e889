package org.duolog.kernel.functions;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.UnsafeMapData;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * An element of an array that a function creates: {@code duolog_weighed(element, place)}. It fails once all elements
 * since index 0 together exceed the size that one call may create ({@link Limits}).
 *
 * <p>Threads: stateful, so each projection has its own copy.
 */
public final class Weighed extends Expression implements CodegenFallback, Serializable {
  private static final long serialVersionUID = 1L;

  /** Bytes of a number, or of a reference. */
  private static final long WORD = 8;

  private final Expression element;
  private final Expression place;
  private transient long total;

  public Weighed(Expression element, Expression place) {
    this.element = element;
    this.place = place;
  }

  @Override
  public Object eval(InternalRow input) {
    if ((Integer) place.eval(input) == 0) {
      total = 0;
    }
    Object made = element.eval(input);
    total += weight(made);
    Limits.ensureLength(total);
    return made;
  }

  private static long weight(Object value) {
    if (value instanceof UTF8String text) {
      return text.numBytes();
    }
    if (value instanceof byte[] bytes) {
      return bytes.length;
    }
    if (value instanceof UnsafeArrayData array) {
      return array.getSizeInBytes();
    }
    if (value instanceof UnsafeMapData map) {
      return map.getSizeInBytes();
    }
    if (value instanceof UnsafeRow row) {
      return row.getSizeInBytes();
    }
    if (value instanceof GenericArrayData array) {
      return weight(array.array());
    }
    if (value instanceof ArrayBasedMapData map) {
      return weight(map.keyArray()) + weight(map.valueArray());
    }
    return WORD;
  }

  private static long weight(Object[] values) {
    long sum = 0;
    for (Object value : values) {
      sum += WORD + weight(value);
    }
    return sum;
  }

  @Override
  public boolean stateful() {
    return true;
  }

  @Override
  public Seq<Expression> children() {
    return CollectionConverters.asScala(List.of(element, place)).toSeq();
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> children) {
    return new Weighed(children.apply(0), children.apply(1));
  }

  @Override
  public DataType dataType() {
    return element.dataType();
  }

  @Override
  public boolean nullable() {
    return element.nullable();
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    return CodegenFallback.super.doGenCode(context, code);
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof Weighed;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Weighed weighed
        && weighed.element.equals(element)
        && weighed.place.equals(place);
  }

  @Override
  public int hashCode() {
    return 31 * element.hashCode() + place.hashCode();
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public Object productElement(int index) {
    return index == 0 ? element : place;
  }
}
