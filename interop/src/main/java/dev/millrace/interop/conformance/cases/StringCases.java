package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Kernels;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Random;

/** Strings cut, joined, hashed, printed and in other encodings. */
public final class StringCases extends CaseTable {
  private static final Tensor WORDS =
      Tensor.of(Shape.of(2, 3), "", "a b", " c  d ", "Äpfel ÖL", "w,x;;y", "zz");

  public StringCases() {
    hashes();
    letters();
    parts();
    joins();
    prints();
    unicode();
    numbers();
    replacements();
    fingerprints();
  }

  private void numbers() {
    String op = "StringToNumber";
    for (DType dtype : List.of(DType.INT32, DType.INT64)) {
      op(op, Tensor.vector("12", "-3", " 7 ", "0")).with("out_type", dtype);
      op(op, Tensor.scalar("1.5")).with("out_type", dtype).fails(Code.INVALID_ARGUMENT);
      op(op, Tensor.scalar("99999999999999999999"))
          .with("out_type", dtype)
          .fails(Code.INVALID_ARGUMENT);
    }
    for (DType dtype : List.of(DType.FLOAT, DType.DOUBLE)) {
      op(op, Tensor.vector("12", "-3.25", " 7e2 ", ".5", "1e-3")).with("out_type", dtype);
      op(op, Tensor.vector("inf", "-inf", "Inf", "nan")).with("out_type", dtype);
      for (String bad : List.of("", "x", "1f", "1.5d", "1 2", "Infinity")) {
        op(op, Tensor.scalar(bad)).with("out_type", dtype).fails(Code.INVALID_ARGUMENT);
      }
    }
  }

  private void replacements() {
    Tensor some = Tensor.vector("abc abc", "", "xyz", "a.b$c\\", "Ä a1 b2");
    for (boolean all : new boolean[] {true, false}) {
      for (String[] how :
          List.of(
              new String[] {"b", "_"},
              new String[] {"([a-z])([0-9])", "\\2\\1\\0"},
              new String[] {"", "-"},
              new String[] {"a", "\\\\$"},
              new String[] {"(a)(b)?", "<\\1>"},
              new String[] {"[^ ]+$", ""})) {
        op("StaticRegexReplace", some)
            .with("pattern", how[0])
            .with("rewrite", how[1])
            .with("replace_global", all);
        op("RegexReplace", some, Tensor.scalar(how[0]), Tensor.scalar(how[1]))
            .with("replace_global", all);
      }
    }
    op("StaticRegexReplace", some)
        .with("pattern", "(")
        .with("rewrite", "")
        .fails(Code.INVALID_ARGUMENT);
    op("RegexReplace", some, Tensor.scalar("("), Tensor.scalar("")).fails(Code.INVALID_ARGUMENT);
    op("RegexReplace", some, Tensor.vector("a", "b"), Tensor.scalar(""))
        .fails(Code.INVALID_ARGUMENT);
  }

  private void fingerprints() {
    Tensor method = Tensor.scalar("farmhash64");
    for (DType dtype : List.of(DType.FLOAT, DType.INT64, DType.UINT8, DType.BOOL)) {
      op("Fingerprint", any(dtype, 3, 4), method).noGradient();
    }
    op("Fingerprint", Tensor.vector("a", "", "long string"), method);
    op("Fingerprint", WORDS, method);
    op("Fingerprint", floats(0, 3), method).noGradient();
    op("Fingerprint", floats(), method).fails(Code.INVALID_ARGUMENT);
    op("Fingerprint", floats(2), Tensor.scalar("md5")).fails(Code.INVALID_ARGUMENT);
  }

  private void hashes() {
    Tensor ofAllLengths = randomBytes();
    for (String op : List.of("StringToHashBucketFast", "StringToHashBucket")) {
      op(op, ofAllLengths).with("num_buckets", Long.MAX_VALUE);
      op(op, WORDS).with("num_buckets", 10);
      op(op, Tensor.scalar("a")).with("num_buckets", 1);
    }
    op("StringToHashBucketStrong", ofAllLengths)
        .with("num_buckets", Long.MAX_VALUE)
        .with("key", List.of(132L, -7654321L));
    op("StringToHashBucketStrong", Tensor.scalar("a"))
        .with("num_buckets", 3)
        .with("key", List.of(98765L))
        .fails(Code.INVALID_ARGUMENT);
  }

