//===- Disposal.h - Freeing beside other work -------------------*- C++ -*-===//
//
// Part of parplan. Private to the driver.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DRIVER_DISPOSAL_H
#define PARPLAN_DRIVER_DISPOSAL_H

#include <memory>

namespace parplan {

/// Frees an object that nobody else has, in a thread of its own: what a search
/// knew of a large model takes seconds to free. The destructor uses nothing
/// that others have. `exit` waits for it, `_Exit` does not.
void disposeInBackground(std::shared_ptr<void> object);

} // namespace parplan

#endif // PARPLAN_DRIVER_DISPOSAL_H
