/* OML's interface for measured programs, over Trialwise's measurement streams.
 *
 * A program written for liboml2 builds with this header and `-loml2 -locomm` (or `-ltrialwise_streams`) unchanged.
 * docs/reference/c-interface.md says what each call does and where it differs from liboml2.
 */
#ifndef TRIALWISE_OML2_OMLC_H
#define TRIALWISE_OML2_OMLC_H

/* Programs count on <errno.h> and <pthread.h> being included here, as in liboml2. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <ocomm/o_log.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The type of a field. */
typedef enum OmlValueT {
  OML_INPUT_VALUE = -2,
  OML_UNKNOWN_VALUE = -1,
  OML_DOUBLE_VALUE = 0,
  OML_LONG_VALUE, /* deprecated: sent as int32, larger numbers as its bounds */
  OML_PADDING1_VALUE,
  OML_STRING_VALUE,
  OML_INT32_VALUE,
  OML_UINT32_VALUE,
  OML_INT64_VALUE,
  OML_UINT64_VALUE,
  OML_BLOB_VALUE,
  OML_GUID_VALUE,
  OML_BOOL_VALUE,
  OML_VECTOR_DOUBLE_VALUE,
  OML_VECTOR_INT32_VALUE,
  OML_VECTOR_UINT32_VALUE,
  OML_VECTOR_INT64_VALUE,
  OML_VECTOR_UINT64_VALUE,
  OML_VECTOR_BOOL_VALUE
} OmlValueT;

/* An identifier of 64 bits; 0 is none. */
typedef uint64_t oml_guid_t;
#define OMLC_GUID_NULL ((oml_guid_t)0)

#define OMLC_BOOL_FALSE ((uint8_t)0)
#define OMLC_BOOL_TRUE ((uint8_t)1)

/* Memory of a value. `owner` is OML_OWNED_ when `ptr` came from one of the macros that copy; the three structures agree
 * in their first five members. */
typedef struct OmlString {
  char *ptr;
  size_t length;
  size_t size;
  int is_const;
  uint32_t owner;
} OmlString;

typedef struct OmlBlob {
  void *ptr;
  size_t length;
  size_t size;
  int is_const;
  uint32_t owner;
} OmlBlob;

typedef struct OmlVector {
  void *ptr;
  size_t length; /* bytes */
  size_t size;
  int type; /* an OmlValueT */
  uint32_t owner;
  size_t nof_elts;
} OmlVector;

/* A value of a sample. To be zeroed (omlc_zero, omlc_zero_array) before it is first set. */
typedef union OmlValueU {
  double doubleValue;
  long longValue;
  OmlString stringValue;
  int32_t int32Value;
  uint32_t uint32Value;
  int64_t int64Value;
  uint64_t uint64Value;
  OmlBlob blobValue;
  oml_guid_t guidValue;
  uint8_t boolValue;
  OmlVector vectorValue;
} OmlValueU;

/* A value and its type. */
typedef struct OmlValue {
  OmlValueT type;
  OmlValueU value;
} OmlValue;

/* A field of a measurement point; {NULL, (OmlValueT)0} ends the fields. */
typedef struct OmlMPDef {
  const char *name;
  OmlValueT param_types;
} OmlMPDef;

/* A measurement point. */
typedef struct OmlMP OmlMP;

/* Reads the --oml-* options, which it removes from the arguments, and the environment. `application` is the program's
 * name; a path before it is cut off. `argv` begins with the program's own name, or with an --oml-* option. 0: measure; 1: --oml-noop was given, every later call succeeds and does nothing;
 * -1: something is wrong, and was logged. --oml-help and --oml-list-filters print and leave the program. */
int omlc_init(const char *application, int *pargc, const char **argv, o_log_fn custom_oml_log);

/* Declares a measurement point, before or after omlc_start. NULL if that cannot be, which was logged. */
OmlMP *omlc_add_mp(const char *mp_name, OmlMPDef *mp_def);

/* Starts to send; also what was injected before. From now on INT, HUP, TERM and PIPE, unless the program handles or
 * ignores them, close the streams and leave the program with exit(-signal). 0 or -1. */
int omlc_start(void);

/* Takes a sample, whose values it copies; any thread may do so at any time, also for one point. 0, or -1 if the sample
 * was lost, which is counted. */
int omlc_inject(OmlMP *mp, OmlValueU *values);

/* As omlc_inject. Deprecated. */
void omlc_process(OmlMP *mp, OmlValueU *values);

/* Says something about the experiment (`mp` NULL), a measurement point (`fname` NULL) or one of its fields. `type` must
 * be OML_STRING_VALUE. 0 or -1. */
int omlc_inject_metadata(OmlMP *mp, const char *key, const OmlValueU *value, OmlValueT type, const char *fname);

