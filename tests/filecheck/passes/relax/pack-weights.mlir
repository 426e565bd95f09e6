// RUN: xdsl-opt %s -p 'relax-pack-weights{vector_bytes=16}' | filecheck %s
// RUN: xdsl-opt %s -p relax-pack-weights | filecheck %s --check-prefix=WIDE
// RUN: xdsl-opt %s -p 'relax-pack-weights{vector_bytes=16 features="avx512vl avx512vnni"}' | filecheck %s --check-prefix=BYTES

!x = tensor<12x8xf32>
!w = tensor<8x16xf32>
!y = tensor<12x16xf32>

// Panels of two vectors. A weight of two products is packed once.
// CHECK-LABEL: relax.func @twice
// CHECK: %[[W:.*]] = relax.constant {{.*}} : tensor<2x8x8xf32>
// CHECK-NOT: relax.constant {{.*}} : tensor<2x8x8xf32>
// CHECK: %[[Y:.*]] = relax.call_tir @packed_matmul(%x, %[[W]]) : (tensor<12x8xf32>, tensor<2x8x8xf32>) -> tensor<12x16xf32>
// CHECK: %[[Z:.*]] = relax.call_tir @packed_matmul(%y, %[[W]]) : (tensor<12x8xf32>, tensor<2x8x8xf32>) -> tensor<12x16xf32>
// CHECK: relax.add %[[Y]], %[[Z]]
// WIDE-LABEL: relax.func @twice
// WIDE: relax.constant {{.*}} : tensor<1x8x32xf32>
// WIDE: relax.call_tir @packed_matmul(%x, %{{.*}}) : (tensor<12x8xf32>, tensor<1x8x32xf32>) -> tensor<12x16xf32>
relax.func @twice(%x: !x, %y: !x) -> !y attributes {global_symbol = "twice"} {
  %w = relax.constant dense<"0x000000000000803F0000004000004040000080400000A0400000C0400000E0400000004100001041000020410000304100004041000050410000604100007041000080410000884100009041000098410000A0410000A8410000B0410000B8410000C0410000C8410000D0410000D8410000E0410000E8410000F0410000F84100000042000004420000084200000C4200001042000014420000184200001C4200002042000024420000284200002C4200003042000034420000384200003C4200004042000044420000484200004C4200005042000054420000584200005C4200006042000064420000684200006C4200007042000074420000784200007C42000080420000824200008442000086420000884200008A4200008C4200008E42000090420000924200009442000096420000984200009A4200009C4200009E420000A0420000A2420000A4420000A6420000A8420000AA420000AC420000AE420000B0420000B2420000B4420000B6420000B8420000BA420000BC420000BE420000C0420000C2420000C4420000C6420000C8420000CA420000CC420000CE420000D0420000D2420000D4420000D6420000D8420000DA420000DC420000DE420000E0420000E2420000E4420000E6420000E8420000EA420000EC420000EE420000F0420000F2420000F4420000F6420000F8420000FA420000FC420000FE42"> : !w
  %a = relax.matmul %x, %w : (!x, !w) -> !y
  %b = relax.matmul %y, %w : (!x, !w) -> !y
  %c = relax.add %a, %b : (!y, !y) -> !y
  relax.return %c : !y
}

