package dev.millrace.ops.text;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.Charset;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.IllegalCharsetNameException;
import java.nio.charset.UnsupportedCharsetException;

/** Text between bytes and code points, and what is made of bytes that are none. */
final class CodePoints {
  /** Stands for bytes that are no character. */
  static final int INVALID = -1;

  private static final int SURROGATES = 0xD800;
  private static final int AFTER_SURROGATES = 0xE000;

  /** Takes the characters of a text, with where each begins and ends among the bytes. */
  interface Sink {
    void accept(int codePoint, int from, int to);
  }

  /** What to do about bytes that are no character, or numbers that are no code point. */
  record ErrorPolicy(String policy, int replacement, boolean replacesControl) {
    static ErrorPolicy of(Node node) {
      int replacement = node.intAttr("replacement_char");
      if (!isValid(replacement)) {
        throw MillraceException.invalid(
            "replacement_char out of unicode codepoint range, got: %d", replacement);
      }
      return new ErrorPolicy(
          node.stringAttr("errors"),
          replacement,
          node.hasAttr("replace_control_characters")
              && node.booleanAttr("replace_control_characters"));
    }

    /** The code point to take, or -1 for none. */
    int resolve(int codePoint) {
      boolean isControl = replacesControl && codePoint >= 0 && codePoint < ' ';
      if (codePoint == INVALID || isControl) {
        return switch (policy) {
          case "strict" -> {
            if (isControl) {
              yield replacement;
            }
            throw MillraceException.invalid("Invalid formatting on input string");
          }
          case "ignore" -> -1;
          default -> replacement;
        };
      }
      return codePoint;
    }
  }

  private CodePoints() {}

  static boolean isValid(int codePoint) {
    return codePoint >= 0
        && codePoint <= Character.MAX_CODE_POINT
        && (codePoint < SURROGATES || codePoint >= AFTER_SURROGATES);
  }

  /** Something that reads text in an encoding. */
  interface Reader {
    void read(byte[] s, Sink to);
  }

  static Reader reader(String encoding) {
    return switch (encoding) {
      case "UTF-8" -> CodePoints::utf8;
      case "UTF-16-BE", "UTF-16BE" -> CodePoints::utf16;
      case "UTF-32-BE", "UTF-32BE" -> CodePoints::utf32;
      default -> {
        Charset charset = charset(encoding);
        yield (s, to) -> other(charset, s, to);
      }
    };
  }

  private static Charset charset(String encoding) {
    try {
      return Charset.forName(encoding.replaceFirst("^(UTF-(16|32))-(LE|BE)$", "$1$3"));
    } catch (IllegalCharsetNameException | UnsupportedCharsetException e) {
      throw MillraceException.invalid(
          "Could not create converter for input encoding: %s", encoding);
    }
  }

  /** The longest beginning of a character that cannot go on is one error. */
  private static void utf8(byte[] s, Sink to) {
    int i = 0;
    while (i < s.length) {
      int from = i;
      int b = s[i++] & 0xFF;
      if (b < 0x80) {
        to.accept(b, from, i);
        continue;
      }
      int more =
          b >= 0xC2 && b < 0xE0 ? 1 : b >= 0xE0 && b < 0xF0 ? 2 : b >= 0xF0 && b < 0xF5 ? 3 : 0;
      int codePoint = more == 0 ? INVALID : b & 0x3F >> more;
      for (int k = 0; k < more; k++) {
        int low = k > 0 ? 0x80 : b == 0xE0 ? 0xA0 : b == 0xF0 ? 0x90 : 0x80;
        int high = k > 0 ? 0xBF : b == 0xED ? 0x9F : b == 0xF4 ? 0x8F : 0xBF;
        int next = i < s.length ? s[i] & 0xFF : 0;
        if (next < low || next > high) {
          codePoint = INVALID;
          break;
        }
        codePoint = codePoint << 6 | next & 0x3F;
        i++;
      }
      to.accept(codePoint, from, i);
    }
  }

  private static void utf16(byte[] s, Sink to) {
    int i = 0;
    while (i < s.length) {
      int from = i;
      int unit = unit(s, i);
      i = Math.min(s.length, i + 2);
      if (unit < 0 || (unit >= 0xDC00 && unit < AFTER_SURROGATES)) {
        to.accept(INVALID, from, i);
      } else if (unit >= SURROGATES && unit < 0xDC00) {
        int low = unit(s, i);
        boolean isPair = low >= 0xDC00 && low < AFTER_SURROGATES;
        i += isPair ? 2 : 0;
        to.accept(isPair ? Character.toCodePoint((char) unit, (char) low) : INVALID, from, i);
      } else {
        to.accept(unit, from, i);
      }
    }
  }

  private static int unit(byte[] s, int i) {
    return i + 1 < s.length ? (s[i] & 0xFF) << 8 | s[i + 1] & 0xFF : -1;
  }

  private static void utf32(byte[] s, Sink to) {
    for (int i = 0; i < s.length; i += 4) {
      boolean isWhole = i + 4 <= s.length;
      int codePoint = isWhole ? ByteBuffer.wrap(s).getInt(i) : INVALID;
      to.accept(isValid(codePoint) ? codePoint : INVALID, i, isWhole ? i + 4 : s.length);
    }
  }

  private static void other(Charset charset, byte[] s, Sink to) {
    CharsetDecoder decoder =
        charset
            .newDecoder()
            .onMalformedInput(CodingErrorAction.REPORT)
            .onUnmappableCharacter(CodingErrorAction.REPORT);
    ByteBuffer in = ByteBuffer.wrap(s);
    CharBuffer out = CharBuffer.allocate(2);
    while (in.hasRemaining()) {
      int from = in.position();
      var result = step(decoder, in, out);
      if (result.isError()) {
        in.position(from + result.length());
        to.accept(INVALID, from, in.position());
        decoder.reset();
      } else if (out.position() > 0) {
        out.flip();
        to.accept(Character.codePointAt(out, 0), from, in.position());
      } else if (in.position() == from) {
        to.accept(INVALID, from, s.length);
        return;
      }
      out.clear();
    }
  }

  /** Decodes as few bytes as make a character. */
  private static java.nio.charset.CoderResult step(
      CharsetDecoder decoder, ByteBuffer in, CharBuffer out) {
    int end = in.limit();
    int from = in.position();
    for (int to = from + 1; ; to++) {
      in.limit(to);
      var result = decoder.decode(in, out, to == end);
      in.limit(end);
      if (out.position() > 0 || result.isError() || to == end) {
        return result;
      }
    }
  }

  /** Something that writes code points in an encoding. */
  interface Writer {
    void write(int codePoint, ByteArrayOutputStream to);
  }

  static Writer writer(String encoding) {
    return switch (encoding) {
      case "UTF-8" -> (c, to) -> to.writeBytes(Words.bytes(Character.toString(c)));
      case "UTF-16-BE" ->
          (c, to) -> {
            for (char unit : Character.toChars(c)) {
              to.write(unit >> 8);
              to.write(unit);
            }
          };
      default ->
          (c, to) -> {
            for (int shift = 24; shift >= 0; shift -= 8) {
              to.write(c >> shift);
            }
          };
    };
  }
}
