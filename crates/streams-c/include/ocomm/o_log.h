/* Messages of measured programs and of the measurement library, with the calls of OML's libocomm.
 *
 * A message is shown when its level is at most the log's (o_set_log_level, --oml-log-level; 0 at first). It goes to
 * standard error, to a file (o_set_log_file, --oml-log-file) or to a function of the program's own (o_set_log). Any
 * thread may call any of these.
 */
#ifndef TRIALWISE_OCOMM_O_LOG_H
#define TRIALWISE_OCOMM_O_LOG_H

#include <stdarg.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { O_LOG_ERROR = -2, O_LOG_WARN = -1, O_LOG_INFO = 0, O_LOG_DEBUG = 1, O_LOG_DEBUG2 = 2, O_LOG_DEBUG3 = 3, O_LOG_DEBUG4 = 4 };

#ifdef __GNUC__
#define OCOMM_FORMAT_ __attribute__((format(printf, 2, 3)))
#else
#define OCOMM_FORMAT_
#endif

/* A function that takes messages. */
typedef void (*o_log_fn)(int log_level, const char *format, ...);

/* Logs a message, formatted as printf does; a line end is added when it has none. */
void o_log(int log_level, const char *format, ...) OCOMM_FORMAT_;

/* The least important level that is shown. */
void o_set_log_level(int level);

/* Whether messages of a level are shown. */
int o_log_level_active(int log_level);

/* Sends messages to the end of a file; "-" and NULL are standard error. 0, or -1 if it cannot be opened. */
int o_set_log_file(const char *name);

/* Sends messages to a function; NULL to the file again. Returns the function before. */
o_log_fn o_set_log(o_log_fn function);

/* Sends messages to the file again, whatever function they went to. */
#define o_set_simplified_logging() ((void)o_set_log(NULL))

#define logerror(...) o_log(O_LOG_ERROR, __VA_ARGS__)
#define logwarn(...) o_log(O_LOG_WARN, __VA_ARGS__)
#define loginfo(...) o_log(O_LOG_INFO, __VA_ARGS__)
#define logdebug(...) o_log(O_LOG_DEBUG, __VA_ARGS__)
#define logdebug2(...) o_log(O_LOG_DEBUG2, __VA_ARGS__)
#define logdebug3(...) o_log(O_LOG_DEBUG3, __VA_ARGS__)
#define logdebug4(...) o_log(O_LOG_DEBUG4, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
