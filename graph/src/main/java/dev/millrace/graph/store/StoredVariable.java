package dev.millrace.graph.store;

import dev.millrace.graph.resource.StateId;
import dev.millrace.graph.resource.StepIdentity;
import dev.millrace.graph.resource.Variable;
import dev.millrace.graph.resource.VariableJournal;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What a {@link ProcessStore} knows of one variable: what has changed since it was stored, and what
 * is stored.
 *
 * <p>Threading: changes are reported while the variable is locked for writing. The store looks at
 * it with its own lock held, and at what changes report while the variable is locked for reading.
 */
final class StoredVariable implements VariableJournal {
  /** Values up to this size are in the journal itself. */
  static final int INLINE_BYTES = 16 << 10;

  private static final int DENSE_UNIT = 64 << 10;
  private static final int LEAST_UNIT = 256;

  /** A change of more than this part of the rows stores the whole value. */
  private static final int MOST_PART = 4;

  private static final int ROWS = 16;
  private static final byte INLINE = 0;
  private static final byte IMAGE = 1;
  private static final byte UNITS = 2;

  /** A unit and its new bytes. */
  private record Unit(long index, ByteBuffer bytes) {}

  /** What is stored once the record under way is valid. */
  private record Next(long version, Shape shape, byte[] head, byte[] inline, Image.State state) {}

  private final ProcessStore store;
  private final int number;
  private final StateId id;
  private final DType dtype;
  private final Image image;
  private Variable variable;

  // Guarded by the variable's lock.
  private final StepMarks marks = new StepMarks();
  private long version;
  private long floor;

  /** The rows changed since the value was stored; null if others have changed as well. */
  private long[] rows;

  private int rowCount;

  /** The bytes of a row, if a change of some rows was ever reported; else 0. */
  private long rowBytes;

  // Guarded by the store's lock.
  private boolean defined;

  /** Whether the variable was removed. */
  private boolean gone;

  private long storedVersion;
  private Shape shape;

  /** What the journal says of the stored value before its bytes: shape, floor and marks. */
  private byte[] head;

  private byte[] inline;
  private Image.State state;
  private List<Unit> units = new ArrayList<>();
  private Next next;
  private boolean failed;

  StoredVariable(ProcessStore store, int number, StateId id, DType dtype) {
    this.store = store;
    this.number = number;
    this.id = id;
    this.dtype = dtype;
    this.image = store.image(number);
  }

  /** Makes the variable that it is about; {@code value} is null for none. */
  Variable create(Tensor value) {
    variable = new Variable(id.name(), dtype, this, value);
    return variable;
  }

  int number() {
    return number;
  }

  StateId id() {
    return id;
  }

  Variable variable() {
    return variable;
  }

  // ---- changes ----

  @Override
  public boolean admits(long stepId) {
    StepIdentity step = StepIdentity.of(stepId);
    if (step == null) {
      return true;
    }
    if (store.applied().has(step, floor)) {
      return false;
    }
    if (marks.admits(step, stepId)) {
      return true;
    }
    // The change was made in memory; this step must not be acknowledged before it is stored.
    store.changed(stepId, this);
    return false;
  }

  @Override
  public void replacing(long stepId) {
    if (StepIdentity.of(stepId) == null) {
      marks.clear();
      floor = store.commits();
    }
  }

  @Override
  public void assigned(long stepId, Tensor value) {
    rows = null;
    changed(stepId);
  }

  @Override
  public void rowsChanged(long stepId, Tensor value, Tensor indices) {
    long n = value.shape().dim(0);
    rowBytes = n == 0 || !dtype.isPlain() ? 0 : value.byteSize() / n;
    if (rows != null) {
      int more = (int) indices.elements();
      if (rowCount + (long) more > n / MOST_PART) {
        rows = null;
      } else {
        if (rowCount + more > rows.length) {
          rows = Arrays.copyOf(rows, Math.max(2 * rows.length, rowCount + more));
        }
        for (int i = 0; i < more; i++) {
          rows[rowCount++] = indices.longAt(i);
        }
      }
    }
    changed(stepId);
  }

  private void changed(long stepId) {
    version++;
    StepIdentity step = StepIdentity.of(stepId);
    if (step != null) {
      marks.made(step);
    }
    store.changed(stepId, this);
  }

