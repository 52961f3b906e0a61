package dev.millrace.cluster.session;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.StandardOps;
import dev.millrace.ops.array.Const;
import dev.millrace.ops.array.Identity;
import dev.millrace.ops.array.Placeholder;
import dev.millrace.ops.math.Arithmetic;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.ClosedTensorException;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What can be fed, and what is said of what cannot. */
class SessionFeedContractTest extends SessionContract {
  @EveryKind
  void floatsAreFed(SessionKind kind) {
    Output x = floats("x", -1);
    Output y = node("y", "Neg", x);
    try (Session s = open(kind)) {
      assertArrayEquals(
          new float[] {-1, 2.5f}, fetch(s, y, x, Tensor.vector(1f, -2.5f)).toFloats());
    }
  }

  @EveryKind
  void doublesAreFed(SessionKind kind) {
    Output x = placeholder("x", DType.DOUBLE, Shape.of(2));
    Output y = node("y", "Square", x);
    try (Session s = open(kind)) {
      assertArrayEquals(new double[] {9, 2.25}, fetch(s, y, x, Tensor.vector(3., 1.5)).toDoubles());
    }
  }

  @EveryKind
  void intsAreFed(SessionKind kind) {
    Output x = placeholder("x", DType.INT32, Shape.of(2));
    Output y = Arithmetic.add(scope, x, x);
    try (Session s = open(kind)) {
      assertArrayEquals(new int[] {6, -2}, fetch(s, y, x, Tensor.vector(3, -1)).toInts());
    }
  }

  @EveryKind
  void longsAreFed(SessionKind kind) {
    Output x = placeholder("x", DType.INT64, Shape.of(2));
    Output y = Arithmetic.add(scope, x, x);
    try (Session s = open(kind)) {
      assertArrayEquals(
          new long[] {1L << 41, -2}, fetch(s, y, x, Tensor.vector(1L << 40, -1L)).toLongs());
    }
  }

  @EveryKind
  void boolsAreFed(SessionKind kind) {
    Output x = placeholder("x", DType.BOOL, Shape.scalar());
    Output y = node("y", "LogicalNot", x);
    try (Session s = open(kind)) {
      assertFalse(fetch(s, y, x, Tensor.scalar(true)).booleanValue());
      assertTrue(fetch(s, y, x, Tensor.scalar(false)).booleanValue());
    }
  }

  @EveryKind
  void stringsAreFed(SessionKind kind) {
    Output x = placeholder("x", DType.STRING, Shape.of(-1));
    Output y = Identity.of(scope, x);
    try (Session s = open(kind)) {
      String[] words = {"", "Gr\u00fc\u00dfe", "a\0b"};
      assertArrayEquals(words, fetch(s, y, x, Tensor.vector(words)).toStrings());
    }
  }

  @EveryKind
  void bytesAreFed(SessionKind kind) {
    Output x = placeholder("x", DType.UINT8, Shape.of(3));
    Output y = node("y", "Identity", x);
    try (Session s = open(kind)) {
      Tensor r = fetch(s, y, x, Tensor.of(Shape.of(3), (byte) 1, (byte) -1, (byte) 7));
      assertEquals(DType.UINT8, r.dtype());
      assertEquals(255, r.longAt(1));
    }
  }

  @EveryKind
  void emptyTensorsAreFed(SessionKind kind) {
    Output x = floats("x", -1, 3);
    Output y = node("y", "Neg", x);
    try (Session s = open(kind)) {
      Tensor r = fetch(s, y, x, Tensor.of(Shape.of(0, 3), new float[0]));
      assertEquals(Shape.of(0, 3), r.shape());
    }
  }

  @EveryKind
  void aLargeTensorIsFed(SessionKind kind) {
    Output x = floats("x", -1);
    Output y = node("y", "Neg", x);
    float[] values = new float[1 << 20];
    values[12_345] = 5;
    try (Session s = open(kind)) {
      float[] r = fetch(s, y, x, Tensor.vector(values)).toFloats();
      assertEquals(values.length, r.length);
      assertEquals(-5, r[12_345]);
    }
  }

