//===- program.h - The one header that an emitted program includes --------===//

#ifndef PARPLAN_RUNTIME_PROGRAM_H
#define PARPLAN_RUNTIME_PROGRAM_H

#include "parplan_runtime/communicator.h"
#include "parplan_runtime/exchange.h"
#include "parplan_runtime/host_kernels.h"
#include "parplan_runtime/kernels.h"
#include "parplan_runtime/map.h"
#include "parplan_runtime/rank.h"
#include "parplan_runtime/scalar_math.h"
#include "parplan_runtime/tables.h"
#include "parplan_runtime/transfer.h"

#endif // PARPLAN_RUNTIME_PROGRAM_H