/* 64 random bits, never 0. */
oml_guid_t omlc_guid_generate(void);

/* Ends windows, sends what waits, stops; takes ten seconds at most (TRIALWISE_CLOSE_SECONDS). 0, or -1 if something was
 * lost, which was logged with counts. */
int omlc_close(void);

/* ---- values ---- */

#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define OML_INLINE_ static inline
#else
#define OML_INLINE_ static __inline__
#endif

#define OML_OWNED_ 0x4f4d4c32u

/* Gives up memory that a copy made. */
OML_INLINE_ void oml_value_reset_(OmlValueU *value) {
  if (value->blobValue.owner == OML_OWNED_) free(value->blobValue.ptr);
  memset(value, 0, sizeof *value);
}

/* Copies bytes, with a NUL behind them, into memory of the value's own; without memory the value is empty. */
OML_INLINE_ void oml_value_copy_(OmlValueU *value, const void *from, size_t length) {
  OmlBlob *blob = &value->blobValue;
  if (blob->owner != OML_OWNED_ || blob->size < length + 1) {
    void *memory = malloc(length + 1);
    if (memory != NULL && length > 0 && from != NULL) memcpy(memory, from, length);
    oml_value_reset_(value);
    if (memory == NULL) return;
    blob->ptr = memory;
    blob->size = length + 1;
    blob->owner = OML_OWNED_;
  } else if (length > 0 && from != NULL) {
    memmove(blob->ptr, from, length);
  }
  blob->length = from == NULL ? 0 : length;
  blob->is_const = 0;
  ((char *)blob->ptr)[blob->length] = '\0';
}

OML_INLINE_ void oml_value_refer_(OmlValueU *value, const char *string, int is_const) {
  oml_value_reset_(value);
  value->stringValue.ptr = (char *)string;
  value->stringValue.length = string == NULL ? 0 : strlen(string);
  value->stringValue.is_const = is_const;
}

OML_INLINE_ void oml_value_vector_(OmlValueU *value, OmlValueT type, const void *from, size_t elements, size_t each) {
  oml_value_copy_(value, from, elements * each);
  value->vectorValue.type = (int)type;
  value->vectorValue.nof_elts = value->vectorValue.length / each;
}

OML_INLINE_ void oml_value_copy_vector_(OmlValueU *value, const OmlValueU *from) {
  oml_value_copy_(value, from->vectorValue.ptr, from->vectorValue.length);
  value->vectorValue.type = from->vectorValue.type;
  value->vectorValue.nof_elts = from->vectorValue.nof_elts;
}

#define omlc_zero(var) ((void)memset(&(var), 0, sizeof(OmlValueU)))
#define omlc_zero_array(var, n) ((void)memset((var), 0, (size_t)(n) * sizeof(OmlValueU)))

#define omlc_set_int32(var, val) ((var).int32Value = (int32_t)(val))
#define omlc_set_uint32(var, val) ((var).uint32Value = (uint32_t)(val))
#define omlc_set_int64(var, val) ((var).int64Value = (int64_t)(val))
#define omlc_set_uint64(var, val) ((var).uint64Value = (uint64_t)(val))
#define omlc_set_double(var, val) ((var).doubleValue = (double)(val))
#define omlc_set_bool(var, val) ((var).boolValue = (uint8_t)!!(val))
#define omlc_set_guid(var, val) ((var).guidValue = (oml_guid_t)(val))
#define omlc_set_long(var, val) ((var).longValue = (long)(val))

#define omlc_get_int32(var) ((var).int32Value)
#define omlc_get_uint32(var) ((var).uint32Value)
#define omlc_get_int64(var) ((var).int64Value)
#define omlc_get_uint64(var) ((var).uint64Value)
#define omlc_get_double(var) ((var).doubleValue)
#define omlc_get_bool(var) ((var).boolValue)
#define omlc_get_guid(var) ((var).guidValue)
#define omlc_get_long(var) ((var).longValue)

/* The string is not copied before omlc_inject. */
#define omlc_set_string(var, val) oml_value_refer_(&(var), (const char *)(val), 0)
#define omlc_set_const_string(var, val) oml_value_refer_(&(var), (const char *)(val), 1)
/* The first `len` bytes, copied now. */
#define omlc_set_string_copy(var, val, len) oml_value_copy_(&(var), (val), (size_t)(len))
#define omlc_copy_string(dst, src) oml_value_copy_(&(dst), (src).stringValue.ptr, (src).stringValue.length)
#define omlc_reset_string(var) oml_value_reset_(&(var))
#define omlc_free_string(var) oml_value_reset_(&(var))
#define omlc_get_string_ptr(var) ((var).stringValue.ptr)
#define omlc_get_string_length(var) ((var).stringValue.length)
#define omlc_get_string_size(var) ((var).stringValue.size)
#define omlc_get_string_is_const(var) ((var).stringValue.is_const)
#define omlc_set_string_ptr(var, val) ((var).stringValue.ptr = (val))
#define omlc_set_string_length(var, val) ((var).stringValue.length = (val))
#define omlc_set_string_size(var, val) ((var).stringValue.size = (val))
#define omlc_set_string_is_const(var, val) ((var).stringValue.is_const = (val))

