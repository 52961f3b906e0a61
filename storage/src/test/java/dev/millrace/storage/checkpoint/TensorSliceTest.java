package dev.millrace.storage.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.tensor.Shape;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TensorSliceTest {
  @ParameterizedTest
  @ValueSource(strings = {"300 2 0,150:0,2", "4 6 -:2,3", "7 -", "2 0 0,1:-", "1 1 1 -:-:-"})
  void textIsReadAndWrittenBack(String text) {
    ShapeAndSlice part = ShapeAndSlice.parse(text).orElseThrow();
    assertEquals(text, part.toString());
    assertEquals(part.slice(), TensorSlice.of(part.slice().toProto()));
  }

  @Test
  void partsOfAText() {
    ShapeAndSlice part = ShapeAndSlice.parse("300 2 150,100:-").orElseThrow();
    assertEquals(Shape.of(300, 2), part.shape());
    assertEquals(Shape.of(100, 2), part.sliceShape());
    assertEquals(TensorSlice.parse("150,100:-"), part.slice());
  }

  @Test
  void nothingMeansNoSlice() {
    assertTrue(ShapeAndSlice.parse("").isEmpty());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "300",
        "x 0,1",
        "-1 0,1",
        "3 0,4",
        "3 3,1",
        "3 -1,2",
        "3 0,0",
        "3 1",
        "3 1,",
        "3 ,1",
        "3 0,1:0,1",
        "3 2 0,1",
        "3 0,9223372036854775807",
        "3 1,2,3",
        "3  0,1",
        " 0,1",
        "3 "
      })
  void nonsenseIsRefused(String text) {
    MillraceException e = assertThrows(MillraceException.class, () -> ShapeAndSlice.parse(text));
    assertEquals(Code.INVALID_ARGUMENT, e.code());
  }

  @Test
  void wholeByNameAndByNumberDiffer() {
    TensorSlice byName = TensorSlice.parse("-");
    TensorSlice byNumber = TensorSlice.of(new long[] {0}, new long[] {3});
    assertFalse(byName.equals(byNumber));
    assertEquals(byName.within(Shape.of(3)), byNumber.within(Shape.of(3)));
  }
}
