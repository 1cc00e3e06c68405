//go:build !purego && !race

#include "go_asm.h"
#include "textflag.h"

// A block of base64 is 32 characters, whose bits are in up to 25 bytes. Each quarter of them needs 7
// bytes, the last of which the next quarter may need too. The second half is loaded from byte 9 on,
// because it must not end beyond the block.
DATA quarters<>+0(SB)/8, $0xFF06050403020100
DATA quarters<>+8(SB)/8, $0xFF0C0B0A09080706
DATA quarters<>+16(SB)/8, $0xFF09080706050403
DATA quarters<>+24(SB)/8, $0xFF0F0E0D0C0B0A09
GLOBL quarters<>(SB), RODATA|NOPTR, $32

// The three bytes of four characters become 32 bits.
DATA threeBytes<>+0(SB)/8, $0xFF050403FF020100
DATA threeBytes<>+8(SB)/8, $0xFF0D0C0BFF0A0908
GLOBL threeBytes<>(SB), RODATA|NOPTR, $16

DATA sixBits<>+0(SB)/4, $0x003F003F
DATA sixBits<>+4(SB)/4, $0x3F003F00
GLOBL sixBits<>(SB), RODATA|NOPTR, $8

DATA lasts<>+0(SB)/4, $0x19191919 // the number of the last capital letter
DATA lasts<>+4(SB)/4, $0x33333333 // of the last letter
GLOBL lasts<>(SB), RODATA|NOPTR, $8

DATA lower<>+0(SB)/8, $"01234567"
DATA lower<>+8(SB)/8, $"89abcdef"
GLOBL lower<>(SB), RODATA|NOPTR, $16

DATA upper<>+0(SB)/8, $"01234567"
DATA upper<>+8(SB)/8, $"89ABCDEF"
GLOBL upper<>(SB), RODATA|NOPTR, $16

DATA fourBits<>+0(SB)/8, $0x0F0F0F0F0F0F0F0F
DATA fourBits<>+8(SB)/8, $0x0F0F0F0F0F0F0F0F
GLOBL fourBits<>(SB), RODATA|NOPTR, $16

// decodeTokens alternates between two loops:
//
//	tokens, three  decode short phrases, three for each load of p, until a token has steps
//	program, step  execute the steps of that token: a phrase, and a field by its kind
//
// Each field ends with a jump to next, which remembers it and goes on to the next step or token. What
// is left to Go is found before anything of it is done. It leaves by one of three labels: stop before
// a token, leaveStep before a step, or leaveOp before the field of a step.
//
// Only the bytes of p can be damaged. The builder of the dictionary guarantees that
//
//   - the lengths and the table of codes have an entry for each index, a power of two;
//   - phrases are within the heap, and padding bytes follow them;
//   - the steps of a token end with one that is the last;
//   - bases exist; and the lengths and bits of ops are those that op.check accepts.
//
// Registers:
//
//	BX   the next bit of p
//	SI   p
//	DI   where in out to write next
//	R12  the last position in out where a token or step may start: padding bytes fit there
//	R10  the heap
//	R13  the decoder, except from three to program
//	R14  the step, except from enter to program
//
// From enter to program, which decode short phrases:
//
//	DX   the next bits of p
//	R8   the lengths of codes
//	R9   the table of codes
//	R11  the mask for their index
//
// All other registers are scratch, and in steps DX, R8, R9 and R11 are, too. The stack has the rest:
//
//	end    the bit after the last token
//	limit  the last position in p with 8 bytes
//	base   out
//	start  DI before the step
//	field  DI before the step's field
//	bases, steps  of the dictionary
//	whole  DI after the base64 characters that have all their bits

// WORD sets DX to the bits of p from BX on: at least loadedBits, and zeros beyond the end. BX must
// not be beyond the end, because the shift is modulo 64. It overwrites AX and CX.
#define WORD \
	MOVQ BX, AX \
	SHRQ $3, AX \
	CMPQ AX, limit-64(SP) \
	CMOVQHI limit-64(SP), AX \
	MOVQ (SI)(AX*1), DX \
	SHLQ $3, AX \
	MOVQ BX, CX \
	SUBQ AX, CX \
	SHRXQ CX, DX, DX