  @EveryKind
  void anOutputThatIsNoPlaceholderIsFed(SessionKind kind) {
    Output a = Const.of(scope.withName("a"), 3f);
    Output b = node("b", "Square", a);
    Output c = node("c", "Neg", b);
    try (Session s = open(kind)) {
      assertEquals(-9, fetch(s, c).floatValue());
      assertEquals(-5, fetch(s, c, b, Tensor.scalar(5f)).floatValue());
    }
  }

  @EveryKind
  void severalOutputsAreFedInAnyOrder(SessionKind kind) {
    Output x = floats("x");
    Output y = floats("y");
    Output z = Arithmetic.sub(scope, x, y);
    try (Session s = open(kind)) {
      Tensor seven = kept(Tensor.scalar(7f));
      Tensor two = kept(Tensor.scalar(2f));
      assertEquals(5, kept(s.fetch(z, Map.of(x, seven, y, two))).floatValue());
      assertEquals(5, kept(s.fetch(z, Map.of(y, two, x, seven))).floatValue());
      Session.Callable c = s.makeCallable(List.of(y, x), List.of(z), List.of());
      assertEquals(-5, kept(c.run(seven, two)[0]).floatValue());
    }
  }

  @EveryKind
  void anyShapeIsFedWhereNoneIsKnown(SessionKind kind) {
    Output x = placeholder("x", DType.FLOAT, Shape.unknown());
    Output y = node("y", "Neg", x);
    try (Session s = open(kind)) {
      assertEquals(-4, fetch(s, y, x, Tensor.scalar(4f)).floatValue());
      assertEquals(Shape.of(1, 2), fetch(s, y, x, Tensor.of(Shape.of(1, 2), 1f, 2f)).shape());
    }
  }

  @EveryKind
  void aWrongShapeIsRefused(SessionKind kind) {
    Output x = floats("x", 2);
    Output y = Identity.of(scope, x);
    try (Session s = open(kind)) {
      refused(
          INVALID,
          "Cannot feed value of shape [3] for tensor 'x:0', which has shape [2].",
          () -> fetch(s, y, x, Tensor.vector(1f, 2f, 3f)));
      assertEquals(2, fetch(s, y, x, Tensor.vector(1f, 2f)).elements());
    }
  }

  @EveryKind
  void aWrongShapeIsRefusedWherePartOfItIsKnown(SessionKind kind) {
    Output x = floats("x", -1, 3);
    Output y = Identity.of(scope, x);
    try (Session s = open(kind)) {
      refused(
          INVALID,
          "Cannot feed value of shape [3,2] for tensor 'x:0', which has shape [?,3].",
          () -> fetch(s, y, x, Tensor.of(Shape.of(3, 2), new float[6])));
      refused(
          INVALID,
          "Cannot feed value of shape [3] for tensor 'x:0', which has shape [?,3].",
          () -> fetch(s, y, x, Tensor.vector(1f, 2f, 3f)));
    }
  }

  @EveryKind
  void aWrongShapeIsRefusedWithTheKnownPlan(SessionKind kind) {
    Output x = floats("x", 1);
    Output y = Identity.of(scope, x);
    try (Session s = open(kind)) {
      fetch(s, y, x, Tensor.vector(1f));
      refused(
          INVALID,
          "Cannot feed value of shape [] for tensor 'x:0', which has shape [1].",
          () -> fetch(s, y, x, Tensor.scalar(1f)));
    }
  }

  @EveryKind
  void aWrongTypeIsRefused(SessionKind kind) {
    Output x = floats("x", 2);
    Output y = Identity.of(scope, x);
    try (Session s = open(kind)) {
      refused(
          INVALID,
          "Cannot feed a int64 tensor for 'x:0', which is float.",
          () -> fetch(s, y, x, Tensor.vector(1L, 2L)));
      refused(
          INVALID,
          "Cannot feed a string tensor for 'x:0', which is float.",
          () -> fetch(s, y, x, Tensor.vector("a", "b")));
    }
  }

