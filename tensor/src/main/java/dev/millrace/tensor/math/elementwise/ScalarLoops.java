package dev.millrace.tensor.math.elementwise;

import static java.lang.constant.ConstantDescs.CD_boolean;
import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_long;
import static java.lang.constant.ConstantDescs.CD_void;

import dev.millrace.tensor.math.lanes.LaneType;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Loops over one element at a time, for a JVM without the Vector API. What is computed are calls of
 * {@link ScalarMath}, which the JVM's compiler inlines; simple loops it makes vectors of itself.
 */
final class ScalarLoops extends LoopCompiler {
  private static final ClassDesc MATH = desc(ScalarMath.class);

  /** Elements and what is computed with them; shorts and bytes are computed as ints. */
  private final ClassDesc element;

  private final ClassDesc layout;
  private final ClassDesc number;

  ScalarLoops(
      int operands, List<Recipe.Store> stores, LaneType type, int singles, CodeBuilder code) {
    super(operands, stores, type, singles, code);
    this.element = desc(type.element);
    this.layout = desc(type.layout);
    this.number = type.bytes() < 4 ? CD_int : element;
  }

  @Override
  TypeKind kind(Expression e) {
    return e instanceof Condition ? TypeKind.INT : TypeKind.from(number);
  }

  @Override
  void emitRow() {
    Label loop = code.newLabel();
    Label done = code.newLabel();
    code.labelBinding(loop).lload(index).lload(N).lcmp().ifge(done);
    emitBody();
    code.lload(index).lconst_1().ladd().lstore(index).goto_(loop);
    code.labelBinding(done);
  }

  @Override
  void emitFormula(Formula f) {
    switch (f) {
      case Formula.Input(int k) -> {
        emitPlace(k);
        code.invokeinterface(SEGMENT, "get", MethodTypeDesc.of(element, layout, CD_long));
      }
      case Formula.Call(Formula.Function function, var arguments) ->
          emitCall(function, number, arguments);
      case Formula.Choice(Condition condition, Formula yes, Formula no) -> {
        int test = slotOf(condition);
        int a = slotOf(yes);
        int b = slotOf(no);
        code.iload(test);
        load(a);
        load(b);
        code.invokestatic(MATH, "choose", MethodTypeDesc.of(number, CD_boolean, number, number));
      }
      case Formula.ByPrecision _, Formula.Parameter _, Formula.Constant _ ->
          throw new IllegalStateException("" + f);
    }
  }

  @Override
  void emitCondition(Condition c) {
    switch (c) {
      case Condition.Compare(Formula.Relation relation, Formula x, Formula y) ->
          emitCall(relation, CD_boolean, List.of(x, y));
      case Condition.Is(Formula.Kind kind, Formula x) -> emitCall(kind, CD_boolean, List.of(x));
      case Condition.Flag(int k) -> {
        emitAddress(k, 0);
        code.invokestatic(MATH, "flag", MethodTypeDesc.of(CD_boolean, SEGMENT, CD_long));
      }
      case Condition.Both(Condition a, Condition b) -> {
        int left = slotOf(a);
        int right = slotOf(b);
        code.iload(left).iload(right).iand();
      }
    }
  }

  private void emitCall(Enum<?> function, ClassDesc result, List<Formula> arguments) {
    int[] slots = arguments.stream().mapToInt(this::slotOf).toArray();
    for (int slot : slots) {
      load(slot);
    }
    ClassDesc[] parameters = new ClassDesc[slots.length];
    Arrays.fill(parameters, number);
    String name = function.name().toLowerCase(Locale.ROOT);
    code.invokestatic(MATH, name, MethodTypeDesc.of(result, parameters));
  }

  private void load(int slot) {
    code.loadLocal(TypeKind.from(number), slot);
  }

  /** Pushes the memory of operand k, the layout of its elements and where the one at hand is. */
  private void emitPlace(int k) {
    code.aload(memory[k])
        .getstatic(desc(ValueLayout.class), type.layoutField, layout)
        .lload(offset[k])
        .lload(index);
    if (type.shift > 0) {
      code.loadConstant(type.shift).lshl();
    }
    code.ladd();
  }

  @Override
  void emitStore(int k, int slot) {
    emitPlace(k);
    load(slot);
    code.conversion(TypeKind.from(number), TypeKind.from(element));
    code.invokeinterface(SEGMENT, "set", MethodTypeDesc.of(CD_void, layout, CD_long, element));
  }

  @Override
  void emitStoreFlags(int k, int slot) {
    emitAddress(k, 0);
    code.iload(slot)
        .invokestatic(MATH, "setFlag", MethodTypeDesc.of(CD_void, SEGMENT, CD_long, CD_boolean));
  }

  @Override
  void emitSpread() {}

  @Override
  void emitSingleFlag(int k) {
    code.aload(memory[k])
        .lload(offset[k])
        .invokestatic(MATH, "flag", MethodTypeDesc.of(CD_boolean, SEGMENT, CD_long));
  }
}
