//===- Version.h - The version of parplan -----------------------*- C++ -*-===//

#ifndef PARPLAN_SUPPORT_VERSION_H
#define PARPLAN_SUPPORT_VERSION_H

namespace parplan {

inline constexpr const char versionText[] = "0.1.0";

} // namespace parplan

#endif // PARPLAN_SUPPORT_VERSION_H