// PHRASE decodes a short phrase whose code DX starts with. If the token has steps, it goes to program
// with the length of the code in AX and the table's entry in CX.
#define PHRASE \
	CMPQ BX, end-8(SP) \
	JAE stop \
	MOVQ DX, AX \
	ANDQ R11, AX \
	MOVL (R9)(AX*4), CX \
	MOVBLZX (R8)(AX*1), AX \
	MOVL CX, R14 \
	ANDL $const_entrySize, R14 \
	JZ program \
	CMPQ DI, R12 \
	JA stop \
	SHRL $const_entryAtShift, CX \
	MOVOU (R10)(CX*1), X0 \
	MOVOU X0, (DI) \
	ADDQ R14, DI \
	SHRXQ AX, DX, DX \
	ADDQ AX, BX

// EIGHT replaces a number below 1e8 with its eight digits, each from 0 to 9, the first in the low
// byte. It works like eightDigits, and overwrites AX and CX.
#define EIGHT(v) \
	IMUL3Q $109951163, v, AX \
	SHRQ $40, AX \
	IMUL3Q $10000, AX, CX \
	SUBQ CX, v \
	SHLQ $32, v \
	ORQ AX, v \
	IMUL3Q $10486, v, AX \
	SHRQ $20, AX \
	MOVQ $0x0000007F0000007F, CX \
	ANDQ CX, AX \
	IMUL3Q $100, AX, CX \
	SUBQ CX, v \
	SHLQ $16, v \
	ORQ AX, v \
	IMUL3Q $103, v, AX \
	SHRQ $10, AX \
	MOVQ $0x000F000F000F000F, CX \
	ANDQ CX, AX \
	IMUL3Q $10, AX, CX \
	SUBQ CX, v \
	SHLQ $8, v \
	ORQ AX, v

// COUNT sets CX to the length of a field, and R8 to the bit after that length. It leaves unless there
// is room for the field and the given number of bytes more. It overwrites AX and DX.
#define COUNT(more) \
	WORD \
	MOVBLZX (step_op+op_bits)(R14), R8 \
	BZHIQ R8, DX, DX \
	MOVWLZX (step_op+op_n)(R14), CX \
	ADDQ DX, CX \
	ADDQ BX, R8 \
	LEAQ (more-const_padding)(DI)(CX*1), AX \
	CMPQ AX, R12 \
	JA leaveOp

// func decodeTokens(s *decoder, end uint, room int, from uint32) (step uint32, op bool)
TEXT ·decodeTokens(SB), NOSPLIT, $64-37
	MOVQ s+0(FP), R13
	MOVQ end+8(FP), AX
	MOVQ AX, end-8(SP)
	MOVQ decoder_p(R13), SI
	MOVQ decoder_p+8(R13), AX
	SUBQ $8, AX
	JCC long
	LEAQ decoder_short(R13), SI
	XORL AX, AX

long:
	MOVQ AX, limit-64(SP)
	MOVQ decoder_bit(R13), BX
	MOVQ decoder_out(R13), AX
	MOVQ AX, base-16(SP)
	MOVQ room+16(FP), R12
	ADDQ AX, R12
	MOVQ decoder_n(R13), DI
	ADDQ AX, DI
	MOVQ decoder_d(R13), AX
	MOVQ Dictionary_heap(AX), R10
	MOVQ Dictionary_bases(AX), CX
	MOVQ CX, bases-40(SP)
	MOVQ Dictionary_steps(AX), CX
	MOVQ CX, steps-48(SP)
	MOVLQZX from+24(FP), R14
	TESTQ R14, R14
	JZ enter
	SHLQ $4, R14
	ADDQ CX, R14
	JMP step

