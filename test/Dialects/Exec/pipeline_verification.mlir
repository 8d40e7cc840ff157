// RUN: parplan-opt %s -verify-diagnostics -split-input-file

exec.program @two_streams position 0 mesh <["pp0"=2 pipeline]> arena 64 events 1 {
  exec.communicator @c0 <"pp0">
  %x = exec.buffer input at 0 live -1 to 2 block <"x" dims [16 over <> stride 1]> : <16xf32>
  exec.send @c0 to 1 %x count 16 bytes 64 : <16xf32>
  // expected-error@+1 {{calls @c0 on a second stream (E17)}}
  exec.collective all_reduce @c0 kind sum %x into %x count 16 bytes 64 : <16xf32>, <16xf32>
}

// -----

exec.program @no_communicator position 0 mesh <["pp0"=2 pipeline]> arena 64 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{names no communicator: @c0 (E18)}}
  exec.send @c0 to 1 %x count 16 bytes 64 : <16xf32>
}

// -----

exec.program @no_peer position 0 mesh <["pp0"=2 pipeline]> arena 64 events 0 {
  exec.communicator @c0 <"pp0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{has the peer 2 of 2 ranks (E18)}}
  exec.send @c0 to 2 %x count 16 bytes 64 : <16xf32>
}

// -----

exec.program @own_position position 1 mesh <["pp0"=2 pipeline]> arena 64 events 0 {
  exec.communicator @c0 <"pp0">
  %y = exec.buffer output at 0 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{is to its own position (E18)}}
  exec.receive @c0 from 1 into %y count 16 bytes 64 : <16xf32>
}

// -----

exec.program @not_the_way_back position 1 mesh <["pp0"=2 pipeline]> arena 128 events 0 {
  exec.communicator @c0 <"pp0">
  %x = exec.buffer output at 0 live 0 to 2 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 1 to 2 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{stands with a statement that is not its way back (E18)}}
  exec.receive @c0 from 0 into %x count 16 bytes 64 with_next : <16xf32>
  exec.receive @c0 from 0 into %y count 16 bytes 64 : <16xf32>
}

// -----

exec.program @wrong_bytes position 1 mesh <["pp0"=2 pipeline]> arena 64 events 0 {
  exec.communicator @c0 <"pp0">
  %y = exec.buffer output at 0 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{count, bytes and buffer disagree (E18)}}
  exec.receive @c0 from 0 into %y count 16 bytes 32 : <16xf32>
}

// -----

exec.program @no_host mesh <["dp0"=2 data]> arena 128 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{copies from device to device (E19)}}
  exec.transfer %x into %y : <16xf32>, <16xf32>
}

// -----

exec.program @other_size mesh <["dp0"=2 data]> arena 64 host_arena 32 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output on host at 0 live 0 to 1 block <"y" dims [8 over <> stride 1]> : <8xf32>
  // expected-error@+1 {{copies '!exec.buffer<16xf32>' into '!exec.buffer<8xf32>' (E19)}}
  exec.transfer %x into %y : <16xf32>, <8xf32>
}

// -----

exec.program @two_tiers mesh <["dp0"=2 data]> arena 64 host_arena 64 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output on host at 0 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{takes buffers on device and host (E20)}}
  exec.copy %x at 0 [1] into %y at 0 [1] extents [16] : <16xf32>, <16xf32>
}

// -----

exec.program @computes_on_nvme mesh <["dp0"=2 data]> arena 0 nvme_arena 64 events 0 {
  %y = exec.buffer activation on nvme at 0 live 0 to 0 : <16xf32>
  // expected-error@+1 {{takes a buffer on nvme (E20)}}
  exec.zero %y : <16xf32>
}

// -----

exec.program @reduces_on_host mesh <["dp0"=2 data]> arena 0 host_arena 64 events 0 {
  exec.communicator @c0 <"dp0">
  %x = exec.buffer input on host at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{takes a buffer on host (E20)}}
  exec.collective all_reduce @c0 kind sum %x into %x count 16 bytes 64 : <16xf32>, <16xf32>
}

// -----

// expected-error@+1 {{has an arena of 0 bytes on host; the highest buffer ends at 64 (E1)}}
exec.program @no_host_arena mesh <["dp0"=2 data]> arena 0 events 0 {
  %x = exec.buffer input on host at 0 live -1 to 0 block <"x" dims [16 over <> stride 1]> : <16xf32>
}

// -----

exec.program @unaligned_on_nvme mesh <["dp0"=2 data]> arena 0 nvme_arena 128 events 0 {
  // expected-error@+1 {{has the offset 64, no multiple of 4096 (E8)}}
  %x = exec.buffer activation on nvme at 64 live 0 to 0 : <16xf32>
}

// -----

// Buffers of two tiers share offsets; those of one do not.
exec.program @overlap_on_host mesh <["dp0"=2 data]> arena 64 host_arena 64 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  // expected-note@+1 {{the other buffer}}
  %y = exec.buffer input on host at 0 live -1 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{shares bytes with a buffer that is live (E2)}}
  %z = exec.buffer output on host at 0 live 0 to 1 block <"z" dims [16 over <> stride 1]> : <16xf32>
  exec.zero %z : <16xf32>
}

// -----

exec.program @no_event_of_upload mesh <["dp0"=2 data]> arena 128 host_arena 64 events 0 {
  %x = exec.buffer input on host at 0 live -1 to 2 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %d = exec.buffer activation at 0 live 0 to 1 : <16xf32>
  %y = exec.buffer output at 64 live 1 to 2 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-note@+1 {{the other statement}}
  exec.transfer %x into %d : <16xf32>, <16xf32>
  // expected-error@+1 {{does not wait for another stream's use of its bytes (E5)}}
  exec.copy %d at 0 [1] into %y at 0 [1] extents [16] : <16xf32>, <16xf32>
}

// -----

// Workers and servers, and servers that serve whoever has pushed.
exec.program @workers position 0 mesh <["dp0"=2 data, "ps0"=1 server]> arena 64 events 0 {
  exec.communicator @all <"dp0", "ps0">
  %x = exec.buffer input at 0 live -1 to 2 block <"x" dims [16 over <> stride 1]> : <16xf32>
  exec.send @all to 2 %x count 16 bytes 64 : <16xf32>
  // expected-error@+1 {{is between two workers (E18)}}
  exec.send @all to 1 %x count 16 bytes 64 : <16xf32>
}

// -----

exec.program @servers position 1 mesh <["dp0"=2 data, "ps0"=1 server]> arena 64 events 0 staleness 1 {
  exec.communicator @all <"dp0", "ps0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  exec.send @all to -1 %x count 16 bytes 64 : <16xf32>
}
exec.program @in_step position 1 mesh <["dp0"=2 data, "ps0"=1 server]> arena 64 events 0 {
  exec.communicator @all <"dp0", "ps0">
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{has the peer -1 of 3 ranks (E18)}}
  exec.send @all to -1 %x count 16 bytes 64 : <16xf32>
}
