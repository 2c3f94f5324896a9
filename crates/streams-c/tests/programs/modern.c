/* The modern interface: what works, and what every misuse gets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trialwise/streams.h>

#define CHECK(condition)                                                                  \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #condition, tw_last_error());       \
      exit(1);                                                                            \
    }                                                                                     \
  } while (0)

static const tw_field every[] = {
    {"i", TW_INT32},         {"u", TW_UINT32},         {"I", TW_INT64},         {"U", TW_UINT64},
    {"d", TW_DOUBLE},        {"b", TW_BOOL},           {"g", TW_GUID},          {"s", TW_STRING},
    {"x", TW_BLOB},          {"vi", TW_INT32_VECTOR},  {"vu", TW_UINT32_VECTOR}, {"vI", TW_INT64_VECTOR},
    {"vU", TW_UINT64_VECTOR}, {"vd", TW_DOUBLE_VECTOR}, {"vb", TW_BOOL_VECTOR}};

static void inject_every(const tw_point *point) {
  const int32_t ints[] = {-1, 2};
  const uint32_t uints[] = {3};
  const int64_t longs[] = {-4, 5};
  const uint64_t ulongs[] = {UINT64_MAX};
  const double doubles[] = {0.5, 0.25};
  const bool bools[] = {false, true};
  const tw_value values[] = {tw_int32(-5),
                             tw_uint32(UINT32_MAX),
                             tw_int64(INT64_MIN),
                             tw_uint64(UINT64_MAX),
                             tw_double(0.125),
                             tw_bool(true),
                             tw_guid(7),
                             tw_string("text"),
                             tw_blob("\0\377", 2),
                             tw_int32_vector(ints, 2),
                             tw_uint32_vector(uints, 1),
                             tw_int64_vector(longs, 2),
                             tw_uint64_vector(ulongs, 1),
                             tw_double_vector(doubles, 2),
                             tw_bool_vector(bools, 2)};
  CHECK(tw_inject(point, values, 15) == TW_OK);
  CHECK(tw_inject_at(point, UINT64_C(2000000000500000000), values, 15) == TW_OK);
  CHECK(tw_inject(point, values, 14) == TW_ERROR_VALUES);
  CHECK(tw_dropped(point) == 1);
}

static void misuse(tw_session *session, tw_point *three) {
  const int32_t two[] = {1, 2};
  const double doubles[] = {1, 2, 3};
  tw_value none = tw_int32(1);
  none.type = (tw_type)99;
  const tw_value spoilt[] = {tw_int32(1), none, tw_int32(3)};
  CHECK(tw_inject_int32(three, two, 2) == TW_ERROR_VALUES);
  CHECK(tw_inject_double(three, doubles, 3) == TW_ERROR_VALUES);
  CHECK(tw_inject(three, spoilt, 3) == TW_ERROR_VALUES);
  CHECK(tw_inject_int32(NULL, two, 2) == TW_ERROR_ARGUMENT && tw_inject(three, NULL, 3) == TW_ERROR_ARGUMENT);
  CHECK(tw_dropped(three) == 3);
  const tw_field bad[] = {{"n", (tw_type)99}}, spaced[] = {{"a b", TW_INT32}};
  tw_point *point;
  CHECK(tw_declare(session, "bad", bad, 1, &point) == TW_ERROR_ARGUMENT);
  CHECK(tw_declare(session, "bad", spaced, 1, &point) == TW_ERROR_DECLARATION);
  CHECK(strstr(tw_last_error(), "a b") != NULL);
  CHECK(tw_declare(NULL, "bad", every, 1, &point) == TW_ERROR_ARGUMENT);
  CHECK(tw_start(session) == TW_ERROR_STATE);
  CHECK(tw_metadata(session, three, "absent", "k", "v") == TW_ERROR_ARGUMENT);
}

int main(int argc, char **argv) {
  tw_session *session, *other;
  tw_options options = TW_OPTIONS;
  options.destination = "tcp:host:no-port";
  CHECK(tw_open("modern", &options, &other) == TW_ERROR_CONFIGURATION);
  CHECK(tw_open("no name", NULL, &other) == TW_ERROR_CONFIGURATION);
  CHECK(strlen(tw_error_text(TW_ERROR_FULL)) > 10 && strlen(tw_error_text((tw_error)99)) > 10);
  CHECK(tw_open_arguments("modern", &argc, argv, &session) == TW_OK);
  tw_point *all, *three;
  const tw_field ints[] = {{"a", TW_INT32}, {"b", TW_INT32}, {"c", TW_INT32}};
  CHECK(tw_declare(session, "every", every, 15, &all) == TW_OK);
  CHECK(tw_start(session) == TW_OK);
  CHECK(tw_declare(session, "three", ints, 3, &three) == TW_OK);
  inject_every(all);
  const int32_t values[] = {1, 2, 3};
  CHECK(tw_inject_int32(three, values, 3) == TW_OK);
  CHECK(tw_metadata(session, NULL, NULL, "purpose", "test") == TW_OK);
  misuse(session, three);
  tw_counters counters;
  CHECK(tw_close(session, 5000, &counters) == TW_ERROR_LOST);
  CHECK(counters.samples_dropped == 4 && counters.rows == counters.rows_sent && counters.rows_dropped == 0);
  CHECK(tw_inject_int32(three, values, 3) == TW_ERROR_CLOSED);
  CHECK(tw_close(session, 0, NULL) == TW_ERROR_STATE && tw_count(session, &counters) == TW_OK);
  tw_free(session);
  tw_free(NULL);
  printf("%d arguments left\n", argc);
  return 0;
}