// A batch of any size; the last panel is filled up.
// CHECK-LABEL: relax.func @batch
// CHECK: relax.constant {{.*}} : tensor<2x8x8xf32>
// CHECK: relax.call_tir @packed_matmul1(%x, %{{.*}}) : (tensor<?x3x8xf32, #relax.dims<[n, 3, 8]>>, tensor<2x8x8xf32>) -> tensor<?x3x9xf32, #relax.dims<[n, 3, 9]>>
relax.func @batch<n>(%x: tensor<?x3x8xf32, #relax.dims<[n, 3, 8]>>) -> tensor<?x3x9xf32, #relax.dims<[n, 3, 9]>> attributes {global_symbol = "batch"} {
  %w = relax.constant dense<0.5> : tensor<8x9xf32>
  %a = relax.matmul %x, %w : (tensor<?x3x8xf32, #relax.dims<[n, 3, 8]>>, tensor<8x9xf32>) -> tensor<?x3x9xf32, #relax.dims<[n, 3, 9]>>
  relax.return %a : tensor<?x3x9xf32, #relax.dims<[n, 3, 9]>>
}

// With vectors of 64 bytes, panels have three of them where that fills the last one.
// WIDE-LABEL: relax.func @three
// WIDE: relax.constant {{.*}} : tensor<2x8x48xf32>
relax.func @three(%x: !x) -> tensor<12x96xf32> attributes {global_symbol = "three"} {
  %w = relax.constant dense<0.5> : tensor<8x96xf32>
  %a = relax.matmul %x, %w : (!x, tensor<8x96xf32>) -> tensor<12x96xf32>
  relax.return %a : tensor<12x96xf32>
}

// A weight that is no constant, few rows, few terms, few columns, a narrow dtype, a
// weight of three dimensions.
// CHECK-LABEL: relax.func @left_alone
// CHECK-NOT: call_tir
// CHECK: relax.return
relax.func @left_alone(%x: !x, %v: !w, %few: tensor<3x8xf32>, %thin: tensor<12x7xf32>, %half: tensor<12x8xbf16>) -> !relax.tuple<!y, tensor<3x16xf32>, tensor<12x16xf32>, tensor<12x3xf32>, tensor<12x16xbf16>, tensor<2x12x16xf32>> attributes {global_symbol = "left_alone"} {
  %w = relax.constant dense<0.25> : !w
  %short = relax.constant dense<0.25> : tensor<7x16xf32>
  %narrow = relax.constant dense<0.25> : tensor<8x3xf32>
  %of_half = relax.constant dense<0.25> : tensor<8x16xbf16>
  %two = relax.constant dense<0.25> : tensor<2x8x16xf32>
  %a = relax.matmul %x, %v : (!x, !w) -> !y
  %b = relax.matmul %few, %w : (tensor<3x8xf32>, !w) -> tensor<3x16xf32>
  %c = relax.matmul %thin, %short : (tensor<12x7xf32>, tensor<7x16xf32>) -> tensor<12x16xf32>
  %d = relax.matmul %x, %narrow : (!x, tensor<8x3xf32>) -> tensor<12x3xf32>
  %e = relax.matmul %half, %of_half : (tensor<12x8xbf16>, tensor<8x16xbf16>) -> tensor<12x16xbf16>
  %f = relax.matmul %x, %two : (!x, tensor<2x8x16xf32>) -> tensor<2x12x16xf32>
  %t = relax.tuple(%a, %b, %c, %d, %e, %f) : !y, tensor<3x16xf32>, tensor<12x16xf32>, tensor<12x3xf32>, tensor<12x16xbf16>, tensor<2x12x16xf32>
  relax.return %t : !relax.tuple<!y, tensor<3x16xf32>, tensor<12x16xf32>, tensor<12x3xf32>, tensor<12x16xbf16>, tensor<2x12x16xf32>>
}

// Four terms of a column are next to each other where processors add them at once, for any
// number of rows; the last quad is filled up.
// BYTES-LABEL: relax.func @bytes
// BYTES: %[[P:.*]] = relax.constant {{.*}} : tensor<1x3x32xi8>
// BYTES: relax.call_tir @{{.*}}(%x, %[[P]]) : (tensor<2x10xui8>, tensor<1x3x32xi8>) -> tensor<2x7xi32>
// CHECK-LABEL: relax.func @bytes
// CHECK: relax.matmul
relax.func @bytes(%x: tensor<2x10xui8>) -> tensor<2x7xi32> attributes {global_symbol = "bytes"} {
  %w = relax.constant dense<-5> : tensor<10x7xi8>
  %y = relax.matmul %x, %w out_dtype i32 : (tensor<2x10xui8>, tensor<10x7xi8>) -> tensor<2x7xi32>
  relax.return %y : tensor<2x7xi32>
}

// Narrow floats that are summed in f32 stay narrow.
// CHECK-LABEL: relax.func @narrow
// CHECK: relax.constant {{.*}} : tensor<1x8x8xbf16>
// CHECK: relax.call_tir {{.*}} : (tensor<4x8xbf16>, tensor<1x8x8xbf16>) -> tensor<4x8xf32>
relax.func @narrow(%x: tensor<4x8xbf16>) -> tensor<4x8xf32> attributes {global_symbol = "narrow"} {
  %w = relax.constant dense<0.5> : tensor<8x8xbf16>
  %y = relax.matmul %x, %w out_dtype f32 : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xf32>
  relax.return %y : tensor<4x8xf32>
}
