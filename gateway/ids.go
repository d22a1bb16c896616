package gateway

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aguigate/aguigate/protocol/fault"
)

// newID gives 128 random bits in hex [SEC-5].
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return hex.EncodeToString(b[:])
}

// checkThreadID holds contract §0: 1–256 bytes of UTF-8 without control
// characters.
func checkThreadID(id string) error {
	if id == "" || len(id) > 256 || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		return fault.New(fault.InvalidRequest, "a thread id is 1 to 256 bytes of UTF-8 without control characters").At("thread")
	}
	return nil
}