  /** Strings of 0 to 300 random bytes. */
  private static Tensor randomBytes() {
    Random random = new Random(7);
    Object[] strings = new Object[301];
    for (int i = 0; i < strings.length; i++) {
      byte[] s = new byte[i];
      random.nextBytes(s);
      strings[i] = s;
    }
    return Tensor.ofObjects(DType.STRING, Shape.of(strings.length), strings);
  }

  private void letters() {
    for (String op : List.of("StringLower", "StringUpper")) {
      op(op, WORDS);
      op(op, WORDS).with("encoding", "utf-8");
      op(op, Tensor.scalar("a")).with("encoding", "latin1").fails(Code.INVALID_ARGUMENT);
    }
    op("StringStrip", Tensor.vector(" \t a b\r\n", "", "  ", "x"));
    op("StringStrip", Tensor.scalar(" a"));
    op("StringLength", WORDS);
    op("StringLength", WORDS).with("unit", "UTF8_CHAR");
    op("EncodeBase64", randomBytes());
    op("EncodeBase64", WORDS).with("pad", true);
    op("EncodeBase64", Tensor.scalar("a"));
    op("DecodeBase64", Tensor.vector("YQ", "YQ==", "", "_-8"));
    op("DecodeBase64", Tensor.scalar("Y")).fails(Code.INVALID_ARGUMENT);
    op("DecodeBase64", Tensor.scalar("+/8")).fails(Code.INVALID_ARGUMENT);
  }

  private void parts() {
    Tensor words = Tensor.vector("abcdef", "ghi", "äöüßx");
    for (String unit : List.of("BYTE", "UTF8_CHAR")) {
      op("Substr", words, scalar(1), scalar(2)).with("unit", unit);
      op("Substr", words, ints(-3, 0, 2), ints(2, 100, 1)).with("unit", unit);
      op("Substr", words, longs(3, 3, 3), longs(0, 1, 2)).with("unit", unit);
      op("Substr", Tensor.scalar("hello"), ints(1, -1), ints(3, 3)).with("unit", unit);
      op("Substr", words, scalar(4), scalar(1)).with("unit", unit).fails(Code.INVALID_ARGUMENT);
      op("Substr", words, scalar(-4), scalar(1)).with("unit", unit).fails(Code.INVALID_ARGUMENT);
    }
    op("Substr", words, ints(1, 2), ints(1, 2)).fails(Code.INVALID_ARGUMENT);
    Tensor lines = Tensor.vector("a,b;;c", "", " x  y ", ",");
    for (String by : List.of(",", ",;", "", " ")) {
      op("StringSplit", lines, Tensor.scalar(by));
      op("StringSplit", lines, Tensor.scalar(by)).with("skip_empty", false);
      op("StringSplitV2", lines, Tensor.scalar(by));
      op("StringSplitV2", lines, Tensor.scalar(by)).with("maxsplit", 1);
    }
    op("StringSplitV2", Tensor.vector("1<>2<>3", "<><>4"), Tensor.scalar("<>"));
    op("StringSplit", lines, Tensor.vector(",", ";")).fails(Code.INVALID_ARGUMENT);
    op("StringSplitV2", lines, Tensor.vector(",", ";")).fails(Code.INVALID_ARGUMENT);
  }

  private void joins() {
    for (int[] along : new int[][] {{0}, {1}, {0, 1}, {1, 0}, {-1}, {}}) {
      op("ReduceJoin", WORDS, ints(along)).fixed(1).with("separator", "/");
    }
    op("ReduceJoin", WORDS, scalar(1)).fixed(1).with("keep_dims", true);
    op("ReduceJoin", WORDS, ints(2)).fails(Code.OUT_OF_RANGE);
    op("ReduceJoin", WORDS, ints(0, 0)).fails(Code.INVALID_ARGUMENT);
    Tensor four = Tensor.of(Shape.of(4, 2), "a", "b", "c", "d", "e", "f", "g", "h");
    op("UnsortedSegmentJoin", four, ints(2, 0, 2, 0), scalar(3)).fixed(2).with("separator", ":");
    op("UnsortedSegmentJoin", four, ints(2, 0, 2, 3), scalar(3)).fails(Code.INVALID_ARGUMENT);
    op("UnsortedSegmentJoin", four, ints(2, 0, 2), scalar(3)).fails(Code.INVALID_ARGUMENT);
  }

