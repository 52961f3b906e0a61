/** Elements in another order, mirrored, searched, and formats of images. */
package dev.millrace.ops.rearrange;