  // ---- commits ----

  /**
   * Adds what has changed to a record, and writes a large value beside the valid one. The variable
   * is locked. Says how many bytes of units are in the record.
   */
  long prepare(RecordBytes record, StepIdentity committed, long unitBudget) {
    if (gone || (version == storedVersion && !failed)) {
      return 0;
    }
    long[] written = {0};
    if (variable.isInitialized()) {
      variable.examine(value -> written[0] = prepare(record, committed, unitBudget, value));
    }
    return written[0];
  }

  private long prepare(RecordBytes record, StepIdentity committed, long unitBudget, Tensor value) {
    byte[] small = small(value);
    boolean few = small == null && !failed && fewUnits(value, unitBudget);
    // From here on a failure leaves it unknown what the files have of it.
    failed = true;
    define(record);
    int start = record.length();
    byte[] now = head(value.shape(), committed);
    record.put(ProcessStore.VALUE).put(number).put(now);
    units.clear();
    Image.State written = state;
    if (small != null) {
      written = null;
      inline(record, small);
    } else if (few) {
      written = state.withSum(units(record, value.data()));
    } else {
      written = image.write(value.data(), unitBytes(), state);
      image(record, written);
    }
    next = new Next(version, value.shape(), now, small, written);
    rows = rowBytes > 0 ? new long[ROWS] : null;
    rowCount = 0;
    return few ? record.length() - start : 0;
  }

  private void define(RecordBytes record) {
    if (!defined) {
      record
          .put(ProcessStore.DEFINE)
          .put(number)
          .put(id.device())
          .put(id.container())
          .put(id.name());
      record.put(dtype.number());
    }
  }

  private byte[] head(Shape valueShape, StepIdentity committed) {
    RecordBytes bytes = new RecordBytes();
    bytes.put(valueShape.rank());
    for (int i = 0; i < valueShape.rank(); i++) {
      bytes.put(valueShape.dim(i));
    }
    bytes.put(floor);
    marks.write(bytes, store.applied(), committed, floor);
    return RecordBytes.bytes(bytes.finished(), bytes.length());
  }

  /** The bytes of a value that is to be in the journal; null for a large one. */
  private byte[] small(Tensor value) {
    if (!dtype.isPlain()) {
      RecordBytes strings = new RecordBytes();
      for (long i = 0; i < value.elements(); i++) {
        byte[] s = value.bytesAt(i);
        strings.put(s.length).put(s);
      }
      return RecordBytes.bytes(strings.finished(), strings.length());
    }
    if (value.byteSize() > INLINE_BYTES) {
      return null;
    }
    byte[] bytes = new byte[(int) value.byteSize()];
    MemorySegment.copy(value.data(), 0, MemorySegment.ofArray(bytes), 0, bytes.length);
    return bytes;
  }

  private int unitBytes() {
    if (rowBytes == 0 || rowBytes > DENSE_UNIT) {
      return rowBytes == 0 ? DENSE_UNIT : (int) Math.min(rowBytes, Integer.MAX_VALUE);
    }
    return (int) (rowBytes * Math.ceilDiv(LEAST_UNIT, rowBytes));
  }

  private boolean fewUnits(Tensor value, long budget) {
    return rows != null
        && rowBytes > 0
        && state != null
        && state.bytes() == value.byteSize()
        && state.unitBytes() == unitBytes()
        && rowCount * (long) state.unitBytes() <= budget;
  }

  /** Adds the units that have changed; returns the sum of the value with them. */
  private long units(RecordBytes record, MemorySegment value) {
    long perUnit = state.unitBytes() / rowBytes;
    long[] changed =
        Arrays.stream(rows, 0, rowCount).map(r -> r / perUnit).sorted().distinct().toArray();
    record.put(UNITS).put(changed.length);
    long sum = state.sum();
    for (long u : changed) {
      MemorySegment unit = value.asSlice(u * state.unitBytes(), state.unitLength(u));
      record.put(u).put(unit);
      sum = image.sumWith(state, sum, u, unit.asByteBuffer());
      ByteBuffer bytes = record.finished();
      units.add(
          new Unit(u, bytes.slice(bytes.limit() - (int) unit.byteSize(), (int) unit.byteSize())));
    }
    record.put(sum);
    return sum;
  }

