package dev.millrace.graph.store;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The value of a large variable in two files. A new value is written to the one that is not valid,
 * which the journal then names. The change of a few units goes to the journal first, and then into
 * the valid file.
 *
 * <p>Threading: one thread at a time.
 */
final class Image {
  /**
   * A value in one of the files.
   *
   * @param sum its checksum by {@link UnitSums}
   */
  record State(int slot, long bytes, int unitBytes, long sum) {
    State withSum(long other) {
      return new State(slot, bytes, unitBytes, other);
    }

    int unitLength(long index) {
      return (int) Math.min(unitBytes, bytes - index * unitBytes);
    }
  }

  private final Path folder;
  private final int number;
  private final UnitSums sums;
  private final MappedFile[] files = new MappedFile[2];

  Image(Path folder, int number, UnitSums sums) {
    this.folder = folder;
    this.number = number;
    this.sums = sums;
  }

  /** Writes a value to the file that {@code valid} does not name; it may be null. */
  State write(MemorySegment value, int unitBytes, State valid) {
    int slot = valid == null ? 0 : 1 - valid.slot;
    long bytes = value.byteSize();
    if (files[slot] != null && files[slot].memory().byteSize() < bytes) {
      files[slot].delete();
      files[slot] = null;
    }
    if (files[slot] == null) {
      files[slot] = MappedFile.open(file(slot), bytes);
    }
    try {
      files[slot].reserve(bytes);
    } catch (RuntimeException e) {
      // Others may need the room that it has taken.
      files[slot].delete();
      files[slot] = null;
      throw e;
    }
    return new State(slot, bytes, unitBytes, sums.copy(value, files[slot].memory(), unitBytes));
  }

  /** The sum that {@code valid} has once a unit has changed. */
  long sumWith(State valid, long sum, long index, ByteBuffer unit) {
    ByteBuffer old = unit(valid, index).asByteBuffer();
    return sum - sums.ofUnit(index, old) + sums.ofUnit(index, unit.duplicate());
  }

  /** Changes a unit of the valid value. */
  void put(State valid, long index, ByteBuffer unit) {
    unit(valid, index).copyFrom(MemorySegment.ofBuffer(unit));
  }

  private MemorySegment unit(State valid, long index) {
    return files[valid.slot].memory().asSlice(index * valid.unitBytes, valid.unitLength(index));
  }

  /** Opens the file of a value that the journal names. */
  void open(State valid) {
    Path file = file(valid.slot);
    if (!Files.exists(file) || file.toFile().length() < valid.bytes) {
      throw StoreFailures.damaged(file, "it is missing or too short");
    }
    files[valid.slot] = MappedFile.open(file, valid.bytes);
    files[valid.slot].reservedBefore(valid.bytes);
  }

  /** Copies the value to {@code to}; fails if it is not the one that was written. */
  void read(State valid, MemorySegment to) {
    MemorySegment from = files[valid.slot].memory().asSlice(0, valid.bytes);
    if (sums.copy(from, to, valid.unitBytes) != valid.sum) {
      throw StoreFailures.damaged(file(valid.slot), "its bytes do not match their checksum");
    }
  }

  private Path file(int slot) {
    return folder.resolve("value-" + number + "-" + slot);
  }

  void close() {
    for (MappedFile f : files) {
      if (f != null) {
        f.close();
      }
    }
  }

  void delete() {
    for (int i = 0; i < files.length; i++) {
      if (files[i] != null) {
        files[i].delete();
        files[i] = null;
      }
    }
  }
}
