package dev.millrace.tensor.math.elementwise;

import static java.lang.constant.ConstantDescs.CD_long;
import static java.lang.constant.ConstantDescs.CD_void;

import dev.millrace.tensor.math.lanes.LaneType;
import dev.millrace.tensor.math.lanes.LaneVectors;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Loops that load a vector of each operand, evaluate the formulas and store the results, with a
 * masked round for the elements left over at the end of a row.
 *
 * <p>The method made is, for {@code y = x * p} over floats:
 *
 * <pre>{@code
 * FloatVector p0 = FloatVector.broadcast(SPECIES, (float) parameters[0]);
 * for (; rows > 0; rows--) {
 *   long i = 0;
 *   for (; i < n - n % LANES; i += LANES) {
 *     FloatVector.fromMemorySegment(SPECIES, x, atX + 4 * i, LITTLE_ENDIAN)
 *         .lanewise(MUL, p0)
 *         .intoMemorySegment(y, atY + 4 * i, LITTLE_ENDIAN);
 *   }
 *   if (i < n) { the same with the mask SPECIES.indexInRange(i, n) }
 *   atX += stepX; atY += stepY;
 * }
 * }</pre>
 */
final class VectorLoops extends LoopCompiler {
  private static final ClassDesc SPECIES = desc(VectorSpecies.class);
  private static final ClassDesc MASK = desc(VectorMask.class);
  private static final ClassDesc VECTOR = desc(Vector.class);
  private static final ClassDesc ORDER = desc(ByteOrder.class);
  private static final ClassDesc OPERATORS = desc(VectorOperators.class);
  private static final ClassDesc FLAGS = desc(Flags.class);

  private final ClassDesc vector;
  private final int lanes;

  /** Slot of the mask of the elements left over, or -1 in the body for whole vectors. */
  private int mask = -1;

  VectorLoops(
      int operands, List<Recipe.Store> stores, LaneType type, int singles, CodeBuilder code) {
    super(operands, stores, type, singles, code);
    LaneVectors vectors = LaneVectors.of(type);
    this.vector = desc(vectors.vector());
    this.lanes = vectors.anySpecies().length();
  }

  @Override
  TypeKind kind(Expression e) {
    return TypeKind.REFERENCE;
  }

  @Override
  void emitRow() {
    emitWholeVectors();
    emitRest();
  }

  private void emitWholeVectors() {
    int limit = code.allocateLocal(TypeKind.LONG);
    Label loop = code.newLabel();
    Label done = code.newLabel();
    code.lload(N).loadConstant(-(long) lanes).land().lstore(limit);
    code.labelBinding(loop).lload(index).lload(limit).lcmp().ifge(done);
    emitBody();
    code.lload(index).loadConstant((long) lanes).ladd().lstore(index).goto_(loop);
    code.labelBinding(done);
  }

  private void emitRest() {
    Label done = code.newLabel();
    code.lload(index).lload(N).lcmp().ifge(done);
    mask = code.allocateLocal(TypeKind.REFERENCE);
    emitSpecies();
    code.lload(index)
        .lload(N)
        .invokeinterface(SPECIES, "indexInRange", MethodTypeDesc.of(MASK, CD_long, CD_long))
        .astore(mask);
    emitBody();
    mask = -1;
    code.labelBinding(done);
  }

  @Override
  void emitFormula(Formula f) {
    switch (f) {
      case Formula.Input(int k) -> emitLoad(k);
      case Formula.Call(Formula.Function function, var arguments) -> {
        int[] slots = arguments.stream().mapToInt(this::slotOf).toArray();
        code.aload(slots[0]);
        ClassDesc kind =
            desc(slots.length == 1 ? VectorOperators.Unary.class : VectorOperators.Binary.class);
        emitOperator(function.name());
        ClassDesc[] parameters = new ClassDesc[slots.length];
        Arrays.fill(parameters, VECTOR);
        parameters[0] = kind;
        for (int i = 1; i < slots.length; i++) {
          code.aload(slots[i]);
        }
        code.invokevirtual(vector, "lanewise", MethodTypeDesc.of(vector, parameters));
      }
      case Formula.Choice(Condition condition, Formula yes, Formula no) -> {
        int test = slotOf(condition);
        int a = slotOf(yes);
        code.aload(slotOf(no)).aload(a).aload(test);
        code.invokevirtual(vector, "blend", MethodTypeDesc.of(vector, VECTOR, MASK));
      }
      case Formula.ByPrecision _, Formula.Parameter _, Formula.Constant _ ->
          throw new IllegalStateException("" + f);
    }
  }

