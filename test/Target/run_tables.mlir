// Programs of random tables of passes, with random delays, compute the bits of micro-batch after micro-batch.
// RUN: rm -rf %t && mkdir -p %t
// RUN: %python %S/Inputs/tables.py %t %runtime | FileCheck %s
// Three positions, a schedule that splits the backward pass; a value that all positions read.

// CHECK: table 0: one after the other the same bits
// CHECK-NEXT: table 1: unnamed the same bits
// CHECK-NEXT: table 2: unnamed the same bits
