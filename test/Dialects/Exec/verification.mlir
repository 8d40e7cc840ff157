// RUN: parplan-opt %s -verify-diagnostics -split-input-file

// expected-error@+1 {{has an arena of 64 bytes on device; the highest buffer ends at 192 (E1)}}
exec.program @wrong_arena mesh <["tp0"=2 tensor]> arena 64 events 0 {
  %x = exec.buffer input at 0 live -1 to 0 block <"x" dims [48 over <> stride 1]> : <48xf32>
}

// -----

exec.program @overlap mesh <["tp0"=2 tensor]> arena 256 events 0 {
  // expected-note@+1 {{the other buffer}}
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [48 over <> stride 1]> : <48xf32>
  // expected-error@+1 {{shares bytes with a buffer that is live (E2)}}
  %y = exec.buffer output at 64 live 0 to 1 block <"y" dims [48 over <> stride 1]> : <48xf32>
  exec.copy %x at 0 [1] into %y at 0 [1] extents [48] : <48xf32>, <48xf32>
}

// -----

exec.program @too_short mesh <["tp0"=2 tensor]> arena 448 events 0 {
  %x = exec.buffer input at 0 live -1 to 2 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %t = exec.buffer activation at 64 live 0 to 0 : <16xf32>
  %y = exec.buffer output at 384 live 1 to 2 block <"y" dims [16 over <> stride 1]> : <16xf32>
  exec.copy %x at 0 [1] into %t at 0 [1] extents [16] : <16xf32>, <16xf32>
  // expected-error@+1 {{is statement 1, its buffer lives from 0 to 0 (E3)}}
  exec.copy %t at 0 [1] into %y at 0 [1] extents [16] : <16xf32>, <16xf32>
}

// -----

exec.program @too_long mesh <["tp0"=2 tensor]> arena 448 events 0 {
  %x = exec.buffer input at 0 live -1 to 2 block <"x" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{lives from 0 to 1 (E3)}}
  %t = exec.buffer activation at 64 live 0 to 2 : <16xf32>
  %y = exec.buffer output at 384 live 1 to 2 block <"y" dims [16 over <> stride 1]> : <16xf32>
  exec.copy %x at 0 [1] into %t at 0 [1] extents [16] : <16xf32>, <16xf32>
  exec.copy %t at 0 [1] into %y at 0 [1] extents [16] : <16xf32>, <16xf32>
}

// -----

exec.program @unused mesh <["tp0"=2 tensor]> arena 64 events 0 {
  // expected-error@+1 {{is never used (E3)}}
  %t = exec.buffer activation at 0 live 0 to 0 : <16xf32>
}

// -----

exec.program @read_before_write mesh <["tp0"=2 tensor]> arena 448 events 0 {
  %t = exec.buffer activation at 64 live 0 to 0 : <16xf32>
  %y = exec.buffer output at 384 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{reads a buffer before it is written (E4)}}
  exec.copy %t at 0 [1] into %y at 0 [1] extents [16] : <16xf32>, <16xf32>
}

// -----

exec.program @writes_input mesh <["tp0"=2 tensor]> arena 64 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{writes to an input (E4)}}
  exec.zero %x : <16xf32>
}

// -----

exec.program @unordered mesh <["tp0"=2 tensor]> arena 128 events 0 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 2 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 0 to 2 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-note@+1 {{the other statement}}
  exec.copy %x at 0 [1] into %y at 0 [1] extents [16] : <16xf32>, <16xf32>
  // expected-error@+1 {{does not wait for another stream's use of its bytes (E5)}}
  exec.collective all_reduce @c0 kind sum %y into %y count 16 bytes 64 : <16xf32>, <16xf32>
}

// -----

// Bytes of a dead buffer: the collective may still read them.
exec.program @unordered_reuse mesh <["tp0"=2 tensor]> arena 192 events 1 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 4 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %t = exec.buffer activation at 64 live 0 to 1 : <16xf32>
  %y = exec.buffer output at 128 live 1 to 4 block <"y" dims [16 over <> stride 1]> : <16xf32>
  %u = exec.buffer activation at 64 live 2 to 3 : <16xf32>
  exec.copy %x at 0 [1] into %t at 0 [1] extents [16] : <16xf32>, <16xf32>
  exec.record 0 on compute
  exec.wait 0 on communication
  // expected-note@+1 {{the other statement}}
  exec.collective all_reduce @c0 kind sum %t into %y count 16 bytes 64 : <16xf32>, <16xf32>
  // expected-error@+1 {{does not wait for another stream's use of its bytes (E5)}}
  exec.zero %u : <16xf32>
  exec.copy %u at 0 [1] into %u at 0 [1] extents [16] : <16xf32>, <16xf32>
}

