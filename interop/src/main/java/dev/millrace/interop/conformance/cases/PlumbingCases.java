package dev.millrace.interop.conformance.cases;

import dev.millrace.base.Code;
import dev.millrace.interop.conformance.CaseTable;
import dev.millrace.interop.conformance.Kernels;
import dev.millrace.interop.conformance.Scenario;
import dev.millrace.interop.conformance.Values;
import dev.millrace.interop.conformance.Values.Domain;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Ops that pass values on, convert them, check them or draw them at random. */
public final class PlumbingCases extends CaseTable {
  public PlumbingCases() {
    for (String op : List.of("Identity", "Snapshot", "StopGradient", "PreventGradient")) {
      for (DType dtype : Kernels.types(op, "T")) {
        op(op, any(dtype, 2, 3)).noGradient();
      }
      op(op, floats()).noGradient();
      op(op, floats(0)).noGradient();
    }
    op("Identity", doubles(2, 3));
    op("IdentityN", floats(2), any(DType.INT32, 3), any(DType.STRING, 1)).noGradient();
    op("PlaceholderWithDefault", floats(2, 3)).with("shape", Shape.of(-1, 3));
    op("Placeholder")
        .with("dtype", DType.FLOAT)
        .with("shape", Shape.of(2))
        .fails(Code.INVALID_ARGUMENT);
    op("PlaceholderV2")
        .with("dtype", DType.FLOAT)
        .with("shape", Shape.of(2))
        .removedIn(23)
        .fails(Code.INVALID_ARGUMENT);
    op("_HostCast", floats(2, 3)).with("DstT", DType.INT32);
    op("ControlTrigger");
    op("NoOp");
    casts();
    checks();
    random();
    stateless();
    sendAndReceive();
  }

  /** A value handed from one node to another through the step's rendezvous. */
  private void sendAndReceive() {
    String device = "/job:localhost/replica:0/task:0/device:CPU:0";
    for (String kind : List.of("_", "_Host")) {
      Scenario s = scenario(kind + "Send and " + kind + "Recv");
      Map<String, Object> edge =
          Map.of(
              "tensor_name",
              "edge",
              "send_device",
              device,
              "send_device_incarnation",
              1,
              "recv_device",
              device);
      Map<String, Object> typed = new TreeMap<>(edge);
      typed.put("tensor_type", DType.FLOAT);
      s.graph().placeholder("x", DType.FLOAT, Shape.of(3));
      s.graph().add("send", kind + "Send", edge, "x");
      s.graph().add("recv", kind + "Recv", typed);
      s.graph().add("twice", "AddV2", Map.of(), "recv", "recv", "^send");
      for (int i = 0; i < 2; i++) {
        s.fetch(Map.of("x:0", floats(3)), "twice");
      }
    }
  }

  private void casts() {
    Set<DType> types = Set.copyOf(Kernels.TESTED);
    for (DType from : Kernels.TESTED) {
      for (DType to : Kernels.TESTED) {
        if (from != DType.STRING && to != DType.STRING && types.contains(to)) {
          boolean wraps = from.isDifferentiable() && to.isUnsigned();
          // What a negative fraction becomes as an unsigned number is not defined in C++.
          Domain domain = wraps ? Domain.POSITIVE : Domain.ANY;
          op("Cast", values.of(domain, from, Shape.of(3, 7))).with("DstT", to);
        }
      }
    }
    op("Cast", floats(0)).with("DstT", DType.INT32);
    op("Cast", floats()).with("DstT", DType.DOUBLE);
    op("Cast", Tensor.vector(-2.7f, -0.5f, 0.5f, 2.7f, 1e6f)).with("DstT", DType.INT32);
    op("Cast", Tensor.vector(300, -1, 65536, 127)).with("DstT", DType.UINT8);
    op("Cast", Tensor.vector(300, -1, 65536, 128)).with("DstT", DType.INT8);
    op("Cast", values.of(Domain.SPECIAL, DType.FLOAT, Shape.of(50))).with("DstT", DType.BOOL);
    op("Cast", values.of(Domain.SPECIAL, DType.FLOAT, Shape.of(50))).with("DstT", DType.HALF);
    op("Cast", values.of(Domain.SPECIAL, DType.DOUBLE, Shape.of(50))).with("DstT", DType.BFLOAT16);
    op("Cast", Tensor.vector(1.0009765f, 3.14159f, 65520f, 1e-5f)).with("DstT", DType.HALF);
    op("Cast", Tensor.vector(1.00390625f, 1.01171875f, 3.14159f)).with("DstT", DType.BFLOAT16);
  }

