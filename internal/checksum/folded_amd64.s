//go:build !purego && !race

#include "textflag.h"

// Constants fold a lane of 128 bits over a distance: its first 64 bits are multiplied by
// x^(distance+32), its last by x^(distance-32), modulo the polynomial of CRC-32C. All bits are
// reflected, as are those of the sum.
DATA fold2048<>+0(SB)/8, $0x0DCB17AA4
DATA fold2048<>+8(SB)/8, $0x0B9E02B86
GLOBL fold2048<>(SB), RODATA|NOPTR, $16

DATA fold512<>+0(SB)/8, $0x0740EEF02
DATA fold512<>+8(SB)/8, $0x09E4ADDF8
GLOBL fold512<>(SB), RODATA|NOPTR, $16

// The distances of the four lanes of a register from its last: 384, 256, 128 and none.
DATA foldLanes<>+0(SB)/8, $0x01C291D04
DATA foldLanes<>+8(SB)/8, $0x1D82C63DA
DATA foldLanes<>+16(SB)/8, $0x1384AA63A
DATA foldLanes<>+24(SB)/8, $0x0BA4FC28E
DATA foldLanes<>+32(SB)/8, $0x0F20C0DFE
DATA foldLanes<>+40(SB)/8, $0x14CD00BD6
DATA foldLanes<>+48(SB)/8, $0
DATA foldLanes<>+56(SB)/8, $0
GLOBL foldLanes<>(SB), RODATA|NOPTR, $64

// FOLD replaces x by x, folded by the constants k, plus what is added. It uses Z16 and Z17.
#define FOLD(k, x, added) \
	VPCLMULQDQ $0x00, k, x, Z16 \
	VPCLMULQDQ $0x11, k, x, Z17 \
	VMOVDQU64  added, x         \
	VPTERNLOGQ $0x96, Z17, Z16, x

// func foldedSum(sum uint32, p *byte, n int) uint32
TEXT ·foldedSum(SB), NOSPLIT, $0-28
	MOVL sum+0(FP), AX
	MOVQ p+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTI32X4 fold2048<>(SB), Z8
	VBROADCASTI32X4 fold512<>(SB), Z9

	VMOVD AX, X4 // which clears the rest of Z4
	VPXORQ 0(SI), Z4, Z0
	VMOVDQU64 64(SI), Z1
	VMOVDQU64 128(SI), Z2
	VMOVDQU64 192(SI), Z3
	ADDQ $256, SI
	SUBQ $256, CX

four:
	CMPQ CX, $256
	JLT  together
	FOLD(Z8, Z0, 0(SI))
	FOLD(Z8, Z1, 64(SI))
	FOLD(Z8, Z2, 128(SI))
	FOLD(Z8, Z3, 192(SI))
	ADDQ $256, SI
	SUBQ $256, CX
	JMP  four

together:
	FOLD(Z9, Z0, Z1)
	FOLD(Z9, Z0, Z2)
	FOLD(Z9, Z0, Z3)

one:
	CMPQ CX, $64
	JLT  lanes
	FOLD(Z9, Z0, 0(SI))
	ADDQ $64, SI
	SUBQ $64, CX
	JMP  one

lanes:
	VMOVDQU64  foldLanes<>(SB), Z8
	VEXTRACTI32X4 $3, Z0, X5 // the last lane is not folded
	VPCLMULQDQ $0x00, Z8, Z0, Z16
	VPCLMULQDQ $0x11, Z8, Z0, Z17
	VPXORQ     Z16, Z17, Z0
	VEXTRACTI64X4 $1, Z0, Y1
	VPXORQ     Y1, Y0, Y0
	VEXTRACTI32X4 $1, Y0, X1
	VPXORQ     X1, X0, X0
	VPXORQ     X5, X0, X0

	VMOVQ X0, AX
	VPEXTRQ $1, X0, BX
	XORQ DX, DX
	CRC32Q AX, DX
	CRC32Q BX, DX
	MOVL DX, ret+24(FP)
	VZEROUPPER
	RET