// -----

exec.program @wait_without_record mesh <["tp0"=2 tensor]> arena 0 events 1 {
  // expected-error@+1 {{event 0 has no earlier record on another stream (E6)}}
  exec.wait 0 on compute
}

// -----

exec.program @event_out_of_range mesh <["tp0"=2 tensor]> arena 0 events 1 {
  // expected-error@+1 {{event 1 of 1 (E6)}}
  exec.record 1 on compute
}

// -----

exec.program @unknown_axis mesh <["tp0"=2 tensor]> arena 0 events 0 {
  // expected-error@+1 {{names "dp0", no axis of the mesh (E7)}}
  exec.communicator @c0 <"dp0">
}

// -----

exec.program @repeated_axis mesh <["tp0"=2 tensor]> arena 0 events 0 {
  // expected-error@+1 {{names "tp0" twice (E7)}}
  exec.communicator @c0 <"tp0", "tp0">
}

// -----

exec.program @group_of_one mesh <["tp0"=1 tensor]> arena 0 events 0 {
  // expected-error@+1 {{is a group of one rank (E7)}}
  exec.communicator @c0 <"tp0">
}

// -----

exec.program @unaligned mesh <["tp0"=2 tensor]> arena 96 events 0 {
  // expected-error@+1 {{has the offset 32, no multiple of 64 (E8)}}
  %x = exec.buffer input at 32 live -1 to 0 block <"x" dims [16 over <> stride 1]> : <16xf32>
}

// -----

exec.program @wrong_block mesh <["tp0"=2 tensor]> arena 64 events 0 {
  // expected-error@+1 {{holds 16 elements, its block 8 (E8)}}
  %x = exec.buffer input at 0 live -1 to 0 block <"x" dims [15 over <"tp0"> stride 1]> : <16xf32>
}

// -----

exec.program @block_over_unknown_axis mesh <["tp0"=2 tensor]> arena 64 events 0 {
  // expected-error@+1 {{has a block over an unknown axis (E8)}}
  %x = exec.buffer input at 0 live -1 to 0 block <"x" dims [15 over <"dp0"> stride 1]> : <16xf32>
}

// -----

exec.program @input_without_block mesh <["tp0"=2 tensor]> arena 64 events 0 {
  // expected-error@+1 {{needs a block (E8)}}
  %x = exec.buffer input at 0 live -1 to 0 : <16xf32>
}

// -----

exec.program @activation_with_block mesh <["tp0"=2 tensor]> arena 64 events 0 {
  // expected-error@+1 {{has a block (E8)}}
  %x = exec.buffer activation at 0 live -1 to 0 block <"x" dims [16 over <> stride 1]> : <16xf32>
}

// -----

exec.program @parameter_without_source mesh <["tp0"=2 tensor]> arena 64 events 0 {
  // expected-error@+1 {{a parameter or state, and nothing else, has a source (E8)}}
  %x = exec.buffer parameter at 0 live -1 to 0 block <"x" dims [16 over <> stride 1]> : <16xf32>
}

// -----

parplan.initializer @w0 "w" : tensor<16xf32> in "" at 0 length 64
exec.program @frozen mesh <["tp0"=2 tensor]> arena 64 events 0 {
  %w = exec.buffer parameter at 0 live -1 to 1 block <"w" from @w0 at 0 dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{writes to a parameter or state that is not trained (E4)}}
  exec.zero %w : <16xf32>
}

// -----

parplan.initializer @w0 "w" : tensor<16xf32> in "" at 0 length 64
exec.program @new_value mesh <["tp0"=2 tensor]> arena 128 events 0 {
  %w = exec.buffer parameter at 0 live -1 to 2 trained block <"w" from @w0 at 0 dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 1 to 2 block <"y" dims [16 over <> stride 1]> : <16xf32>
  // expected-note@+1 {{written here}}
  exec.zero %w : <16xf32>
  // expected-error@+1 {{reads a value of the next step (E4)}}
  exec.copy %w at 0 [1] into %y at 0 [1] extents [16] : <16xf32>, <16xf32>
}

