package dev.millrace.tensor.math;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The bytes of a Linux x86-64 shared library (an ELF file) that stands in for one another library
 * was linked against but does not need for what we do with it. Every function in it does nothing
 * but return the same number, which should be an error its callers understand.
 *
 * <p>The file is two pages: tables for the loader, then the one function under all its names.
 */
final class StandInLibrary {
  private static final int PAGE = 4096;
  private static final int HEADER_BYTES = 64;
  private static final int SEGMENT_BYTES = 56;
  private static final int SEGMENTS = 4;
  private static final int SYMBOL_BYTES = 24;

  /** Bytes of a version's definition and of the name that follows it. */
  private static final int VERSION_BYTES = 20 + 8;

  /** Segment types and their access rights. */
  private static final int LOAD = 1;

  private static final int DYNAMIC = 2;
  private static final int STACK = 0x6474e551;
  private static final int READ_EXECUTE = 5;
  private static final int READ_WRITE = 6;

  private final StringBuilder strings = new StringBuilder("\0");
  private final ByteBuffer file = ByteBuffer.allocate(PAGE + 6).order(ByteOrder.LITTLE_ENDIAN);

  private StandInLibrary() {}

  /**
   * A library called {@code soname} that has, under each version, the functions listed for it; all
   * of them return {@code result}.
   */
  static byte[] of(String soname, Map<String, List<String>> functionsByVersion, int result) {
    StandInLibrary library = new StandInLibrary();
    library.write(soname, functionsByVersion);
    // mov eax, result; ret
    return library.file.position(PAGE).put((byte) 0xb8).putInt(result).put((byte) 0xc3).array();
  }

  private void write(String soname, Map<String, List<String>> functionsByVersion) {
    List<String> versions = new ArrayList<>(List.of(soname));
    versions.addAll(functionsByVersion.keySet());
    int symbols = 1 + functionsByVersion.values().stream().mapToInt(List::size).sum();

    int hashAt = HEADER_BYTES + SEGMENTS * SEGMENT_BYTES;
    int symbolsAt = aligned(hashAt + (3 + symbols) * 4);
    int symbolVersionsAt = symbolsAt + symbols * SYMBOL_BYTES;
    int versionsAt = aligned(symbolVersionsAt + symbols * 2);
    int dynamicAt = aligned(versionsAt + versions.size() * VERSION_BYTES);
    int stringsAt = dynamicAt + 10 * 16;

    file.position(hashAt);
    writeHash(symbols);
    int[] versionNames = versions.stream().mapToInt(this::string).toArray();
    int symbol = 1;
    for (int version = 1; version < versions.size(); version++) {
      for (String function : functionsByVersion.get(versions.get(version))) {
        file.position(symbolsAt + symbol * SYMBOL_BYTES);
        // A global function in section 1, at the start of the second page.
        file.putInt(string(function)).put((byte) 0x12).put((byte) 0).putShort((short) 1);
        file.putLong(PAGE).putLong(6);
        file.putShort(symbolVersionsAt + symbol * 2, (short) (version + 1));
        symbol++;
      }
    }
    file.position(versionsAt);
    for (int i = 0; i < versions.size(); i++) {
      boolean last = i == versions.size() - 1;
      // The first names the file itself.
      file.putShort((short) 1).putShort((short) (i == 0 ? 1 : 0)).putShort((short) (i + 1));
      file.putShort((short) 1).putInt(hash(versions.get(i)));
      file.putInt(20).putInt(last ? 0 : VERSION_BYTES);
      file.putInt(versionNames[i]).putInt(0);
    }
    byte[] text = strings.toString().getBytes(StandardCharsets.US_ASCII);
    if (stringsAt + text.length > PAGE) {
      throw new IllegalArgumentException(symbols + " functions do not fit a page");
    }
    file.position(dynamicAt);
    entry(14, versionNames[0]); // own name
    entry(4, hashAt);
    entry(5, stringsAt);
    entry(6, symbolsAt);
    entry(10, text.length);
    entry(11, SYMBOL_BYTES);
    entry(0x6ffffff0, symbolVersionsAt);
    entry(0x6ffffffc, versionsAt);
    entry(0x6ffffffd, versions.size());
    entry(0, 0);
    file.put(text);
    writeHeader(dynamicAt, stringsAt - dynamicAt);
  }

  private void writeHeader(int dynamicAt, int dynamicBytes) {
    file.position(0);
    file.put(new byte[] {0x7f, 'E', 'L', 'F', 2, 1, 1, 0}).putLong(0);
    file.putShort((short) 3).putShort((short) 62).putInt(1); // shared object, x86-64
    file.putLong(0).putLong(HEADER_BYTES).putLong(0).putInt(0);
    file.putShort((short) HEADER_BYTES).putShort((short) SEGMENT_BYTES);
    file.putShort((short) SEGMENTS).putShort((short) 64); // and no sections
    file.position(HEADER_BYTES);
    segment(LOAD, READ_WRITE, 0, PAGE, PAGE);
    segment(LOAD, READ_EXECUTE, PAGE, 6, PAGE);
    segment(DYNAMIC, READ_WRITE, dynamicAt, dynamicBytes, 8);
    segment(STACK, READ_WRITE, 0, 0, 16);
  }

  /** One bucket, whose chain runs from the last symbol down to the null symbol, which ends it. */
  private void writeHash(int symbols) {
    file.putInt(1).putInt(symbols).putInt(symbols - 1);
    for (int i = 0; i < symbols; i++) {
      file.putInt(Math.max(0, i - 1));
    }
  }

  private void segment(int type, int rights, long at, long bytes, long alignment) {
    file.putInt(type).putInt(rights).putLong(at).putLong(at).putLong(at);
    file.putLong(bytes).putLong(bytes).putLong(alignment);
  }

  private void entry(long tag, long value) {
    file.putLong(tag).putLong(value);
  }

  private int string(String s) {
    int at = strings.length();
    strings.append(s).append('\0');
    return at;
  }

  private static int aligned(int at) {
    return at + 7 & -8;
  }

  /** The hash ELF prescribes for names. */
  private static int hash(String name) {
    int h = 0;
    for (int i = 0; i < name.length(); i++) {
      h = (h << 4) + name.charAt(i);
      int top = h & 0xf0000000;
      h = (h ^ (top >>> 24)) & ~top;
    }
    return h;
  }
}