#define omlc_set_blob(var, val, len) oml_value_copy_(&(var), (val), (size_t)(len))
#define omlc_set_blob_copy(var, val, len) omlc_set_blob(var, val, len)
#define omlc_copy_blob(dst, src) oml_value_copy_(&(dst), (src).blobValue.ptr, (src).blobValue.length)
#define omlc_reset_blob(var) oml_value_reset_(&(var))
#define omlc_free_blob(var) oml_value_reset_(&(var))
#define omlc_get_blob_ptr(var) ((var).blobValue.ptr)
#define omlc_get_blob_length(var) ((var).blobValue.length)
#define omlc_get_blob_size(var) ((var).blobValue.size)
#define omlc_set_blob_ptr(var, val) ((var).blobValue.ptr = (val))
#define omlc_set_blob_length(var, val) ((var).blobValue.length = (val))
#define omlc_set_blob_size(var, val) ((var).blobValue.size = (val))

/* Vectors of at most 65535 elements, copied now. */
#define omlc_set_vector_double(var, val, len) \
  oml_value_vector_(&(var), OML_VECTOR_DOUBLE_VALUE, (val), (size_t)(len), sizeof(double))
#define omlc_set_vector_int32(var, val, len) \
  oml_value_vector_(&(var), OML_VECTOR_INT32_VALUE, (val), (size_t)(len), sizeof(int32_t))
#define omlc_set_vector_uint32(var, val, len) \
  oml_value_vector_(&(var), OML_VECTOR_UINT32_VALUE, (val), (size_t)(len), sizeof(uint32_t))
#define omlc_set_vector_int64(var, val, len) \
  oml_value_vector_(&(var), OML_VECTOR_INT64_VALUE, (val), (size_t)(len), sizeof(int64_t))
#define omlc_set_vector_uint64(var, val, len) \
  oml_value_vector_(&(var), OML_VECTOR_UINT64_VALUE, (val), (size_t)(len), sizeof(uint64_t))
#define omlc_set_vector_bool(var, val, len) \
  oml_value_vector_(&(var), OML_VECTOR_BOOL_VALUE, (val), (size_t)(len), sizeof(bool))
#define omlc_copy_vector(dst, src) oml_value_copy_vector_(&(dst), &(src))
#define omlc_reset_vector(var) oml_value_reset_(&(var))
#define omlc_free_vector(var) oml_value_reset_(&(var))
#define omlc_get_vector_ptr(var) ((var).vectorValue.ptr)
#define omlc_get_vector_length(var) ((var).vectorValue.length)
#define omlc_get_vector_size(var) ((var).vectorValue.size)
#define omlc_get_vector_nof_elts(var) ((var).vectorValue.nof_elts)

#define omlc_is_integer_type(type)                                                                        \
  ((type) == OML_LONG_VALUE || (type) == OML_INT32_VALUE || (type) == OML_UINT32_VALUE ||               \
   (type) == OML_INT64_VALUE || (type) == OML_UINT64_VALUE)
#define omlc_is_numeric_type(type) (omlc_is_integer_type(type) || (type) == OML_DOUBLE_VALUE)
#define omlc_is_string_type(type) ((type) == OML_STRING_VALUE)
#define omlc_is_blob_type(type) ((type) == OML_BLOB_VALUE)
#define omlc_is_guid_type(type) ((type) == OML_GUID_VALUE)
#define omlc_is_bool_type(type) ((type) == OML_BOOL_VALUE)
#define omlc_is_vector_type(type) ((type) >= OML_VECTOR_DOUBLE_VALUE && (type) <= OML_VECTOR_BOOL_VALUE)
#define omlc_is_integer(val) omlc_is_integer_type((val).type)
#define omlc_is_numeric(val) omlc_is_numeric_type((val).type)
#define omlc_is_string(val) omlc_is_string_type((val).type)
#define omlc_is_blob(val) omlc_is_blob_type((val).type)
#define omlc_is_guid(val) omlc_is_guid_type((val).type)
#define omlc_is_bool(val) omlc_is_bool_type((val).type)
#define omlc_is_vector(val) omlc_is_vector_type((val).type)

#ifdef __cplusplus
}
#endif

#endif
