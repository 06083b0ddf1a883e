; Narrow formats: what is in ${braces}, the numbers of a format and a mode of rounding, `formats.py` fills in.

; A float's bits, moved to where f32 has them, are the number but for its exponent's bias, which one exact
; multiplication corrects: for subnormal numbers too.
define internal float @ptx.widen.${kind}(i${width} %x) alwaysinline {
  %sign = and i${width} %x, ${sign}
  %magnitude = xor i${width} %x, %sign
  %wide = zext i${width} %magnitude to i32
  %moved = shl i32 %wide, ${move}
  %raw = bitcast i32 %moved to float
  %scale = bitcast i32 ${scale} to float
  %scaled = fmul float %raw, %scale
  %number = bitcast float %scaled to i32
  %special = icmp uge i32 %wide, ${beyond}
  %nan = icmp ugt i32 %wide, ${last}
  %infinite = select i1 %special, i32 2139095040, i32 %number
  %wide.sign = zext i${width} %sign to i32
  %moved.sign = shl i32 %wide.sign, ${up}
  %signed = or i32 %infinite, %moved.sign
  %bits = select i1 %nan, i32 ${nan}, i32 %signed
  %result = bitcast i32 %bits to float
  ret float %result
}

; The digits of a double that the format lacks are cut off; they say whether the last one left is increased, in
; each mode of rounding. Finite numbers that are too large become the largest one where their mode rounds towards
; zero.
define internal i${width} @ptx.narrow.${name}(double %x) {
  %bits = bitcast double %x to i64
  %negative = icmp slt i64 %bits, 0
  %magnitude = and i64 %bits, 9223372036854775807
  %exponent = lshr i64 %magnitude, 52
  %fraction = and i64 %bits, 4503599627370495
  %normal = icmp ne i64 %exponent, 0
  %leading = select i1 %normal, i64 4503599627370496, i64 0
  %whole = or i64 %fraction, %leading
  %above = sub i64 %exponent, ${bias}
  %is.normal = icmp sgt i64 %above, 0
  %binade = select i1 %is.normal, i64 %above, i64 0
  %missing = sub i64 %binade, %above
  %wanted = add i64 %missing, ${cut}
  %far = icmp ugt i64 %wanted, 63
  %shift = select i1 %far, i64 63, i64 %wanted
  %kept = lshr i64 %whole, %shift
  %back = shl i64 %kept, %shift
  %rest = sub i64 %whole, %back
  %before = sub i64 %shift, 1
  %half = shl i64 1, %before
  %inexact = icmp ne i64 %rest, 0
  %positive = xor i1 %negative, true
  %odd = trunc i64 %kept to i1
  %more = icmp ugt i64 %rest, %half
  %tie = icmp eq i64 %rest, %half
  %even = and i1 %tie, %odd
  %up.rn = or i1 %more, %even
  %up.rna = icmp uge i64 %rest, %half
  %up.rm = and i1 %negative, %inexact
  %up.rp = and i1 %positive, %inexact
  %up.rz = and i1 %inexact, false
  %one = zext i1 %up.${mode} to i64
  %rounded = add i64 %kept, %one
  %place = shl i64 %binade, ${fraction}
  %size = add i64 %rounded, %place
  %finite = icmp ne i64 %exponent, 2047
  %cut.rn = and i1 %finite, false
  %cut.rna = and i1 %finite, false
  %cut.rz = and i1 %finite, true
  %cut.rm = and i1 %finite, %positive
  %cut.rp = and i1 %finite, %negative
  %towards.zero = or i1 %cut.${mode}, ${satfinite}
  %cap = select i1 %towards.zero, i64 ${largest}, i64 ${beyond}
  %over = icmp ugt i64 %size, %cap
  %capped = select i1 %over, i64 %cap, i64 %size
  %signed = select i1 %negative, i64 ${sign}, i64 0
  %number = or i64 %capped, %signed
  %moved = shl i64 %number, ${unused}
  %is.nan = fcmp uno double %x, 0.0
  %all = select i1 %is.nan, i64 ${nan}, i64 %moved
  %result = trunc i64 %all to i${width}
  ret i${width} %result
}
