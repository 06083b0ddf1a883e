; Sums, quotients and roots as doubles rounded to odd: the nearest one, of which the last bit is made 1 by a step
; towards the exact value, unless that is what it is. Rounded once more, to a format that is at least two bits
; shorter, it gives what the exact value would (Boldo and Melquiond, IEEE Trans. Comput. 57, 2008).

define internal double @ptx.odd(double %nearest, double %error) alwaysinline {
  %bits = bitcast double %nearest to i64
  %side = bitcast double %error to i64
  %inexact = fcmp one double %error, 0.0
  %odd = trunc i64 %bits to i1
  %even = xor i1 %odd, true
  %moves = and i1 %inexact, %even
  %differ = xor i64 %bits, %side
  %inwards = icmp slt i64 %differ, 0
  %step = select i1 %inwards, i64 -1, i64 1
  %moved = add i64 %bits, %step
  %found = select i1 %moves, i64 %moved, i64 %bits
  %result = bitcast i64 %found to double
  ret double %result
}

define internal double @ptx.odd.add(double %a, double %b) {
  %sum = fadd double %a, %b
  %a.part = fsub double %sum, %b
  %b.part = fsub double %sum, %a.part
  %a.rest = fsub double %a, %a.part
  %b.rest = fsub double %b, %b.part
  %error = fadd double %a.rest, %b.rest
  %result = call double @ptx.odd(double %sum, double %error)
  ret double %result
}

define internal double @ptx.odd.div(double %a, double %b) {
  %quotient = fdiv double %a, %b
  %minus = fneg double %quotient
  %rest = call double @llvm.fma.f64(double %minus, double %b, double %a)
  %negative = fcmp olt double %b, 0.0
  %other = fneg double %rest
  %error = select i1 %negative, double %other, double %rest
  %result = call double @ptx.odd(double %quotient, double %error)
  ret double %result
}

define internal double @ptx.odd.sqrt(double %a) {
  %root = call double @llvm.sqrt.f64(double %a)
  %minus = fneg double %root
  %error = call double @llvm.fma.f64(double %minus, double %root, double %a)
  %result = call double @ptx.odd(double %root, double %error)
  ret double %result
}

declare double @llvm.fma.f64(double, double, double)
declare double @llvm.sqrt.f64(double)
