package dev.millrace.serving.rest;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import dev.millrace.base.MillraceException;
import dev.millrace.serving.batch.ElementBuffer;
import dev.millrace.serving.model.TensorSpec;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The values of one input as they come out of JSON: nested lists whose shape must be regular. A
 * string is text, or bytes as an object {@code {"b64": "..."}}.
 */
final class NestedValues {
  private static final int MOST_DIMENSIONS = 32;

  private final ElementBuffer elements;
  private final long[] dims = new long[MOST_DIMENSIONS];

  /** The depth of the elements; -1 before the first. */
  private int leaves = -1;

  private long values;

  NestedValues(TensorSpec input) {
    elements = new ElementBuffer(input);
    Arrays.fill(dims, -1);
  }

  TensorSpec input() {
    return elements.input();
  }

  /** How many values were added. */
  long values() {
    return values;
  }

  /** Adds the value that begins at the current token: a row, or all of the input. */
  void add(JsonParser p) throws IOException {
    add(p, 0);
    values++;
  }

  /** Adds bytes: a row of strings. */
  void add(byte[] v) {
    leaf(0);
    elements.add(v);
    values++;
  }

  private void add(JsonParser p, int depth) throws IOException {
    JsonToken token = p.currentToken();
    if (token == JsonToken.START_ARRAY) {
      if (depth == MOST_DIMENSIONS) {
        throw MillraceException.invalid(
            "Input '%s' is nested more than %d deep.", input().name(), MOST_DIMENSIONS);
      }
      long n = 0;
      while (p.nextToken() != JsonToken.END_ARRAY) {
        add(p, depth + 1);
        n++;
      }
      if (dims[depth] >= 0 && dims[depth] != n || leaves >= 0 && leaves <= depth) {
        throw ragged();
      }
      dims[depth] = n;
      return;
    }
    leaf(depth);
    element(p, token);
  }

  private void leaf(int depth) {
    if (leaves >= 0 && leaves != depth || depth < MOST_DIMENSIONS && dims[depth] >= 0) {
      throw ragged();
    }
    leaves = depth;
  }

  private MillraceException ragged() {
    return MillraceException.invalid(
        "Input '%s' is ragged: its lists do not have one shape.", input().name());
  }

  private void element(JsonParser p, JsonToken token) throws IOException {
    switch (token) {
      case VALUE_NUMBER_INT -> integer(p);
      case VALUE_NUMBER_FLOAT -> elements.add(p.getDoubleValue());
      case VALUE_TRUE, VALUE_FALSE -> elements.add(token == JsonToken.VALUE_TRUE);
      case VALUE_STRING -> elements.add(p.getText().getBytes(StandardCharsets.UTF_8));
      case START_OBJECT -> {
        if (p.nextToken() != JsonToken.FIELD_NAME || !p.currentName().equals("b64")) {
          throw MillraceException.invalid(
              "Input '%s' has an object where a value belongs; only {\"b64\": \"...\"} may stand"
                  + " for one.",
              input().name());
        }
        elements.add(base64(p));
      }
      default ->
          throw MillraceException.invalid(
              "Input '%s' has %s where a value belongs.", input().name(), p.getText());
    }
  }

  /** The bytes after the name b64, up to the end of the object. */
  static byte[] base64(JsonParser p) throws IOException {
    if (p.nextToken() != JsonToken.VALUE_STRING) {
      throw MillraceException.invalid("The value of b64 must be a string.");
    }
    byte[] bytes = p.getBinaryValue();
    if (p.nextToken() != JsonToken.END_OBJECT) {
      throw MillraceException.invalid("An object with b64 must have nothing else.");
    }
    return bytes;
  }

  private void integer(JsonParser p) throws IOException {
    if (p.getNumberType() != JsonParser.NumberType.BIG_INTEGER) {
      elements.add(p.getLongValue());
    } else if (input().dtype() == DType.UINT64) {
      elements.addText(p.getText());
    } else {
      elements.add(p.getDoubleValue());
    }
  }

  private Shape shape() {
    int rank = 0;
    while (rank < MOST_DIMENSIONS && dims[rank] >= 0) {
      rank++;
    }
    return Shape.of(Arrays.copyOf(dims, rank));
  }

  /** The values as rows. */
  Tensor rows() {
    return elements.buildRows(values, shape());
  }

  /** The only value as the whole tensor. */
  Tensor whole() {
    return elements.build(shape());
  }
}
