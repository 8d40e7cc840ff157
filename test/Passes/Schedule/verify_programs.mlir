// RUN: parplan-opt %s -parplan-verify-programs -verify-diagnostics -split-input-file

// expected-error@+1 {{has no exec.program (E21)}}
module {
}

// -----

// expected-error@+1 {{has a position or a neighbour, but neither a pipeline axis nor servers (E21)}}
exec.program @stage0 position 0 mesh <["tp0"=2 tensor]> arena 0 events 0 {
}

// -----

// expected-note@+1 {{the first program}}
exec.program @stage0 position 0 mesh <["pp0"=2 pipeline]> arena 0 events 0 {
}
// expected-error@+1 {{has another mesh (E21)}}
exec.program @stage1 position 1 mesh <["pp0"=3 pipeline]> arena 0 events 0 {
}

// -----

exec.program @stage0 position 0 mesh <["pp0"=2 pipeline]> arena 0 events 0 {
}
// expected-error@+1 {{is not at position 1, or there are two (E21)}}
exec.program @stage1 position 0 mesh <["pp0"=2 pipeline]> arena 0 events 0 {
}

// -----

// expected-error@+1 {{has 2 programs for 3 positions (E21)}}
module {
  exec.program @stage0 position 0 mesh <["pp0"=3 pipeline]> arena 0 events 0 {
  }
  exec.program @stage1 position 1 mesh <["pp0"=3 pipeline]> arena 0 events 0 {
  }
}

// -----

exec.program @stage0 position 0 mesh <["pp0"=2 pipeline]> arena 64 events 0 {
  exec.communicator @c0 <"pp0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  // expected-note@+1 {{sent here}}
  exec.send @c0 to 1 %x count 16 bytes 64 : <16xf32>
}
exec.program @stage1 position 1 mesh <["pp0"=2 pipeline]> arena 32 events 0 {
  exec.communicator @c0 <"pp0">
  %y = exec.buffer output at 0 live 0 to 1 block <"y" dims [8 over <> stride 1]> : <8xf32>
  // expected-error@+1 {{expects '!exec.buffer<8xf32>', and gets '!exec.buffer<16xf32>' (E22)}}
  exec.receive @c0 from 0 into %y count 8 bytes 32 : <8xf32>
}

// -----

exec.program @stage0 position 0 mesh <["pp0"=2 pipeline]> arena 64 events 0 {
  exec.communicator @c0 <"pp0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{is never received (E22)}}
  exec.send @c0 to 1 %x count 16 bytes 64 : <16xf32>
}
exec.program @stage1 position 1 mesh <["pp0"=2 pipeline]> arena 0 events 0 {
}

// -----

exec.program @stage0 position 0 mesh <["pp0"=2 pipeline]> arena 0 events 0 {
}
exec.program @stage1 position 1 mesh <["pp0"=2 pipeline]> arena 64 events 0 {
  exec.communicator @c0 <"pp0">
  %y = exec.buffer output at 0 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{waits for what is never sent (E22)}}
  exec.receive @c0 from 0 into %y count 16 bytes 64 : <16xf32>
}

// -----

exec.program @stage0 position 0 mesh <["pp0"=2 pipeline]> arena 128 events 0 {
  exec.communicator @c0 <"pp0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  exec.collective all_reduce @c0 kind sum %x into %y count 16 bytes 64 : <16xf32>, <16xf32>
}
// expected-error@+1 {{joins the positions over #parplan.axes<"pp0"> 0 times, the first 1 times (E22)}}
exec.program @stage1 position 1 mesh <["pp0"=2 pipeline]> arena 0 events 0 {
}

// -----

exec.program @stage0 position 0 mesh <["pp0"=2 pipeline]> arena 0 events 0 {
}
// expected-error@+1 {{joins the positions over #parplan.axes<"pp0"> 1 times, the first 0 times (E22)}}
exec.program @stage1 position 1 mesh <["pp0"=2 pipeline]> arena 128 events 0 {
  exec.communicator @c0 <"pp0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  exec.collective all_reduce @c0 kind sum %x into %y count 16 bytes 64 : <16xf32>, <16xf32>
}

// -----

exec.program @stage0 position 0 mesh <["pp0"=2 pipeline]> arena 128 events 0 {
  exec.communicator @c0 <"pp0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-note@+1 {{the other call}}
  exec.collective all_reduce @c0 kind sum %x into %y count 16 bytes 64 : <16xf32>, <16xf32>
}
exec.program @stage1 position 1 mesh <["pp0"=2 pipeline]> arena 128 events 0 {
  exec.communicator @c0 <"pp0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{differs from that of the first position (E22)}}
  exec.collective all_reduce @c0 kind max %x into %y count 16 bytes 64 : <16xf32>, <16xf32>
}

// -----

// Both receive before they send.
// expected-error@+1 {{has statements that wait in a circle: rank 0 in recv over pp0 (statement 0), rank 1 in recv over pp0 (statement 0) (E23)}}
module {
  exec.program @stage0 position 0 mesh <["pp0"=2 pipeline]> arena 128 events 0 {
    exec.communicator @c0 <"pp0">
    %x = exec.buffer input at 0 live -1 to 2 block <"x" dims [16 over <> stride 1]> : <16xf32>
    %y = exec.buffer output at 64 live 0 to 2 block <"y" dims [16 over <> stride 1]> : <16xf32>
    exec.receive @c0 from 1 into %y count 16 bytes 64 : <16xf32>
    exec.send @c0 to 1 %x count 16 bytes 64 : <16xf32>
  }
  exec.program @stage1 position 1 mesh <["pp0"=2 pipeline]> arena 128 events 0 {
    exec.communicator @c0 <"pp0">
    %x = exec.buffer input at 0 live -1 to 2 block <"x" dims [16 over <> stride 1]> : <16xf32>
    %y = exec.buffer output at 64 live 0 to 2 block <"y" dims [16 over <> stride 1]> : <16xf32>
    exec.receive @c0 from 0 into %y count 16 bytes 64 : <16xf32>
    exec.send @c0 to 0 %x count 16 bytes 64 : <16xf32>
  }
}

// -----

// One order of both: no circle.
exec.program @stage0 position 0 mesh <["pp0"=2 pipeline]> arena 128 events 0 {
  exec.communicator @c0 <"pp0">
  %x = exec.buffer input at 0 live -1 to 2 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 1 to 2 block <"y" dims [16 over <> stride 1]> : <16xf32>
  exec.send @c0 to 1 %x count 16 bytes 64 : <16xf32>
  exec.receive @c0 from 1 into %y count 16 bytes 64 : <16xf32>
}
exec.program @stage1 position 1 mesh <["pp0"=2 pipeline]> arena 128 events 0 {
  exec.communicator @c0 <"pp0">
  %x = exec.buffer input at 0 live -1 to 2 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 2 block <"y" dims [16 over <> stride 1]> : <16xf32>
  exec.receive @c0 from 0 into %y count 16 bytes 64 : <16xf32>
  exec.send @c0 to 0 %x count 16 bytes 64 : <16xf32>
}
