/** Images: other sizes and colours. */
package dev.millrace.ops.image;
