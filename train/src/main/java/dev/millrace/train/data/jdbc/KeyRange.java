package dev.millrace.train.data.jdbc;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.train.data.ColumnElements;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import dev.millrace.train.data.RowBuffer;
import dev.millrace.train.data.column.Cells;
import dev.millrace.train.data.column.Column;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import javax.sql.DataSource;

/**
 * The rows of a table with a key from {@code first} to {@code last}. The position is whether a row
 * was read, and the key of the last one.
 */
record KeyRange(
    DataSource database, String from, String key, List<Column> columns, long first, long last)
    implements Dataset {
  /** How many rows a driver fetches at once; many fetch all unless told. */
  private static final int FETCHED = 1000;

  @Override
  public int positionLength() {
    return 2;
  }

  @Override
  public Elements elements() {
    return new Passage();
  }

  private String query() {
    StringBuilder query = new StringBuilder("SELECT ").append(key);
    columns.forEach(c -> c.fields().forEach(f -> query.append(", ").append(f)));
    return query
        .append(" FROM ")
        .append(from)
        .append(" WHERE ")
        .append(key)
        .append(" >= ? AND ")
        .append(key)
        .append(" <= ?")
        .append(" ORDER BY ")
        .append(key)
        .toString();
  }

  private final class Passage extends ColumnElements {
    private final Cells cells = new Cells(Column.types(columns));
    private final List<Cells.Missing> missing = columns.stream().map(Cells.Missing::of).toList();
    private boolean any;
    private long lastRead;
    private Connection connection;
    private PreparedStatement statement;
    private ResultSet rows;
    private boolean ended;

    @Override
    public int read(RowBuffer to, int max) {
      cells.open(to, max);
      int n = 0;
      try {
        if (rows == null && !ended) {
          open();
        }
        while (n < max && !ended) {
          if (!rows.next()) {
            ended = true;
            break;
          }
          row(to.size());
          lastRead = rows.getLong(1);
          any = true;
          to.added(1);
          n++;
        }
      } catch (SQLException e) {
        throw JdbcTable.failure(from, e);
      }
      return n;
    }

    private void open() throws SQLException {
      if (any && lastRead == last) {
        ended = true;
        return;
      }
      connection = database.getConnection();
      connection.setAutoCommit(false); // or drivers ignore the fetch size
      statement = connection.prepareStatement(query());
      statement.setFetchSize(FETCHED);
      statement.setLong(1, any ? lastRead + 1 : first);
      statement.setLong(2, last);
      rows = statement.executeQuery();
    }

    private void row(int row) throws SQLException {
      int field = 2;
      for (int c = 0; c < columns.size(); c++) {
        Column column = columns.get(c);
        for (int f = 0; f < column.fields().size(); f++) {
          value(column, c, f, (long) row * column.width() + f, field++);
        }
      }
    }

    private void value(Column column, int c, int f, long at, int field) throws SQLException {
      try {
        if (column.dtype() == DType.STRING) {
          String text = rows.getString(field);
          if (text != null) {
            cells.putBytes(c, at, text.getBytes(StandardCharsets.UTF_8));
            return;
          }
        } else if (column.dtype() == DType.FLOAT || column.dtype() == DType.DOUBLE) {
          cells.putDouble(c, at, rows.getDouble(field));
        } else {
          cells.putLong(c, at, rows.getLong(field));
        }
      } catch (NumberFormatException e) {
        throw MillraceException.invalid(
            "%s, row with %s = %d: field '%s' has a value that column '%s' of %s cannot hold.",
            from, key, rows.getLong(1), column.fields().get(f), column.name(), column.dtype());
      }
      if (rows.wasNull()) {
        if (missing.get(c) == null) {
          throw MillraceException.invalid(
              "%s, row with %s = %d: field '%s' is null. Say what it stands for with orElse.",
              from, key, rows.getLong(1), column.fields().get(f));
        }
        cells.putMissing(c, at, 1, missing.get(c));
      }
    }

    @Override
    public long[] position() {
      return new long[] {any ? 1 : 0, lastRead};
    }

    @Override
    public void seek(long[] position) {
      close();
      any = position[0] != 0;
      lastRead = position[1];
    }

    @Override
    public void close() {
      any = false;
      lastRead = 0;
      ended = false;
      try (Connection c = connection;
          PreparedStatement s = statement;
          ResultSet r = rows) {
        assert c == connection && s == statement && r == rows;
      } catch (SQLException e) {
        throw JdbcTable.failure(from, e);
      } finally {
        connection = null;
        statement = null;
        rows = null;
      }
    }
  }
}
