/** Variables of both kinds and the ops that read and change them. */
package dev.millrace.ops.state;
