// RUN: parplan-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// Two ranks have a panel each: what one has in its block, the other one receives. They never have both in the slot, so
// the second panel may travel while the first one is read.
// CHECK-LABEL: exec.program @one_slot
exec.program @one_slot mesh <["tp0"=2 tensor]> arena 256 events 2 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 4 block <"x" dims [32 over <"tp0"> stride 1]> : <16xf32>
  %slot = exec.buffer activation at 64 live 0 to 3 : <16xf32>
  %y = exec.buffer output at 128 live 2 to 4 block <"y" dims [16 over <> stride 1]> : <16xf32>
  %z = exec.buffer output at 192 live 3 to 4 block <"z" dims [16 over <> stride 1]> : <16xf32>
  // CHECK: %[[FIRST:.*]] = exec.choice <0 of @c0> %[[X:.*]] else %[[SLOT:.*]] : <16xf32>
  %first = exec.choice <0 of @c0> %x else %slot : <16xf32>
  // CHECK-NEXT: exec.choice <1 of @c0> %[[X]] else %[[SLOT]] : <16xf32>
  %second = exec.choice <1 of @c0> %x else %slot : <16xf32>
  // CHECK-NEXT: exec.collective broadcast @c0 root 0 %[[X]] into %[[FIRST]]
  exec.collective broadcast @c0 root 0 %x into %first count 16 bytes 64 : <16xf32>, <16xf32>
  exec.record 0 on communication
  exec.collective broadcast @c0 root 1 %x into %second count 16 bytes 64 : <16xf32>, <16xf32>
  exec.record 1 on communication
  exec.wait 0 on compute
  exec.copy %first at 0 [1] into %y at 0 [1] extents [16] : <16xf32>, <16xf32>
  exec.wait 1 on compute
  exec.copy %second at 0 [1] into %z at 0 [1] extents [16] : <16xf32>, <16xf32>
}

// -----

// A third rank has both in the slot.
exec.program @one_slot_of_three mesh <["tp0"=3 tensor]> arena 192 events 1 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 3 block <"x" dims [48 over <"tp0"> stride 1]> : <16xf32>
  %slot = exec.buffer activation at 64 live 0 to 2 : <16xf32>
  %y = exec.buffer output at 128 live 2 to 3 block <"y" dims [16 over <> stride 1]> : <16xf32>
  %first = exec.choice <0 of @c0> %x else %slot : <16xf32>
  %second = exec.choice <1 of @c0> %x else %slot : <16xf32>
  exec.collective broadcast @c0 root 0 %x into %first count 16 bytes 64 : <16xf32>, <16xf32>
  exec.record 0 on communication
  // expected-note@+1 {{the other statement}}
  exec.collective broadcast @c0 root 1 %x into %second count 16 bytes 64 : <16xf32>, <16xf32>
  exec.wait 0 on compute
  // expected-error@+1 {{does not wait for another stream's use of its bytes (E5)}}
  exec.copy %first at 0 [1] into %y at 0 [1] extents [16] : <16xf32>, <16xf32>
}

// -----

// Sums are made where they are kept, and reduced there.
exec.program @sum_in_place mesh <["tp0"=2 tensor]> arena 192 events 1 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 2 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %slot = exec.buffer activation at 64 live 0 to 1 : <16xf32>
  %y = exec.buffer output at 128 live 0 to 2 block <"y" dims [16 over <> stride 1]> : <16xf32>
  %sum = exec.choice <1 of @c0> %y else %slot : <16xf32>
  exec.copy %x at 0 [1] into %sum at 0 [1] extents [16] : <16xf32>, <16xf32>
  exec.record 0 on compute
  exec.wait 0 on communication
  exec.collective reduce @c0 kind sum root 1 %sum into %y count 16 bytes 64 : <16xf32>, <16xf32>
}

// -----

