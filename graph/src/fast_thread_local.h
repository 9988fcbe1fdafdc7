// Thread-local variables that every recorded op reads.
#pragma once

// The library is loaded with the program, or takes its few words from what the loader keeps spare:
// a fixed offset instead of a call for each access.
#if defined(__GNUC__) && defined(__ELF__)
#define WEFT_FAST_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) thread_local
#else
#define WEFT_FAST_THREAD_LOCAL thread_local
#endif
