package dev.millrace.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.function.Supplier;

/**
 * What every reader must do with a damaged file: notice, or not be affected. Returning something
 * else, or failing in another way than DATA_LOSS, is a bug.
 */
public final class Damage {
  private Damage() {}

  /** Changes every byte of {@code file} in turn, in three ways, and reads. */
  public static int everyByte(Path file, Supplier<?> read) throws IOException {
    byte[] sound = Files.readAllBytes(file);
    Object expected = read.get();
    int noticed = 0;
    try (RandomAccessFile f = new RandomAccessFile(file.toFile(), "rw")) {
      for (int i = 0; i < sound.length; i++) {
        for (int flip : new int[] {1 << (i % 8), 0x80, 0xFF}) {
          f.seek(i);
          f.write(sound[i] ^ flip);
          noticed += check(read, expected, "byte " + i + " xor " + flip);
        }
        f.seek(i);
        f.write(sound[i]);
      }
    }
    return noticed;
  }

  /** Changes runs of random bytes, as a bad block would. */
  public static int randomRuns(Path file, long seed, int rounds, Supplier<?> read)
      throws IOException {
    byte[] sound = Files.readAllBytes(file);
    Object expected = read.get();
    Random random = new Random(seed);
    int noticed = 0;
    try (RandomAccessFile f = new RandomAccessFile(file.toFile(), "rw")) {
      for (int round = 0; round < rounds; round++) {
        int from = random.nextInt(sound.length);
        byte[] run = new byte[Math.min(sound.length - from, 1 + random.nextInt(64))];
        random.nextBytes(run);
        f.seek(from);
        f.write(run);
        noticed += check(read, expected, "seed " + seed + " round " + round);
        f.seek(from);
        f.write(sound, from, run.length);
      }
    }
    return noticed;
  }

  /** Cuts the file short at every length. */
  public static int everyLength(Path file, Supplier<?> read) throws IOException {
    byte[] sound = Files.readAllBytes(file);
    Object expected = read.get();
    int noticed = 0;
    try (RandomAccessFile f = new RandomAccessFile(file.toFile(), "rw")) {
      for (int length = sound.length - 1; length >= 0; length--) {
        f.setLength(length);
        noticed += check(read, expected, "cut to " + length);
      }
      f.write(sound);
    }
    return noticed;
  }

  private static int check(Supplier<?> read, Object expected, String how) {
    Object found;
    try {
      found = read.get();
    } catch (MillraceException e) {
      assertEquals(Code.DATA_LOSS, e.code(), () -> how + ": " + e.getMessage());
      return 1;
    }
    assertEquals(expected, found, how);
    return 0;
  }
}