enter:
	MOVQ decoder_d(R13), AX
	MOVQ Dictionary_lengths(AX), R8
	MOVQ Dictionary_lengths+8(AX), R11
	DECQ R11
	MOVQ Dictionary_table(AX), R9

tokens:
	CMPQ BX, end-8(SP)
	JAE stop
	WORD

three: // tokens in DX
	PHRASE
	PHRASE

	// The load of the next word does not wait for the length of the third code. The word has at
	// least 43 of its bits left after that, and three codes have at most 42.
	MOVQ BX, R13
	SHRQ $3, R13
	CMPQ R13, limit-64(SP)
	CMOVQHI limit-64(SP), R13
	MOVQ (SI)(R13*1), R15
	SHLQ $3, R13
	PHRASE
	MOVQ BX, AX
	SUBQ R13, AX
	SHRXQ AX, R15, DX
	JMP three

program:
	MOVQ s+0(FP), R13
	TESTL CX, CX
	JZ stop // no code
	ADDQ AX, BX
	SHRL $const_entryAtShift, CX
	SHLQ $4, CX
	MOVQ steps-48(SP), R14
	ADDQ CX, R14

step: // a phrase, and then perhaps a field
	MOVQ DI, start-24(SP)
	CMPQ BX, end-8(SP)
	JA leaveStep
	MOVWLZX step_size(R14), CX
	LEAQ (DI)(CX*1), AX
	CMPQ AX, R12
	JA leaveStep
	MOVL step_at(R14), AX
	ADDQ R10, AX

phrase:
	MOVOU (AX), X0
	MOVOU X0, (DI)
	ADDQ $16, AX
	ADDQ $16, DI
	SUBQ $16, CX
	JGT phrase
	ADDQ CX, DI
	MOVQ DI, field-32(SP)

	// The field, the most frequent kinds first. There is room for padding bytes at DI.
	MOVBLZX (step_op+op_kind)(R14), AX
	CMPL AX, $const_kindNumber
	JEQ integer
	CMPL AX, $const_kindDigits
	JEQ digits
	CMPL AX, $const_kindEnd
	JEQ next
	CMPL AX, $const_kindCopy
	JEQ copy
	CMPL AX, $const_kindSame
	JEQ same
	CMPL AX, $const_kindLittle
	JEQ integer
	CMPL AX, $const_kindBase64
	JEQ standard
	CMPL AX, $const_kindBytes
	JEQ bytes
	CMPL AX, $const_kindHex
	JEQ hexLower
	CMPL AX, $const_kindUUID
	JEQ uuidLower
	CMPL AX, $const_kindBase64URL
	JEQ urls
	CMPL AX, $const_kindHexUpper
	JEQ hexUpper
	CMPL AX, $const_kindUUIDUpper
	JEQ uuidUpper
	CMPL AX, $const_kindBig
	JEQ integer

leaveOp: // only the op is left to do
	MOVB $1, op+36(FP)
	JMP leave

leaveStep: // also the phrase
	MOVQ start-24(SP), DI
	MOVB $0, op+36(FP)

leave:
	MOVQ R14, AX
	SUBQ steps-48(SP), AX
	SHRQ $4, AX
	JMP save

stop: // before a token
	MOVQ s+0(FP), R13
	MOVB $0, op+36(FP)
	XORL AX, AX

save:
	MOVQ BX, decoder_bit(R13)
	SUBQ base-16(SP), DI
	MOVQ DI, decoder_n(R13)
	MOVL AX, step+32(FP)
	RET

next: // step, as the field ends at DI
	CMPB step_remembered(R14), $0
	JEQ last
	MOVQ decoder_fields(R13), AX
	MOVQ AX, CX
	ANDL $(const_maxRemembered-1), CX
	SHLQ $4, CX
	INCQ AX
	MOVQ AX, decoder_fields(R13)
	MOVQ field-32(SP), AX
	SUBQ base-16(SP), AX
	MOVQ AX, (decoder_spans+span_start)(R13)(CX*1)
	MOVQ DI, AX
	SUBQ base-16(SP), AX
	MOVQ AX, (decoder_spans+span_end)(R13)(CX*1)