  private void prints() {
    Tensor reals =
        Tensor.vector(
            0f, -0f, 1.5f, 0.125f, 1.005f, -123456.789f, 1e-7f, 3e38f, 1 / 3f, 100000f, 1e6f);
    for (DType dtype : Kernels.types("AsString", "T")) {
      if (dtype != DType.STRING) {
        op("AsString", any(dtype, 2, 3));
      }
    }
    op("AsString", reals);
    op("AsString", reals).with("precision", 2);
    op("AsString", reals).with("scientific", true).with("precision", 0);
    op("AsString", reals).with("shortest", true);
    op("AsString", reals).with("shortest", true).with("precision", 3).with("width", 12);
    for (String fill : List.of("0", " ", "+", "-")) {
      op("AsString", reals).with("fill", fill).with("width", 14).with("precision", 1);
      op("AsString", ints(1, -23, 456)).with("fill", fill).with("width", 5);
    }
    op("AsString", ints(1)).with("precision", 1).fails(Code.INVALID_ARGUMENT);
    op("AsString", ints(1)).with("fill", "x").fails(Code.INVALID_ARGUMENT);
    op("StringFormat", reals).with("summarize", -1);
    op("StringFormat", doubles(9), any(DType.INT64, 8, 2, 3), WORDS)
        .with("template", "x %s y %s ü %s");
    op("StringFormat", Tensor.scalar(true), any(DType.BOOL, 7), any(DType.UINT8, 2, 0))
        .with("template", "%t%t %t")
        .with("placeholder", "%t")
        .with("summarize", 2);
    op("StringFormat", Tensor.scalar(1)).with("template", "none").fails(Code.INVALID_ARGUMENT);
  }

  private void unicode() {
    Tensor good = Tensor.vector("hello", "", "Äß€😀", "\u0007tab");
    Tensor bad =
        Tensor.ofObjects(
            DType.STRING,
            Shape.of(4),
            new Object[] {
              new byte[] {'a', (byte) 0xFF, 'b'},
              new byte[] {(byte) 0xE2, (byte) 0x82},
              new byte[] {(byte) 0xF0, (byte) 0x9F, 'c'},
              new byte[] {(byte) 0xED, (byte) 0xA0, (byte) 0x80, (byte) 0xC0, (byte) 0xAF}
            });
    for (String to : List.of("UTF-8", "UTF-16-BE", "UTF-32-BE")) {
      for (Tensor in : List.of(good, bad)) {
        op("UnicodeTranscode", in).with("input_encoding", "UTF-8").with("output_encoding", to);
        op("UnicodeTranscode", in)
            .with("input_encoding", "ISO-8859-1")
            .with("output_encoding", to)
            .with("replace_control_characters", true);
      }
      op("UnicodeEncode", ints(104, 0x1F600, 0xDC80, 228), longs(0, 2, 2, 4))
          .with("output_encoding", to);
    }
    op("UnicodeTranscode", bad)
        .with("input_encoding", "UTF-8")
        .with("output_encoding", "UTF-8")
        .with("errors", "ignore");
    op("UnicodeTranscode", bad)
        .with("input_encoding", "UTF-8")
        .with("output_encoding", "UTF-8")
        .with("errors", "strict")
        .fails(Code.INVALID_ARGUMENT);
    op("UnicodeEncode", ints(104, 105), longs(0, 1, 3))
        .with("output_encoding", "UTF-8")
        .fails(Code.INVALID_ARGUMENT);
    for (String op : List.of("UnicodeDecode", "UnicodeDecodeWithOffsets")) {
      op(op, good).with("input_encoding", "UTF-8");
      op(op, bad).with("input_encoding", "UTF-8").with("replacement_char", 63);
      op(op, bad).with("input_encoding", "UTF-8").with("errors", "ignore");
      op(op, good).with("input_encoding", "UTF-16-BE");
      op(op, good).with("input_encoding", "no encoding").fails(Code.INVALID_ARGUMENT);
    }
  }
}
