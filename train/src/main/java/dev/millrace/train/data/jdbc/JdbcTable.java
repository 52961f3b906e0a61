package dev.millrace.train.data.jdbc;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Datasets;
import dev.millrace.train.data.column.Column;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;

/**
 * Reads a table of a database, or the rows of a query, in the order of a key of whole numbers that
 * no two rows share. Ranges of the key are the splits. A position is the last key that was read, so
 * going there costs one search of the index. What the rows are must not change while a job trains.
 */
public final class JdbcTable {
  private JdbcTable() {}

  /**
   * The rows of {@code from}, in {@code splits} ranges of {@code key}. Names are put into the
   * queries as they are given.
   *
   * @param from a table, or a query in parentheses with a name behind it
   */
  public static Dataset read(
      DataSource database, String from, String key, List<Column> columns, int splits) {
    if (splits < 1) {
      throw MillraceException.invalid("A table is read in at least 1 split, not %d.", splits);
    }
    for (Column c : columns) {
      if (c.dtype() == null || c.list()) {
        throw MillraceException.invalid(
            "Column '%s' of a table is a single value, or a vector of fields.", c.name());
      }
    }
    String query = "SELECT MIN(" + key + "), MAX(" + key + ") FROM " + from;
    List<Dataset> ranges = new ArrayList<>();
    try (Connection connection = database.getConnection();
        PreparedStatement statement = connection.prepareStatement(query);
        ResultSet result = statement.executeQuery()) {
      result.next();
      long least = result.getLong(1);
      long most = result.getLong(2);
      if (result.wasNull()) {
        return Datasets.splits(List.of());
      }
      double width = ((double) most - least + 1) / splits;
      long next = least;
      for (int i = 1; i <= splits && next <= most; i++) {
        long last = i == splits ? most : Math.clamp((long) (least + i * width) - 1, next - 1, most);
        if (last >= next) {
          ranges.add(new KeyRange(database, from, key, List.copyOf(columns), next, last));
          next = last + 1;
        }
        if (last == Long.MAX_VALUE) {
          break;
        }
      }
    } catch (SQLException e) {
      throw failure(from, e);
    }
    return Datasets.splits(ranges);
  }

  static MillraceException failure(String from, SQLException e) {
    return new MillraceException(
        Code.UNAVAILABLE,
        "Cannot read " + from + " from the database: " + e.getMessage().strip(),
        e);
  }
}
