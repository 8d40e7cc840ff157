//===- Passes.td - Memory of a training step -*- tablegen -*-===//

#ifndef PARPLAN_PASSES_MEMORY_PASSES_TD
#define PARPLAN_PASSES_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def BucketGradients : Pass<"parplan-bucket-gradients", "::mlir::ModuleOp"> {
  let summary = "Reduces gradients and updates variables in buckets";
  let description = [{
    In: the local program of a step, its micro-batches unrolled.

    Variables whose gradients are reduced, updated and gathered by the same moves
    and updates, one after the other, become members of one bucket, until it
    holds `bytes`, as far as the same passes make their gradients: ops of the same
    stages, pass by pass. Their gradients are packed where the last one is complete; the
    moves, the update and the square sum run once, on flat buckets. A bucket is
    cut as a whole: it is padded once. Variables that are stored share a bucket
    within a block of the model only.

    Out: `pack`, `unpack` and `bucket_parameter`; results of buckets have
    `parplan.bucket` in place of `parplan.variable`.
  }];
  let options = [
    Option<"bytes", "bytes", "int64_t", "0",
           "gradient bytes after which a bucket is closed; 0: no buckets">
  ];
}

def SplitServers : Pass<"parplan-split-servers", "::mlir::ModuleOp"> {
  let summary = "Gives the servers of the mesh a program of their own";
  let description = [{
    In: the step @main of the workers, whose variables are in buckets. Nothing is
    done where the mesh has no servers.

    Without `parplan.staleness` all that depends on the gradients of a rank goes
    to the servers: the sum over the workers, in their order, the norm, updates
    and states. With it every worker has a step of its own, for its samples, and
    only the updates go.

    Servers keep pieces of the buckets: `stored` over their axis. Workers send
    them theirs of what they read, when it is there, and receive the new values
    of parameters at the end. Messages have the order of the buckets, then of
    workers and servers.

    Out: @main, at position 0, and @server, at position 1. With staleness the
    messages of @server are from and to the peer -1, the worker that is served.
  }];
}

def KeepUpdatedPieces : Pass<"parplan-keep-updated-pieces", "::mlir::ModuleOp"> {
  let summary = "Lets parameters rest in the pieces that are updated";
  let description = [{
    In: updates with `parplan.in_pieces`, a decision of the plan, and
    `parplan.tier` that read a piece of a parameter which rests whole on the
    device, and whose new piece is gathered. Others fail.

    Out: the parameter rests in pieces, which an update off the device reads where
    they rest, and is gathered before its first reader, once per step. So the
    update needs nothing of the device but gradients.
  }];
}

def PrefetchGathers : Pass<"parplan-prefetch-gathers", "::mlir::ModuleOp"> {
  let summary = "Gathers stored variables just in time";
  let description = [{
    Gathers of stored variables that are needed together, in one pass over one
    block of the model, move ahead of their first reader: to where they are done
    in time by twice the estimate of the cost model, but not before the gathers
    before them. What is gathered next is on its way while something else is
    computed, and takes memory no longer than that.
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "\"host\"",
           "Preset of the cluster, where no costs are handed down">
  ];
}

def InsertTransfers : Pass<"parplan-insert-transfers", "::mlir::ModuleOp"> {
  let summary = "Moves values between tiers of memory";
  let description = [{
    In: `parplan.tier` on parameters and states (where they rest), on updates
    (where they run; an update of NVMe runs on the host) and on ops of the forward
    pass (where their results wait for the backward pass).

    * What an update on the host reads directly rests with it. It is uploaded once
      per step. What it reads besides is downloaded where it is made; of its
      results, those that others read are uploaded.
    * Parameters that rest elsewhere by themselves are uploaded for every pass
      over their block, and their new values go back.
    * What waits is downloaded where it is made.

    Uploads are issued one ahead. Casts, reshapes and members of buckets are made
    again behind each upload.

    Out: `parplan.transfer` wherever a value changes its tier; `parplan.tier` on
    every parameter and state that does not rest on the device.
  }];
}

def VerifyMemory : Pass<"parplan-verify-memory", "::mlir::ModuleOp"> {
  let summary = "Checks where values are read, and who keeps variables";
  let description = [{
    Checks that
    * every value is read in the tier in which it is, and transfers change that
      (P19);
    * a variable gets its new value where it rests (P19);
    * workers have neither updates nor states, and take new values of parameters
      from servers alone (P20);
    * servers hear of other servers alone in collectives (P20);
    * what goes from workers to a server, and back, is received as it is sent
      (P20).
  }];
}

#endif // PARPLAN_PASSES_MEMORY_PASSES_TD