last:
	CMPB step_last(R14), $0
	JNE enter
	ADDQ $step__size, R14
	JMP step

// The fields. R14 is the step, BX the first bit of the field, and DI where it goes. To leave by
// leaveOp, they must be unchanged. Up to padding bytes may be overwritten without another check.

integer: // decimal or binary
	WORD
	MOVBLZX (step_op+op_bits)(R14), R8
	CMPL R8, $const_loadedBits
	JA wide
	BZHIQ R8, DX, DX

based:
	MOVL (step_op+op_at)(R14), AX
	MOVQ bases-40(SP), CX
	ADDQ (CX)(AX*8), DX
	CMPB (step_op+op_kind)(R14), $const_kindNumber
	JNE binary
	CMPQ DX, $1000000000
	JAE large

	// Up to nine digits.
	ADDQ R8, BX
	LEAQ ·numbers(SB), R8
	CMPQ DX, $1000
	JB below1000
	LEAQ ·threes(SB), R9
	IMUL3Q $274877907, DX, AX // 2^38/1000
	SHRQ $38, AX
	IMUL3Q $1000, AX, CX
	SUBQ CX, DX
	MOVL (R9)(DX*4), R11 // the last three
	CMPQ AX, $1000
	JB below1000000
	IMUL3Q $274877907, AX, DX
	SHRQ $38, DX
	IMUL3Q $1000, DX, CX
	SUBQ CX, AX
	MOVL (R8)(DX*4), CX
	MOVL CX, (DI)
	SHRL $24, CX
	ADDQ CX, DI
	MOVL (R9)(AX*4), AX
	MOVL AX, (DI)
	MOVL R11, 3(DI)
	ADDQ $6, DI
	JMP next

below1000000:
	MOVL (R8)(AX*4), CX
	MOVL CX, (DI)
	SHRL $24, CX
	ADDQ CX, DI
	MOVL R11, (DI)
	ADDQ $3, DI
	JMP next

below1000:
	MOVL (R8)(DX*4), CX
	MOVL CX, (DI)
	SHRL $24, CX
	ADDQ CX, DI
	JMP next

wide: // more bits than a word has
	LEAQ (BX)(R8*1), AX
	CMPQ AX, end-8(SP)
	JA leaveOp
	MOVL DX, R9
	ADDQ $32, BX
	WORD
	SUBQ $32, BX
	SHLQ $32, DX
	ORQ R9, DX
	BZHIQ R8, DX, DX
	JMP based

large: // 10 to 20 digits: up to 8 of DX, 8 of R11 if there are more than 16, and 8 of R9
	LEAQ (const_digitsRoom-const_padding)(DI), AX
	CMPQ AX, R12
	JA leaveOp
	ADDQ R8, BX
	MOVQ $0x3030303030303030, R8
	MOVQ DX, R9
	MOVQ $0xABCC77118461CEFD, AX // 2^90/1e8
	MULQ DX
	SHRQ $26, DX
	IMUL3Q $100000000, DX, AX
	SUBQ AX, R9
	CMPQ DX, $100000000
	JB first
	MOVQ DX, R11
	MOVQ $0xABCC77118461CEFD, AX
	MULQ DX
	SHRQ $26, DX
	IMUL3Q $100000000, DX, AX
	SUBQ AX, R11
	EIGHT(DX)
	TZCNTQ DX, CX
	ANDL $0x38, CX
	ORQ R8, DX
	SHRXQ CX, DX, DX
	MOVQ DX, (DI)
	SHRL $3, CX
	SUBQ CX, DI
	EIGHT(R11)
	ORQ R8, R11
	MOVQ R11, 8(DI)
	ADDQ $16, DI
	JMP lastEight

