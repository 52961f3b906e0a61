package dev.millrace.serving.rest;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.millrace.base.MillraceException;
import dev.millrace.serving.model.ModelSignature;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * Writes outputs as TensorFlow Serving does: by rows ({@code predictions}) or by {@code outputs}.
 */
public final class PredictAnswer {
  private static final String BYTES = "_bytes";

  private PredictAnswer() {}

  /** One tensor while it is written; the elements as Java's array. */
  private static final class Column {
    final String name;
    final long[] dims;
    final float[] floats;
    final double[] doubles;
    final long[] longs;
    final Object[] strings;
    final boolean truth;
    int at;

    Column(String name, Tensor t) {
      this.name = name;
      dims = t.shape().dims();
      floats =
          switch (t.dtype()) {
            case FLOAT, HALF, BFLOAT16 -> t.toFloats();
            default -> null;
          };
      truth = t.dtype() == dev.millrace.tensor.DType.BOOL;
      switch (t.dtype()) {
        case FLOAT, HALF, BFLOAT16 -> {
          doubles = null;
          longs = null;
          strings = null;
        }
        case DOUBLE -> {
          doubles = t.toDoubles();
          longs = null;
          strings = null;
        }
        case STRING -> {
          doubles = null;
          longs = null;
          strings = t.objects();
        }
        case BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64 -> {
          doubles = null;
          longs = t.toLongs();
          strings = null;
        }
        default ->
            throw MillraceException.invalid(
                "Output '%s' is %s, which cannot be written as JSON.", name, t.dtype());
      }
    }

    void write(JsonGenerator g, int depth) throws IOException {
      if (depth < dims.length) {
        g.writeStartArray();
        for (long i = 0; i < dims[depth]; i++) {
          write(g, depth + 1);
        }
        g.writeEndArray();
      } else if (floats != null) {
        g.writeNumber(floats[at++]);
      } else if (doubles != null) {
        g.writeNumber(doubles[at++]);
      } else if (strings != null) {
        writeString(g, (byte[]) strings[at++]);
      } else if (truth) {
        g.writeBoolean(longs[at++] != 0);
      } else {
        g.writeNumber(longs[at++]);
      }
    }

    /** Bytes that are no text, or said to be none by the output's name, are written in base 64. */
    private void writeString(JsonGenerator g, byte[] bytes) throws IOException {
      String text = name.endsWith(BYTES) ? null : text(bytes);
      if (text != null) {
        g.writeString(text);
        return;
      }
      g.writeStartObject();
      g.writeFieldName("b64");
      g.writeBinary(bytes);
      g.writeEndObject();
    }

    private static String text(byte[] bytes) {
      try {
        return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
      } catch (CharacterCodingException e) {
        return null;
      }
    }
  }

  private static Column[] columns(ModelSignature s, Tensor[] outputs) {
    Column[] columns = new Column[outputs.length];
    for (int i = 0; i < columns.length; i++) {
      columns[i] = new Column(s.outputs().get(i).name(), outputs[i]);
    }
    return columns;
  }

  /** Writes the rows, each an object of all outputs, or the value of the only one. */
  public static void writeRows(JsonGenerator g, ModelSignature s, Tensor[] outputs)
      throws IOException {
    Column[] columns = columns(s, outputs);
    long rows = rows(columns);
    for (long r = 0; r < rows; r++) {
      if (columns.length == 1) {
        columns[0].write(g, 1);
        continue;
      }
      g.writeStartObject();
      for (Column c : columns) {
        g.writeFieldName(c.name);
        c.write(g, 1);
      }
      g.writeEndObject();
    }
  }

  /** Writes an answer in the row format. */
  static void rows(JsonGenerator g, ModelSignature s, Tensor[] outputs) throws IOException {
    g.writeStartObject();
    g.writeArrayFieldStart("predictions");
    writeRows(g, s, outputs);
    g.writeEndArray();
    g.writeEndObject();
  }

  private static long rows(Column[] columns) {
    long rows = -1;
    for (Column c : columns) {
      if (c.dims.length == 0 || rows >= 0 && c.dims[0] != rows) {
        throw MillraceException.invalid(
            "Output '%s' does not have a row for each instance; ask in the column format"
                + " ('inputs').",
            c.name);
      }
      rows = c.dims[0];
    }
    return rows;
  }

  /** Writes an answer in the column format. */
  static void columns(JsonGenerator g, ModelSignature s, Tensor[] outputs) throws IOException {
    Column[] columns = columns(s, outputs);
    g.writeStartObject();
    g.writeFieldName("outputs");
    if (columns.length == 1) {
      columns[0].write(g, 0);
    } else {
      g.writeStartObject();
      for (Column c : columns) {
        g.writeFieldName(c.name);
        c.write(g, 0);
      }
      g.writeEndObject();
    }
    g.writeEndObject();
  }
}
