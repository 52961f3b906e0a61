package dev.millrace.tensor.math.elementwise;

import static java.lang.constant.ConstantDescs.CD_Object;
import static java.lang.constant.ConstantDescs.CD_long;
import static java.lang.constant.ConstantDescs.CD_void;
import static java.lang.constant.ConstantDescs.INIT_NAME;
import static java.lang.constant.ConstantDescs.MTD_void;

import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Makes the loop of a {@link Recipe}: a hidden class whose one method loads a vector of each
 * operand, evaluates the formulas and stores the results, with a masked round for the elements left
 * over at the end of a row.
 *
 * <p>Why code is generated: a vector stays in a register only where the compiler sees the whole
 * computation in one method. A loop that calls its formula through an object depends on inlining,
 * which is refused once the formula has been compiled on its own to more than 2,500 bytes; vectors
 * are then boxed and the loop is ten times slower. Here nothing is left to inline but the Vector
 * API itself, which always is.
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
final class LoopCompiler {
  /** Functions that are an instruction or two. */
  static final Set<VectorOperators.Operator> CHEAP =
      Set.of(
          VectorOperators.ADD,
          VectorOperators.SUB,
          VectorOperators.MUL,
          VectorOperators.DIV,
          VectorOperators.MIN,
          VectorOperators.MAX,
          VectorOperators.NEG,
          VectorOperators.ABS,
          VectorOperators.SQRT,
          VectorOperators.AND,
          VectorOperators.OR,
          VectorOperators.XOR,
          VectorOperators.NOT);

  private static final ClassDesc LOOP = ClassDesc.of(LoopCompiler.class.getPackageName(), "Loop");
  private static final ClassDesc SEGMENT = desc(MemorySegment.class);
  private static final ClassDesc SPECIES = desc(VectorSpecies.class);
  private static final ClassDesc MASK = desc(VectorMask.class);
  private static final ClassDesc VECTOR = desc(Vector.class);
  private static final ClassDesc ORDER = desc(ByteOrder.class);
  private static final ClassDesc OPERATORS = desc(VectorOperators.class);
  private static final ClassDesc FLAGS = desc(Flags.class);

  private static final MethodTypeDesc RUN =
      MethodType.methodType(
              void.class,
              MemorySegment[].class,
              long[].class,
              long[].class,
              long.class,
              long.class,
              double[].class)
          .describeConstable()
          .orElseThrow();

  // Slots of the arguments of run.
  private static final int MEMORY = 1;
  private static final int AT = 2;
  private static final int STEP = 3;
  private static final int ROWS = 4;
  private static final int N = 6;
  private static final int PARAMETERS = 8;

  private final List<Recipe.Store> stores;
  private final LaneType type;
  private final int singles;
  private final ClassDesc vector;
  private final CodeBuilder code;

  /** Slots of the memory and the byte offset of each operand. */
  private final int[] memory;

  private final int[] offset;

  /** Slots of values that do not change from element to element. */
  private final Map<Expression, Integer> invariants = new HashMap<>();

  /** Slots of the values of the element at hand; emptied for each copy of the body. */
  private final Map<Expression, Integer> values = new HashMap<>();

  private int index;

  /** Slot of the mask of the elements left over, or -1 in the body for whole vectors. */
  private int mask = -1;

  private LoopCompiler(
      int operands, List<Recipe.Store> stores, LaneType type, int singles, CodeBuilder code) {
    this.stores = stores;
    this.type = type;
    this.singles = singles;
    this.vector = desc(type.vector);
    this.code = code;
    this.memory = new int[operands];
    this.offset = new int[operands];
  }

  static ElementLoop compile(int operands, List<Recipe.Store> stores, LaneType type, int singles) {
    byte[] bytes =
        ClassFile.of()
            .build(
                LOOP,
                c ->
                    c.withInterfaceSymbols(desc(ElementLoop.class))
                        .withMethodBody(
                            INIT_NAME,
                            MTD_void,
                            ClassFile.ACC_PUBLIC,
                            b -> b.aload(0).invokespecial(CD_Object, INIT_NAME, MTD_void).return_())
                        .withMethodBody(
                            "run",
                            RUN,
                            ClassFile.ACC_PUBLIC,
                            b -> new LoopCompiler(operands, stores, type, singles, b).emitRun()));
    try {
      MethodHandles.Lookup made = MethodHandles.lookup().defineHiddenClass(bytes, true);
      return (ElementLoop)
          made.findConstructor(made.lookupClass(), MethodType.methodType(void.class)).invoke();
    } catch (Throwable t) {
      throw new IllegalStateException("cannot make the loop of " + stores, t);
    }
  }

