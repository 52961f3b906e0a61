package dev.millrace.parquet;

import java.util.List;
import org.apache.parquet.format.Type;

/**
 * A column of a Parquet file.
 *
 * @param name its path, without the two levels that stand for a list
 * @param number its place among the columns of a row group
 * @param width the bytes of a value of a fixed length that is not a number
 * @param decimal whether the numbers, or bytes, stand for decimal fractions
 * @param defined the definition level of a value that is there
 * @param repeated the repetition level of a further value of a list; 0 without a list
 */
record Leaf(
    String name, int number, Type type, int width, boolean decimal, int defined, int repeated) {
  /** The bytes of a value that is written as it is. */
  int bytes() {
    return switch (type) {
      case INT32, FLOAT -> 4;
      case INT64, DOUBLE -> 8;
      case INT96 -> 12;
      default -> width;
    };
  }

  static List<String> names(List<Leaf> leaves) {
    return leaves.stream().map(Leaf::name).toList();
  }
}