  private static void inline(RecordBytes record, byte[] bytes) {
    record.put(INLINE).put(bytes.length).put(bytes);
  }

  private static void image(RecordBytes record, Image.State s) {
    record.put(IMAGE).put(s.slot()).put(s.bytes()).put(s.unitBytes()).put(s.sum());
  }

  /** The record is valid. */
  void adopt() {
    if (next == null) {
      return;
    }
    for (Unit u : units) {
      image.put(state, u.index, u.bytes);
    }
    units.clear();
    storedVersion = next.version;
    shape = next.shape;
    head = next.head;
    inline = next.inline;
    state = next.state;
    defined = true;
    failed = false;
    next = null;
  }

  /** The record will not be valid: the next one has the whole value. */
  void giveUp() {
    units.clear();
    next = null;
  }

  /** Adds what is stored to a record that sums all up. */
  void summarize(RecordBytes record) {
    if (!defined) {
      return;
    }
    defined = false;
    define(record);
    defined = true;
    record.put(ProcessStore.VALUE).put(number).put(head);
    if (inline != null) {
      inline(record, inline);
    } else {
      image(record, state);
    }
  }

  boolean isDefined() {
    return defined;
  }

  // ---- after a restart ----

  /** Reads what {@link #head} and what follows it has written. */
  void read(ByteBuffer from) {
    int start = from.position();
    long[] dims = new long[from.getInt()];
    for (int i = 0; i < dims.length; i++) {
      dims[i] = from.getLong();
    }
    shape = Shape.of(dims);
    floor = from.getLong();
    marks.read(from);
    head = RecordBytes.bytes(from.duplicate().position(start), from.position() - start);
    defined = true;
    byte form = from.get();
    if (form == INLINE) {
      inline = RecordBytes.bytes(from, from.getInt());
      state = null;
      units.clear();
    } else if (form == IMAGE) {
      inline = null;
      units.clear();
      state = new Image.State(from.getInt(), from.getLong(), from.getInt(), from.getLong());
    } else {
      readUnits(from);
    }
  }

  private void readUnits(ByteBuffer from) {
    for (int n = from.getInt(); n > 0; n--) {
      long index = from.getLong();
      int length = state.unitLength(index);
      units.add(new Unit(index, from.slice(from.position(), length)));
      from.position(from.position() + length);
    }
    state = state.withSum(from.getLong());
  }

  /** The variable with the value that is stored. */
  Variable restore() {
    if (shape == null) {
      return create(null);
    }
    return create(dtype.isPlain() ? plain() : strings());
  }

  private Tensor plain() {
    Tensor t = Refs.allocate(dtype, shape);
    try {
      if (inline != null) {
        MemorySegment.copy(MemorySegment.ofArray(inline), 0, t.data(), 0, t.byteSize());
      } else {
        image.open(state);
        for (Unit u : units) {
          image.put(state, u.index, u.bytes);
        }
        units.clear();
        image.read(state, t.data());
        awaitRows(t.byteSize());
      }
      return t;
    } catch (RuntimeException e) {
      Refs.release(t);
      throw e;
    }
  }

  /** Goes on with changes of rows, if the value that is stored has units for them. */
  private void awaitRows(long bytes) {
    if (state.unitBytes() != DENSE_UNIT && shape.rank() > 0 && shape.dim(0) > 0) {
      rowBytes = bytes / shape.dim(0);
      rows = new long[ROWS];
    }
  }

  private Tensor strings() {
    ByteBuffer from = ByteBuffer.wrap(inline);
    Object[] elements = new Object[(int) shape.elements()];
    for (int i = 0; i < elements.length; i++) {
      elements[i] = RecordBytes.bytes(from, from.getInt());
    }
    return Refs.ofObjects(dtype, shape, elements);
  }

  /** Gives its value back, if it has been made. */
  void release() {
    if (variable != null) {
      variable.close();
    }
  }

  void close() {
    image.close();
  }

  /** The variable was removed: its files are not needed, and later changes are not stored. */
  void remove() {
    gone = true;
    image.delete();
  }
}
