package dispatcher

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// The schemes of Signature.
const (
	HMACSHA256 = "hmac-sha256" // "HEX" of the body
	Stripe     = "stripe"      // "t=UNIX,v1=HEX" of the time, a dot and the body
)

// Signature says how the body of a delivery is signed.
type Signature struct {
	Secret string
	Header string // that carries the signature
	Scheme string // HMACSHA256 or Stripe
}

// value is what the header says of a body sent at a time.
func (s *Signature) value(body []byte, sent time.Time) string {
	mac := hmac.New(sha256.New, []byte(s.Secret))
	if s.Scheme == Stripe {
		at := strconv.FormatInt(sent.Unix(), 10)
		mac.Write([]byte(at + ".")) // a hash never fails
		mac.Write(body)
		return "t=" + at + ",v1=" + hex.EncodeToString(mac.Sum(nil))
	}
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}
