# The allocator of programs that plan: parplan::allocator.
#
# A search and a lowering make and drop millions of small lists; glibc's malloc is a fifth of their time, mimalloc half of
# that. Sanitizers have an allocator of their own.
add_library(parplan_allocator INTERFACE)
add_library(parplan::allocator ALIAS parplan_allocator)
if(NOT PARPLAN_SANITIZERS)
  find_package(mimalloc REQUIRED)
  # Nothing names it: it takes the place of malloc.
  target_link_libraries(parplan_allocator INTERFACE -Wl,--push-state,--no-as-needed mimalloc -Wl,--pop-state)
endif()
