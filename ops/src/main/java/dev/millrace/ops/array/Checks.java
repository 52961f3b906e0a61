package dev.millrace.ops.array;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.base.context.FileRoots;
import dev.millrace.graph.Kernel;
import dev.millrace.graph.Node;
import dev.millrace.graph.Op;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.graph.shape.Shapes;
import dev.millrace.tensor.Refs;
import dev.millrace.tensor.Tensor;
import dev.millrace.tensor.math.complex.ComplexElements;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** Ops that look at values while a step runs: they stop it, or say what they saw. */
public final class Checks {
  /** Fails the step, with the data in the message, unless the condition holds. */
  public static final Op ASSERT =
      Op.define("Assert")
          .attr("T: list(type) >= 1")
          .attr("summarize: int = 3")
          .input("condition: bool")
          .input("data: T")
          .stateful()
          .shape(Shapes.none())
          .kernelPerNode(Checks::assertion)
          .noGradient("it has no outputs")
          .build();

  /** Hands its input on, and fails the step if that has a NaN or an infinity. */
  public static final Op CHECK_NUMERICS = checkNumerics("CheckNumerics");

  public static final Op CHECK_NUMERICS_V2 = checkNumerics("CheckNumericsV2");

  /** Hands its input on and prints the data to the standard error. */
  public static final Op PRINT =
      Op.define("Print")
          .attr("T: type")
          .attr("U: list(type) >= 0")
          .attr("message: string = ''")
          .attr("first_n: int = -1")
          .attr("summarize: int = 3")
          .input("input: T")
          .input("data: U")
          .output("output: T")
          .stateful()
          .shape(Shapes.like(0))
          .kernelPerNode(Checks::printer)
          .gradient(g -> g.dx(0, g.dy()))
          .build();

  /** Prints a string. */
  public static final Op PRINT_V2 =
      Op.define("PrintV2")
          .attr("output_stream: string = 'stderr'")
          .attr("end: string = '\\n'")
          .input("input: string")
          .stateful()
          .shape(Shapes.none())
          .kernelPerNode(Checks::printerV2)
          .noGradient("it has no outputs")
          .build();

  /** Fails the step. Unlike TensorFlow's it never takes the process with it. */
  public static final Op ABORT =
      Op.define("Abort")
          .attr("error_msg: string = ''")
          .attr("exit_without_error: bool = false")
          .shape(Shapes.none())
          .kernelPerNode(
              node -> {
                String message = node.stringAttr("error_msg");
                return c -> {
                  throw new MillraceException(
                      Code.ABORTED, "Abort '" + node.name() + "' was run: " + message);
                };
              })
          .noGradient("it has no inputs")
          .build();

  private static final String FILE = "file://";

  private Checks() {}

  /** A node that fails the step with {@code data} in the message unless {@code condition}. */
  public static Node assertThat(Scope scope, Output condition, List<Output> data) {
    return scope.node(ASSERT).input(condition).inputs(data).add();
  }

  /** {@code x}, checked to be finite; {@code message} begins the complaint. */
  public static Output finite(Scope scope, Output x, String message) {
    return scope.node(CHECK_NUMERICS).input(x).attr("message", message).add().output();
  }

  private static Kernel assertion(Node node) {
    int summarize = node.intAttr("summarize");
    return c -> {
      if (!c.input(0).shape().isScalar()) {
        throw MillraceException.invalid("In[0] should be a scalar: %s", c.input(0).shape());
      }
      if (!c.input(0).booleanValue()) {
        StringBuilder s = new StringBuilder("assertion failed:");
        for (int i = 1; i < c.inputCount(); i++) {
          s.append(" [").append(summary(c.input(i), summarize)).append(']');
        }
        throw MillraceException.invalid("%s", s);
      }
    };
  }

  private static Op checkNumerics(String name) {
    return Op.define(name)
        .attr("T: {bfloat16, half, float, double}")
        .attr("message: string")
        .input("tensor: T")
        .output("output: T")
        .stateful()
        .shape(Shapes.like(0))
        .kernelPerNode(
            node -> {
              String message = node.stringAttr("message");
              return c -> {
                checkFinite(c.input(0), message);
                c.output(0, Refs.retain(c.input(0)));
              };
            })
        .gradient(
            g -> {
              String message =
                  "Not a number (NaN) or infinity (Inf) values detected in gradient of '"
                      + g.node().name()
                      + "'.";
              g.dx(0, finite(g.scope(), g.dy(), message));
            })
        .build();
  }

  private static void checkFinite(Tensor t, String message) {
    boolean nan = false;
    boolean infinite = false;
    for (long i = 0; i < t.elements(); i++) {
      double v = t.doubleAt(i);
      nan |= Double.isNaN(v);
      infinite |= Double.isInfinite(v);
    }
    if (nan || infinite) {
      throw MillraceException.invalid(
          "%s : Tensor had %s values",
          message, nan && infinite ? "NaN and Inf" : nan ? "NaN" : "Inf");
    }
  }

  private static Kernel printer(Node node) {
    String message = node.stringAttr("message");
    long limit = node.longAttr("first_n");
    int summarize = node.intAttr("summarize");
    AtomicLong printed = new AtomicLong();
    return c -> {
      if (limit < 0 || printed.getAndIncrement() < limit) {
        StringBuilder s = new StringBuilder(message);
        for (int i = 1; i < c.inputCount(); i++) {
          s.append('[').append(summary(c.input(i), summarize)).append(']');
        }
        System.err.println(s);
      }
      c.output(0, Refs.retain(c.input(0)));
    };
  }

  private static Kernel printerV2(Node node) {
    String to = node.stringAttr("output_stream");
    String end = node.stringAttr("end");
    if (to.startsWith(FILE)) {
      Path file = FileRoots.checked(Path.of(to.substring(FILE.length())));
      return c -> append(file, c.input(0).stringValue() + end);
    }
    return c -> {
      PrintStream stream = to.equals("stdout") ? System.out : System.err;
      stream.print(c.input(0).stringValue() + end);
    };
  }

  private static void append(Path file, String text) {
    try {
      Files.writeString(file, text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw new MillraceException(Code.UNAVAILABLE, "Cannot print to " + file + ": " + e, e);
    }
  }

  /** The first {@code n} elements, or all if n is negative. */
  private static String summary(Tensor t, int n) {
    long shown = n < 0 ? t.elements() : Math.min(n, t.elements());
    StringBuilder s = new StringBuilder();
    for (long i = 0; i < shown; i++) {
      s.append(i == 0 ? "" : " ").append(element(t, i));
    }
    return s.append(shown < t.elements() ? "..." : "").toString();
  }

  private static String element(Tensor t, long i) {
    return switch (t.dtype()) {
      case STRING -> t.stringAt(i);
      case BOOL -> t.booleanAt(i) ? "1" : "0";
      case FLOAT, HALF, BFLOAT16 -> Float.toString((float) t.doubleAt(i));
      case DOUBLE -> Double.toString(t.doubleAt(i));
      case COMPLEX64, COMPLEX128 -> ComplexElements.at(t.dtype(), t.data(), i).toString();
      case RESOURCE, VARIANT -> "<" + t.dtype() + ">";
      default -> Long.toString(t.longAt(i));
    };
  }
}
