package dev.millrace.collective;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.millrace.base.MillraceException;
import dev.millrace.collective.member.Packet;
import dev.millrace.collective.reduce.ReduceOp;
import dev.millrace.tensor.DType;
import dev.millrace.tensor.Shape;
import java.util.List;
import org.junit.jupiter.api.Test;

class RequestTest {
  private static byte[] packed(ReduceOp op) {
    Packet p = Packet.empty();
    new Request(
            Request.Kind.ALL_REDUCE,
            "a",
            List.of(0, 2),
            op,
            1,
            DType.FLOAT,
            List.of(Shape.of(2, 3)),
            List.of(7L))
        .write(p);
    return p.toBytes();
  }

  @Test
  void whatIsWrittenIsRead() {
    for (ReduceOp op : new ReduceOp[] {null, ReduceOp.SUM, ReduceOp.values()[1]}) {
      Request r = Request.read(Packet.of(packed(op)));
      assertEquals(op, r.op());
      assertEquals(new Request.Key(List.of(0, 2), "a"), r.key());
      assertEquals(24, r.bytes());
    }
  }

  @Test
  void aKindOrOpThatThisVersionDoesNotKnowIsRefused() {
    for (int at : new int[] {0, 18}) {
      for (byte number : new byte[] {-2, 100}) {
        byte[] bytes = packed(ReduceOp.SUM);
        bytes[at] = number;
        String message =
            assertThrows(MillraceException.class, () -> Request.read(Packet.of(bytes)))
                .getMessage();
        assertEquals(
            "A control message is damaged. All ranks must run the same version of Millrace.",
            message);
      }
    }
  }
}
