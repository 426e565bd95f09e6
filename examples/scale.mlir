tir.func @scale(%a: !tir.handle, %b: !tir.handle) attributes {global_symbol = "scale"} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>
  %B = tir.match_buffer %b [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n {
    tir.block "B" (%vi : S in [%c0 to %n] = %i) {
      tir.reads %A[%vi]
      tir.writes %B[%vi]
      %x = tir.load %A[%vi] : f32
      %two = tir.const 2.0 : f32
      %y = tir.mul %x, %two : f32
      tir.store %y, %B[%vi] : f32
    }
  }
}
