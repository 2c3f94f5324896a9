/* Measurement streams for C and C++ programs.
 *
 *   tw_session *session;
 *   tw_point *reply;
 *   const tw_field fields[] = {{"seq", TW_UINT32}, {"delay", TW_DOUBLE}};
 *   if (tw_open("ping", NULL, &session) != TW_OK) { fputs(tw_last_error(), stderr); exit(1); }
 *   tw_declare(session, "reply", fields, 2, &reply);
 *   tw_start(session);
 *   const tw_value values[] = {tw_uint32(1), tw_double(0.012)};
 *   tw_inject(reply, values, 2);
 *   tw_close(session, 2000, NULL);
 *   tw_free(session);
 *
 * Every call that can fail returns a tw_error; tw_last_error() tells the calling thread more about the last one. Any
 * thread may make any call at any time, except that nothing may use a session, or a point of it, once tw_free has it.
 * Nothing here exits the program, handles a signal, or writes to its output.
 */
#ifndef TRIALWISE_STREAMS_H
#define TRIALWISE_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What became of a call. New values may follow. */
typedef enum tw_error {
  TW_OK = 0,
  TW_ERROR_ARGUMENT = 1,      /* a pointer that must not be NULL, a type or name that is none */
  TW_ERROR_CONFIGURATION = 2, /* an option, a file or a destination that cannot be used */
  TW_ERROR_DECLARATION = 3,   /* a measurement point that cannot be: its name, its fields, or a filter */
  TW_ERROR_STATE = 4,         /* started twice, or closed already */
  TW_ERROR_VALUES = 5,        /* the sample was lost: not the number or types of the point's fields */
  TW_ERROR_FULL = 6,          /* the sample was lost: this thread's buffer is full */
  TW_ERROR_TOO_LONG = 7,      /* the sample was lost: it is larger than a buffer */
  TW_ERROR_CLOSED = 8,        /* the sample was lost: the session is closed */
  TW_ERROR_LOST = 9,          /* closed, but something was lost: see the counters */
  TW_ERROR_SYSTEM = 10,       /* no thread or memory to be had */
  TW_ASKED = 11               /* --oml-help or --oml-list-filters was given: print tw_last_error(), and leave */
} tw_error;

/* What an error means, in English; never NULL. */
const char *tw_error_text(tw_error error);

/* What the calling thread's last call that failed had to say; "" if none did. Valid until the thread's next call. An
 * inject has no more to say than its error's text, and leaves this as it is. */
const char *tw_last_error(void);

/* ---- a session: one program's measurement ---- */

typedef struct tw_session tw_session;

/* What a session may be told. A member that is NULL or 0 is left to the environment (OML_NAME, OML_DOMAIN, OML_COLLECT,
 * OML_CONFIG, TRIALWISE_TOKEN) and to its default. Begin with `tw_options options = TW_OPTIONS;`. */
typedef struct tw_options {
  size_t size;             /* sizeof(tw_options): members may be added */
  const char *sender;      /* name of this sender; default: the program's */
  const char *domain;      /* domain, a database each; default: the program's name */
  const char *destination; /* native:HOST[:PORT], tcp:HOST[:PORT], file:PATH or file:-; default: a file */
  const char *config;      /* a file that says which points become which streams: TOML, or OML's XML */
  uint64_t samples;        /* samples in a row of a stream; default 1 */
  double interval;         /* or seconds */
  uint64_t buffer_bytes;   /* buffer of each thread and destination; default 4 MiB */
} tw_options;

#define TW_OPTIONS {sizeof(tw_options), NULL, NULL, NULL, NULL, 0, 0.0, 0}

/* Makes a session for a program of this name (letters, digits and _, the first no digit; a path before it is cut off).
 * `options` may be NULL. Nothing is sent before tw_start. */
tw_error tw_open(const char *program, const tw_options *options, tw_session **session);

/* The same with the --oml-* options among the arguments, which are removed. */
tw_error tw_open_arguments(const char *program, int *argc, char **argv, tw_session **session);

/* Starts to send, also what was injected before. */
tw_error tw_start(tw_session *session);

/* Says something about the experiment (`point` NULL), a point (`field` NULL) or one of its fields. */
struct tw_point;
tw_error tw_metadata(tw_session *session, const struct tw_point *point, const char *field, const char *key, const char *value);

/* ---- measurement points ---- */

typedef struct tw_point tw_point;

typedef enum tw_type {
  TW_INT32 = 1, TW_UINT32, TW_INT64, TW_UINT64, TW_DOUBLE, TW_BOOL, TW_GUID, TW_STRING, TW_BLOB,
  TW_INT32_VECTOR, TW_UINT32_VECTOR, TW_INT64_VECTOR, TW_UINT64_VECTOR, TW_DOUBLE_VECTOR, TW_BOOL_VECTOR
} tw_type;

typedef struct tw_field {
  const char *name;
  tw_type type;
} tw_field;

/* Declares a measurement point of `count` fields, before or after tw_start. The session owns it. */
tw_error tw_declare(tw_session *session, const char *name, const tw_field *fields, size_t count, tw_point **point);