// -----

// The bytes count, not the buffer.
parplan.initializer @w0 "w" : tensor<16xf32> in "" at 0 length 64
exec.program @part_of_new_value mesh <["tp0"=2 tensor]> arena 96 events 0 {
  %w = exec.buffer parameter at 0 live -1 to 3 trained block <"w" from @w0 at 0 dims [16 over <> stride 1]> : <16xf32>
  %y = exec.buffer output at 64 live 1 to 3 block <"y" dims [8 over <> stride 1]> : <8xf32>
  %low = exec.view %w at 0 : <16xf32> to <8xf32>
  %high = exec.view %w at 32 : <16xf32> to <8xf32>
  // expected-note@+1 {{written here}}
  exec.zero %low : <8xf32>
  exec.copy %high at 0 [1] into %y at 0 [1] extents [8] : <8xf32>, <8xf32>
  // expected-error@+1 {{reads a value of the next step (E4)}}
  exec.copy %low at 0 [1] into %y at 0 [1] extents [8] : <8xf32>, <8xf32>
}

// -----

parplan.initializer @w0 "w" : tensor<16xf32> in "" at 0 length 64
exec.program @written_twice mesh <["tp0"=2 tensor]> arena 64 events 0 {
  %m = exec.buffer state at 0 live -1 to 2 trained block <"w" slot "exp_avg" from @w0 at 0 dims [16 over <> stride 1]> : <16xf32>
  // expected-note@+1 {{written here}}
  exec.zero %m : <16xf32>
  // expected-error@+1 {{writes a value of the next step again (E4)}}
  exec.zero %m : <16xf32>
}

// -----

parplan.initializer @w0 "w" : tensor<16xf32> in "" at 0 length 64
exec.program @not_updated mesh <["tp0"=2 tensor]> arena 64 events 0 {
  // expected-error@+1 {{is trained but never written (E4)}}
  %w = exec.buffer parameter at 0 live -1 to 0 trained block <"w" from @w0 at 0 dims [16 over <> stride 1]> : <16xf32>
}

// -----

exec.program @partly_written mesh <["tp0"=2 tensor]> arena 128 events 0 {
  %t = exec.buffer activation at 0 live 0 to 1 : <16xf32>
  %low = exec.view %t at 0 : <16xf32> to <8xf32>
  %y = exec.buffer output at 64 live 1 to 2 block <"y" dims [16 over <> stride 1]> : <16xf32>
  exec.zero %low : <8xf32>
  // expected-error@+1 {{reads a buffer before it is written (E4)}}
  exec.copy %t at 0 [1] into %y at 0 [1] extents [16] : <16xf32>, <16xf32>
}

// -----

exec.program @long_view mesh <["tp0"=2 tensor]> arena 64 events 0 {
  %x = exec.buffer input at 0 live -1 to 0 block <"x" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{reaches bytes 36 to 68 of 64 (E15)}}
  %low = exec.view %x at 36 : <16xf32> to <8xf32>
}

// -----

exec.program @crooked_view mesh <["tp0"=2 tensor]> arena 64 events 0 {
  %x = exec.buffer input at 0 live -1 to 0 block <"x" dims [16 over <> stride 1]> : <16xf32>
  // expected-error@+1 {{has the offset 2, no multiple of an element (E15)}}
  %low = exec.view %x at 2 : <16xf32> to <8xf32>
}

// -----

exec.program @view_of_view mesh <["tp0"=2 tensor]> arena 64 events 0 {
  %x = exec.buffer input at 0 live -1 to 0 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %low = exec.view %x at 0 : <16xf32> to <8xf32>
  // expected-error@+1 {{is of no exec.buffer (E15)}}
  %lower = exec.view %low at 0 : <8xf32> to <4xf32>
}

// -----

exec.program @trained_input mesh <["tp0"=2 tensor]> arena 64 events 0 {
  // expected-error@+1 {{is trained but no parameter or state (E8)}}
  %x = exec.buffer input at 0 live -1 to 0 trained block <"x" dims [16 over <> stride 1]> : <16xf32>
}

// -----

