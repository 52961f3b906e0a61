package dev.millrace.train.data;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.proto.Example;
import dev.millrace.proto.Feature;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;

/**
 * A feature of a tf.Example: its name, type and shape.
 *
 * @param missing what an Example without the feature has; null if it must have it
 */
public record ExampleFeature(String name, DType dtype, Shape shape, Tensor missing) {
  public ExampleFeature {
    if (!Datasets.isFeatureType(dtype) || !shape.isKnown()) {
      throw MillraceException.invalid(
          "Feature '%s' is %s%s; a feature is float, int64 or string, of a known shape.",
          name, dtype, shape);
    }
    if (missing != null && (missing.dtype() != dtype || !missing.shape().equals(shape))) {
      throw MillraceException.invalid(
          "Feature '%s' is %s%s, but what it is where it is missing is %s%s.",
          name, dtype, shape, missing.dtype(), missing.shape());
    }
  }

  /** A feature that every Example must have. */
  public static ExampleFeature of(String name, DType dtype, Shape shape) {
    return new ExampleFeature(name, dtype, shape, null);
  }

  /** The features of one serialised Example, which is closed. */
  static Tensor[] parse(Tensor[] element, List<ExampleFeature> features) {
    try {
      Example example = Example.parseFrom(element[0].bytesAt(0));
      Tensor[] values = new Tensor[features.size()];
      for (int i = 0; i < values.length; i++) {
        values[i] = features.get(i).of(example);
      }
      return values;
    } catch (InvalidProtocolBufferException e) {
      throw new MillraceException(
          Code.DATA_LOSS, "A record is not a tf.Example: " + e.getMessage(), e);
    } finally {
      Elements.release(element);
    }
  }

  private Tensor of(Example example) {
    Feature f = example.getFeatures().getFeatureMap().get(name);
    if (f == null || f.getKindCase() == Feature.KindCase.KIND_NOT_SET) {
      if (missing == null) {
        throw MillraceException.invalid(
            "An Example has no feature '%s'; it has %s.",
            name, example.getFeatures().getFeatureMap().keySet());
      }
      return missing.reshaped(shape);
    }
    Object[] values =
        switch (f.getKindCase()) {
          case FLOAT_LIST -> f.getFloatList().getValueList().toArray();
          case INT64_LIST -> f.getInt64List().getValueList().toArray();
          default -> f.getBytesList().getValueList().stream().map(b -> b.toByteArray()).toArray();
        };
    DType found =
        switch (f.getKindCase()) {
          case FLOAT_LIST -> DType.FLOAT;
          case INT64_LIST -> DType.INT64;
          default -> DType.STRING;
        };
    if (found != dtype || values.length != shape.elements()) {
      throw MillraceException.invalid(
          "Feature '%s' of an Example is %d values of %s; expected %s%s.",
          name, values.length, found, dtype, shape);
    }
    if (dtype == DType.STRING) {
      return Tensor.ofObjects(dtype, shape, values);
    }
    Tensor t = Tensor.allocate(dtype, shape);
    for (int i = 0; i < values.length; i++) {
      if (dtype == DType.FLOAT) {
        t.setDouble(i, (Float) values[i]);
      } else {
        t.setLong(i, (Long) values[i]);
      }
    }
    return t;
  }
}
