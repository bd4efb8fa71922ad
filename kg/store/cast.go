package store

import (
	"encoding/binary"
	"unsafe"
)

// All use of unsafe is in this file. The graph file holds arrays of little-endian numbers at offsets that are multiples
// of 64; on a machine of that order they are used where they lie.

type number interface{ ~uint16 | ~uint32 | ~uint64 }

func littleEndian() bool {
	one := uint16(1)
	return *(*byte)(unsafe.Pointer(&one)) == 1
}

// view is b as numbers: the same memory where order and alignment allow it, else a copy. ok is false when b is no whole
// number of them.
func view[T number](b []byte) (v []T, ok bool) {
	size := int(unsafe.Sizeof(*new(T)))
	if len(b)%size != 0 {
		return nil, false
	}
	if len(b) == 0 {
		return nil, true
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	if littleEndian() && uintptr(p)%uintptr(size) == 0 {
		return unsafe.Slice((*T)(p), len(b)/size), true
	}
	return decode[T](b, size), true
}

func decode[T number](b []byte, size int) []T {
	v := make([]T, len(b)/size)
	for i := range v {
		switch size {
		case 2:
			v[i] = T(binary.LittleEndian.Uint16(b[i*2:]))
		case 4:
			v[i] = T(binary.LittleEndian.Uint32(b[i*4:]))
		default:
			v[i] = T(binary.LittleEndian.Uint64(b[i*8:]))
		}
	}
	return v
}

// raw is the bytes of v in the file's order: the same memory, or a copy on a big-endian machine.
func raw[T number](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	size := int(unsafe.Sizeof(v[0]))
	if littleEndian() {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*size)
	}
	return encode(v, size)
}

func encode[T number](v []T, size int) []byte {
	b := make([]byte, 0, len(v)*size)
	for _, x := range v {
		switch size {
		case 2:
			b = binary.LittleEndian.AppendUint16(b, uint16(x))
		case 4:
			b = binary.LittleEndian.AppendUint32(b, uint32(x))
		default:
			b = binary.LittleEndian.AppendUint64(b, uint64(x))
		}
	}
	return b
}

// bytesOf is s without a copy; not to be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// aligned is n bytes that view can use where they lie.
func aligned(n int) []byte {
	if n == 0 {
		return nil
	}
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}
