/* A measurement point that is declared after the start, and metadata of everything. */
#include <oml2/omlc.h>

static OmlMPDef one[] = {{"n", OML_INT32_VALUE}, {NULL, (OmlValueT)0}};
static OmlMPDef two[] = {{"n", OML_INT32_VALUE}, {"name", OML_STRING_VALUE}, {NULL, (OmlValueT)0}};
static OmlMPDef wrong[] = {{"no name", OML_INT32_VALUE}, {NULL, (OmlValueT)0}};

static int say(OmlMP *mp, const char *key, const char *text, const char *field) {
  OmlValueU value;
  omlc_zero(value);
  omlc_set_string(value, (char *)text);
  int said = omlc_inject_metadata(mp, key, &value, OML_STRING_VALUE, field);
  omlc_reset_string(value);
  return said;
}

int main(int argc, const char **argv) {
  OmlValueU v[2];
  omlc_zero_array(v, 2);
  if (omlc_add_mp("early", one) != NULL || omlc_start() == 0 || omlc_close() != -1) return 1;
  if (omlc_init("late", &argc, argv, NULL) < 0 || omlc_init("late", &argc, argv, NULL) != -1) return 2;
  OmlMP *early = omlc_add_mp("early", one);
  omlc_set_int32(v[0], 1);
  omlc_process(early, v); /* before the start: sent all the same */
  if (omlc_start() != 0 || omlc_start() == 0) return 3;
  if (omlc_add_mp("bad", wrong) != NULL || omlc_add_mp("early", one) != NULL) return 4;
  OmlMP *late = omlc_add_mp("late", two);
  omlc_set_int32(v[0], 2);
  omlc_set_string(v[1], "two");
  if (omlc_inject(late, v) != 0) return 5;
  if (say(NULL, "purpose", "a test", NULL) != 0) return 6;
  if (say(early, "unit", "s", "n") != 0 || say(late, "about", "it", NULL) != 0) return 6;
  if (say(late, "of", "no field", "absent") != 0) return 6; /* said of the point instead */
  if (say(NULL, "schema", "0 x", NULL) != -1 || say(NULL, NULL, "x", NULL) != -1) return 7;
  if (omlc_inject_metadata(NULL, "k", &v[0], OML_INT32_VALUE, NULL) != -1) return 7;
  return omlc_close() == 0 ? 0 : 8;
}