first:
	EIGHT(DX)
	TZCNTQ DX, CX
	ANDL $0x38, CX
	ORQ R8, DX
	SHRXQ CX, DX, DX
	MOVQ DX, (DI)
	SHRL $3, CX
	SUBQ CX, DI
	ADDQ $8, DI

lastEight:
	EIGHT(R9)
	ORQ R8, R9
	MOVQ R9, (DI)
	ADDQ $8, DI
	JMP next

binary: // in CX bytes
	ADDQ R8, BX
	MOVWLZX (step_op+op_n)(R14), CX
	CMPB (step_op+op_kind)(R14), $const_kindBig
	JNE little
	BSWAPQ DX
	MOVL $8, AX
	SUBL CX, AX
	SHLL $3, AX
	SHRXQ AX, DX, DX

little:
	MOVQ DX, (DI)
	ADDQ CX, DI
	JMP next

digits: // up to nine
	WORD
	MOVBLZX (step_op+op_bits)(R14), R8
	BZHIQ R8, DX, CX
	SHRXQ R8, DX, DX
	MOVWLZX (step_op+op_n)(R14), AX
	ADDQ AX, CX // how many
	CMPQ CX, $9
	JA leaveOp
	LEAQ ·digitBits(SB), AX
	MOVBLZX (AX)(CX*1), R9
	BZHIQ R9, DX, DX
	ADDQ R8, BX
	ADDQ R9, BX
	LEAQ ·threes(SB), R9
	IMUL3Q $274877907, DX, AX
	SHRQ $38, AX
	IMUL3Q $1000, AX, R8
	SUBQ R8, DX
	MOVL (R9)(DX*4), R11 // the last three
	IMUL3Q $274877907, AX, DX
	SHRQ $38, DX
	IMUL3Q $1000, DX, R8
	SUBQ R8, AX
	MOVL (R9)(AX*4), R8
	SHLQ $24, R11
	ORQ R8, R11 // the last six
	SUBQ $6, CX
	JA nine
	NEGQ CX
	LEAQ (CX*8), AX
	SHRXQ AX, R11, R11
	MOVQ R11, (DI)
	SUBQ CX, DI
	ADDQ $6, DI
	JMP next

nine: // or 7 or 8; damage may make the first three 1000 and more
	LEAQ -1000(DX), AX
	CMPQ DX, $1000
	CMOVQCC AX, DX
	MOVL (R9)(DX*4), DX
	MOVQ $3, AX
	SUBQ CX, AX
	SHLQ $3, AX
	SHRXQ AX, DX, DX
	MOVL DX, (DI)
	ADDQ CX, DI
	MOVQ R11, (DI)
	ADDQ $6, DI
	JMP next

same: // as an earlier field
	MOVQ decoder_fields(R13), AX
	MOVWLZX (step_op+op_n)(R14), CX
	CMPQ CX, AX
	JAE leaveOp
	SUBQ CX, AX
	DECQ AX
	ANDL $(const_maxRemembered-1), AX
	SHLQ $4, AX
	MOVQ (decoder_spans+span_start)(R13)(AX*1), DX
	MOVQ (decoder_spans+span_end)(R13)(AX*1), CX
	SUBQ DX, CX
	ADDQ base-16(SP), DX
	MOVQ BX, R9
	JMP again

copy: // bytes from earlier in the value
	WORD
	MOVL DX, R8
	ANDL $const_copyLong, R8
	SHRQ $const_copyBits, DX
	LEAQ const_copyBits(BX), R9
	CMPL R8, $const_copyLong
	JNE distance
	MOVWLZX DX, CX
	ADDQ CX, R8
	SHRQ $const_copyLongBits, DX
	ADDQ $const_copyLongBits, R9

distance:
	LEAQ const_copyMin(R8), CX
	MOVQ DI, AX
	SUBQ base-16(SP), AX
	SUBQ decoder_from(R13), AX // bytes of the value so far
	CMPQ AX, $2
	JLT leaveOp
	LEAQ -1(AX), R8
	BSRQ R8, R8
	INCQ R8
	BZHIQ R8, DX, DX
	INCQ DX
	ADDQ R8, R9
	CMPQ DX, AX
	JA leaveOp
	MOVQ DI, R8
	SUBQ DX, R8
	CMPQ DX, $16
	JAE far
	CMPQ CX, DX
	JA leaveOp // it repeats itself

