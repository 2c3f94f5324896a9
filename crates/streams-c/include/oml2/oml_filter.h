/* For programs that include this header of OML's. It declares nothing: filters of a program's own are made in Rust
 * (`streams::filter::Registry`), and liboml2's interface for them (omlf_register_filter) is not offered. The built-in
 * filters are chosen at run time (--oml-config, --oml-list-filters) and need no declaration.
 */
#ifndef TRIALWISE_OML2_OML_FILTER_H
#define TRIALWISE_OML2_OML_FILTER_H

#include <oml2/omlc.h>

#endif
