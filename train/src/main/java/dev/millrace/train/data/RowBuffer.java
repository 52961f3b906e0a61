package dev.millrace.train.data;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Elements held column by column: what a batch is built in, and what a shuffle draws from. A source
 * that knows the types of its columns writes values straight into them:
 *
 * <pre>{@code
 * rows.declare(types);
 * rows.room(n);
 * rows.data(0).setAtIndex(ValueLayout.JAVA_FLOAT, rows.size(), value); // for every column
 * rows.added(1);
 * }</pre>
 *
 * <p>Others add tensors, an element at a time.
 *
 * <p>Threading: one thread at a time.
 */
public final class RowBuffer implements AutoCloseable {
  /** What is made room for at first; more only as it is needed. */
  private static final int FIRST_ROOM = 8192;

  private final int capacity;
  private RowColumn[] columns;

  /** The types of the columns; null where they hold any tensors. */
  private List<ElementType> types;

  private int room;
  private int size;

  /** An empty one for at most {@code capacity} elements. */
  public RowBuffer(int capacity) {
    this.capacity = capacity;
    this.room = Math.min(capacity, FIRST_ROOM);
  }

  /** How many elements it holds. */
  public int size() {
    return size;
  }

  /** Says what the columns are. It may be said again, but not otherwise. */
  public void declare(List<ElementType> declared) {
    if (declared.equals(types)) {
      return;
    }
    if (types != null) {
      throw MillraceException.invalid(
          "The parts of the data differ: elements of one are %s, of another %s.", types, declared);
    }
    RowColumn[] before = columns;
    RowColumn[] now = new RowColumn[declared.size()];
    for (int c = 0; c < now.length; c++) {
      now[c] = RowColumn.of(declared.get(c), room);
    }
    columns = now;
    types = List.copyOf(declared);
    if (before != null) {
      int rows = size;
      size = 0;
      for (int i = 0; i < rows; i++) {
        add(taken(before, i));
      }
    }
  }

  /** Makes room for {@code n} more elements, whose columns are declared. */
  public void room(int n) {
    int needed = size + n;
    if (needed > capacity) {
      throw new IllegalStateException(
          "A buffer of " + capacity + " elements has no room for " + needed + ".");
    }
    if (needed > room) {
      room = (int) Math.min(capacity, Math.max(needed, 2L * room));
      for (RowColumn c : columns) {
        c.grow(room);
      }
    }
  }

  /** The memory of column {@code c}, a declared one of numbers; until more room is made. */
  public MemorySegment data(int c) {
    return ((RowColumn.Plain) columns[c]).data();
  }

  /** The values of column {@code c}, a declared one of strings; until more room is made. */
  public Object[] objects(int c) {
    return ((RowColumn.Objects) columns[c]).values();
  }

  /** Takes the next {@code n} rows that were written in. */
  public void added(int n) {
    size += n;
  }

  /** Adds an element and takes it over. */
  public void add(Tensor[] element) {
    if (columns == null) {
      columns = new RowColumn[element.length];
      for (int c = 0; c < columns.length; c++) {
        columns[c] = new RowColumn.Any(room);
      }
    }
    if (element.length != columns.length) {
      Elements.release(element);
      throw MillraceException.invalid(
          "An element of the data has %d tensors; those before have %d.",
          element.length, columns.length);
    }
    room(1);
    int c = 0;
    try {
      while (c < element.length) {
        columns[c].put(size, element[c++], c - 1);
      }
    } finally {
      for (; c < element.length; c++) {
        element[c].close(); // one before it does not fit
      }
    }
    size++;
  }

  /** Moves element {@code i} to the end of {@code to}; the last one stands in its place then. */
  void move(int i, RowBuffer to) {
    if (types != null) {
      to.declare(types);
    } else if (to.types != null) {
      to.add(take(i));
      return;
    } else if (to.columns == null) {
      to.columns = new RowColumn[columns.length];
      for (int c = 0; c < columns.length; c++) {
        to.columns[c] = columns[c].another(to.room);
      }
    }
    to.room(1);
    for (int c = 0; c < columns.length; c++) {
      columns[c].copy(i, to.columns[c], to.size);
    }
    to.size++;
    remove(i);
  }

  /** Appends a copy of element {@code i} to {@code to}. */
  public void copy(int i, RowBuffer to) {
    if (types == null || (to.types == null && to.columns != null)) {
      Tensor[] element = taken(columns, i);
      for (int c = 0; c < element.length; c++) {
        element[c] = types == null ? element[c].copy() : element[c];
      }
      to.add(element);
      return;
    }
    to.declare(types);
    to.room(1);
    for (int c = 0; c < columns.length; c++) {
      columns[c].copy(i, to.columns[c], to.size);
    }
    to.size++;
  }

  /** Takes element {@code i} out, as tensors; the last one stands in its place then. */
  public Tensor[] take(int i) {
    Tensor[] element = taken(columns, i);
    remove(i);
    return element;
  }

  private static Tensor[] taken(RowColumn[] columns, int i) {
    Tensor[] element = new Tensor[columns.length];
    for (int c = 0; c < element.length; c++) {
      element[c] = columns[c].take(i);
    }
    return element;
  }

  private void remove(int i) {
    size--;
    for (RowColumn c : columns) {
      if (i < size) {
        c.copy(size, c, i);
      }
      c.forget(size);
    }
  }

  /** All elements stacked, one tensor for each column. The buffer is empty then. */
  Tensor[] stack() {
    RowColumn[] all = columns;
    int rows = size;
    columns = null;
    types = null;
    size = 0;
    Tensor[] batch = new Tensor[all.length];
    int done = 0;
    try {
      for (; done < batch.length; done++) {
        batch[done] = all[done].stack(rows, done);
      }
      return batch;
    } catch (RuntimeException e) {
      for (int c = 0; c < all.length; c++) {
        if (c < done) {
          batch[c].close();
        } else if (c > done) {
          all[c].close(rows);
        }
      }
      throw e;
    }
  }

  /** Forgets all elements; others can be added. */
  public void clear() {
    if (columns != null) {
      for (RowColumn c : columns) {
        c.close(size);
      }
    }
    columns = null;
    types = null;
    size = 0;
  }

  @Override
  public void close() {
    clear();
  }
}