far:
	MOVQ R8, DX

again: // CX bytes from DX, then the bit R9
	LEAQ (DI)(CX*1), AX
	CMPQ AX, R12
	JA leaveOp
	MOVQ R9, BX

repeat:
	MOVOU (DX), X0
	MOVOU X0, (DI)
	ADDQ $16, DX
	ADDQ $16, DI
	SUBQ $16, CX
	JGT repeat
	ADDQ CX, DI
	JMP next

standard:
	MOVQ ·standard(SB), R11
	JMP base64

urls:
	MOVQ ·urls(SB), R11

base64:
	COUNT(0)

	// R9 is how many bits fewer the last character has. If it has any fewer, CX does not count it.
	XORL R9, R9
	CMPL (step_op+op_at)(R14), $0
	JEQ whole
	MOVL CX, AX
	ANDL $3, AX
	CMPL AX, $2
	JB whole
	MOVL $8, R9
	ADDL AX, AX
	SUBL AX, R9
	DECQ CX

whole:
	LEAQ (DI)(CX*1), AX
	MOVQ AX, whole-56(SP)
	LEAQ (CX)(CX*2), DX
	LEAQ (R8)(DX*2), DX // the bit after CX characters
	CMPQ CX, $32
	JB few
	MOVQ DX, AX
	SHRQ $3, AX
	SUBQ $7, AX
	CMPQ AX, limit-64(SP)
	JGT leaveOp // that bit is beyond p
	JMP blocks

few: // less than a block: decode a whole one, if out and p have that many bytes
	MOVL $32, CX
	LEAQ (32-const_padding)(DI), AX
	CMPQ AX, R12
	JA leaveOp
	MOVQ R8, AX
	SHRQ $3, AX
	ADDQ $(25-8), AX
	CMPQ AX, limit-64(SP)
	JGT leaveOp // not all that a block may read is in p

blocks:
	MOVQ DX, BX
	VBROADCASTI128 alphabet_offsets(R11), Y1
	VMOVDQU quarters<>(SB), Y2
	VBROADCASTI128 threeBytes<>(SB), Y3
	VPBROADCASTD sixBits<>+0(SB), Y4
	VPBROADCASTD sixBits<>+4(SB), Y5
	VPBROADCASTD lasts<>+0(SB), Y6
	VPBROADCASTD lasts<>+4(SB), Y7
	MOVQ R8, AX
	SHRQ $3, AX
	ADDQ SI, AX
	ANDL $7, R8
	VMOVQ R8, X0

block: // of at least CX characters
	VMOVDQU (AX), X8
	VINSERTI128 $1, 9(AX), Y8, Y8
	VPSHUFB Y2, Y8, Y8
	VPSRLQ X0, Y8, Y8
	VPSHUFB Y3, Y8, Y8         // 24 bits in each 32
	VPSLLD $4, Y8, Y9
	VPBLENDW $0xAA, Y9, Y8, Y8 // 12 bits in each 16
	VPSLLW $2, Y8, Y9
	VPAND Y4, Y8, Y8
	VPAND Y5, Y9, Y9
	VPOR Y9, Y8, Y8            // 6 bits in each 8: the numbers of the characters
	VPCMPGTB Y6, Y8, Y9        // -1 for all but capital letters
	VPSUBUSB Y7, Y8, Y10       // for what follows the letters, from 1 on
	VPSUBB Y9, Y10, Y10
	VPSHUFB Y10, Y1, Y10       // the offsets of the characters
	VPADDB Y10, Y8, Y8
	VMOVDQU Y8, (DI)
	ADDQ $24, AX
	ADDQ $32, DI
	SUBQ $32, CX
	JZ blocked
	CMPQ CX, $32
	JAE block

	// The last block starts in the one before.
	LEAQ -32(DI)(CX*1), DI
	LEAQ (CX)(CX*2), CX
	LEAQ -192(R8)(CX*2), R8
	MOVQ R8, CX
	SARQ $3, CX
	ADDQ CX, AX
	ANDL $7, R8
	VMOVQ R8, X0
	MOVL $32, CX
	JMP block

