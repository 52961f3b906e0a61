package dev.millrace.storage.table;

import com.google.protobuf.ByteString;

/** Short keys for the index of a table, the ones LevelDB would choose. */
public final class TableKeys {
  private TableKeys() {}

  /** A short key that is at least {@code last} and less than {@code next}. */
  public static ByteString between(ByteString last, ByteString next) {
    int shorter = Math.min(last.size(), next.size());
    int same = 0;
    while (same < shorter && last.byteAt(same) == next.byteAt(same)) {
      same++;
    }
    if (same < shorter) {
      int b = last.byteAt(same) & 0xFF;
      if (b < 0xFF && b + 1 < (next.byteAt(same) & 0xFF)) {
        return cutAfterIncrement(last, same);
      }
    }
    return last;
  }

  /** A short key that is at least {@code last}. */
  public static ByteString after(ByteString last) {
    for (int i = 0; i < last.size(); i++) {
      if (last.byteAt(i) != (byte) 0xFF) {
        return cutAfterIncrement(last, i);
      }
    }
    return last;
  }

  private static ByteString cutAfterIncrement(ByteString key, int i) {
    byte[] bytes = key.substring(0, i + 1).toByteArray();
    bytes[i]++;
    return ByteString.copyFrom(bytes);
  }
}