  private void checks() {
    for (DType dtype : Kernels.types("CheckNumerics", "T")) {
      op("CheckNumerics", any(dtype, 3)).with("message", "here");
    }
    op("CheckNumerics", Tensor.vector(1f, Float.NaN))
        .with("message", "here")
        .fails(Code.INVALID_ARGUMENT);
    op("CheckNumerics", Tensor.vector(1f, Float.NEGATIVE_INFINITY))
        .with("message", "here")
        .fails(Code.INVALID_ARGUMENT);
    op("CheckNumericsV2", floats(3)).with("message", "here");
    op("CheckNumericsV2", Tensor.vector(1f, Float.NaN))
        .with("message", "here")
        .fails(Code.INVALID_ARGUMENT);
    op("Assert", Tensor.scalar(true), floats(2));
    op("Assert", Tensor.scalar(false), floats(2), any(DType.STRING, 1))
        .fails(Code.INVALID_ARGUMENT);
    op("Print", floats(2), floats(3)).with("message", "").with("first_n", 0);
    op("PrintV2", Tensor.scalar("")).with("end", "");
  }

  /** Seeded, so that TensorFlow and Millrace draw the same numbers, step after step. */
  private void random() {
    for (String op : List.of("RandomUniform", "RandomStandardNormal", "TruncatedNormal")) {
      for (DType dtype : Kernels.types(op, "dtype")) {
        for (Tensor shape : List.of(ints(3, 4), longs(2, 701))) {
          drawn(op, Map.of("dtype", dtype), shape);
        }
      }
      // Without a seed each draws its own.
      op(op, ints(3, 4)).fixed(0).with("dtype", DType.FLOAT).random();
      op(op, longs(0, 2)).fixed(0).with("dtype", DType.FLOAT).with("seed", 5);
      op(op, ints()).fixed(0).with("dtype", DType.FLOAT).with("seed2", 5).slack(8);
      op(op, ints(-1)).with("dtype", DType.FLOAT).fails(Code.INVALID_ARGUMENT);
    }
    for (DType dtype : Kernels.types("RandomUniformInt", "Tout")) {
      drawn("RandomUniformInt", Map.of(), ints(300), scalar(dtype, -3), scalar(dtype, 90));
    }
    op("RandomUniformInt", ints(5), scalar(0), scalar(9)).fixed(0).random();
    op("RandomUniformInt", ints(5), scalar(3), scalar(3)).fails(Code.INVALID_ARGUMENT);
    // With an empty range there is nothing left to chance.
    op("RandomUniformInt", ints(5), scalar(3), scalar(4)).fixed(0);
    for (DType dtype : Kernels.types("ParameterizedTruncatedNormal", "dtype")) {
      for (double bound : new double[] {1, 5, 0.01}) {
        drawn(
            "ParameterizedTruncatedNormal",
            Map.of(),
            ints(600),
            scalar(dtype, 0),
            scalar(dtype, 2),
            scalar(dtype, -bound),
            scalar(dtype, bound));
      }
    }
    op(
            "ParameterizedTruncatedNormal",
            ints(3),
            scalar(DType.FLOAT, 0),
            scalar(DType.FLOAT, 1),
            scalar(DType.FLOAT, 2),
            scalar(DType.FLOAT, 1))
        .fails(Code.INVALID_ARGUMENT);
    drawn("RandomShuffle", Map.of(), distinct(DType.FLOAT, 50));
    drawn("RandomShuffle", Map.of(), distinct(DType.INT32, 7, 3));
    op("RandomShuffle", floats(5, 2)).random();
    op("RandomShuffle", Values.filled(DType.INT32, 3, 4));
    for (DType dtype : List.of(DType.INT32, DType.INT64)) {
      drawn("Multinomial", Map.of("output_dtype", dtype), floats(3, 4), scalar(500));
    }
    drawn("Multinomial", Map.of(), doubles(2, 9), scalar(70));
    op("Multinomial", floats(2, 4), scalar(5)).fixed(1).random();
  }

  /** Three draws in a row, of which each goes on where the one before ended. */
  private void drawn(String op, Map<String, Object> attributes, Tensor... inputs) {
    Map<String, Object> seeded = new TreeMap<>(attributes);
    seeded.put("seed", 87654321);
    seeded.put("seed2", 5);
    Scenario s = scenario(op + " of " + inputs[0].dtype() + inputs[0].shape() + " " + attributes);
    String[] names = new String[inputs.length];
    for (int i = 0; i < inputs.length; i++) {
      names[i] = s.graph().constant("in" + i, inputs[i]);
    }
    s.graph().add("op", op, seeded, names);
    s.slack(8).fetch("op").fetch("op").fetch("op");
  }

  /** The ones whose every bit follows from the seed. */
  private void stateless() {
    for (String op :
        List.of("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal")) {
      op(op, ints(3, 4), longs(1, 2)).fixed(0).slack(8);
      op(op, ints(1001), ints(7, -3)).fixed(0).slack(8);
      op(op, ints(5), longs(0, 0)).fixed(0).with("dtype", DType.DOUBLE).slack(8);
      op(op, ints(9), longs(3, 4)).fixed(0).with("dtype", DType.HALF);
      op(op, ints(0), longs(3, 4)).fixed(0);
      op(op, ints(3), longs(3)).fails(Code.INVALID_ARGUMENT);
    }
  }
}
