package dev.millrace.graph.store;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.resource.StateId;
import dev.millrace.graph.resource.StepIdentity;
import dev.millrace.graph.resource.Variable;
import dev.millrace.graph.resource.VariableStore;
import dev.millrace.tensor.DType;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Keeps the variables of a task in files that the process has mapped. The page cache has them as
 * soon as they are written, and it outlives the process: a task that is killed and started again on
 * the same folder has every update that was acknowledged. The loss of the machine is another
 * matter, for which there are checkpoints.
 *
 * <p>The values that steps read and change are in memory, as without this store. A commit copies
 * what its step has changed: small values into the record of the commit in the {@link Journal},
 * large ones to a file beside the one that is valid, changed rows of large ones into the record and
 * then into the valid file. One store of 8 bytes makes the whole record valid.
 *
 * <p>Steps run at the same time and change the same variables, so what a commit stores of a
 * variable may have the changes of a step that was not committed. It therefore stores their {@link
 * StepMarks} as well, and a repeated step leaves out, variable by variable, what it has done.
 *
 * <p>Queues, accumulators and tables stay in memory.
 *
 * <p>Threading: any thread. One commit at a time writes; of commits that wait for it, the first
 * writes what all have changed.
 */
public final class ProcessStore implements VariableStore, AutoCloseable {
  static final byte DEFINE = 1;
  static final byte VALUE = 2;
  static final byte REMOVE = 3;
  static final byte APPLIED = 4;
  static final byte APPLIED_ALL = 5;

  private static final long JOURNAL_BYTES = 64L << 20;

  /** How much of a record may be changed rows; beyond it whole values are stored. */
  private static final long UNIT_BUDGET = 16L << 20;

  private final Path folder;
  private final FileChannel lockFile;
  private final Journal journal;
  private final AppliedSteps applied = new AppliedSteps();
  private final UnitSums sums = new UnitSums();
  private final AtomicInteger numbers = new AtomicInteger();
  private final Map<StateId, StoredVariable> variables = new ConcurrentHashMap<>();

  /** What each step under way has changed. */
  private final Map<Long, Set<StoredVariable>> changes = new ConcurrentHashMap<>();

  /** Held while files are written. */
  private final Lock writing = new ReentrantLock();

  private final RecordBytes record = new RecordBytes();
  private final RecordBytes summary = new RecordBytes();
  private final AtomicLong commits = new AtomicLong();
  private boolean closed;

  private ProcessStore(Path folder, FileChannel lockFile, Journal journal) {
    this.folder = folder;
    this.lockFile = lockFile;
    this.journal = journal;
  }

  /**
   * Opens the store in {@code folder}, with what an earlier process has left there, or begins one.
   * Fails if another process uses it, or if its files are damaged or of another version.
   */
  public static ProcessStore open(Path folder) {
    return open(folder, JOURNAL_BYTES);
  }

  /** A store whose journal has files of another size. */
  static ProcessStore open(Path folder, long journalBytes) {
    FileChannel lock = lock(folder);
    try {
      Journal journal = Journal.open(folder, journalBytes);
      ProcessStore store = new ProcessStore(folder, lock, journal);
      try {
        store.read();
        return store;
      } catch (RuntimeException e) {
        store.variables.values().forEach(StoredVariable::release);
        store.close();
        throw e;
      }
    } catch (RuntimeException e) {
      closeQuietly(lock);
      throw e;
    }
  }

  private static FileChannel lock(Path folder) {
    Path file = folder.resolve("lock");
    FileChannel channel = null;
    try {
      Files.createDirectories(folder);
      channel = FileChannel.open(file, StandardOpenOption.WRITE, StandardOpenOption.CREATE);
      FileLock lock = channel.tryLock();
      if (lock != null) {
        return channel;
      }
    } catch (OverlappingFileLockException e) {
      // The same as a lock of another process.
    } catch (IOException e) {
      closeQuietly(channel);
      throw StoreFailures.io("Cannot lock", file, e);
    }
    closeQuietly(channel);
    throw new MillraceException(
        Code.FAILED_PRECONDITION,
        "Another process uses the state in "
            + folder
            + ". Two tasks cannot share it: stop that process, or give this one another folder.");
  }

  private static void closeQuietly(FileChannel channel) {
    if (channel != null) {
      try {
        channel.close();
      } catch (IOException e) {
        // Nothing was written through it.
      }
    }
  }

  // ---- what the variables ask ----

  Image image(int number) {
    return new Image(folder, number, sums);
  }

  AppliedSteps applied() {
    return applied;
  }

  /** How many commits have been stored. */
  long commits() {
    return commits.get();
  }

  void changed(long stepId, StoredVariable variable) {
    Set<StoredVariable> set = changes.computeIfAbsent(stepId, s -> new HashSet<>());
    synchronized (set) {
      set.add(variable);
    }
  }

  // ---- the store ----

  @Override
  public Variable create(StateId id, DType dtype) {
    if (!dtype.isPlain() && dtype != DType.STRING) {
      return new Variable(id.name(), dtype);
    }
    StoredVariable v = new StoredVariable(this, numbers.incrementAndGet(), id, dtype);
    Variable made = v.create(null);
    StoredVariable before = variables.put(id, v);
    if (before != null) {
      forget(before);
    }
    return made;
  }

  @Override
  public Map<StateId, Variable> kept() {
    Map<StateId, Variable> kept = new HashMap<>();
    variables.forEach((id, v) -> kept.put(id, v.variable()));
    return kept;
  }

  @Override
  public void removed(StateId id) {
    StoredVariable v = variables.get(id);
    // There may be another of its name already, for which the first was forgotten.
    if (v != null && !v.variable().isInitialized()) {
      variables.remove(id, v);
      forget(v);
    }
  }

