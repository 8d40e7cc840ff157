//===- transfer.h - Copies between tiers ----------------------------------===//

#ifndef PARPLAN_RUNTIME_TRANSFER_H
#define PARPLAN_RUNTIME_TRANSFER_H

#include "parplan_runtime/stream.h"

namespace parplan {
namespace runtime {

/// Copies one buffer into another of as many bytes, between the device and the
/// host or between the host and NVMe, and counts the bytes under `offload` in
/// the metrics. Offsets of NVMe are multiples of storageAlignment, and a buffer
/// there owns its last block: what lies between its end and the next multiple
/// is overwritten.
void transfer(Stream &stream, Range from, Range to);

} // namespace runtime
} // namespace parplan

#endif // PARPLAN_RUNTIME_TRANSFER_H
