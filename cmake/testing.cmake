# GoogleTest for unit tests.

find_package(GTest REQUIRED)
