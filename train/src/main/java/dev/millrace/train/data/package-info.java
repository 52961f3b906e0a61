/**
 * Input: {@link dev.millrace.train.data.Dataset} is where elements come from and what is done to
 * them on the way, {@link dev.millrace.train.data.Elements} one passage through it, whose position
 * can be saved and gone back to.
 */
package dev.millrace.train.data;
