; A real number to the power of a negative integer is the inverse of another power. Numba raises where that is
; zero, unless the integer is large, and for the smallest integer.
${head}
  %n = ${exponent}
  %size = call i64 @llvm.abs.i64(i64 %n, i1 false)
  %power = call ${of} @llvm.powi.${kind}.i64(${of} ${base}, i64 %size)
  %inverse = fdiv ${of} 1.0, %power
  %inverted = icmp slt i64 %n, 0
  %found = select i1 %inverted, ${of} %inverse, ${of} %power
  store ${of} %found, ptr ${result}
  %zero = fcmp oeq ${of} %power, 0.0
  %checked = icmp ule i64 %size, 65536
  %divided = and i1 %zero, %inverted
  %infinite = and i1 %divided, %checked
  %smallest = icmp slt i64 %size, 0
  %fails = or i1 %infinite, %smallest
  br i1 %fails, label %failure, label %success
failure:
  ret i32 1
success:
  ret i32 0
}
