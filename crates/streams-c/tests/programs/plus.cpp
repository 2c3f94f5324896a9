// Both interfaces from C++, without a warning.
extern "C" {
#include <oml2/omlc.h>
}
#include <trialwise/streams.h>

#include <cstdio>
#include <string>

static OmlMPDef fields[] = {{"s", OML_STRING_VALUE}, {"v", OML_VECTOR_DOUBLE_VALUE}, {NULL, (OmlValueT)0}};

int main(int argc, const char **argv) {
  if (omlc_init("plus", &argc, argv, NULL) < 0) return 1;
  OmlMP *mp = omlc_add_mp("m", fields);
  if (omlc_start() != 0) return 2;
  OmlValueU v[2];
  omlc_zero_array(v, 2);
  std::string text("from C++");
  const double numbers[] = {1, 2};
  omlc_set_string(v[0], text.c_str());
  omlc_set_vector_double(v[1], numbers, 2);
  int injected = omlc_inject(mp, v);
  omlc_reset_string(v[0]);
  omlc_reset_vector(v[1]);
  tw_session *session = nullptr;
  tw_options options = TW_OPTIONS;
  options.destination = "file:/dev/null";
  if (tw_open("plus", &options, &session) != TW_OK) return 3;
  tw_free(session);
  return injected == 0 && omlc_close() == 0 ? 0 : 4;
}
