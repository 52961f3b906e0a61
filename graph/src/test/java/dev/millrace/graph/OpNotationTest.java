package dev.millrace.graph;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class OpNotationTest {
  private final Map<String, AttrSpec> attrs = new HashMap<>();

  private Op.Arg arg(String text, String... declared) {
    for (String d : declared) {
      AttrSpec spec = OpNotation.attr(d);
      attrs.put(spec.name(), spec);
    }
    return OpNotation.arg(text, attrs);
  }

  @Test
  void anArgumentHasATypeOfItsOwnOrAnAttributes() {
    assertEquals(new Op.Arg("x", DType.INT32, null, null, null, false), arg("x: int32"));
    assertEquals(new Op.Arg("x", null, "T", null, null, false), arg("x: T", "T: type"));
    assertEquals(new Op.Arg("r", null, "T", null, null, true), arg("r: Ref(T)", "T: type"));
  }

  @Test
  void anArgumentMayBeAList() {
    assertEquals(
        new Op.Arg("v", null, "T", "N", null, false), arg("v: N * T", "T: type", "N: int >= 1"));
    assertEquals(
        new Op.Arg("v", DType.STRING, null, "N", null, false), arg("v: N * string", "N: int"));
    assertEquals(
        new Op.Arg("v", null, null, null, "Ts", false), arg("v: Ts", "Ts: list(type) >= 1"));
    assertEquals(
        new Op.Arg("v", null, "T", "N", null, true), arg("v: Ref(N * T)", "T: type", "N: int"));
  }

  @Test
  void anArgumentsAttributeIsDeclaredFirst() {
    String message = assertThrows(IllegalStateException.class, () -> arg("x: Later")).getMessage();
    assertTrue(message.contains("'x: Later'"), message);
  }

  @Test
  void anAttributeHasAKindAMinimumAndADefault() {
    AttrSpec n = OpNotation.attr("N: int >= 2");
    assertEquals("int", n.kind());
    assertEquals(2, n.minimum());
    assertNull(n.defaultValue());
    AttrSpec both = OpNotation.attr("N: int >= 0 = 3");
    assertEquals(0, both.minimum());
    assertEquals(new AttrValue.Int(3), both.defaultValue());
    assertEquals(AttrSpec.NO_MINIMUM, OpNotation.attr("axis: int = -1").minimum());
  }

  @Test
  void defaultsAreOfTheirKind() {
    assertEquals(new AttrValue.Int(-1), defaultOf("a: int = -1"));
    assertEquals(new AttrValue.Real(0.5f), defaultOf("a: float = 0.5"));
    assertEquals(new AttrValue.Bool(true), defaultOf("a: bool = true"));
    assertEquals(AttrValue.Str.of("a=b"), defaultOf("a: string = 'a=b'"));
    assertEquals(AttrValue.Str.of("\n"), defaultOf("a: string = '\\n'"));
    assertEquals(new AttrValue.Type(DType.FLOAT), defaultOf("a: type = float"));
    assertEquals(new AttrValue.Dims(Shape.of(2, 3)), defaultOf("a: shape = [2, 3]"));
    assertEquals(new AttrValue.Dims(Shape.scalar()), defaultOf("a: shape = []"));
    assertEquals(new AttrValue.Dims(Shape.unknown()), defaultOf("a: shape = ?"));
    assertEquals(new AttrValue.Many(List.of()), defaultOf("a: list(int) = []"));
    assertEquals(
        new AttrValue.Many(List.of(new AttrValue.Int(1), new AttrValue.Int(2))),
        defaultOf("a: list(int) = [1, 2]"));
  }

  private static AttrValue defaultOf(String text) {
    return OpNotation.attr(text).defaultValue();
  }

  @Test
  void allowedValuesAreListed() {
    AttrSpec types = OpNotation.attr("T: {float, double} = float");
    assertEquals("type", types.kind());
    assertEquals(Set.of(DType.FLOAT, DType.DOUBLE), types.allowedTypes());
    AttrSpec words = OpNotation.attr("padding: {'SAME', 'VALID'}");
    assertEquals("string", words.kind());
    assertEquals(Set.of("SAME", "VALID"), words.allowedStrings());
    AttrSpec list = OpNotation.attr("Ts: list({float, string}) >= 0");
    assertEquals("list(type)", list.kind());
    assertEquals(Set.of(DType.FLOAT, DType.STRING), list.allowedTypes());
    assertTrue(OpNotation.attr("T: numbertype").allowedTypes().contains(DType.QINT8));
    assertTrue(!OpNotation.attr("T: realnumbertype").allowedTypes().contains(DType.COMPLEX64));
  }

  @Test
  void aTypeThatDoesNotExistIsAMistake() {
    String message =
        assertThrows(IllegalStateException.class, () -> OpNotation.attr("T: {float, real}"))
            .getMessage();
    assertTrue(message.contains("real"), message);
  }
}
