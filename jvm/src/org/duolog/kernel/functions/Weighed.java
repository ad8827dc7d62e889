package org.duolog.kernel.functions;

import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * An element of an array that a function creates: {@code duolog_weighed(element, place)}. It fails
 * once all elements since index 0 together exceed the size that one call may create
 * ({@link Limits}): the bytes of texts, and {@value #WORD} for each element or field of nested
 * values.
 *
 * <p>Threads: stateful, so each projection has its own copy.
 */
public final class Weighed extends Expression implements CodegenFallback, Serializable {
  private static final long serialVersionUID = 1L;

  /** Bytes of an element of a nested value, which is a number or a reference. */
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
    total += weight(made, element.dataType());
    Limits.ensureLength(total);
    return made;
  }

  /** The same rule as in `duolog.runtime.sql.duck.weights`. */
  private static long weight(Object value, DataType of) {
    if (value instanceof UTF8String text) {
      return text.numBytes();
    }
    if (value instanceof byte[] bytes) {
      return bytes.length;
    }
    if (value instanceof ArrayData array) {
      return weight(array, ((ArrayType) of).elementType());
    }
    if (value instanceof MapData map) {
      return weight(map.keyArray(), ((MapType) of).keyType())
          + weight(map.valueArray(), ((MapType) of).valueType());
    }
    if (value instanceof InternalRow row && of instanceof StructType struct) {
      long sum = WORD * row.numFields();
      StructField[] fields = struct.fields();
      for (int at = 0; at < fields.length; at++) {
        DataType field = fields[at].dataType();
        sum += mayBeLarge(field) && !row.isNullAt(at) ? weight(row.get(at, field), field) : 0;
      }
      return sum;
    }
    return 0;
  }

  private static long weight(ArrayData array, DataType of) {
    long sum = WORD * array.numElements();
    for (int at = 0; mayBeLarge(of) && at < array.numElements(); at++) {
      sum += array.isNullAt(at) ? 0 : weight(array.get(at, of), of);
    }
    return sum;
  }

  private static boolean mayBeLarge(DataType of) {
    return of instanceof StringType
        || of instanceof BinaryType
        || of instanceof ArrayType
        || of instanceof MapType
        || of instanceof StructType;
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
