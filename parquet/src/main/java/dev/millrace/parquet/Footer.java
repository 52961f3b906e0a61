package dev.millrace.parquet;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.train.data.file.InputFiles;
import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.parquet.format.ConvertedType;
import org.apache.parquet.format.FieldRepetitionType;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.RowGroup;
import org.apache.parquet.format.SchemaElement;
import org.apache.parquet.format.Util;

/**
 * What the end of a Parquet file says of it.
 *
 * @param leaves its columns
 */
record Footer(Path file, List<Leaf> leaves, List<RowGroup> rowGroups) {
  private static final int TAIL_BYTES = 8;
  private static final String MAGIC = "PAR1";
  private static final String ENCRYPTED = "PARE";

  /** What the Thrift messages may hold in strings and lists; a length beyond it is damage. */
  private static final int MOST_BYTES = 256 << 20;

  static Footer read(Path file) {
    try (FileChannel channel = FileChannel.open(file)) {
      long size = channel.size();
      ByteBuffer tail = bytes(channel, Math.max(0, size - TAIL_BYTES), TAIL_BYTES);
      int length = tail.order(ByteOrder.LITTLE_ENDIAN).getInt();
      String magic = StandardCharsets.ISO_8859_1.decode(tail).toString();
      if (magic.equals(ENCRYPTED)) {
        throw MillraceException.invalid(
            "%s is encrypted, which is not read. Decrypt it first.", file);
      }
      if (!magic.equals(MAGIC) || length <= 0 || length > size - TAIL_BYTES) {
        throw damaged(file, "it does not end as one does", null);
      }
      if (length > MOST_BYTES) {
        throw damaged(file, "its footer has " + length + " bytes", null);
      }
      byte[] footer = new byte[length];
      bytes(channel, size - TAIL_BYTES - length, length).get(footer);
      FileMetaData data = Util.readFileMetaData(new ByteArrayInputStream(footer));
      return new Footer(file, leaves(data.getSchema()), List.copyOf(data.getRow_groups()));
    } catch (EOFException e) {
      throw damaged(file, "it is too short", e);
    } catch (MillraceException e) {
      throw e;
    } catch (IOException e) {
      // Thrift's failures are IOExceptions too, those of the file system have a message of theirs.
      throw e.getCause() == null ? InputFiles.unreadable(file, e) : damaged(file, "" + e, e);
    } catch (RuntimeException e) {
      throw damaged(file, e.toString(), e);
    }
  }

  static MillraceException damaged(Path file, String why, Exception e) {
    return new MillraceException(
        Code.DATA_LOSS,
        "%s is damaged, incomplete or not a Parquet file: %s.".formatted(file, why),
        e);
  }

  /** {@code n} bytes of a file; fails with EOFException if there are fewer. */
  static ByteBuffer bytes(FileChannel channel, long from, int n) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(n);
    while (buffer.hasRemaining()) {
      if (channel.read(buffer, from + buffer.position()) < 0) {
        throw new EOFException();
      }
    }
    return buffer.flip();
  }

  private static List<Leaf> leaves(List<SchemaElement> schema) {
    List<Leaf> leaves = new ArrayList<>();
    int next = 1;
    while (next < schema.size()) {
      next = add(schema, next, "", 0, 0, leaves);
    }
    return List.copyOf(leaves);
  }

  /** Adds the leaves below element {@code i} and returns the element behind them. */
  private static int add(
      List<SchemaElement> schema,
      int i,
      String path,
      int defined,
      int repeated,
      List<Leaf> leaves) {
    SchemaElement e = schema.get(i);
    FieldRepetitionType repetition = e.getRepetition_type();
    int levels = defined + (repetition == FieldRepetitionType.REQUIRED ? 0 : 1);
    int lists = repeated + (repetition == FieldRepetitionType.REPEATED ? 1 : 0);
    String name = path.isEmpty() ? e.getName() : path + "." + e.getName();
    if (e.getNum_children() == 0) {
      if (e.getType() == null) {
        throw new IllegalArgumentException("column '" + name + "' has no type");
      }
      leaves.add(
          new Leaf(
              name, leaves.size(), e.getType(), e.getType_length(), isDecimal(e), levels, lists));
      return i + 1;
    }
    boolean list =
        e.getConverted_type() == ConvertedType.LIST
            || (e.isSetLogicalType() && e.getLogicalType().isSetLIST());
    int next = i + 1;
    for (int child = 0; child < e.getNum_children(); child++) {
      int before = leaves.size();
      next = add(schema, next, name, levels, lists, leaves);
      // A list is a group of a repeated group of one field: it has the name of the outer one.
      if (list && leaves.size() == before + 1) {
        Leaf l = leaves.removeLast();
        leaves.add(
            new Leaf(
                name, l.number(), l.type(), l.width(), l.decimal(), l.defined(), l.repeated()));
      }
    }
    return next;
  }

  private static boolean isDecimal(SchemaElement e) {
    return e.getConverted_type() == ConvertedType.DECIMAL
        || (e.isSetLogicalType() && e.getLogicalType().isSetDECIMAL());
  }
}
