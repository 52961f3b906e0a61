/** Strings: cut, joined, compared, hashed, and made of numbers and code points. */
package dev.millrace.ops.text;
