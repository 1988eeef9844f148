/* cujit/kernels.hpp - an owning class for each object of libcujit-kernels, for C++17.
 *
 *     cujit::gemm g = cj_gemm_create(dev, &opts);   // a constructor's pointer is taken over
 *     cj_gemm_launch(s, g, &args);                  // the class is used like the pointer
 *
 * As those of cujit.hpp.
 */
#ifndef CUJIT_KERNELS_HPP
#define CUJIT_KERNELS_HPP

#include <cujit/cujit.hpp>
#include <cujit/kernels.h>

namespace cujit {

using argmax = object<cj_argmax, cj_argmax_free>;
using attention = object<cj_attention, cj_attention_free>;
using elementwise = object<cj_elementwise, cj_elementwise_free>;
using gemm = object<cj_gemm, cj_gemm_free>;
using gemv = object<cj_gemv, cj_gemv_free>;
using layer_norm = object<cj_layer_norm, cj_layer_norm_free>;
using reduce = object<cj_reduce, cj_reduce_free>;
using rms_norm = object<cj_rms_norm, cj_rms_norm_free>;
using rope = object<cj_rope, cj_rope_free>;
using scan = object<cj_scan, cj_scan_free>;
using softmax = object<cj_softmax, cj_softmax_free>;

} // namespace cujit

#endif
