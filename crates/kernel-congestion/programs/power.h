// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Powers of two of what is no whole number.

#pragma once

#include "kernel.h"

enum { POWER_SHIFT = 16, POWER_ONE = 1 << POWER_SHIFT };

// 2^(x / POWER_ONE) in units of 1 / POWER_ONE, for x of 0 to POWER_ONE: the parabola through 0, 1/2 and 1, within 0.2 %.
ALWAYS_INLINE u32 power_of_two(u32 x)
{
	enum { LINEAR = 43048, SQUARE = POWER_ONE - LINEAR }; // 4 sqrt(2) - 5 = 0.65685

	return POWER_ONE + (u32)((x * ((u64)LINEAR + ((u64)SQUARE * x >> POWER_SHIFT))) >> POWER_SHIFT);
}
