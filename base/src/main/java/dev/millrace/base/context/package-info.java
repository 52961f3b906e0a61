/**
 * What the parts of one program or one server share instead of static fields. Start with {@link
 * dev.millrace.base.context.Context}.
 */
@NullMarked
package dev.millrace.base.context;

import org.jspecify.annotations.NullMarked;