  private void emitRun() {
    Set<Expression> leaves = new LinkedHashSet<>();
    Set<Integer> operands = new TreeSet<>();
    for (Recipe.Store s : stores) {
      operands.add(s.operand());
      collectLeaves(s.value(), leaves);
    }
    for (Expression leaf : leaves) {
      switch (leaf) {
        case Formula.Input(int k) -> operands.add(k);
        case Condition.Flag(int k) -> operands.add(k);
        default -> emitSteady((Formula) leaf);
      }
    }
    for (int k : operands) {
      memory[k] = code.allocateLocal(TypeKind.REFERENCE);
      code.aload(MEMORY).loadConstant(k).aaload().astore(memory[k]);
      offset[k] = code.allocateLocal(TypeKind.LONG);
      code.aload(AT).loadConstant(k).laload().lstore(offset[k]);
    }
    index = code.allocateLocal(TypeKind.LONG);
    Label row = code.newLabel();
    Label end = code.newLabel();
    code.labelBinding(row).lload(ROWS).lconst_0().lcmp().ifle(end);
    for (Expression leaf : leaves) {
      emitIfSingle(leaf);
    }
    code.lconst_0().lstore(index);
    emitWholeVectors();
    emitRest();
    for (int k : operands) {
      code.lload(offset[k]).aload(STEP).loadConstant(k).laload().ladd().lstore(offset[k]);
    }
    code.lload(ROWS).lconst_1().lsub().lstore(ROWS).goto_(row);
    code.labelBinding(end).return_();
  }

  private void collectLeaves(Expression e, Set<Expression> leaves) {
    switch (e) {
      case Formula.Call c -> c.arguments().forEach(f -> collectLeaves(f, leaves));
      case Formula.Choice c -> {
        collectLeaves(c.condition(), leaves);
        collectLeaves(c.yes(), leaves);
        collectLeaves(c.no(), leaves);
      }
      case Formula.ByPrecision p -> collectLeaves(forType(p), leaves);
      case Condition.Compare c -> {
        collectLeaves(c.x(), leaves);
        collectLeaves(c.y(), leaves);
      }
      case Condition.Is c -> collectLeaves(c.x(), leaves);
      case Condition.Both c -> {
        collectLeaves(c.a(), leaves);
        collectLeaves(c.b(), leaves);
      }
      case Formula.Input _, Formula.Parameter _, Formula.Constant _, Condition.Flag _ ->
          leaves.add(e);
    }
  }

  private Formula forType(Formula.ByPrecision p) {
    return type == LaneType.FLOAT ? p.single() : p.twice();
  }

