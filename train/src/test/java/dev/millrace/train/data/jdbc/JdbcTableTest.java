package dev.millrace.train.data.jdbc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Tensor;
import dev.millrace.train.data.Dataset;
import dev.millrace.train.data.Elements;
import dev.millrace.train.data.column.Column;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.h2.jdbcx.JdbcConnectionPool;
import org.junit.jupiter.api.Test;

class JdbcTableTest {
  private static final List<Column> COLUMNS =
      List.of(
          Column.of("n", DType.INT64),
          Column.vector("xy", DType.FLOAT, "x", "y").orElse("-1"),
          Column.of("name", DType.STRING));

  private static JdbcConnectionPool database(String name, int rows) throws SQLException {
    JdbcConnectionPool pool =
        JdbcConnectionPool.create("jdbc:h2:mem:" + name + ";DB_CLOSE_DELAY=-1", "sa", "");
    pool.setMaxConnections(3);
    try (Connection c = pool.getConnection();
        Statement s = c.createStatement()) {
      s.execute(
          "CREATE TABLE clicks (id BIGINT PRIMARY KEY, n INT, x REAL, y REAL, name VARCHAR(9))");
      for (int i = 0; i < rows; i++) {
        String y = i % 3 == 0 ? "NULL" : i + ".5";
        s.execute(
            "INSERT INTO clicks VALUES (%d, %d, %d, %s, 'n%d')".formatted(i * i - 50, i, i, y, i));
      }
    }
    return pool;
  }

  private static List<Long> numbers(Elements e, int most) {
    List<Long> found = new ArrayList<>();
    for (Tensor[] row; found.size() < most && (row = e.next()) != null; ) {
      found.add(row[0].longValue());
      Elements.release(row);
    }
    return found;
  }

  @Test
  void rangesOfTheKeyAreSplitsAndAnyPositionCanBeGoneBackTo() throws SQLException {
    JdbcConnectionPool pool = database("splits", 100);
    Dataset data = JdbcTable.read(pool, "clicks", "id", COLUMNS, 7);
    assertEquals(7, data.splits(0).size());
    List<Long> all = new ArrayList<>();
    for (Dataset split : data.splits(0)) {
      try (Elements e = split.elements();
          Elements other = split.elements()) {
        List<Long> first = numbers(e, 5);
        other.seek(e.position());
        all.addAll(first);
        all.addAll(numbers(other, 999));
      }
    }
    assertEquals(LongStream.range(0, 100).boxed().toList(), all);
    pool.dispose();
  }

  @Test
  void valuesAndNullsAreWrittenIntoColumns() throws SQLException {
    JdbcConnectionPool pool = database("values", 3);
    try (Elements e = JdbcTable.read(pool, "clicks", "id", COLUMNS, 1).batch(9, false).elements()) {
      Tensor[] batch = e.next();
      assertArrayEquals(new long[] {0, 1, 2}, batch[0].toLongs());
      assertArrayEquals(new float[] {0, -1, 1, 1.5f, 2, 2.5f}, batch[1].toFloats());
      assertArrayEquals(new String[] {"n0", "n1", "n2"}, batch[2].toStrings());
      Elements.release(batch);
    }
    String query = "(SELECT * FROM clicks WHERE n > 0) AS liked";
    try (Elements e = JdbcTable.read(pool, query, "id", COLUMNS, 4).elements()) {
      assertEquals(List.of(1L, 2L), numbers(e, 9));
    }
    pool.dispose();
  }

  @Test
  void errorsNameTableRowAndField() throws SQLException {
    JdbcConnectionPool pool = database("errors", 3);
    List<Column> noNull = List.of(Column.of("y", DType.FLOAT));
    try (Elements e = JdbcTable.read(pool, "clicks", "id", noNull, 1).elements()) {
      String message = assertThrows(MillraceException.class, e::next).getMessage();
      assertTrue(
          message.startsWith("clicks, row with id = -50: field 'y' is null. Say what"), message);
    }
    MillraceException none =
        assertThrows(MillraceException.class, () -> JdbcTable.read(pool, "views", "id", noNull, 1));
    assertTrue(none.getMessage().startsWith("Cannot read views from the database: Table"));
    pool.dispose();
  }
}