  @EveryKind
  void aClosedTensorIsRefused(SessionKind kind) {
    Output x = floats("x", 2);
    Output y = Identity.of(scope, x);
    Tensor closed = Tensor.vector(1f, 2f);
    closed.close();
    ClosedTensorException said = assertThrows(ClosedTensorException.class, closed::dtype);
    // The pool may have given its memory out again.
    kept(Tensor.vector(3f, 4f));
    try (Session s = open(kind)) {
      refused(
          INVALID, "Cannot feed 'x:0': " + said.getMessage(), () -> s.fetch(y, Map.of(x, closed)));
    }
  }

  @EveryKind
  void nullIsRefused(SessionKind kind) {
    Output x = floats("x", 2);
    Output y = Identity.of(scope, x);
    Map<Output, Tensor> nothing = new HashMap<>();
    nothing.put(x, null);
    try (Session s = open(kind)) {
      refused(INVALID, "The value fed for 'x:0' is null.", () -> s.fetch(y, nothing));
      refused(INVALID, "The map of feeds is null; there must be one.", () -> s.fetch(y, null));
      refused(
          INVALID,
          "Number 0 of the 1 feeds is null, counted from 0.",
          () -> s.fetch(y, Collections.singletonMap(null, kept(Tensor.scalar(1f)))));
    }
  }

  @EveryKind
  void anOutputOfAnotherGraphIsNotFed(SessionKind kind) {
    Output y = Const.of(scope, 1f);
    Scope elsewhere = Scope.of(StandardOps.newGraph());
    Output stranger = Placeholder.of(elsewhere.withName("stranger"), DType.FLOAT, Shape.scalar());
    try (Session s = open(kind)) {
      refused(
          INVALID,
          "'stranger' belongs to another graph than the one this session runs.",
          () -> fetch(s, y, stranger, Tensor.scalar(1f)));
    }
  }

  @EveryKind
  void anOutputOfTheSameNameInAnotherGraphIsNotFed(SessionKind kind) {
    Output x = floats("x");
    Output y = Identity.of(scope, x);
    Scope elsewhere = Scope.of(StandardOps.newGraph());
    Output stranger = Placeholder.of(elsewhere.withName("x"), DType.FLOAT, Shape.scalar());
    try (Session s = open(kind)) {
      refused(
          INVALID,
          "'x' belongs to another graph than the one this session runs.",
          () -> fetch(s, y, stranger, Tensor.scalar(1f)));
    }
  }

  @EveryKind
  void anOutputIsNotFedTwice(SessionKind kind) {
    Output x = floats("x");
    Output y = Identity.of(scope, x);
    try (Session s = open(kind)) {
      refused(
          INVALID,
          "Endpoint x:0 fed more than once.",
          () -> s.makeCallable(List.of(x, x), List.of(y), List.of()));
    }
  }

  @EveryKind
  void aCallableTakesTheValuesItWasMadeFor(SessionKind kind) {
    Output x = floats("x");
    Output y = node("y", "Neg", x);
    try (Session s = open(kind)) {
      Session.Callable c = s.makeCallable(List.of(x), List.of(y), List.of());
      refused(INVALID, "The callable takes 1 values ([x:0]); 0 were given.", c::run);
      Tensor one = kept(Tensor.scalar(1f));
      refused(INVALID, "The callable takes 1 values ([x:0]); 2 were given.", () -> c.run(one, one));
      for (int i = 0; i < 3; i++) {
        assertEquals(-1, kept(c.run(one)[0]).floatValue());
      }
    }
  }

  @EveryKind
  void anUnfedPlaceholderIsNamed(SessionKind kind) {
    Output x = floats("x", -1, 3);
    Output y = node("y", "Neg", x);
    try (Session s = open(kind)) {
      refused(
          INVALID,
          "You must feed a value for placeholder tensor 'x' with dtype float and shape [?,3]\n"
              + "\t [[{{node x}}]]",
          () -> fetch(s, y));
    }
  }
}
