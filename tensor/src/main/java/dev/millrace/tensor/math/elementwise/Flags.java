package dev.millrace.tensor.math.elementwise;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorSpecies;

/**
 * Masks to and from bool elements, which are bytes of 0 or 1. Eight lanes at a time: one bit of the
 * mask for each byte of a word.
 */
final class Flags {
  private static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG_UNALIGNED;
  private static final ValueLayout.OfInt HALF_WORD = ValueLayout.JAVA_INT_UNALIGNED;
  private static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;

  /** The lowest bit of every byte. */
  private static final long EACH = 0x0101010101010101L;

  private Flags() {}

  /** The mask of as many elements as the species has lanes. */
  static <E> VectorMask<E> load(VectorSpecies<E> species, MemorySegment memory, long at) {
    int lanes = species.length();
    if (lanes == 16) {
      long low = Long.compress(memory.get(WORD, at), EACH);
      long high = Long.compress(memory.get(WORD, at + 8), EACH);
      return VectorMask.fromLong(species, low | high << 8);
    }
    if (lanes == 8) {
      return VectorMask.fromLong(species, Long.compress(memory.get(WORD, at), EACH));
    }
    return load(species, memory, at, lanes);
  }

  /** The mask of {@code count} elements, which may be fewer than the species has lanes. */
  static <E> VectorMask<E> load(
      VectorSpecies<E> species, MemorySegment memory, long at, long count) {
    long bits = 0;
    int i = 0;
    for (; i + 8 <= count; i += 8) {
      bits |= Long.compress(memory.get(WORD, at + i), EACH) << i;
    }
    for (; i < count; i++) {
      bits |= (memory.get(BYTE, at + i) & 1L) << i;
    }
    return VectorMask.fromLong(species, bits);
  }

  /** A mask whose lanes are all the element at {@code at}. */
  static <E> VectorMask<E> single(VectorSpecies<E> species, MemorySegment memory, long at) {
    return species.maskAll(memory.get(BYTE, at) != 0);
  }

  /** Writes all lanes. */
  static void store(VectorMask<?> mask, MemorySegment memory, long at) {
    long bits = mask.toLong();
    switch (mask.length()) {
      case 16 -> {
        memory.set(WORD, at, Long.expand(bits, EACH));
        memory.set(WORD, at + 8, Long.expand(bits >>> 8, EACH));
      }
      case 8 -> memory.set(WORD, at, Long.expand(bits, EACH));
      case 4 -> memory.set(HALF_WORD, at, (int) Long.expand(bits, EACH));
      default -> store(mask, memory, at, mask.length());
    }
  }

  /** Writes the first {@code count} lanes. */
  static void store(VectorMask<?> mask, MemorySegment memory, long at, long count) {
    long bits = mask.toLong();
    int i = 0;
    for (; i + 8 <= count; i += 8) {
      memory.set(WORD, at + i, Long.expand(bits >>> i, EACH));
    }
    for (; i < count; i++) {
      memory.set(BYTE, at + i, (byte) (bits >>> i & 1));
    }
  }
}
