package dev.millrace.parquet;

import dev.millrace.base.MillraceException;
import dev.millrace.train.data.file.InputFiles;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.DataPageHeader;
import org.apache.parquet.format.DataPageHeaderV2;
import org.apache.parquet.format.Encoding;
import org.apache.parquet.format.PageHeader;
import org.apache.parquet.format.PageType;

/**
 * The pages of a column of a row group, one after the other, decoded.
 *
 * <p>Threading: one thread at a time.
 */
final class ColumnPages {
  /** Writers end a page after some thousand rows or a megabyte; more than this is damage. */
  private static final int MOST_VALUES = 1 << 26;

  private final Path file;
  private final Leaf leaf;
  private final ColumnMetaData data;
  private final ChunkBytes in;
  private Values dictionary;

  /** The values of the current page that are there, and how many of them were taken. */
  Values values;

  int taken;

  /** The levels of the current page; null where all values are there, or no lists. */
  int[] defined;

  int[] repeated;

  /** How many entries the page has, nulls included, and how many of them were taken. */
  int entries;

  int entry;

  /** How many entries all pages so far have. */
  private long decoded;

  ColumnPages(Path file, FileChannel channel, Leaf leaf, ColumnMetaData data) {
    this.file = file;
    this.leaf = leaf;
    this.data = data;
    long from = data.getData_page_offset();
    if (data.isSetDictionary_page_offset() && data.getDictionary_page_offset() > 0) {
      from = Math.min(from, data.getDictionary_page_offset());
    }
    in = new ChunkBytes(channel, from, data.getTotal_compressed_size());
  }

  /** Whether there is another page with entries. */
  boolean hasNext() {
    return decoded < data.getNum_values();
  }

  /** Decodes the next page with entries, which must be there. */
  void next() {
    try {
      if (!hasNext()) {
        throw new IOException("it has fewer values than its row group has rows");
      }
      do {
        page();
      } while (entries == 0);
    } catch (MillraceException e) {
      throw e.withMessage(file + ", column '" + leaf.name() + "'" + e.getMessage());
    } catch (IOException e) {
      // Thrift's failures are IOExceptions too.
      throw e.getCause() == null && e.getClass() != IOException.class
          ? InputFiles.unreadable(file, e)
          : damaged(e);
    } catch (RuntimeException e) {
      throw damaged(e);
    }
  }

  private MillraceException damaged(Exception e) {
    return Footer.damaged(file, "column '" + leaf.name() + "' cannot be decoded: " + e, e);
  }

  private void page() throws IOException {
    PageHeader header = in.header();
    int compressed = header.getCompressed_page_size();
    entries = 0;
    entry = 0;
    if (header.getType() == PageType.INDEX_PAGE) {
      in.skip(compressed);
      return;
    }
    in.fill(compressed);
    in.check(header);
    int size = header.getUncompressed_page_size();
    switch (header.getType()) {
      case DICTIONARY_PAGE -> {
        int n = checked(header.getDictionary_page_header().getNum_values());
        dictionary = Values.read(decompressed(0, compressed, size), Encoding.PLAIN, leaf, null, n);
      }
      case DATA_PAGE -> first(header.getData_page_header(), decompressed(0, compressed, size));
      default -> second(header.getData_page_header_v2(), compressed, size);
    }
    in.skip(compressed);
  }

  private BitReader decompressed(int from, int length, int size) {
    return PageCodec.decompress(data.getCodec(), in.buffer(), in.at() + from, length, size);
  }

  private static int checked(int n) {
    if (n < 0 || n > MOST_VALUES) {
      throw new IndexOutOfBoundsException("a page of " + n + " values");
    }
    return n;
  }

  /** A page of the first version: its levels are compressed with the values. */
  private void first(DataPageHeader header, BitReader page) {
    int n = checked(header.getNum_values());
    repeated = prefixed(page, leaf.repeated(), header.getRepetition_level_encoding(), n);
    defined = prefixed(page, leaf.defined(), header.getDefinition_level_encoding(), n);
    finish(page, header.getEncoding(), n);
  }

  private static int[] prefixed(BitReader page, int most, Encoding encoding, int n) {
    if (most == 0) {
      return null;
    }
    if (encoding != Encoding.RLE) {
      throw MillraceException.invalid(
          ": its levels are encoded as %s, which is not read. Write the file anew.", encoding);
    }
    int length = 0;
    for (int shift = 0; shift < 32; shift += 8) {
      length |= page.next() << shift;
    }
    return levels(page, most, length, n);
  }

  private static int[] levels(BitReader page, int most, int length, int n) {
    if (most == 0) {
      page.take(length);
      return null;
    }
    int from = page.take(length);
    int[] levels = new int[n];
    RunLengths.read(new BitReader(page.bytes, from, page.at), RunLengths.width(most), levels, n);
    return levels;
  }

  /** A page of the second version: its levels stand in front, uncompressed. */
  private void second(DataPageHeaderV2 header, int compressed, int size) throws IOException {
    int n = checked(header.getNum_values());
    int repeats = header.getRepetition_levels_byte_length();
    int definitions = header.getDefinition_levels_byte_length();
    int levelBytes = Math.addExact(repeats, definitions);
    if (repeats < 0 || definitions < 0 || levelBytes > compressed) {
      throw new IOException("a page has " + levelBytes + " bytes of levels");
    }
    byte[] front = new byte[levelBytes + BitReader.PADDING];
    System.arraycopy(in.buffer(), in.at(), front, 0, levelBytes);
    BitReader levels = new BitReader(front, 0, levelBytes);
    repeated = levels(levels, leaf.repeated(), repeats, n);
    defined = levels(levels, leaf.defined(), definitions, n);
    int rest = compressed - levelBytes;
    boolean plain = header.isSetIs_compressed() && !header.isIs_compressed();
    BitReader page =
        plain
            ? PageCodec.copy(in.buffer(), in.at() + levelBytes, rest)
            : decompressed(levelBytes, rest, size - levelBytes);
    finish(page, header.getEncoding(), n);
  }

  private void finish(BitReader page, Encoding encoding, int n) {
    int there = n;
    if (defined != null) {
      there = 0;
      for (int level : defined) {
        there += level == leaf.defined() ? 1 : 0;
      }
      defined = there == n ? null : defined;
    }
    values = Values.read(page, encoding, leaf, dictionary, there);
    taken = 0;
    entries = n;
    decoded += n;
  }

  /** Whether the current entry, which is not taken, is a value rather than a null. */
  boolean isThere() {
    return defined == null || defined[entry] == leaf.defined();
  }
}
