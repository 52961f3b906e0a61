/** What the fuzz tests share; each of them is in the package of the decoder it tries. */
package dev.millrace.fuzz;
