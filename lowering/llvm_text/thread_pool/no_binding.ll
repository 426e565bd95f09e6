define internal void @xt_choose(i32 %wanted, i32 %cores) nounwind {
  ret void
}

define internal i1 @xt_spread(i32 %k) nounwind {
  ret i1 false
}