exec.program @role mesh <["tp0"=2 tensor]> arena 64 events 0 {
  // expected-error@+1 {{has the role of another kind (E8)}}
  %x = exec.buffer input at 0 live -1 to 0 role loss block <"x" dims [16 over <> stride 1]> : <16xf32>
}

// -----

exec.program @batched mesh <["tp0"=2 tensor]> arena 64 events 0 {
  // expected-error@+1 {{is batched but no input or output of micro-batches and samples (E8)}}
  %x = exec.buffer input at 0 live -1 to 0 batched block <"x" dims [16 over <> stride 1]> : <16xf32>
}

// -----

exec.program @batch_dim mesh <["tp0"=2 tensor]> arena 64 events 0 {
  // expected-error@+1 {{has its batch in dimension 1, and is no batched output with one (E8)}}
  %x = exec.buffer output at 0 live 0 to 0 batched along 1 block <"x" dims [2 over <> stride 8, 8 over <> stride 1]> : <16xf32>
}

// -----

parplan.initializer @w0 "w" : tensor<16xf32> in "" at 0 length 64
exec.program @slot_of_parameter mesh <["tp0"=2 tensor]> arena 64 events 0 {
  // expected-error@+1 {{a state, and nothing else, has a slot (E8)}}
  %w = exec.buffer parameter at 0 live -1 to 0 block <"w" slot "exp_avg" from @w0 at 0 dims [16 over <> stride 1]> : <16xf32>
}

// -----

parplan.initializer @w0 "w" : tensor<16xf32> in "" at 0 length 64
exec.program @bucket_members mesh <["tp0"=2 tensor]> arena 128 events 0 {
  // expected-error@+1 {{has members that overlap at element 8 (E8)}}
  %w = exec.buffer parameter at 0 live -1 to 0 bucket <32 [0 : <"w" from @w0 at 0 dims [16 over <> stride 1]>, 8 : <"w" from @w0 at 0 dims [16 over <> stride 1]>]> : <32xf32>
}

// -----

parplan.initializer @w0 "w" : tensor<16xf32> in "" at 0 length 64
exec.program @bucket_piece mesh <["tp0"=2 tensor]> arena 128 events 0 {
  // expected-error@+1 {{holds 32 elements, its piece 16 (E8)}}
  %w = exec.buffer parameter at 0 live -1 to 0 bucket <32 storage <"tp0"> [0 : <"w" from @w0 at 0 dims [16 over <> stride 1]>]> : <32xf32>
}

// -----

// expected-error@+1 {{buffer has the element type 'index'}}
func.func private @element_type(!exec.buffer<4xindex>)

// -----

// What one member writes is there on that rank alone.
exec.program @written_elsewhere mesh <["tp0"=2 tensor]> arena 192 events 0 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 2 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %t = exec.buffer activation at 64 live 0 to 1 : <16xf32>
  %y = exec.buffer output at 128 live 1 to 2 block <"y" dims [16 over <> stride 1]> : <16xf32>
  exec.copy %x at 0 [1] into %t at 0 [1] extents [16] only <1 of @c0> : <16xf32>, <16xf32>
  // expected-error@+1 {{reads a buffer before it is written (E4)}}
  exec.copy %t at 0 [1] into %y at 0 [1] extents [16] : <16xf32>, <16xf32>
}

// -----

exec.program @written_by_another_member mesh <["tp0"=2 tensor]> arena 192 events 0 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 2 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %t = exec.buffer activation at 64 live 0 to 1 : <16xf32>
  %y = exec.buffer output at 128 live 1 to 2 block <"y" dims [16 over <> stride 1]> : <16xf32>
  exec.copy %x at 0 [1] into %t at 0 [1] extents [16] only <1 of @c0> : <16xf32>, <16xf32>
  // expected-error@+1 {{reads a buffer before it is written (E4)}}
  exec.copy %t at 0 [1] into %y at 0 [1] extents [16] only <0 of @c0> : <16xf32>, <16xf32>
}

// -----

// A broadcast reads on its root only, and writes everywhere.
exec.program @sent_by_a_member mesh <["tp0"=2 tensor]> arena 192 events 2 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 3 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %t = exec.buffer activation at 64 live 0 to 2 : <16xf32>
  %y = exec.buffer output at 128 live 2 to 3 block <"y" dims [16 over <> stride 1]> : <16xf32>
  exec.copy %x at 0 [1] into %t at 0 [1] extents [16] only <1 of @c0> : <16xf32>, <16xf32>
  exec.record 0 on compute
  exec.wait 0 on communication
  exec.collective broadcast @c0 root 1 %t into %t count 16 bytes 64 : <16xf32>, <16xf32>
  exec.record 1 on communication
  exec.wait 1 on compute
  exec.copy %t at 0 [1] into %y at 0 [1] extents [16] : <16xf32>, <16xf32>
}

