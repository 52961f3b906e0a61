package dev.millrace.cli.text;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** Rows under a heading, each column as wide as it must be; columns of numbers end at the right. */
public final class Table {
  private static final Pattern NUMBER = Pattern.compile("[-+]?[0-9][0-9.,]*( ?[A-Za-z%/]+)?|-|");

  private final List<List<String>> rows = new ArrayList<>();

  /** A table with these headings and no rows. */
  public Table(String... headings) {
    rows.add(List.of(headings));
  }

  /** Adds a row with one cell per heading. */
  public Table row(Object... cells) {
    List<String> row = new ArrayList<>();
    for (Object c : cells) {
      row.add(String.valueOf(c));
    }
    if (row.size() != rows.getFirst().size()) {
      throw new IllegalArgumentException(row + " under " + rows.getFirst());
    }
    rows.add(row);
    return this;
  }

  /** Whether there is no row but the headings. */
  public boolean isEmpty() {
    return rows.size() == 1;
  }

  /** Prints headings and rows. */
  public void print(PrintWriter out) {
    int columns = rows.getFirst().size();
    int[] width = new int[columns];
    boolean[] numbers = new boolean[columns];
    for (int c = 0; c < columns; c++) {
      int column = c;
      width[c] = rows.stream().mapToInt(r -> r.get(column).length()).max().orElse(0);
      numbers[c] =
          !isEmpty()
              && rows.stream().skip(1).allMatch(r -> NUMBER.matcher(r.get(column)).matches());
    }
    for (List<String> row : rows) {
      StringBuilder line = new StringBuilder();
      for (int c = 0; c < columns; c++) {
        String pad = " ".repeat(width[c] - row.get(c).length());
        line.append(c == 0 ? "" : "  ").append(numbers[c] ? pad + row.get(c) : row.get(c) + pad);
      }
      out.println(line.toString().stripTrailing());
    }
  }
}
