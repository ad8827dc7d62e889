package org.duolog.kernel.functions.format.schema;

import java.util.ArrayList;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** Writes a union of several types: the branch of the first column that is not null. */
final class AvroBranches {
  private AvroBranches() {}

  private record Branch(int column, int number, AvroWriting value) {}

  static AvroWriting of(List<Schema> branches, StructType columns, String path) {
    List<String> names =
        branches.stream()
            .filter(branch -> !AvroTypes.isNull(branch))
            .map(AvroTypes::branchName)
            .toList();
    String[] fields = Matching.fields(names, columns);
    List<Branch> found = new ArrayList<>();
    for (int column = 0; column < fields.length; column++) {
      for (int number = 0; number < branches.size(); number++) {
        Schema branch = branches.get(number);
        if (!AvroTypes.isNull(branch) && AvroTypes.branchName(branch).equals(fields[column])) {
          String below = path + "." + columns.fieldNames()[column];
          found.add(
              new Branch(
                  column,
                  number,
                  AvroWriting.definite(branch, columns.fields()[column].dataType(), below)));
        }
      }
    }
    int count = fields.length;
    return (values, at, out) -> {
      InternalRow row = values.getStruct(at, count);
      for (Branch branch : found) {
        if (!row.isNullAt(branch.column())) {
          out.number(branch.number());
          branch.value().write(row, branch.column(), out);
          return;
        }
      }
      throw AvroWriting.isNull(path);
    };
  }
}
