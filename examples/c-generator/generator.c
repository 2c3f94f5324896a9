/* A generator of two signals, instrumented: generator_oml.h and the options were made by
 * `trialwise scaffold points.toml --language c`, the rest is this program's own. */
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <oml2/omlc.h>

#define OML_FROM_MAIN
#include "generator_oml.h"

static struct {
  uint32_t samples; /* samples of each signal */
  double frequency; /* frequency of the sine */
  double interval;  /* time between samples */
} options = {100U, 0.5, 0.01};

static void print_usage(FILE *out) {
  fputs(
      "usage: generator [OPTIONS]; --oml-help tells of measuring\n"
      "  -n, --samples UINT32  samples of each signal (default 100)\n"
      "  -f, --frequency Hz  frequency of the sine (default 0.5)\n"
      "  -i, --interval s  time between samples (default 0.01)\n"
      "  -h, --help\n",
      out);
}

/* False if they cannot be read. */
static bool read_options(int argc, char **argv) {
  static const struct option known[] = {
      {"samples", required_argument, NULL, 256},
      {"frequency", required_argument, NULL, 257},
      {"interval", required_argument, NULL, 258},
      {"help", no_argument, NULL, 'h'},
      {NULL, 0, NULL, 0}};
  for (int found; (found = getopt_long(argc, argv, "n:f:i:h", known, NULL)) != -1;) {
    switch (found) {
      case 'n':
      case 256:
        options.samples = (uint32_t)strtoul(optarg, NULL, 0);
        break;
      case 'f':
      case 257:
        options.frequency = strtod(optarg, NULL);
        break;
      case 'i':
      case 258:
        options.interval = strtod(optarg, NULL);
        break;
      case 'h':
        print_usage(stdout);
        exit(0);
      default:
        print_usage(stderr);
        return false;
    }
  }
  return true;
}

static void rest(double seconds) {
  const struct timespec pause = {(time_t)seconds, (long)(fmod(seconds, 1.0) * 1e9)};
  nanosleep(&pause, NULL);
}

static void run(void) {
  char label[32];
  for (uint32_t number = 0; number < options.samples; number++) {
    const double phase = 6.283185307179586 * options.frequency * options.interval * number;
    snprintf(label, sizeof label, "sample-%u", number);
    oml_inject_lin(g_oml_mps_generator->lin, label, number);
    oml_inject_sin(g_oml_mps_generator->sin, label, phase, sin(phase));
    rest(options.interval);
  }
}

int main(int argc, char *argv[]) {
  if (omlc_init("generator", &argc, (const char **)argv, NULL) < 0) return 1;
  if (!read_options(argc, argv)) return 2;
  if (oml_register_mps() != 0 || omlc_start() != 0) return 1;
  run();
  return omlc_close() == 0 ? 0 : 1;
}
