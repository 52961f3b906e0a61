package dev.millrace.ops.io;

import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.zip.GZIPInputStream;
import java.util.zip.InflaterInputStream;

/**
 * Records of one size between the header and the footer of a file, each known by its number, from
 * 0. They begin {@code hop_bytes} apart: less than their size and they overlap.
 */
final class FixedLengthRecords implements Reader.Source {
  /** The attributes of TensorFlow's reader that say where the records are. */
  static final List<String> SIZES =
      List.of(
          "header_bytes: int = 0",
          "record_bytes: int",
          "footer_bytes: int = 0",
          "hop_bytes: int = 0");

  private final String work;
  private final Path file;
  private final InputStream in;
  private final int footer;
  private final int hop;
  private final byte[] record;

  /** What has been read of the next record and the bytes that may turn out to be the footer. */
  private byte[] ahead = {};

  /** How many bytes lie between what has been read and the next record. */
  private int gap;

  private long number;

  /** How a reader that {@code node} makes opens a file. */
  static Function<String, Reader.Source> opener(Node node) {
    int header = size(node, "header_bytes", 0);
    int length = size(node, "record_bytes", 1);
    int footer = size(node, "footer_bytes", 0);
    int hop = size(node, "hop_bytes", 0);
    String encoding = node.stringAttr("encoding");
    if (!List.of("", "ZLIB", "GZIP").contains(encoding)) {
      throw MillraceException.invalid(
          "%s '%s': encoding is '%s'; it must be '', 'ZLIB' or 'GZIP'.",
          node.op().name(), node.name(), encoding);
    }
    return work ->
        new FixedLengthRecords(work, encoding, header, length, footer, hop == 0 ? length : hop);
  }

  private static int size(Node node, String attr, int least) {
    long v = node.longAttr(attr);
    if (v < least || v > Integer.MAX_VALUE / 2) {
      throw MillraceException.invalid(
          "%s '%s': %s is %d; it must be %d to %d.",
          node.op().name(), node.name(), attr, v, least, Integer.MAX_VALUE / 2);
    }
    return (int) v;
  }

  private FixedLengthRecords(
      String work, String encoding, int header, int length, int footer, int hop) {
    this.work = work;
    this.file = FileNames.path(work);
    this.footer = footer;
    this.hop = hop;
    this.record = new byte[length];
    InputStream opened = null;
    try {
      opened = new BufferedInputStream(Files.newInputStream(file));
      in =
          switch (encoding) {
            case "GZIP" -> new GZIPInputStream(opened);
            case "ZLIB" -> new InflaterInputStream(opened);
            default -> opened;
          };
      gap = header;
    } catch (IOException e) {
      closeQuietly(opened);
      throw WholeFiles.failure("read", file, e);
    }
  }

  private static void closeQuietly(InputStream in) {
    try {
      if (in != null) {
        in.close();
      }
    } catch (IOException e) {
      // The failure to read it is the one to report.
    }
  }

  @Override
  public Reader.Entry next() {
    try {
      if (in.readNBytes(gap).length < gap) {
        return null;
      }
      int wanted = record.length + footer;
      byte[] more = in.readNBytes(Math.max(0, wanted - ahead.length));
      byte[] all = Arrays.copyOf(ahead, ahead.length + more.length);
      System.arraycopy(more, 0, all, ahead.length, more.length);
      if (all.length < wanted) {
        return null;
      }
      System.arraycopy(all, 0, record, 0, record.length);
      ahead = Arrays.copyOfRange(all, Math.min(hop, all.length), all.length);
      gap = Math.max(0, hop - all.length);
    } catch (IOException e) {
      throw WholeFiles.failure("read", file, e);
    }
    return new Reader.Entry(work + ":" + number++, record.clone());
  }

  @Override
  public void close() {
    try {
      in.close();
    } catch (IOException e) {
      throw WholeFiles.failure("close", file, e);
    }
  }
}
