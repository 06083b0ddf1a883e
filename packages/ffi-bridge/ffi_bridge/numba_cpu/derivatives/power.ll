; The power of a number of LLVM's type ${of}, by squares.
declare i64 @llvm.abs.i64(i64, i1)
declare ${of} @llvm.pow.${kind}(${of}, ${of})
define internal ${of} @powi.${kind}.i64(${of} %x, i64 %n) noinline nosync nounwind willreturn memory(none) {
  %size = call i64 @llvm.abs.i64(i64 %n, i1 false)
  %many = icmp ugt i64 %size, 65536
  br i1 %many, label %other, label %turn
other:
  %exponent = sitofp i64 %n to ${of}
  %found = call ${of} @llvm.pow.${kind}(${of} %x, ${of} %exponent)
  ret ${of} %found
turn:
  %left = phi i64 [ %size, %0 ], [ %half, %go ]
  %result = phi ${of} [ 1.0, %0 ], [ %product, %go ]
  %factor = phi ${of} [ %x, %0 ], [ %square, %go ]
  %done = icmp eq i64 %left, 0
  br i1 %done, label %end, label %go
go:
  %bit = trunc i64 %left to i1
  %times = fmul ${of} %result, %factor
  %product = select i1 %bit, ${of} %times, ${of} %result
  %half = lshr i64 %left, 1
  %square = fmul ${of} %factor, %factor
  br label %turn
end:
  %inverse = fdiv ${of} 1.0, %result
  %inverted = icmp slt i64 %n, 0
  %power = select i1 %inverted, ${of} %inverse, ${of} %result
  ret ${of} %power
}

; A slope has the power below one that is there already: their quotient is the base, but for 0 and infinity.
declare ${of} @llvm.fabs.${kind}(${of})
define internal ${of} @powi.below.${kind}.i64(${of} %x, i64 %n) alwaysinline {
  %power = call ${of} @powi.${kind}.i64(${of} %x, i64 %n)
  %size = call ${of} @llvm.fabs.${kind}(${of} %power)
  %above = fcmp ogt ${of} %size, 0x39B0000000000000
  %below = fcmp olt ${of} %size, 0x4630000000000000
  %usual = and i1 %above, %below
  br i1 %usual, label %part, label %other
part:
  %quotient = fdiv ${of} %power, %x
  ret ${of} %quotient
other:
  %m = sub i64 %n, 1
  %found = call ${of} @powi.${kind}.i64(${of} %x, i64 %m)
  ret ${of} %found
}