  private void forget(StoredVariable v) {
    writing.lock();
    try {
      if (closed) {
        return;
      }
      if (v.isDefined()) {
        record.clear();
        record.put(commits.get()).put(REMOVE).put(v.number());
        append();
      }
      v.remove();
    } finally {
      writing.unlock();
    }
  }

  @Override
  public void failed(long stepId) {
    changes.remove(stepId);
  }

  @Override
  public void commit(long stepId) {
    Set<StoredVariable> changed = changes.remove(stepId);
    if (changed == null) {
      return;
    }
    StepIdentity step = StepIdentity.of(stepId);
    writing.lock();
    try {
      if (closed) {
        throw new MillraceException(Code.UNAVAILABLE, "The task is being stopped.");
      }
      write(changed, step);
    } finally {
      writing.unlock();
    }
  }

  private void write(Set<StoredVariable> changed, StepIdentity step) {
    Collection<Map<Variable, StoredVariable>> groups = groups(changed);
    record.clear();
    record.put(commits.get() + 1);
    int empty = record.length();
    try {
      prepare(groups, step);
      if (step != null) {
        record.put(APPLIED).put(step.session()).put(step.number());
      }
      if (record.length() > empty) {
        append();
        commits.incrementAndGet();
      }
    } catch (RuntimeException e) {
      groups.forEach(g -> g.values().forEach(StoredVariable::giveUp));
      throw e;
    }
    groups.forEach(g -> g.values().forEach(StoredVariable::adopt));
    if (step != null) {
      applied.add(step, commits.get());
    }
  }

  /** What has changed, each with its companions: some steps change them together, at one moment. */
  private Collection<Map<Variable, StoredVariable>> groups(Set<StoredVariable> changed) {
    Map<Variable, Map<Variable, StoredVariable>> groups = new HashMap<>();
    for (StoredVariable v : changed) {
      groups.computeIfAbsent(v.variable().leader(), g -> new HashMap<>()).put(v.variable(), v);
    }
    for (StoredVariable v : variables.values()) {
      Map<Variable, StoredVariable> group = groups.get(v.variable().leader());
      if (group != null) {
        group.put(v.variable(), v);
      }
    }
    return groups.values();
  }

  private void prepare(Collection<Map<Variable, StoredVariable>> groups, StepIdentity step) {
    long[] budget = {UNIT_BUDGET};
    for (Map<Variable, StoredVariable> group : groups) {
      Variable.holdAll(
          group.keySet(),
          () -> group.values().forEach(v -> budget[0] -= v.prepare(record, step, budget[0])));
    }
  }

  private void append() {
    int length = record.length();
    if (!journal.fits(length)) {
      summarize();
      if (!journal.fits(length)) {
        throw new MillraceException(
            Code.RESOURCE_EXHAUSTED,
            "A step changes too many values at once for the journal in " + folder + ".");
      }
    }
    journal.reserve(length);
    journal.append(record.finished());
  }

  private void summarize() {
    summary.clear();
    summary.put(commits.get()).put(APPLIED_ALL);
    applied.write(summary);
    variables.values().forEach(v -> v.summarize(summary));
    if (!journal.canHold(summary.length())) {
      throw new MillraceException(
          Code.RESOURCE_EXHAUSTED, "There are too many values for the journal in " + folder + ".");
    }
    journal.restart(summary.finished());
  }

  // ---- after a restart ----

  private void read() {
    Map<Integer, StoredVariable> byNumber = new TreeMap<>();
    for (ByteBuffer r : journal.takeRecords()) {
      try {
        commits.set(r.getLong());
        while (r.hasRemaining()) {
          read(r, byNumber);
        }
      } catch (BufferUnderflowException | IllegalArgumentException | NullPointerException e) {
        throw StoreFailures.damaged(folder.resolve("journal-0"), "a record makes no sense: " + e);
      }
    }
    Map<StateId, StoredVariable> last = new LinkedHashMap<>();
    byNumber.values().forEach(v -> last.put(v.id(), v));
    variables.putAll(last);
    last.values().forEach(StoredVariable::restore);
    numbers.set(byNumber.keySet().stream().mapToInt(n -> n).max().orElse(0));
  }

  private void read(ByteBuffer r, Map<Integer, StoredVariable> byNumber) {
    byte kind = r.get();
    switch (kind) {
      case DEFINE -> {
        int number = r.getInt();
        StateId id =
            new StateId(RecordBytes.string(r), RecordBytes.string(r), RecordBytes.string(r));
        byNumber.put(number, new StoredVariable(this, number, id, DType.of(r.getInt())));
      }
      case VALUE -> byNumber.get(r.getInt()).read(r);
      case REMOVE -> byNumber.remove(r.getInt());
      case APPLIED -> applied.add(new StepIdentity(r.getInt(), r.getInt()), commits.get());
      case APPLIED_ALL -> applied.read(r);
      default -> throw new IllegalArgumentException("an entry of kind " + kind);
    }
  }

  /** How many variables are kept. */
  public int size() {
    return variables.size();
  }

  /** Ends the store; its files stay. Steps that end later fail. */
  @Override
  public void close() {
    writing.lock();
    try {
      if (!closed) {
        closed = true;
        variables.values().forEach(StoredVariable::close);
        journal.close();
        closeQuietly(lockFile);
      }
    } finally {
      writing.unlock();
    }
  }

  /** Closes the store and removes its files: what it kept is not needed any more. */
  public void delete() {
    close();
    try (var files = Files.list(folder)) {
      for (Path f : List.copyOf(files.toList())) {
        Files.deleteIfExists(f);
      }
      Files.deleteIfExists(folder);
    } catch (IOException e) {
      throw StoreFailures.io("Cannot remove", folder, e);
    }
  }

  @Override
  public String toString() {
    return "process";
  }
}
