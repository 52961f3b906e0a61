package dev.millrace.train.data;

import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * One column of a {@link RowBuffer}. Values of one type and shape stand one after the other,
 * numbers in native memory and strings in an array; elements whose shape is not known beforehand
 * stay the tensors they are.
 */
sealed interface RowColumn {
  /** An empty column of the same kind. */
  RowColumn another(int room);

  /** Makes room for so many rows. */
  void grow(int room);

  /** Puts {@code value}, which it takes over, at row {@code row}. */
  void put(int row, Tensor value, int number);

  /** Copies row {@code from} to row {@code to} of {@code other}, a column of the same kind. */
  void copy(int from, RowColumn other, int to);

  /** Forgets a row that was copied elsewhere. */
  void forget(int row);

  /** Row {@code row} as a tensor of its own; the row is then to be forgotten. */
  Tensor take(int row);

  /** The first {@code rows} rows as one tensor; the column is empty and closed after it. */
  Tensor stack(int rows, int number);

  /** Gives the memory of the first {@code rows} rows back. */
  void close(int rows);

  /** A column for elements of {@code type}. */
  static RowColumn of(ElementType type, int room) {
    return type.dtype().isPlain() ? new Plain(type, room) : new Objects(type, room);
  }

  /** A message about a tensor that does not fit. */
  static MillraceException differs(int number, ElementType first, int row, Tensor found) {
    return MillraceException.invalid(
        "Elements of a batch differ in component %d: the first is %s%s, number %d is %s%s. Give"
            + " them one shape with map.",
        number, first.dtype(), first.shape(), row, found.dtype(), found.shape());
  }

  private static boolean fits(ElementType type, Tensor t) {
    return t.dtype() == type.dtype() && t.shape().equals(type.shape());
  }

  /** Numbers in native memory. */
  final class Plain implements RowColumn {
    private final ElementType type;
    private final long rowBytes;
    private Tensor memory;
    private int room;

    Plain(ElementType type, int room) {
      this.type = type;
      this.room = room;
      rowBytes = type.shape().elements() * type.dtype().bytes();
      memory = allocate(room);
    }

    private Tensor allocate(int rows) {
      return Tensor.allocate(type.dtype(), Shape.of(rows).concat(type.shape()));
    }

    MemorySegment data() {
      return memory.data();
    }

    @Override
    public RowColumn another(int rows) {
      return new Plain(type, rows);
    }

    @Override
    public void grow(int rows) {
      resize(rows, room);
      room = rows;
    }

    private void resize(int rows, int kept) {
      Tensor other = allocate(rows);
      Refs.copyBytes(memory, 0, other, 0, kept * rowBytes);
      memory.close();
      memory = other;
    }

    @Override
    public void put(int row, Tensor value, int number) {
      try (value) {
        if (!fits(type, value)) {
          throw differs(number, type, row, value);
        }
        Refs.copyBytes(value, 0, memory, row * rowBytes, rowBytes);
      }
    }

    @Override
    public void copy(int from, RowColumn other, int to) {
      Tensor target = ((Plain) other).memory;
      Refs.copyBytes(memory, from * rowBytes, target, to * rowBytes, rowBytes);
    }

    @Override
    public void forget(int row) {}

    @Override
    public Tensor take(int row) {
      Tensor one = Tensor.allocate(type.dtype(), type.shape());
      Refs.copyBytes(memory, row * rowBytes, one, 0, rowBytes);
      return one;
    }

    @Override
    public Tensor stack(int rows, int number) {
      if (rows != room) {
        resize(rows, rows);
      }
      Tensor all = memory;
      memory = null;
      return all;
    }

    @Override
    public void close(int rows) {
      if (memory != null) {
        memory.close();
        memory = null;
      }
    }
  }

  /** Strings, and what else does not live in native memory. */
  final class Objects implements RowColumn {
    private final ElementType type;
    private final int width;
    private Object[] values;

    Objects(ElementType type, int room) {
      this.type = type;
      width = Math.toIntExact(type.shape().elements());
      values = new Object[room * width];
    }

    Object[] values() {
      return values;
    }

    @Override
    public RowColumn another(int room) {
      return new Objects(type, room);
    }

    @Override
    public void grow(int room) {
      values = Arrays.copyOf(values, room * width);
    }

    @Override
    public void put(int row, Tensor value, int number) {
      try (value) {
        if (!fits(type, value)) {
          throw differs(number, type, row, value);
        }
        System.arraycopy(value.objects(), 0, values, row * width, width);
      }
    }

    @Override
    public void copy(int from, RowColumn other, int to) {
      System.arraycopy(values, from * width, ((Objects) other).values, to * width, width);
    }

    @Override
    public void forget(int row) {
      Arrays.fill(values, row * width, (row + 1) * width, null);
    }

    @Override
    public Tensor take(int row) {
      Object[] one = Arrays.copyOfRange(values, row * width, (row + 1) * width);
      return Tensor.ofObjects(type.dtype(), type.shape(), one);
    }

    @Override
    public Tensor stack(int rows, int number) {
      Object[] all = rows * width == values.length ? values : Arrays.copyOf(values, rows * width);
      values = null;
      return Tensor.ofObjects(type.dtype(), Shape.of(rows).concat(type.shape()), all);
    }

    @Override
    public void close(int rows) {
      values = null;
    }
  }

  /** Tensors of any shape. */
  final class Any implements RowColumn {
    private Tensor[] tensors;

    Any(int room) {
      tensors = new Tensor[room];
    }

    @Override
    public RowColumn another(int room) {
      return new Any(room);
    }

    @Override
    public void grow(int room) {
      tensors = Arrays.copyOf(tensors, room);
    }

    @Override
    public void put(int row, Tensor value, int number) {
      tensors[row] = value;
    }

    @Override
    public void copy(int from, RowColumn other, int to) {
      ((Any) other).tensors[to] = tensors[from];
    }

    @Override
    public void forget(int row) {
      tensors[row] = null;
    }

    @Override
    public Tensor take(int row) {
      return tensors[row];
    }

    /** Every tensor is closed, whether they fit together or not. */
    @Override
    public Tensor stack(int rows, int number) {
      ElementType type = new ElementType(tensors[0].dtype(), tensors[0].shape());
      RowColumn one = RowColumn.of(type, rows);
      int done = 0;
      try {
        while (done < rows) {
          one.put(done, tensors[done++], number);
        }
        return one.stack(rows, number);
      } catch (RuntimeException e) {
        one.close(done);
        throw e;
      } finally {
        for (int i = done; i < rows; i++) {
          tensors[i].close();
        }
        tensors = new Tensor[0];
      }
    }

    @Override
    public void close(int rows) {
      for (int i = 0; i < Math.min(rows, tensors.length); i++) {
        tensors[i].close();
      }
      tensors = new Tensor[0];
    }
  }
}