// -----

exec.program @sent_by_another_member mesh <["tp0"=2 tensor]> arena 128 events 1 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 2 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %t = exec.buffer activation at 64 live 0 to 1 : <16xf32>
  exec.copy %x at 0 [1] into %t at 0 [1] extents [16] only <1 of @c0> : <16xf32>, <16xf32>
  exec.record 0 on compute
  exec.wait 0 on communication
  // expected-error@+1 {{reads a buffer before it is written (E4)}}
  exec.collective broadcast @c0 root 0 %t into %t count 16 bytes 64 : <16xf32>, <16xf32>
}

// -----

// Every member of a communicator took its own sum: all ranks have one.
exec.program @kept_by_all_members mesh <["tp0"=2 tensor]> arena 192 events 1 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 3 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %t = exec.buffer activation at 64 live 0 to 2 : <16xf32>
  %y = exec.buffer output at 128 live 2 to 3 block <"y" dims [16 over <> stride 1]> : <16xf32>
  exec.collective reduce @c0 kind sum root 0 %x into %t count 16 bytes 64 : <16xf32>, <16xf32>
  exec.collective reduce @c0 kind sum root 1 %x into %t count 16 bytes 64 : <16xf32>, <16xf32>
  exec.record 0 on communication
  exec.wait 0 on compute
  exec.copy %t at 0 [1] into %y at 0 [1] extents [16] : <16xf32>, <16xf32>
}

// -----

exec.program @kept_by_one_member mesh <["tp0"=2 tensor]> arena 192 events 1 {
  exec.communicator @c0 <"tp0">
  %x = exec.buffer input at 0 live -1 to 2 block <"x" dims [16 over <> stride 1]> : <16xf32>
  %t = exec.buffer activation at 64 live 0 to 1 : <16xf32>
  %y = exec.buffer output at 128 live 1 to 2 block <"y" dims [16 over <> stride 1]> : <16xf32>
  exec.collective reduce @c0 kind sum root 0 %x into %t count 16 bytes 64 : <16xf32>, <16xf32>
  exec.record 0 on communication
  exec.wait 0 on compute
  // expected-error@+1 {{reads a buffer before it is written (E4)}}
  exec.copy %t at 0 [1] into %y at 0 [1] extents [16] : <16xf32>, <16xf32>
}

// -----

// A sum needs what it is added to.
exec.program @accumulates_nothing mesh <["tp0"=2 tensor]> arena 192 events 0 {
  %x = exec.buffer input at 0 live -1 to 1 block <"x" dims [16 over <> stride 1]> : <4x4xf32>
  %w = exec.buffer input at 64 live -1 to 1 block <"w" dims [16 over <> stride 1]> : <4x4xf32>
  %y = exec.buffer output at 128 live 0 to 1 block <"y" dims [16 over <> stride 1]> : <4x4xf32>
  // expected-error@+1 {{reads a buffer before it is written (E4)}}
  exec.matmul accumulate %x [4, 1], %w [4, 1] into %y [4, 1] shape [4, 4, 4] batch [] : [], [], [] : <4x4xf32>, <4x4xf32>, <4x4xf32>
}

// -----

exec.program @parameter_in_another_order mesh <["c"=2 context]> arena 64 events 0 {
  // expected-error@+1 {{only inputs and outputs have dimensions in zig-zag order, of two chunks for each of its ranks (E8)}}
  %x = exec.buffer parameter at 0 live -1 to 0 block <"w" from @w at 0 dims [8 over <> stride 1 zigzag 2]> : <8xf32>
}

// -----

exec.program @order_of_odd_chunks mesh <["c"=2 context]> arena 64 events 0 {
  // expected-error@+1 {{only inputs and outputs have dimensions in zig-zag order, of two chunks for each of its ranks (E8)}}
  %x = exec.buffer input at 0 live -1 to 0 block <"x" dims [6 over <"c"> stride 1 zigzag 2]> : <3xf32>
}
