package dev.millrace.cluster.session;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A case of the session contract: runs for every {@link SessionKind} and must pass for all. */
@Retention(RetentionPolicy.RUNTIME)
@ParameterizedTest
@EnumSource(SessionKind.class)
@interface EveryKind {}
