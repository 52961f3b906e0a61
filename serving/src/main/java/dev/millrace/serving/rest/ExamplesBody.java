package dev.millrace.serving.rest;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.google.protobuf.ByteString;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.Example;
import dev.millrace.proto.Feature;
import dev.millrace.proto.Features;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * The body of a classify or regress request: examples, and a context whose features all of them
 * have. Whole numbers become int64 features, others float, text and {@code b64} bytes.
 */
record ExamplesBody(String signature, List<Example> examples) {
  static ExamplesBody read(JsonFactory json, byte[] body, int length) {
    String signature = "";
    List<Features.Builder> examples = null;
    Features context = Features.getDefaultInstance();
    try (JsonParser p = json.createParser(body, 0, length)) {
      if (p.nextToken() != JsonToken.START_OBJECT) {
        throw MillraceException.invalid("The request must be a JSON object with 'examples'.");
      }
      while (p.nextToken() == JsonToken.FIELD_NAME) {
        String field = p.currentName();
        p.nextToken();
        switch (field) {
          case "signature_name" -> signature = p.getText();
          case "context" -> context = features(p).build();
          case "examples" -> examples = list(p);
          default -> p.skipChildren();
        }
      }
    } catch (JsonProcessingException e) {
      throw PredictBody.malformed(e);
    } catch (IOException e) {
      throw MillraceException.invalid("The request cannot be read: %s", e.getMessage());
    }
    if (examples == null || examples.isEmpty()) {
      throw MillraceException.invalid("The request has no 'examples'.");
    }
    List<Example> all = new ArrayList<>();
    for (Features.Builder own : examples) {
      Features merged = context.toBuilder().mergeFrom(own.build()).build();
      all.add(Example.newBuilder().setFeatures(merged).build());
    }
    return new ExamplesBody(signature, all);
  }

  private static List<Features.Builder> list(JsonParser p) throws IOException {
    if (p.currentToken() != JsonToken.START_ARRAY) {
      throw MillraceException.invalid("'examples' must be a list of objects.");
    }
    List<Features.Builder> all = new ArrayList<>();
    while (p.nextToken() != JsonToken.END_ARRAY) {
      all.add(features(p));
    }
    return all;
  }

  private static Features.Builder features(JsonParser p) throws IOException {
    if (p.currentToken() != JsonToken.START_OBJECT) {
      throw MillraceException.invalid("An example must be an object of features.");
    }
    Features.Builder all = Features.newBuilder();
    while (p.nextToken() == JsonToken.FIELD_NAME) {
      String name = p.currentName();
      Feature.Builder feature = Feature.newBuilder();
      if (p.nextToken() == JsonToken.START_ARRAY) {
        while (p.nextToken() != JsonToken.END_ARRAY) {
          add(p, name, feature);
        }
      } else {
        add(p, name, feature);
      }
      all.putFeature(name, feature.build());
    }
    return all;
  }

  private static void add(JsonParser p, String name, Feature.Builder to) throws IOException {
    Feature.KindCase before = to.getKindCase();
    switch (p.currentToken()) {
      case VALUE_NUMBER_INT -> {
        if (before == Feature.KindCase.FLOAT_LIST) {
          to.getFloatListBuilder().addValue(p.getFloatValue());
          return;
        }
        to.getInt64ListBuilder().addValue(p.getLongValue());
      }
      case VALUE_NUMBER_FLOAT -> to.getFloatListBuilder().addValue(p.getFloatValue());
      case VALUE_STRING -> to.getBytesListBuilder().addValue(ByteString.copyFromUtf8(p.getText()));
      case START_OBJECT -> {
        if (p.nextToken() != JsonToken.FIELD_NAME || !p.currentName().equals("b64")) {
          throw wrong(name);
        }
        to.getBytesListBuilder().addValue(ByteString.copyFrom(NestedValues.base64(p)));
      }
      default -> throw wrong(name);
    }
    if (before != Feature.KindCase.KIND_NOT_SET && before != to.getKindCase()) {
      throw MillraceException.invalid("Feature '%s' has values of several types.", name);
    }
  }

  private static MillraceException wrong(String name) {
    return MillraceException.invalid(
        "Feature '%s' must be a number, a string, {\"b64\": \"...\"} or a list of those.", name);
  }
}