// The root has nothing in the slot.
exec.program @slot_of_the_root mesh <["tp0"=2 tensor]> arena 192 events 1 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 2 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %slot = exec.buffer activation at 64 live 0 to 1 : <16xf32>
  %y = exec.buffer output at 128 live 1 to 2 block <"y" dims [16 over <> stride 1]> : <16xf32>
  %panel = exec.choice <0 of @c0> %x else %slot : <16xf32>
  exec.collective broadcast @c0 root 0 %x into %panel count 16 bytes 64 : <16xf32>, <16xf32>
  exec.record 0 on communication
  exec.wait 0 on compute
  // expected-error@+1 {{reads a buffer before it is written (E4)}}
  exec.copy %slot at 0 [1] into %y at 0 [1] extents [16] : <16xf32>, <16xf32>
}

// -----

// What is in place on one rank is overwritten by another one's.
exec.program @in_place_of_another mesh <["tp0"=2 tensor]> arena 128 events 0 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %slot = exec.buffer activation at 64 live 0 to 0 : <16xf32>
  %panel = exec.choice <0 of @c0> %x else %slot : <16xf32>
  // expected-error@+1 {{writes to an input (E4)}}
  exec.collective broadcast @c0 root 1 %x into %panel count 16 bytes 64 : <16xf32>, <16xf32>
}

// -----

exec.program @choice_of_choices mesh <["tp0"=2 tensor]> arena 128 events 0 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer activation at 0 live 0 to 0 : <16xf32>
  %y = exec.buffer activation at 64 live 0 to 0 : <16xf32>
  %one = exec.choice <0 of @c0> %x else %y : <16xf32>
  // expected-error@+1 {{is of no exec.buffer (E24)}}
  %two = exec.choice <1 of @c0> %one else %y : <16xf32>
}

// -----

exec.program @two_tiers mesh <["tp0"=2 tensor]> arena 64 host_arena 64 events 0 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer activation at 0 live 0 to 0 : <16xf32>
  %y = exec.buffer activation on host at 0 live 0 to 0 : <16xf32>
  // expected-error@+1 {{is between device and host (E24)}}
  %one = exec.choice <0 of @c0> %x else %y : <16xf32>
}

// -----

exec.program @no_communicator mesh <["tp0"=2 tensor]> arena 128 events 0 {
  %x = exec.buffer activation at 0 live 0 to 0 : <16xf32>
  %y = exec.buffer activation at 64 live 0 to 0 : <16xf32>
  // expected-error@+1 {{names no communicator: @c0 (E24)}}
  %one = exec.choice <0 of @c0> %x else %y : <16xf32>
}

// -----

exec.program @no_member mesh <["tp0"=2 tensor]> arena 128 events 0 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer activation at 0 live 0 to 0 : <16xf32>
  %y = exec.buffer activation at 64 live 0 to 0 : <16xf32>
  // expected-error@+1 {{is for member 2 of 2 (E24)}}
  %one = exec.choice <2 of @c0> %x else %y : <16xf32>
}

// -----

exec.program @transferred mesh <["tp0"=2 tensor]> arena 128 host_arena 64 events 0 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer input at 64 live -1 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  %h = exec.buffer activation on host at 0 live 0 to 0 : <16xf32>
  %one = exec.choice <0 of @c0> %x else %y : <16xf32>
  // expected-error@+1 {{takes a choice (E24)}}
  exec.transfer %one into %h : <16xf32>, <16xf32>
}

// -----

exec.program @members_of_two mesh <["tp0"=2 tensor, "tp1"=2 tensor]> arena 192 events 0 {
  exec.communicator @c0 <"tp0">
  exec.communicator @c1 <"tp1">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer input at 64 live -1 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  %z = exec.buffer activation at 128 live 0 to 0 : <16xf32>
  %one = exec.choice <0 of @c0> %x else %y : <16xf32>
  // expected-error@+1 {{is of one member of @c1 and takes a choice for one of @c0 (E24)}}
  exec.copy %one at 0 [1] into %z at 0 [1] extents [16] only <0 of @c1> : <16xf32>, <16xf32>
}