/* A value, with its type. Make it with the functions below. */
typedef struct tw_value {
  tw_type type;
  union {
    int32_t int32;
    uint32_t uint32;
    int64_t int64;
    uint64_t uint64; /* also a guid */
    double number;
    bool boolean;
    struct { const void *start; size_t count; } memory; /* bytes of a string or blob, elements of a vector */
  } as;
} tw_value;

/* Takes a sample of `count` values, copied and stamped now. Takes no lock and makes no system call; the first call of a
 * thread makes its buffer. A sample that is lost is counted, and an error says so. */
tw_error tw_inject(const tw_point *point, const tw_value *values, size_t count);

/* The same with a time of the program's own, in nanoseconds of UNIX time. */
tw_error tw_inject_at(const tw_point *point, uint64_t nanoseconds, const tw_value *values, size_t count);

/* A sample of a point whose fields all have one type. */
tw_error tw_inject_int32(const tw_point *point, const int32_t *values, size_t count);
tw_error tw_inject_uint32(const tw_point *point, const uint32_t *values, size_t count);
tw_error tw_inject_int64(const tw_point *point, const int64_t *values, size_t count);
tw_error tw_inject_uint64(const tw_point *point, const uint64_t *values, size_t count);
tw_error tw_inject_double(const tw_point *point, const double *values, size_t count);

/* Samples of the point lost at the inject so far. */
uint64_t tw_dropped(const tw_point *point);

/* ---- counts, and the end ---- */

/* All points and destinations together. rows = rows_sent + rows_dropped + rows that wait. */
typedef struct tw_counters {
  uint64_t samples;         /* taken over by the writer */
  uint64_t samples_dropped; /* lost at an inject, each of which returned an error */
  uint64_t rows;            /* made of them, for each destination */
  uint64_t rows_sent;       /* handed to the machine whole; acknowledged, with a native destination */
  uint64_t rows_dropped;    /* lost: no room while a destination took nothing, or unsent at the end */
  uint64_t rows_cut;        /* with a value that OML's encoding cannot carry as it is: see docs/reference/c-interface.md */
} tw_counters;

/* The counts so far, also after tw_close. The streams about the session itself are counted too. */
tw_error tw_count(const tw_session *session, tw_counters *counters);

/* Ends: no inject succeeds any more, windows end, what waits is sent. Returns after `patience` milliseconds at the latest
 * (and 0.2 s, if a system call holds it up), whatever the destinations do. TW_ERROR_LOST: something was lost, and counted.
 * `counters` may be NULL. */
tw_error tw_close(tw_session *session, uint32_t patience, tw_counters *counters);

/* Gives up a session and its points, closed (within two seconds) if it was not. NULL is nothing. */
void tw_free(tw_session *session);

/* ---- making values ---- */

#define TW_VALUE_(FUNCTION, C_TYPE, TYPE, MEMBER)  \
  static inline tw_value FUNCTION(C_TYPE value) {  \
    tw_value made;                                 \
    made.type = TYPE;                              \
    made.as.MEMBER = value;                        \
    return made;                                   \
  }
TW_VALUE_(tw_int32, int32_t, TW_INT32, int32)
TW_VALUE_(tw_uint32, uint32_t, TW_UINT32, uint32)
TW_VALUE_(tw_int64, int64_t, TW_INT64, int64)
TW_VALUE_(tw_uint64, uint64_t, TW_UINT64, uint64)
TW_VALUE_(tw_double, double, TW_DOUBLE, number)
TW_VALUE_(tw_bool, bool, TW_BOOL, boolean)
TW_VALUE_(tw_guid, uint64_t, TW_GUID, uint64)
#undef TW_VALUE_

#define TW_MEMORY_(FUNCTION, C_TYPE, TYPE)                         \
  static inline tw_value FUNCTION(const C_TYPE *start, size_t count) { \
    tw_value made;                                                 \
    made.type = TYPE;                                              \
    made.as.memory.start = start;                                  \
    made.as.memory.count = start == NULL ? 0 : count;              \
    return made;                                                   \
  }
TW_MEMORY_(tw_string_of, char, TW_STRING)
TW_MEMORY_(tw_blob, void, TW_BLOB)
TW_MEMORY_(tw_int32_vector, int32_t, TW_INT32_VECTOR)
TW_MEMORY_(tw_uint32_vector, uint32_t, TW_UINT32_VECTOR)
TW_MEMORY_(tw_int64_vector, int64_t, TW_INT64_VECTOR)
TW_MEMORY_(tw_uint64_vector, uint64_t, TW_UINT64_VECTOR)
TW_MEMORY_(tw_double_vector, double, TW_DOUBLE_VECTOR)
TW_MEMORY_(tw_bool_vector, bool, TW_BOOL_VECTOR)
#undef TW_MEMORY_

/* A string that ends with NUL; NULL is the empty one. */
static inline tw_value tw_string(const char *string) {
  return tw_string_of(string, string == NULL ? 0 : strlen(string));
}

#ifdef __cplusplus
}
#endif

#endif