  @Override
  void emitCondition(Condition c) {
    switch (c) {
      case Condition.Compare(Formula.Relation relation, Formula x, Formula y) -> {
        int a = slotOf(x);
        int b = slotOf(y);
        code.aload(a);
        emitOperator(relation.name());
        code.aload(b);
        code.invokevirtual(
            vector,
            "compare",
            MethodTypeDesc.of(MASK, desc(VectorOperators.Comparison.class), VECTOR));
      }
      case Condition.Is(Formula.Kind kind, Formula x) -> {
        code.aload(slotOf(x));
        emitOperator(kind.name());
        code.invokevirtual(
            vector, "test", MethodTypeDesc.of(MASK, desc(VectorOperators.Test.class)));
      }
      case Condition.Flag(int k) -> {
        emitSpecies();
        code.aload(memory[k]).lload(offset[k]).lload(index).ladd();
        if (mask < 0) {
          code.invokestatic(FLAGS, "load", MethodTypeDesc.of(MASK, SPECIES, SEGMENT, CD_long));
        } else {
          emitLeft();
          code.invokestatic(
              FLAGS, "load", MethodTypeDesc.of(MASK, SPECIES, SEGMENT, CD_long, CD_long));
        }
      }
      case Condition.Both(Condition a, Condition b) -> {
        int left = slotOf(a);
        code.aload(slotOf(b)).aload(left);
        code.invokevirtual(MASK, "and", MethodTypeDesc.of(MASK, MASK));
      }
    }
  }

  private void emitLoad(int k) {
    emitSpecies();
    emitAddress(k, type.shift);
    emitOrder();
    if (mask < 0) {
      code.invokestatic(
          vector, "fromMemorySegment", MethodTypeDesc.of(vector, SPECIES, SEGMENT, CD_long, ORDER));
    } else {
      code.aload(mask)
          .invokestatic(
              vector,
              "fromMemorySegment",
              MethodTypeDesc.of(vector, SPECIES, SEGMENT, CD_long, ORDER, MASK));
    }
  }

  @Override
  void emitStore(int k, int slot) {
    code.aload(slot);
    emitAddress(k, type.shift);
    emitOrder();
    if (mask < 0) {
      code.invokevirtual(
          vector, "intoMemorySegment", MethodTypeDesc.of(CD_void, SEGMENT, CD_long, ORDER));
    } else {
      code.aload(mask)
          .invokevirtual(
              vector,
              "intoMemorySegment",
              MethodTypeDesc.of(CD_void, SEGMENT, CD_long, ORDER, MASK));
    }
  }

  @Override
  void emitStoreFlags(int k, int slot) {
    code.aload(slot);
    emitAddress(k, 0);
    if (mask < 0) {
      code.invokestatic(FLAGS, "store", MethodTypeDesc.of(CD_void, MASK, SEGMENT, CD_long));
    } else {
      emitLeft();
      code.invokestatic(
          FLAGS, "store", MethodTypeDesc.of(CD_void, MASK, SEGMENT, CD_long, CD_long));
    }
  }

  /** Pushes how many elements are left. */
  private void emitLeft() {
    code.lload(N).lload(index).lsub();
  }

  private void emitSpecies() {
    code.getstatic(vector, "SPECIES_PREFERRED", SPECIES);
  }

  private void emitOrder() {
    code.getstatic(ORDER, "LITTLE_ENDIAN", ORDER);
  }

  private void emitOperator(String operator) {
    try {
      Class<?> declared = VectorOperators.class.getField(operator).getType();
      code.getstatic(OPERATORS, operator, desc(declared));
    } catch (NoSuchFieldException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  void emitSpread() {
    TypeKind element = TypeKind.from(desc(type.element)).asLoadable();
    int slot = code.allocateLocal(element);
    code.storeLocal(element, slot);
    emitSpecies();
    code.loadLocal(element, slot)
        .invokestatic(vector, "broadcast", MethodTypeDesc.of(vector, SPECIES, desc(type.element)));
  }

  @Override
  void emitSingleFlag(int k) {
    emitSpecies();
    code.aload(memory[k])
        .lload(offset[k])
        .invokestatic(FLAGS, "single", MethodTypeDesc.of(MASK, SPECIES, SEGMENT, CD_long));
  }
}
