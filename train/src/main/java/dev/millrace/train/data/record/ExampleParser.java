package dev.millrace.train.data.record;

import dev.millrace.base.MillraceException;
import dev.millrace.train.data.ElementType;
import dev.millrace.train.data.column.Cells;
import dev.millrace.train.data.column.Column;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * Writes the features of tf.Examples and SequenceExamples straight from their bytes into columns.
 *
 * <p>Threading: one thread at a time.
 */
final class ExampleParser implements RecordParser {
  private static final VarHandle FLOAT =
      MethodHandles.byteArrayViewVarHandle(float[].class, ByteOrder.LITTLE_ENDIAN);

  // The numbers of the fields of the messages. Both kinds of Example have Features first; a map
  // entry, a FeatureLists, a FeatureList and the lists of a Feature have their contents in field 1.
  private static final int FEATURES = 1;
  private static final int FEATURE_LISTS = 2;
  private static final int CONTENTS = 1;
  private static final int KEY = 1;
  private static final int VALUE = 2;
  private static final int BYTES_LIST = 1;
  private static final int FLOAT_LIST = 2;
  private static final int INT64_LIST = 3;

  /** A feature that is read, and where its values go. */
  private static final class Target {
    final Column column;
    final byte[] name;
    final int cell;
    final int index;
    final Cells.Missing missing;

    /** The number of the Example in which it was seen last. */
    long seen;

    Target(Column column, int field, int cell) {
      this.column = column;
      this.name = column.fields().get(field).getBytes(StandardCharsets.UTF_8);
      this.cell = cell;
      this.index = column.list() ? 0 : field;
      this.missing = Cells.Missing.of(column);
    }

    int most() {
      return column.list() ? column.length() : 1;
    }
  }

  private final List<ElementType> types;
  private final Target[] context;
  private final Target[] sequences;

  /** Examples mostly have their features in one order: which target each place had last. */
  private Target[] contextOrder = new Target[16];

  private Target[] sequenceOrder = new Target[16];

  private long number;
  private Cells cells;
  private int row;

  private ExampleParser(List<Column> context, List<Column> sequences) {
    List<Column> all = Stream.concat(context.stream(), sequences.stream()).toList();
    for (Column c : all) {
      if (c.dtype() == null) {
        throw MillraceException.invalid(
            "A feature of an Example is left out by not naming it; Column.ignored is for CSV.");
      }
    }
    for (Column c : sequences) {
      if (!c.list()) {
        throw MillraceException.invalid(
            "Feature '%s' of SequenceExamples has a value for each step; read it with Column.list.",
            c.name());
      }
    }
    types = Column.types(all);
    this.context = targets(context, 0);
    this.sequences = targets(sequences, context.size());
  }

  static ExampleParser ofExamples(List<Column> columns) {
    return new ExampleParser(columns, List.of());
  }

  static ExampleParser ofSequences(List<Column> context, List<Column> sequences) {
    return new ExampleParser(context, sequences);
  }

  private static Target[] targets(List<Column> columns, int first) {
    List<Target> all = new ArrayList<>();
    for (int c = 0; c < columns.size(); c++) {
      for (int f = 0; f < columns.get(c).fields().size(); f++) {
        all.add(new Target(columns.get(c), f, first + c));
      }
    }
    return all.toArray(Target[]::new);
  }

  @Override
  public List<ElementType> types() {
    return types;
  }

  @Override
  public void parse(byte[] bytes, int from, int to, Cells into, int intoRow) {
    cells = into;
    row = intoRow;
    number++;
    ProtoCursor example = new ProtoCursor(bytes, from, to);
    while (example.next()) {
      if (example.is(FEATURES)) {
        contextOrder = features(bytes, example.inside(), context, contextOrder, false);
      } else if (example.is(FEATURE_LISTS)) {
        sequenceOrder = features(bytes, example.inside(), sequences, sequenceOrder, true);
      } else {
        example.skip();
      }
    }
    fill(context, "feature");
    fill(sequences, "feature list");
  }

  private void fill(Target[] targets, String kind) {
    for (Target t : targets) {
      if (t.seen == number) {
        continue;
      }
      if (t.missing == null) {
        throw MillraceException.invalid(
            " has no %s '%s'. Say what a missing one stands for with orElse.",
            kind, text(t.name, 0, t.name.length));
      }
      cells.putMissing(t.cell, at(t), t.most(), t.missing);
    }
  }

  private long at(Target t) {
    return (long) row * t.column.width() + t.index;
  }

