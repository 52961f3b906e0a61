package dev.millrace.net;

import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** Writes values in DER, the encoding of certificates and keys. */
final class Der {
  private static final int INTEGER = 0x02;
  private static final int BIT_STRING = 0x03;
  private static final int OCTET_STRING = 0x04;
  private static final int OBJECT_ID = 0x06;
  private static final int UTF8_STRING = 0x0c;
  private static final int UTC_TIME = 0x17;
  private static final int GENERALIZED_TIME = 0x18;
  private static final int SEQUENCE = 0x30;
  private static final int SET = 0x31;
  private static final int CONTEXT = 0x80;
  private static final int CONSTRUCTED_CONTEXT = 0xa0;
  private static final byte[] TRUE = {0x01, 0x01, (byte) 0xff};
  private static final byte[] NULL = {0x05, 0x00};
  private static final DateTimeFormatter SHORT_TIME = format("yyMMddHHmmss'Z'");
  private static final DateTimeFormatter LONG_TIME = format("yyyyMMddHHmmss'Z'");
  private static final int LAST_SHORT_YEAR = 2049;

  private Der() {}

  static byte[] sequence(byte[]... parts) {
    return value(SEQUENCE, join(parts));
  }

  static byte[] set(byte[]... parts) {
    return value(SET, join(parts));
  }

  static byte[] integer(BigInteger i) {
    return value(INTEGER, i.toByteArray());
  }

  static byte[] integer(long i) {
    return integer(BigInteger.valueOf(i));
  }

  static byte[] bits(byte[] bytes) {
    return bits(0, bytes);
  }

  static byte[] bits(int unused, byte[] bytes) {
    return value(BIT_STRING, join(new byte[] {(byte) unused}, bytes));
  }

  static byte[] octets(byte[] bytes) {
    return value(OCTET_STRING, bytes);
  }

  static byte[] text(String s) {
    return value(UTF8_STRING, s.getBytes(StandardCharsets.UTF_8));
  }

  private static DateTimeFormatter format(String pattern) {
    return DateTimeFormatter.ofPattern(pattern, Locale.ROOT).withZone(ZoneOffset.UTC);
  }

  static byte[] time(Instant t) {
    boolean isShort = t.atZone(ZoneOffset.UTC).getYear() <= LAST_SHORT_YEAR;
    return value(
        isShort ? UTC_TIME : GENERALIZED_TIME,
        (isShort ? SHORT_TIME : LONG_TIME).format(t).getBytes(StandardCharsets.US_ASCII));
  }

  static byte[] yes() {
    return TRUE.clone();
  }

  static byte[] nothing() {
    return NULL.clone();
  }

  /** A value with the meaning of field {@code number} of the structure it is in. */
  static byte[] field(int number, byte[] contents) {
    return value(CONTEXT | number, contents);
  }

  /** The same for a field that consists of values. */
  static byte[] structure(int number, byte[]... parts) {
    return value(CONSTRUCTED_CONTEXT | number, join(parts));
  }

  /** An object identifier, such as {@code 2.5.29.17}. */
  static byte[] id(String dotted) {
    String[] parts = dotted.split("\\.");
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(40 * Integer.parseInt(parts[0]) + Integer.parseInt(parts[1]));
    for (int i = 2; i < parts.length; i++) {
      long n = Long.parseLong(parts[i]);
      for (int shift = 63 - Long.numberOfLeadingZeros(n | 1); shift >= 7; shift--) {
        if (shift % 7 == 0) {
          out.write((int) (n >> shift) | 0x80);
        }
      }
      out.write((int) n & 0x7f);
    }
    return value(OBJECT_ID, out.toByteArray());
  }

  private static byte[] value(int tag, byte[] contents) {
    ByteArrayOutputStream out = new ByteArrayOutputStream(contents.length + 6);
    out.write(tag);
    int n = contents.length;
    if (n < 0x80) {
      out.write(n);
    } else {
      int bytes = (32 - Integer.numberOfLeadingZeros(n) + 7) / 8;
      out.write(0x80 | bytes);
      for (int i = bytes - 1; i >= 0; i--) {
        out.write(n >> (8 * i));
      }
    }
    out.writeBytes(contents);
    return out.toByteArray();
  }

  private static byte[] join(byte[]... parts) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    for (byte[] p : parts) {
      out.writeBytes(p);
    }
    return out.toByteArray();
  }
}
