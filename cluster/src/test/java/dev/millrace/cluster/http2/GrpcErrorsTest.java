package dev.millrace.cluster.http2;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import io.grpc.Status;
import java.io.IOException;
import org.junit.jupiter.api.Test;

class GrpcErrorsTest {
  @Test
  void aDeadlineOfOursNamesThePeerAndTheTime() {
    MillraceException e =
        GrpcErrors.decode(
            Status.DEADLINE_EXCEEDED
                .withDescription(
                    "CallOptions deadline exceeded after 4.813302248s. Name resolution delay"
                        + " 0.036274693 seconds. [closed=[], open=[]]")
                .asRuntimeException(),
            "ps/0 at host:2222");
    assertEquals(Code.DEADLINE_EXCEEDED, e.code());
    assertEquals("ps/0 at host:2222 did not answer within 4.8 s", e.getMessage());
  }

  @Test
  void aPeersOwnDeadlineIsPassedOnAsItSaidIt() {
    MillraceException said = new MillraceException(Code.DEADLINE_EXCEEDED, "step 7 took too long");
    assertEquals(
        "step 7 took too long", GrpcErrors.decode(GrpcErrors.encode(said), "ps/0").getMessage());
  }

  @Test
  void theCauseStandsForAnIoException() {
    Status refused =
        Status.UNAVAILABLE
            .withDescription("io exception")
            .withCause(new IOException("Connection refused: host/10.0.0.1:2222"));
    assertEquals(
        "ps/0 cannot be reached: Connection refused: host/10.0.0.1:2222",
        GrpcErrors.decode(refused.asRuntimeException(), "ps/0").getMessage());
  }
}
