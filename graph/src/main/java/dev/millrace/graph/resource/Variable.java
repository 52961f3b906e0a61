package dev.millrace.graph.resource;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * A value that lives from step to step. A {@link VariableStore} makes it. Every change goes through
 * {@link #assign} or one of the update methods, which tell the store's {@link VariableJournal}.
 *
 * <p>Reading gives the variable's own memory, not a copy. Under {@link #update} it changes in
 * place, and earlier readers see the change: TensorFlow's meaning of a reference variable, on which
 * its synchronous training depends. {@link #updateCopied} leaves earlier readers their value, the
 * meaning of a resource variable. A large table of which steps change a few rows must not be copied
 * for each of them: from the first {@link #updateRows} on it is {@link #read} that copies, and
 * {@link #examine} that does not.
 *
 * <p>An optimizer updates a variable and its slots atomically: they are companions, with one common
 * {@link #leader}. A consistent snapshot, as a checkpoint needs, reads them while it {@link
 * #holdAll holds} them all.
 *
 * <p>Threading: any thread; changes exclude each other and readers, who take the lock for an
 * instant, or for as long as they examine or hold. A thread that takes several locks takes them in
 * {@link #LOCK_ORDER}.
 */
public final class Variable implements Resources.Resource {
  /** The order in which several variables are locked: prevents deadlock. */
  public static final Comparator<Variable> LOCK_ORDER =
      Comparator.comparing(Variable::name).thenComparingInt(System::identityHashCode);

  /** Guards changes of {@code leader} links. */
  private static final Object COMPANY = new Object();

  private final String name;
  private final DType dtype;

  /** Told of every change; null in a store that keeps state in memory only. */
  private final VariableJournal journal;

  private final ReadWriteLock lock = new ReentrantReadWriteLock();
  private Tensor value;

  /** Whether the value is changed in place and so must not be shared with readers. */
  private boolean copiedOnRead;

  /** Counts changes, for status and staleness. */
  private long version;

  /** The next variable on the path to the leader; the leader's is itself. */
  private volatile Variable next = this;

  /** A variable without a value that lives in memory only. */
  public Variable(String name, DType dtype) {
    this(name, dtype, null, null);
  }

  /**
   * A variable of a store.
   *
   * @param journal told of every change, and asked for memory; null for none
   * @param value its first value, whose counted reference it takes over; null for none
   */
  public Variable(String name, DType dtype, VariableJournal journal, Tensor value) {
    this.name = name;
    this.dtype = dtype;
    this.journal = journal;
    this.value = value;
  }

  @Override
  public String kind() {
    return "Variable";
  }

  /** Its name in its container. */
  public String name() {
    return name;
  }

  /** The type of its elements. */
  public DType dtype() {
    return dtype;
  }

  /** Whether it has a value. */
  public boolean isInitialized() {
    return reading(v -> v.value != null);
  }

  /** Grows with every change of the value. */
  public long version() {
    return reading(v -> v.version);
  }

  /** The shape of the current value, or null while there is none. */
  public Shape shape() {
    return reading(v -> v.value == null ? null : v.value.shape());
  }

  /** The current value with a counted reference of the caller's. */
  public Tensor read() {
    Tensor t = readOrNull();
    if (t == null) {
      throw uninitialized();
    }
    return t;
  }

  /** The current value like {@link #read}, or null while there is none. */
  public Tensor readOrNull() {
    return reading(Variable::taken);
  }

  /** Shows the current value, which cannot change meanwhile; it must not be kept. */
  public void examine(Consumer<Tensor> reader) {
    lock.readLock().lock();
    try {
      if (value == null) {
        throw uninitialized();
      }
      reader.accept(value);
    } finally {
      lock.readLock().unlock();
    }
  }

  /** Runs an action while none of the variables can change; it may only read them. */
  public static void holdAll(Collection<Variable> variables, Runnable body) {
    List<Variable> ordered = variables.stream().sorted(LOCK_ORDER).toList();
    int held = 0;
    try {
      for (Variable v : ordered) {
        v.lock.readLock().lock();
        held++;
      }
      body.run();
    } finally {
      while (held > 0) {
        ordered.get(--held).lock.readLock().unlock();
      }
    }
  }

  /** Marks the variables as companions; must be called before their first joint update. */
  public static void makeCompanions(Variable... variables) {
    for (Variable v : variables) {
      if (v.leader() != variables[0].leader()) {
        synchronized (COMPANY) {
          v.leader().next = variables[0].leader();
        }
      }
    }
  }

  /** The representative of this variable's companions; stable while none is added. */
  public Variable leader() {
    Variable v = this;
    while (v.next != v) {
      v = v.next;
    }
    return v;
  }

  /**
   * Gives the variable a value. If it has one of that shape the bytes are copied into it, so that
   * earlier readers of a reference see them; otherwise the variable gets new memory. Borrows {@code
   * newValue}. As in all methods that change it, {@code stepId} is the step that does so.
   */
  public void assign(long stepId, Tensor newValue) {
    checkType(newValue);
    replacing(stepId, Variable::put, newValue);
  }

  /** Like {@link #assign}, but fails if the shape differs from that of the current value. */
  public void assignSameShape(long stepId, Tensor newValue) {
    checkType(newValue);
    replacing(stepId, Variable::putSameShape, newValue);
  }

  /** Gives the variable a value in memory of its own, leaving earlier readers theirs. */
  public void assignCopied(long stepId, Tensor newValue) {
    checkType(newValue);
    replacing(stepId, Variable::putCopied, newValue);
  }

  /** Changes the value in place. */
  public void update(long stepId, Consumer<Tensor> change) {
    changing(stepId, null, Variable::changeInPlace, change);
  }

  /** Changes only the rows {@code indices} of the value, in place. */
  public void update(long stepId, Tensor indices, Consumer<Tensor> change) {
    changing(stepId, indices, Variable::changeInPlace, change);
  }

  /** Changes the value, in place if nobody holds it, else in a copy that replaces it. */
  public void updateCopied(long stepId, Consumer<Tensor> change) {
    changing(stepId, null, Variable::changeUnshared, change);
  }

  /**
   * Like {@link #updateCopied}, for a change of only the rows {@code indices}, which is too small
   * to copy the whole value each time.
   */
  public void updateRows(long stepId, Tensor indices, Consumer<Tensor> change) {
    changing(stepId, indices, Variable::changeRows, change);
  }

  /**
   * Changes several variables as one, or only the rows {@code rows} of each. The change gets their
   * values in the order given. From then on they are companions.
   *
   * @param rows the indices of the rows, null for all
   * @param inPlace whether earlier readers see the change, as by {@link #update}, or keep the value
   *     that they read, as by {@link #updateCopied} and {@link #updateRows}
   */
  public static void updateAll(
      long stepId, Variable[] variables, Tensor rows, boolean inPlace, Consumer<Tensor[]> change) {
    Variable[] ordered = variables;
    if (variables.length > 1) {
      makeCompanions(variables);
      ordered = variables.clone();
      Arrays.sort(ordered, LOCK_ORDER);
    }
    int held = 0;
    try {
      for (Variable v : ordered) {
        v.lock.writeLock().lock();
        held++;
      }
      if (!admitsAll(stepId, ordered)) {
        return;
      }
      Tensor[] values = new Tensor[variables.length];
      for (int i = 0; i < values.length; i++) {
        values[i] = variables[i].changeable(rows != null, inPlace);
      }
      change.accept(values);
      for (Variable v : ordered) {
        v.changed(stepId, rows);
      }
    } finally {
      while (held > 0) {
        ordered[--held].lock.writeLock().unlock();
      }
    }
  }

  /** Whether the step is to make its next change of all of them; each journal is asked. */
  private static boolean admitsAll(long stepId, Variable[] variables) {
    boolean admitted = true;
    for (Variable v : variables) {
      admitted &= v.admits(stepId);
    }
    return admitted;
  }

  private boolean admits(long stepId) {
    return journal == null || journal.admits(stepId);
  }

  /** Makes reads share the value again instead of copying it, until {@link #updateRows}. */
  public void shareWithReaders() {
    lock.writeLock().lock();
    try {
      copiedOnRead = false;
    } finally {
      lock.writeLock().unlock();
    }
  }

  @Override
  public void close() {
    lock.writeLock().lock();
    try {
      replace(null);
      version++;
      if (journal != null) {
        journal.removed();
      }
    } finally {
      lock.writeLock().unlock();
    }
  }

  /** What {@code body} makes of the variable; it captures nothing, as this is done all the time. */
  private <T> T reading(Function<Variable, T> body) {
    lock.readLock().lock();
    try {
      return body.apply(this);
    } finally {
      lock.readLock().unlock();
    }
  }

  private void replacing(long stepId, BiConsumer<Variable, Tensor> how, Tensor newValue) {
    lock.writeLock().lock();
    try {
      if (journal != null) {
        journal.replacing(stepId);
      }
      changing(stepId, null, how, newValue);
    } finally {
      lock.writeLock().unlock();
    }
  }

  private <T> void changing(long stepId, Tensor rows, BiConsumer<Variable, T> how, T what) {
    lock.writeLock().lock();
    try {
      if (!admits(stepId)) {
        return;
      }
      how.accept(this, what);
      changed(stepId, rows);
    } finally {
      lock.writeLock().unlock();
    }
  }

  /** Notes a change and tells the journal; the lock is held. */
  private void changed(long stepId, Tensor rows) {
    version++;
    if (journal != null) {
      if (rows == null) {
        journal.assigned(stepId, value);
      } else {
        journal.rowsChanged(stepId, value, rows);
      }
    }
  }

  private Tensor taken() {
    return value == null ? null : copiedOnRead ? Refs.copy(value) : Refs.retain(value);
  }

  private void changeInPlace(Consumer<Tensor> change) {
    change.accept(changeable(false, true));
  }

  private void changeRows(Consumer<Tensor> change) {
    change.accept(changeable(true, false));
  }

  private void changeUnshared(Consumer<Tensor> change) {
    change.accept(changeable(false, false));
  }

  /** The value in memory that may be changed now; the lock is held. */
  private Tensor changeable(boolean rowsOnly, boolean inPlace) {
    if (value == null) {
      throw uninitialized();
    }
    if (!inPlace) {
      copiedOnRead |= rowsOnly;
      if (isShared()) {
        replace(ownCopy(value));
      }
    }
    return value;
  }

  private boolean isShared() {
    return value == null || !Refs.isUnshared(value);
  }

  private void put(Tensor t) {
    if (value != null && dtype.isPlain() && value.shape().equals(t.shape())) {
      MemorySegment.copy(t.data(), 0, value.data(), 0, t.byteSize());
    } else {
      replace(ownCopy(t));
    }
  }

  private void putSameShape(Tensor t) {
    if (value != null && !value.shape().equals(t.shape())) {
      throw MillraceException.invalid(
          "Assign requires shapes of both tensors to match. lhs shape= %s rhs shape= %s (variable"
              + " '%s')",
          value.shape(), t.shape(), name);
    }
    put(t);
  }

  private void putCopied(Tensor t) {
    if (isShared()) {
      replace(ownCopy(t));
    } else {
      put(t);
    }
  }

  private Tensor ownCopy(Tensor t) {
    return journal == null ? Refs.copy(t) : journal.copy(t);
  }

  private void replace(Tensor t) {
    if (value != null) {
      Refs.release(value);
    }
    value = t;
  }

  private void checkType(Tensor t) {
    if (t.dtype() != dtype) {
      throw MillraceException.invalid(
          "Variable '%s' is %s; it cannot be assigned a value of type %s.", name, dtype, t.dtype());
    }
  }

  /** The error whose wording TensorFlow's session recovery looks for. */
  public MillraceException uninitialized() {
    return new MillraceException(
        Code.FAILED_PRECONDITION, "Attempting to use uninitialized value " + name);
  }
}
