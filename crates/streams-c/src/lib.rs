//! C interfaces to measurement streams: OML's own calls (`oml2/omlc.h`, `ocomm/o_log.h`), so that a program written for
//! liboml2 builds unchanged, and a modern interface (`trialwise/streams.h`). The headers say what each call promises.

mod log;
mod modern;

mod oml;
mod text;
mod values;