  private void emitWholeVectors() {
    long lanes = type.species.length();
    int limit = code.allocateLocal(TypeKind.LONG);
    Label loop = code.newLabel();
    Label done = code.newLabel();
    code.lload(N).loadConstant(-lanes).land().lstore(limit);
    code.labelBinding(loop).lload(index).lload(limit).lcmp().ifge(done);
    emitBody();
    code.lload(index).loadConstant(lanes).ladd().lstore(index).goto_(loop);
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

  /** Computes all values before it stores the first, as an operand may be both read and written. */
  private void emitBody() {
    values.clear();
    values.putAll(invariants);
    int[] slots = stores.stream().mapToInt(s -> slotOf(s.value())).toArray();
    for (int i = 0; i < slots.length; i++) {
      Recipe.Store s = stores.get(i);
      code.aload(slots[i]);
      if (s.value() instanceof Condition) {
        emitStoreFlags(s.operand());
      } else {
        emitStore(s.operand());
      }
    }
  }

  private int slotOf(Expression e) {
    Integer known = values.get(e);
    if (known != null) {
      return known;
    }
    switch (e) {
      case Formula f -> emitFormula(f);
      case Condition c -> emitCondition(c);
    }
    int slot = code.allocateLocal(TypeKind.REFERENCE);
    code.astore(slot);
    values.put(e, slot);
    return slot;
  }

  private void emitFormula(Formula f) {
    switch (f) {
      case Formula.Input(int k) -> emitLoad(k);
      case Formula.Call(VectorOperators.Operator function, var arguments) -> {
        int[] slots = arguments.stream().mapToInt(this::slotOf).toArray();
        code.aload(slots[0]);
        ClassDesc kind =
            desc(slots.length == 1 ? VectorOperators.Unary.class : VectorOperators.Binary.class);
        emitOperator(function);
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
      case Formula.ByPrecision p -> code.aload(slotOf(forType(p)));
      case Formula.Parameter _, Formula.Constant _ -> throw new IllegalStateException("" + f);
    }
  }

  private void emitCondition(Condition c) {
    switch (c) {
      case Condition.Compare(VectorOperators.Comparison relation, Formula x, Formula y) -> {
        int a = slotOf(x);
        int b = slotOf(y);
        code.aload(a);
        emitOperator(relation);
        code.aload(b);
        code.invokevirtual(
            vector,
            "compare",
            MethodTypeDesc.of(MASK, desc(VectorOperators.Comparison.class), VECTOR));
      }
      case Condition.Is(VectorOperators.Test kind, Formula x) -> {
        code.aload(slotOf(x));
        emitOperator(kind);
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

  private void emitStore(int k) {
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

  private void emitStoreFlags(int k) {
    emitAddress(k, 0);
    if (mask < 0) {
      code.invokestatic(FLAGS, "store", MethodTypeDesc.of(CD_void, MASK, SEGMENT, CD_long));
    } else {
      emitLeft();
      code.invokestatic(
          FLAGS, "store", MethodTypeDesc.of(CD_void, MASK, SEGMENT, CD_long, CD_long));
    }
  }

  /** Pushes the memory of operand k and the byte offset of the element at hand. */
  private void emitAddress(int k, int shift) {
    code.aload(memory[k]).lload(offset[k]).lload(index);
    if (shift > 0) {
      code.loadConstant(shift).lshl();
    }
    code.ladd();
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

  private void emitOperator(VectorOperators.Operator operator) {
    try {
      Class<?> declared = VectorOperators.class.getField(operator.name()).getType();
      code.getstatic(OPERATORS, operator.name(), desc(declared));
    } catch (NoSuchFieldException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Leaves in a slot, before the loops, a vector whose lanes are all the same number. */
  private void emitSteady(Formula f) {
    emitSpecies();
    switch (f) {
      case Formula.Constant(double value) -> {
        switch (type) {
          case FLOAT -> code.loadConstant((float) value);
          case DOUBLE -> code.loadConstant(value);
          case LONG -> code.loadConstant((long) value);
          default -> code.loadConstant((int) value);
        }
      }
      case Formula.Parameter(int i) -> {
        code.aload(PARAMETERS).loadConstant(i).daload();
        code.conversion(TypeKind.DOUBLE, TypeKind.from(desc(type.element)));
      }
      default -> throw new IllegalStateException("" + f);
    }
    emitBroadcast(f);
  }

  /**
   * Leaves in a slot, at the start of a row, what is read of an operand with one element for it.
   */
  private void emitIfSingle(Expression leaf) {
    if (leaf instanceof Formula.Input(int k) && isSingle(k)) {
      emitSpecies();
      code.aload(memory[k])
          .getstatic(desc(ValueLayout.class), type.layoutField, desc(type.layout))
          .lload(offset[k])
          .invokeinterface(
              SEGMENT, "get", MethodTypeDesc.of(desc(type.element), desc(type.layout), CD_long));
      emitBroadcast(leaf);
    } else if (leaf instanceof Condition.Flag(int k) && isSingle(k)) {
      emitSpecies();
      code.aload(memory[k])
          .lload(offset[k])
          .invokestatic(FLAGS, "single", MethodTypeDesc.of(MASK, SPECIES, SEGMENT, CD_long));
      keep(leaf);
    }
  }

  private boolean isSingle(int operand) {
    return (singles >> operand & 1) != 0;
  }

  private void emitBroadcast(Expression leaf) {
    code.invokestatic(vector, "broadcast", MethodTypeDesc.of(vector, SPECIES, desc(type.element)));
    keep(leaf);
  }

  private void keep(Expression leaf) {
    int slot = code.allocateLocal(TypeKind.REFERENCE);
    code.astore(slot);
    invariants.put(leaf, slot);
  }

  private static ClassDesc desc(Class<?> c) {
    return c.describeConstable().orElseThrow();
  }
}