  /** Reads a map of features or feature lists; returns the order of its targets. */
  private Target[] features(
      byte[] bytes, ProtoCursor map, Target[] targets, Target[] order, boolean lists) {
    Target[] current = order;
    for (int place = 0; map.next(); place++) {
      if (!map.is(CONTENTS)) {
        map.skip();
        continue;
      }
      ProtoCursor entry = map.inside();
      int keyFrom = 0;
      int keyTo = 0;
      ProtoCursor value = null;
      while (entry.next()) {
        if (entry.is(KEY)) {
          keyFrom = entry.at;
          keyTo = entry.valueEnd;
          entry.skip();
        } else if (entry.is(VALUE)) {
          value = entry.inside();
        } else {
          entry.skip();
        }
      }
      if (place == current.length) {
        current = Arrays.copyOf(current, 2 * place);
      }
      Target t = current[place];
      if (t == null || !isNamed(t, bytes, keyFrom, keyTo)) {
        t = find(targets, bytes, keyFrom, keyTo);
        current[place] = t;
      }
      if (t != null && value != null) {
        int n = lists ? list(bytes, value, t) : feature(bytes, value, t, 0);
        finish(t, n);
      }
    }
    return current;
  }

  private static Target find(Target[] targets, byte[] bytes, int from, int to) {
    for (Target t : targets) {
      if (isNamed(t, bytes, from, to)) {
        return t;
      }
    }
    return null;
  }

  private static boolean isNamed(Target t, byte[] bytes, int from, int to) {
    return t.name.length == to - from && Arrays.equals(t.name, 0, t.name.length, bytes, from, to);
  }

  private int list(byte[] bytes, ProtoCursor list, Target t) {
    int n = 0;
    while (list.next()) {
      if (list.is(CONTENTS)) {
        n = feature(bytes, list.inside(), t, n);
      } else {
        list.skip();
      }
    }
    return n;
  }

  private void finish(Target t, int n) {
    if (n == 0 && !t.column.list()) {
      return; // as if it were not there
    }
    if (t.column.list()) {
      int there = Math.min(n, t.most());
      cells.putMissing(t.cell, at(t) + there, t.most() - there, t.missing);
    } else if (n != 1) {
      throw MillraceException.invalid(
          ": feature '%s' has %d values, not one. Read several with Column.list.",
          text(t.name, 0, t.name.length), n);
    }
    t.seen = number;
  }

  /** Writes the values of a feature behind {@code n} others and returns how many there are then. */
  private int feature(byte[] bytes, ProtoCursor feature, Target t, int n) {
    int all = n;
    while (feature.next()) {
      int kind = feature.field;
      if (feature.wire != ProtoCursor.BYTES || kind < BYTES_LIST || kind > INT64_LIST) {
        feature.skip();
        continue;
      }
      ProtoCursor values = feature.inside();
      try {
        all =
            switch (kind) {
              case BYTES_LIST -> strings(bytes, values, t, n);
              case FLOAT_LIST -> floats(bytes, values, t, n);
              default -> longs(values, t, n);
            };
      } catch (NumberFormatException e) {
        throw MillraceException.invalid(
            ": feature '%s' has %s, which %s cannot hold.",
            text(t.name, 0, t.name.length),
            kind == BYTES_LIST ? "strings" : kind == FLOAT_LIST ? "floats" : "int64 values",
            "column '" + t.column.name() + "' of " + t.column.dtype());
      }
    }
    return all;
  }

  private int strings(byte[] bytes, ProtoCursor values, Target t, int first) {
    int n = first;
    while (values.next()) {
      if (values.is(CONTENTS)) {
        if (n < t.most()) {
          cells.putBytes(t.cell, at(t) + n, Arrays.copyOfRange(bytes, values.at, values.valueEnd));
        }
        n++;
      }
      values.skip();
    }
    return n;
  }

  private int floats(byte[] bytes, ProtoCursor values, Target t, int first) {
    int n = first;
    while (values.next()) {
      if (values.is(CONTENTS) && (values.valueEnd - values.at) % Float.BYTES == 0) {
        for (int at = values.at; at < values.valueEnd; at += Float.BYTES, n++) {
          put(t, n, (float) FLOAT.get(bytes, at));
        }
      } else if (values.field == CONTENTS
          && values.wire == ProtoCursor.FIXED32
          && values.end - values.at >= Float.BYTES) {
        put(t, n++, (float) FLOAT.get(bytes, values.at));
      }
      values.skip();
    }
    return n;
  }

  private void put(Target t, int n, float value) {
    if (n < t.most()) {
      cells.putDouble(t.cell, at(t) + n, value);
    }
  }

  private int longs(ProtoCursor values, Target t, int first) {
    int n = first;
    while (values.next()) {
      if (values.is(CONTENTS)) {
        ProtoCursor packed = values.inside();
        for (; packed.at < packed.end; n++) {
          put(t, n, packed.varint());
        }
      } else if (values.field == CONTENTS && values.wire == ProtoCursor.VARINT) {
        put(t, n++, values.varint());
      } else {
        values.skip();
      }
    }
    return n;
  }

  private void put(Target t, int n, long value) {
    if (n < t.most()) {
      cells.putLong(t.cell, at(t) + n, value);
    }
  }

  private static String text(byte[] bytes, int from, int to) {
    return new String(bytes, from, to - from, StandardCharsets.UTF_8);
  }
}
