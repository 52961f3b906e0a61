package dev.millrace.ring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Node;
import dev.millrace.graph.Scope;
import dev.millrace.ops.array.Const;
import dev.millrace.runtime.LocalSession;
import dev.millrace.runtime.Session;
import dev.millrace.tensor.Shape;
import dev.millrace.train.variable.GraphVariable;
import dev.millrace.train.variable.Initializers;
import dev.millrace.train.variable.VariableScope;
import dev.millrace.train.variable.Variables;
import java.util.List;
import org.junit.jupiter.api.Test;

class ParameterCheckTest {
  @Test
  void aRankWithOtherBitsIsNamedOnAllRanksWithTheVariable() {
    List<MillraceException> failures =
        Ranks.run(
            3,
            ring -> {
              Scope scope = Scope.of(RingOps.newGraph(ring));
              VariableScope model = VariableScope.of(scope);
              model.variable("same", Shape.of(4), Initializers.ones());
              GraphVariable other = model.variable("other", Shape.of(5), Initializers.ones());
              Node init = Variables.initializer(scope);
              Node drift =
                  other.assignAdd(
                      scope,
                      scope
                          .node("Fill")
                          .input(Const.dims(scope, Shape.of(5)))
                          .input(Const.of(scope, 1e-6f))
                          .add()
                          .output());
              try (Session session = new LocalSession(scope.graph())) {
                session.run(init);
                ParameterCheck check =
                    new ParameterCheck(ring, Variables.global(scope.graph()), 10);
                check.afterStep(session, 10);
                if (ring.rank() == 1) {
                  session.run(drift);
                }
                check.afterStep(session, 15);
                return assertThrows(MillraceException.class, () -> check.afterStep(session, 20));
              }
            });
    for (MillraceException e : failures) {
      assertEquals(Code.DATA_LOSS, e.code());
      assertTrue(e.getMessage().contains("'other' on ranks [1] has"), e.getMessage());
    }
  }
}
