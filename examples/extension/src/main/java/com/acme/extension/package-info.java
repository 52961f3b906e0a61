/** What can be added to Millrace from outside: an op, an optimizer, a store, a device and more. */
package com.acme.extension;