blocked:
	VZEROUPPER
	MOVQ whole-56(SP), DI
	TESTL R9, R9
	JZ next
	WORD
	MOVL $6, CX
	SUBL R9, CX
	ADDQ CX, BX
	BZHIQ CX, DX, DX
	SHLXQ R9, DX, DX
	MOVWLZX alphabet_pairs(R11)(DX*2), AX
	MOVB AX, (DI)
	INCQ DI
	JMP next

bytes: // as they are
	COUNT(7)
	LEAQ (R8)(CX*8), R11 // the bit after the field
	CMPQ R11, end-8(SP)
	JA leaveOp
	MOVQ R8, BX
	LEAQ (DI)(CX*1), R9

seven: // bytes of a word
	WORD
	MOVQ DX, (DI)
	ADDQ $56, BX
	ADDQ $7, DI
	CMPQ DI, R9
	JB seven
	MOVQ R11, BX
	MOVQ R9, DI
	JMP next

hexLower:
	MOVOU lower<>(SB), X2
	JMP hex

hexUpper:
	MOVOU upper<>(SB), X2

hex:
	COUNT(15)
	LEAQ (R8)(CX*4), R11 // the bit after the field
	CMPQ R11, end-8(SP)
	JA leaveOp
	MOVQ R8, BX
	LEAQ (DI)(CX*1), R9
	MOVOU fourBits<>(SB), X3

fourteen: // digits of a word
	WORD
	VMOVQ DX, X0
	VPSRLW $4, X0, X1
	VPAND X3, X0, X0
	VPAND X3, X1, X1
	VPUNPCKLBW X1, X0, X0
	VPSHUFB X0, X2, X0
	VMOVDQU X0, (DI)
	ADDQ $56, BX
	ADDQ $14, DI
	CMPQ DI, R9
	JB fourteen
	MOVQ R11, BX
	MOVQ R9, DI
	JMP next

uuidLower:
	MOVOU lower<>(SB), X2
	JMP uuid

uuidUpper:
	MOVOU upper<>(SB), X2

uuid:
	LEAQ (const_uuidBytes-const_padding)(DI), AX
	CMPQ AX, R12
	JA leaveOp
	LEAQ const_uuidBits(BX), AX
	CMPQ AX, end-8(SP)
	JA leaveOp
	WORD
	VMOVD DX, X0
	ADDQ $32, BX
	WORD
	VPINSRD $1, DX, X0, X0
	ADDQ $32, BX
	WORD
	VPINSRD $2, DX, X0, X0
	ADDQ $32, BX
	WORD
	VPINSRD $3, DX, X0, X0
	ADDQ $32, BX
	MOVOU fourBits<>(SB), X3
	VPSRLW $4, X0, X1
	VPAND X3, X0, X0
	VPAND X3, X1, X1
	VPUNPCKLBW X1, X0, X3
	VPUNPCKHBW X1, X0, X0
	VPSHUFB X3, X2, X3
	VPSHUFB X0, X2, X0
	VMOVQ X3, (DI)
	MOVB $'-', 8(DI)
	VPEXTRD $2, X3, 9(DI)
	MOVB $'-', 13(DI)
	VPEXTRD $3, X3, 14(DI)
	MOVB $'-', 18(DI)
	VMOVD X0, 19(DI)
	MOVB $'-', 23(DI)
	VPEXTRD $1, X0, 24(DI)
	VPEXTRQ $1, X0, 28(DI)
	ADDQ $const_uuidBytes, DI
	JMP next
