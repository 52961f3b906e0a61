package dev.millrace.ops.io;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.millrace.base.Code;
import dev.millrace.base.MillraceException;
import dev.millrace.graph.Output;
import dev.millrace.graph.Scope;
import dev.millrace.ops.TinySession;
import dev.millrace.tensor.Shape;
import dev.millrace.tensor.Tensor;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileOpsTest {
  @TempDir Path dir;
  @AutoClose private final TinySession session = new TinySession();
  private final Scope scope = session.scope();

  private Output string(String s) {
    return session.constant(Tensor.scalar(s));
  }

  @Test
  void aFileIsWrittenAndReadWhole() {
    Output name = string(dir.resolve("new/dir/file").toString());
    session.run(scope.add(WholeFiles.WRITE, name, string("hello")));
    Output contents = scope.add(WholeFiles.READ, name).output();
    assertEquals("hello", session.fetch(contents).stringValue());
    Output missing = scope.add(WholeFiles.READ, string(dir + "/none")).output();
    MillraceException e = assertThrows(MillraceException.class, () -> session.fetch(missing));
    assertEquals(Code.NOT_FOUND, e.code());
  }

  @Test
  void shardsAreNamedAsTensorFlowNamesThem() {
    Output three = session.constant(Tensor.scalar(3));
    Output ten = session.constant(Tensor.scalar(10));
    Output name = ShardedNames.of(scope, string("model"), three, ten);
    assertEquals("model-00003-of-00010", session.fetch(name).stringValue());
    Output spec = scope.add(ShardedNames.FILESPEC, string("model"), ten).output();
    assertEquals("model-?????-of-00010", session.fetch(spec).stringValue());
  }

  @Test
  void stringsAreJoinedElementByElement() {
    Output v = session.constant(Tensor.vector("a", "b"));
    Output joined =
        scope
            .node(StringJoin.OP)
            .inputs(List.of(string("<"), v, v, string(">")))
            .attr("separator", "-")
            .add()
            .output();
    assertEquals(Shape.of(2), joined.shape());
    assertArrayEquals(new String[] {"<-a-a->", "<-b-b->"}, session.fetch(joined).toStrings());
    assertEquals(
        "xy", session.fetch(StringJoin.of(scope, List.of(string("x"), string("y")))).stringValue());
    Output three = session.constant(Tensor.vector("a", "b", "c"));
    assertThrows(MillraceException.class, () -> StringJoin.of(scope, List.of(v, three)));
  }

  @Test
  void aPatternMustMatchAllOfAString() {
    Output in = session.constant(Tensor.vector("s3://a/b", "/tmp/s3://", "s3://\n", "s3://\r"));
    Output match =
        scope.node(RegexFullMatch.STATIC).input(in).attr("pattern", "^s3://.*").add().output();
    assertArrayEquals(new long[] {1, 0, 0, 1}, session.fetch(match).toLongs());
    Output dynamic = scope.add(RegexFullMatch.OP, in, string("s3")).output();
    assertArrayEquals(new long[] {0, 0, 0, 0}, session.fetch(dynamic).toLongs());
    Output bad = scope.add(RegexFullMatch.OP, in, string("(")).output();
    assertThrows(MillraceException.class, () -> session.fetch(bad));
  }
}
