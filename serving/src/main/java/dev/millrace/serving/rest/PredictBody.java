package dev.millrace.serving.rest;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import dev.millrace.base.MillraceException;
import dev.millrace.serving.model.ModelSignature;
import dev.millrace.serving.model.TensorSpec;
import dev.millrace.tensor.Tensor;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;

/**
 * The body of a predict request, in the row format ({@code instances}) or the column format ({@code
 * inputs}). Values go from the text straight into arrays of their type.
 *
 * @param signature which is asked
 * @param inputs the caller closes them
 * @param rows whether the answer is to be in rows too
 */
record PredictBody(ModelSignature signature, Map<String, Tensor> inputs, boolean rows) {
  private static final String SIGNATURE = "signature_name";
  private static final byte[] MARK = SIGNATURE.getBytes(StandardCharsets.US_ASCII);

  /** Reads a request; {@code signatures} gives that of a name, which is empty for the default. */
  static PredictBody read(
      JsonFactory json, byte[] body, int length, Function<String, ModelSignature> signatures) {
    try {
      String name = contains(body, length) ? signatureName(json, body, length) : "";
      return read(json, body, length, signatures.apply(name));
    } catch (JsonProcessingException e) {
      throw malformed(e);
    } catch (IOException e) {
      throw MillraceException.invalid("The request cannot be read: %s", e.getMessage());
    }
  }

  /** The error of a body that is not JSON. */
  static MillraceException malformed(JsonProcessingException e) {
    return MillraceException.invalid(
        "The request is not JSON that can be read: %s%s",
        e.getOriginalMessage(),
        e.getLocation() == null
            ? ""
            : " (line "
                + e.getLocation().getLineNr()
                + ", column "
                + e.getLocation().getColumnNr()
                + ")");
  }

  private static boolean contains(byte[] body, int length) {
    for (int i = 0; i + MARK.length <= length; i++) {
      int k = 0;
      while (k < MARK.length && body[i + k] == MARK[k]) {
        k++;
      }
      if (k == MARK.length) {
        return true;
      }
    }
    return false;
  }

  /** The name may come after the values, whose types depend on it. */
  private static String signatureName(JsonFactory json, byte[] body, int length)
      throws IOException {
    try (JsonParser p = json.createParser(body, 0, length)) {
      begin(p);
      String name = "";
      while (p.nextToken() == JsonToken.FIELD_NAME) {
        boolean found = p.currentName().equals(SIGNATURE);
        p.nextToken();
        if (found && p.currentToken() == JsonToken.VALUE_STRING) {
          name = p.getText();
        } else if (found) {
          throw MillraceException.invalid("'%s' must be a string.", SIGNATURE);
        } else {
          p.skipChildren();
        }
      }
      return name;
    }
  }

  private static void begin(JsonParser p) throws IOException {
    if (p.nextToken() != JsonToken.START_OBJECT) {
      throw MillraceException.invalid(
          "The request must be a JSON object with 'instances' or 'inputs'.");
    }
  }

  private static PredictBody read(
      JsonFactory json, byte[] body, int length, ModelSignature signature) throws IOException {
    Map<String, Tensor> inputs = null;
    boolean rows = false;
    try (JsonParser p = json.createParser(body, 0, length)) {
      begin(p);
      while (p.nextToken() == JsonToken.FIELD_NAME) {
        String field = p.currentName();
        p.nextToken();
        boolean instances = field.equals("instances");
        if (!instances && !field.equals("inputs")) {
          p.skipChildren();
          continue;
        }
        if (inputs != null) {
          throw MillraceException.invalid(
              "The request has both 'instances' and 'inputs', or one of them twice; give one.");
        }
        rows = instances;
        inputs = instances ? instances(p, signature) : columns(p, signature);
      }
      if (p.currentToken() != JsonToken.END_OBJECT || p.nextToken() != null) {
        throw MillraceException.invalid("There is more after the end of the request's object.");
      }
      if (inputs == null) {
        throw MillraceException.invalid(
            "The request has neither 'instances' (row format) nor 'inputs' (column format).");
      }
      return new PredictBody(signature, inputs, rows);
    } catch (IOException | RuntimeException e) {
      if (inputs != null) {
        inputs.values().forEach(Tensor::close);
      }
      throw e;
    }
  }

  private static Map<String, Tensor> instances(JsonParser p, ModelSignature s) throws IOException {
    if (p.currentToken() != JsonToken.START_ARRAY) {
      throw MillraceException.invalid("'instances' must be a list.");
    }
    NestedValues[] values = new NestedValues[s.inputs().size()];
    long rows = 0;
    while (p.nextToken() != JsonToken.END_ARRAY) {
      if (p.currentToken() == JsonToken.START_OBJECT) {
        instance(p, s, values, rows);
      } else {
        only(s, values).add(p);
      }
      rows++;
      for (NestedValues v : values) {
        if (v != null && v.values() != rows) {
          throw MillraceException.invalid(
              "Instance %d does not have input '%s' once.", rows - 1, v.input().name());
        }
      }
    }
    if (rows == 0) {
      throw MillraceException.invalid("'instances' is empty.");
    }
    return tensors(values, true);
  }

  private static NestedValues only(ModelSignature s, NestedValues[] values) {
    if (s.inputs().size() != 1) {
      throw MillraceException.invalid(
          "Signature '%s' has %d inputs, so each instance must be an object that names them: %s.",
          s.name(), s.inputs().size(), s.inputs());
    }
    return at(0, s, values);
  }

  private static NestedValues at(int i, ModelSignature s, NestedValues[] values) {
    if (values[i] == null) {
      values[i] = new NestedValues(s.inputs().get(i));
    }
    return values[i];
  }

  private static boolean isBytes(String field, ModelSignature s) {
    return field.equals("b64") && s.inputs().stream().noneMatch(i -> i.name().equals("b64"));
  }

  private static void instance(JsonParser p, ModelSignature s, NestedValues[] values, long rows)
      throws IOException {
    while (p.nextToken() == JsonToken.FIELD_NAME) {
      String field = p.currentName();
      if (isBytes(field, s)) {
        only(s, values).add(NestedValues.base64(p));
        return;
      }
      int i = s.input(field);
      NestedValues v = at(i, s, values);
      if (v.values() != rows) {
        throw MillraceException.invalid(
            "Instance %d has input '%s', but not all instances do, or it has it twice.",
            rows, field);
      }
      p.nextToken();
      v.add(p);
    }
  }

  private static Map<String, Tensor> columns(JsonParser p, ModelSignature s) throws IOException {
    NestedValues[] values = new NestedValues[s.inputs().size()];
    if (p.currentToken() != JsonToken.START_OBJECT) {
      only(s, values).add(p);
      return tensors(values, false);
    }
    while (p.nextToken() == JsonToken.FIELD_NAME) {
      String field = p.currentName();
      if (isBytes(field, s)) {
        only(s, values).add(NestedValues.base64(p));
        break;
      }
      int i = s.input(field);
      if (values[i] != null) {
        throw MillraceException.invalid("Input '%s' is given twice.", field);
      }
      p.nextToken();
      at(i, s, values).add(p);
    }
    return tensors(values, false);
  }

  private static Map<String, Tensor> tensors(NestedValues[] values, boolean rows) {
    Map<String, Tensor> inputs = new HashMap<>();
    try {
      for (NestedValues v : values) {
        if (v != null) {
          TensorSpec input = v.input();
          inputs.put(input.name(), rows ? v.rows() : v.whole());
        }
      }
      return inputs;
    } catch (RuntimeException e) {
      inputs.values().forEach(Tensor::close);
      throw e;
    }
  }
}
