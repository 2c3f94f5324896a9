/* For programs that include this header of OML's. It declares nothing: writers of a program's own are not offered; where
 * streams go is chosen at run time (--oml-collect, --oml-config).
 */
#ifndef TRIALWISE_OML2_OML_WRITER_H
#define TRIALWISE_OML2_OML_WRITER_H

#include <oml2/omlc.h>

#endif
